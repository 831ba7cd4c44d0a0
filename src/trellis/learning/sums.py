"""Losses and gradients summed over all examples in fixed point, so that the result does not depend on the partition.

A `Part` holds the examples of one process. `Sums` adds up the results of all parts and provides the objectives of batch
learners. Processes exchange integers: sums of losses in units of 2^-64, and sums of gradients in units of 2^-exponent,
where the exponent follows from the corpus.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from trellis import _core
from trellis._support.arrays import Bools, Doubles, Longs
from trellis.engine.elementary import exp, log
from trellis.learning.parameters import Parameters
from trellis.learning.problem import FlatVector, Problem

UNIT = 2**64  # sums of losses are integers in units of 1 / UNIT
LARGEST_SUM = 2.0**62  # losses of at least this size count as infinite


def exact_sum(numbers: Doubles) -> float:
    """Sum of the numbers as an integer in units of 2^-64; infinity if one is too large or NaN."""
    if not (np.abs(numbers) < LARGEST_SUM).all():
        return float("inf")
    return _exact(numbers)


def _exact(numbers: Doubles) -> int:
    high, low = _core.exact_sum(numbers)
    return (high << 64) + low


def bound_of(masses: Doubles, weights: Doubles | None) -> int:
    """Upper bound of |gradient| of sum_i weight_i · loss_i (core/learn/objective.hpp), in units of 2^-64."""
    bound = masses if weights is None else masses * weights
    floor = np.floor(bound)
    return (_exact(floor * 2.0**-40) << 40) + _exact(bound - floor) + len(bound)  # weights and masses are below 2^100


def exponent_of(bound: int) -> int:
    """Fixed-point exponent for sums up to a bound; the bound is in units of 2^-64."""
    return 62 + 64 - bound.bit_length()


def real_of(sums: Longs, exponent: int) -> Doubles:
    """Convert fixed-point numbers in units of 2^-exponent to float64."""
    return np.multiply(sums, 2.0**-exponent)


@dataclass(slots=True)
class Part:
    """The examples of one process, with the vector of weights of the objective."""

    problem: Problem
    vector: Parameters | FlatVector
    local: bool
    single: bool
    _objective: _core.Objective | None = None
    _logs: tuple[Doubles, Doubles] | None = None  # (weights, log risk of each example with these weights)

    @property
    def objective(self) -> _core.Objective:
        """Losses and gradients of each example, in native code."""
        if self._objective is None:
            self._objective = self.vector.objective(local=self.local, single=self.single)
        return self._objective

    def at(self, problem: Any) -> Part:
        """Copy with other examples; without examples (None) it can be sent to another process."""
        vector: Any = replace(self.vector, problem=problem)
        return replace(self, problem=problem, vector=vector, _objective=None, _logs=None)

    def only(self, mask: Bools) -> Part:
        """Copy restricted to some of the weights."""
        return replace(self, vector=self.vector.only(mask), _objective=None, _logs=None)

    def bound(self) -> int:
        """Upper bound of the entries of the gradient."""
        return bound_of(self.objective.masses, self.problem.sentence_weights)

    def log_loss(self, x: Doubles, exponent: int) -> tuple[float, Longs]:
        """sum_i weight_i · loss_i and its gradient."""
        problem = self.problem
        losses, gradient = self.objective.sums(x, problem.sentence_weights, exponent, problem.n_threads)
        return exact_sum(problem.weigh(losses)), gradient

    def _log_risks(self, x: Doubles) -> Doubles:
        """log(weight_i · exp(loss_i)); the result for the last weights is cached."""
        if self._logs is None or not np.array_equal(self._logs[0], x):
            losses = self.objective.losses(x, self.problem.n_threads)
            weights = self.problem.sentence_weights
            self._logs = x, losses if weights is None else losses + log(weights)
        return self._logs[1]

    def most_risk(self, x: Doubles) -> float:
        """The largest log of weight_i · exp(loss_i)."""
        return float(self._log_risks(x).max(initial=-np.inf))

    def risk(self, x: Doubles, top: float) -> tuple[float, int]:
        """sum_i weight_i · exp(loss_i - top), and an upper bound of its gradient."""
        shares = exp(self._log_risks(x) - top)
        return exact_sum(shares), bound_of(self.objective.masses, shares)

    def risk_gradient(self, x: Doubles, value: float, exponent: int) -> Longs:
        """The gradient of sum_i weight_i · exp(loss_i - value)."""
        return self.objective.sums(x, exp(self._log_risks(x) - value), exponent, self.problem.n_threads)[1]


class Parts(Protocol):
    """The parts of all processes."""

    @property
    def first(self) -> Any:
        """The part with the first examples, in this process."""

    def sum(self, method: str, *args: Any) -> Any:
        """Call a method of all parts and add up the results entry by entry."""

    def most(self, method: str, *args: Any) -> float:
        """Call a method of all parts and return the largest result."""

    def only(self, mask: Bools) -> Parts:
        """The parts with some of the weights."""


@dataclass(frozen=True, slots=True)
class OnePart:
    """All examples in this process."""

    first: Any

    def sum(self, method: str, *args: Any) -> Any:
        """Call a method of the only part."""
        return getattr(self.first, method)(*args)

    most = sum

    def only(self, mask: Bools) -> OnePart:
        """The part with some of the weights."""
        return OnePart(self.first.only(mask))


class Sums:
    """Functions of the weights that are sums over all examples."""

    def __init__(self, parts: Parts, c2: float) -> None:
        self.parts, self.c2 = parts, c2

    @cached_property
    def exponent(self) -> int:
        """Fixed-point exponent of the gradient of the log loss."""
        return exponent_of(self.parts.sum("bound"))

    def only(self, mask: Bools) -> Sums:
        """Copy restricted to some of the weights."""
        return Sums(self.parts.only(mask), self.c2)

    def log_loss(self, x: Doubles) -> tuple[float, Doubles]:
        """sum_i weight_i · loss_i + c2 · |x|² and its gradient; losses are of whole paths or of local decisions."""
        total, sums = self.parts.sum("log_loss", x, self.exponent)
        gradient = real_of(sums, self.exponent)
        gradient += 2 * self.c2 * x
        return total / UNIT + self.c2 * _core.dot(x, x), gradient

    def log_risk(self, x: Doubles) -> tuple[float, Doubles]:
        """R = log(sum_i weight_i · exp(loss_i) + c2 · |x|²) and its gradient: the gradient of the sum / exp(R)."""
        penalty = self.c2 * _core.dot(x, x)
        of_penalty = float(log(penalty)) if penalty > 0 else -np.inf
        top = max(self.parts.most("most_risk", x), of_penalty)
        if not np.isfinite(top):
            return top, x
        total, bound = self.parts.sum("risk", x, top)
        value = top + float(log(total / UNIT + float(exp(of_penalty - top))))
        exponent = exponent_of(bound)
        gradient = real_of(self.parts.sum("risk_gradient", x, value, exponent), exponent)
        if penalty > 0:
            gradient += 2 * self.c2 * float(exp(-value)) * x
        return value, gradient


def sums_of(problem: Problem, vector: Parameters | FlatVector, c2: float, *, local: bool = False, single: bool) -> Sums:
    """Sums over the examples of a problem; ``local``: losses of single decisions instead of whole outputs."""
    part = Part(problem, vector, local, single)
    return Sums(OnePart(part) if problem.parts is None else problem.parts(part), c2)
