"""Processes of Ray that this one started: actors to kill or to stop."""

from __future__ import annotations

import os
from pathlib import Path


def actors() -> list[int]:
    """The processes of actors in which trellis trains, below this process."""
    parents, found = dict[int, int](), list[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_bytes().startswith(b"ray::_Actor"):
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue

    def is_ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid > 1

    return sorted(filter(is_ours, found))
