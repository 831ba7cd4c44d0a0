"""What a process takes: CPU time and peak memory, as the system counts them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

# A child's peak begins with that of the process that makes it, so a small one does.
MEASURE = """
import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Usage(NamedTuple):
    """Of one process."""

    cpu: float  # seconds
    megabytes: float  # at its peak


def usage(command: list[str], **place: Any) -> Usage | None:
    """What the command took; None if it failed. ``place`` is where it runs, as ``subprocess.run`` takes it."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *command], capture_output=True, text=True, **place)
    if done.returncode:
        return None
    cpu, kilobytes = done.stdout.split()[-2:]
    return Usage(float(cpu), int(kilobytes) / 1024)
