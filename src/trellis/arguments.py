"""Whole numbers given to a call: converted (NumPy's too) and checked."""

from __future__ import annotations

import operator
import os
from typing import Any

from trellis.errors import ArgumentError


def whole_number(name: str, value: Any, least: int, most: int | None = None, also: str = "") -> int:
    """The value as an int; ArgumentError if it is none, too small or too great. ``also`` names others that fit."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise ArgumentError(f"{name} must be {range_text(least, most)}{also}, not {value!r}")
    return number


def range_text(least: int, most: int | None) -> str:
    """Which whole numbers are wanted, in words."""
    return f"a whole number from {least} " + ("on" if most is None else f"to {most}")


def thread_count(n_threads: int | None) -> int:
    """The number itself; all cores that this process may use for None and for -1, as in scikit-learn."""
    if n_threads is None or n_threads == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_number("n_threads", n_threads, 1, 1 << 20, ", or None or -1 for all cores")
