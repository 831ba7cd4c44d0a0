"""Losses and gradients of native objectives as numbers."""

from __future__ import annotations

import numpy as np

from trellis import _core
from trellis._support.arrays import Doubles
from trellis.learning.sums import bound_of, exponent_of


def gradient_of(
    objective: _core.Objective, x: Doubles, weights: Doubles | None, n_threads: int
) -> tuple[Doubles, Doubles]:
    """The loss of every example, and the gradient of their weighted sum."""
    exponent = exponent_of(bound_of(objective.masses, weights))
    losses, sums = objective.sums(x, weights, exponent, n_threads)
    return losses, np.ldexp(sums.astype(np.float64), -exponent)
