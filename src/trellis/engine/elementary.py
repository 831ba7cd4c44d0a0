"""exp and log with the same bits on every machine: the last bits of NumPy's depend on the processor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trellis import _core
from trellis._support.arrays import Doubles


def exp(x: ArrayLike) -> Doubles:
    """Of each number."""
    return _each(_core.exp, x)


def log(x: ArrayLike) -> Doubles:
    """Of each number; minus infinity of zero, without a warning."""
    return _each(_core.log, x)


def _each(function: Callable[[Doubles], Doubles], x: ArrayLike) -> Doubles:
    numbers = np.asarray(x, dtype=np.float64)
    return function(np.ascontiguousarray(numbers).ravel()).reshape(numbers.shape)
