"""How many threads a call may use."""

from __future__ import annotations

import operator
import os

from trellis.errors import ArgumentError


def thread_count(n_threads: int | None) -> int:
    """The number itself; all cores that this process may use for None and for -1, as in scikit-learn."""
    try:
        n = -1 if n_threads is None else operator.index(n_threads)
    except TypeError:
        n = 0
    if n == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n < 1:
        raise ArgumentError(f"n_threads must be at least 1, or None or -1 for all cores, not {n_threads!r}")
    return n
