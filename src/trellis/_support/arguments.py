"""What is given to a call, converted (NumPy's numbers too) and checked: one function per kind of thing."""

from __future__ import annotations

import math
import numbers
import operator
import os
import reprlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from trellis._support.errors import ArgumentError

T = TypeVar("T")

# Of values, weights, costs, penalties and rates: the product of three is still well within what a float holds.
LARGEST = 1e12
# Quota and period of CPU time of a container, by the version of its control groups.
CPU_QUOTA = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def instance(name: str, value: Any, kind: type[T] | tuple[type[T], ...], wanted: str) -> T:
    """The value itself; ArgumentError if it is of another kind."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} must be {wanted}, not {reprlib.repr(value)}")
    return value


def items(value: Any) -> list[Any] | None:
    """What a list, an array or an iterator has in it; None for a string, a dict and what has nothing in it."""
    if isinstance(value, (str, bytes, bytearray, Mapping)):
        return None
    try:
        found = iter(value)
    except TypeError:
        return None
    return list(found)


def is_text(value: str) -> bool:
    """Whether a file in UTF-8 can hold a string: it has no half of a surrogate pair, nor a byte that is not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def file_path(name: str, value: Any) -> str:
    """A path as a string; ArgumentError if no file can have it."""
    try:
        path = os.fspath(value)
        os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        path = None
    if not isinstance(path, str):
        raise ArgumentError(f"{name} must be the path of a file, not {reprlib.repr(value)}")
    return path


def whole_number(name: str, value: Any, least: int, most: int | None = None, also: str = "") -> int:
    """The value as an int; ArgumentError if it is none, too small or too great. ``also`` names others that fit."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise ArgumentError(f"{name} must be {range_text(least, most)}{also}, not {reprlib.repr(value)}")
    return number


def real_number(name: str, value: Any, least: float, most: float = LARGEST) -> float:
    """The value as a float; ArgumentError if it is none, too small or too great."""
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not least <= number <= most:
        raise ArgumentError(f"{name} must be a number from {least:g} to {most:g}, not {reprlib.repr(value)}")
    return number


def range_text(least: int, most: int | None) -> str:
    """Which whole numbers are wanted, in words."""
    return "a whole number " + (f"of at least {least}" if most is None else f"from {least} to {most}")


def thread_count(n_threads: int | None) -> int:
    """The number itself; all cores that this process may use for None and for -1, as in scikit-learn."""
    if n_threads is None or n_threads == -1:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(cores, container_cores() or cores)
    return whole_number("n_threads", n_threads, 1, 1 << 20, ", or None or -1 for all cores")


@cache
def container_cores() -> int | None:
    """The CPU quota of the container in whole cores, at least 1; None without a quota."""
    for names in CPU_QUOTA:  # "200000 100000"; without a quota "max 100000", in version 1 "-1 100000"
        try:
            quota, period = " ".join(Path(name).read_text(encoding="ascii") for name in names).split()
        except (OSError, ValueError):
            continue
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:
            return max(1, math.ceil(int(quota) / int(period)))
    return None
