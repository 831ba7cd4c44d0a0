"""Whole numbers given to a call: converted (NumPy's too) and checked."""

from __future__ import annotations

import operator
import os
from typing import Any

from trellis.errors import ArgumentError


def whole_number(name: str, value: Any, least: int, also: str = "") -> int:
    """The value as an int; ArgumentError if it is none, or too small. ``also`` names other values that may be given."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ArgumentError(f"{name} must be a whole number from {least} on{also}, not {value!r}")
    return number


def thread_count(n_threads: int | None) -> int:
    """The number itself; all cores that this process may use for None and for -1, as in scikit-learn."""
    if n_threads is None or n_threads == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_number("n_threads", n_threads, 1, ", or None or -1 for all cores")
