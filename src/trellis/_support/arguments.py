"""Argument validation: each function converts and checks one type of argument, including NumPy scalars."""

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

# Limit of values, weights, costs, penalties and rates: the product of three does not overflow.
LARGEST = 1e12
# Quota and period of CPU time of a container, by version of control groups.
CPU_QUOTA = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def instance(name: str, value: Any, kind: type[T] | tuple[type[T], ...], expected: str) -> T:
    """Return the value; ArgumentError if it has another type."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} must be {expected}, not {reprlib.repr(value)}")
    return value


def items(value: Any) -> list[Any] | None:
    """The items of a list, an array or an iterator; None for strings, dicts and values that are not iterable."""
    if isinstance(value, (str, bytes, bytearray, Mapping)):
        return None
    try:
        elements = iter(value)
    except TypeError:
        return None
    return list(elements)


def is_text(value: str) -> bool:
    """Whether a string can be encoded as UTF-8: no unpaired surrogates, which also stand for undecodable bytes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def file_path(name: str, value: Any) -> str:
    """A path as a string; ArgumentError if it is invalid."""
    try:
        path = os.fspath(value)
        os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        path = None
    if not isinstance(path, str):
        raise ArgumentError(f"{name} must be the path of a file, not {reprlib.repr(value)}")
    return path


def whole_number(name: str, value: Any, minimum: int, maximum: int | None = None, alternative: str = "") -> int:
    """The value as an int; ArgumentError if it is not one, or out of range. ``alternative``: other valid values."""
    try:
        number = operator.index(value)
    except TypeError:
        number = minimum - 1
    if isinstance(value, bool) or number < minimum or (maximum is not None and number > maximum):
        raise ArgumentError(f"{name} must be {range_text(minimum, maximum)}{alternative}, not {reprlib.repr(value)}")
    return number


def real_number(name: str, value: Any, minimum: float, maximum: float = LARGEST) -> float:
    """The value as a float; ArgumentError if it is not one, or out of range."""
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not minimum <= number <= maximum:
        raise ArgumentError(f"{name} must be a number from {minimum:g} to {maximum:g}, not {reprlib.repr(value)}")
    return number


def range_text(minimum: int, maximum: int | None) -> str:
    """Describe a range of integers in words."""
    return "a whole number " + (f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}")


def thread_count(n_threads: int | None) -> int:
    """Number of threads; None and -1 stand for all cores of this process, as in scikit-learn."""
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
