"""Available memory; used to reject allocations that cannot succeed."""

from __future__ import annotations

import os
from pathlib import Path

# Memory limit and usage of a container, by version of control groups.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def free_bytes() -> int | None:
    """Memory available to this process within the limits of machine, swap and container; None if unknown."""
    sizes = [_meminfo()]
    for limit, used in _GROUPS:
        if (maximum := _number(limit)) is not None and (usage := _number(used)) is not None:
            sizes.append(max(0, maximum - usage))
    return min((size for size in sizes if size is not None), default=None)


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux: the total memory
        names = getattr(os, "sysconf_names", {})
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_PHYS_PAGES" in names else None
    sizes = {line.partition(":")[0]: line.split()[1] for line in lines}
    if "MemAvailable" not in sizes:
        return None
    return 1024 * (int(sizes["MemAvailable"]) + int(sizes.get("SwapFree", 0)))


def _number(path: str) -> int | None:
    try:
        text = Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None  # "max": no limit
