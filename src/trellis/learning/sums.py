"""Losses of all examples and their gradients, summed in fixed point: the bits do not depend on who sums what.

A `Part` is the examples of one process. `Sums` adds up what parts give, and makes the functions that batch learners
minimise. What travels are integers: sums of losses in units of 2^-64, and of gradients in units of 2^-exponent, where
the exponent follows from the corpus.
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

UNIT = 2**64  # parts of one, of which sums of losses are integers
LARGEST_SUM = 2.0**62  # a loss from which on it counts as infinite


def exact_sum(numbers: Doubles) -> float:
    """Their sum in units of 2^-64, an integer; infinity where one is too large or no number."""
    if not (np.abs(numbers) < LARGEST_SUM).all():
        return float("inf")
    return _exact(numbers)


def _exact(numbers: Doubles) -> int:
    high, low = _core.exact_sum(numbers)
    return (high << 64) + low


def bound_of(masses: Doubles, weights: Doubles | None) -> int:
    """What no entry of the gradient of sum_i weight_i · loss_i exceeds (core/learn/objective.hpp), by 2^-64."""
    most = masses if weights is None else masses * weights
    whole = np.floor(most)
    return (_exact(whole * 2.0**-40) << 40) + _exact(most - whole) + len(most)  # weights and masses are below 2^100


def exponent_of(bound: int) -> int:
    """The exponent for sums that do not exceed a bound, which is in units of 2^-64."""
    return 62 + 64 - bound.bit_length()


def real_of(sums: Longs, exponent: int) -> Doubles:
    """The numbers that are so many units of 2^-exponent."""
    return np.multiply(sums, 2.0**-exponent)


@dataclass(slots=True)
class Part:
    """The examples of one process, and the weights that the objective is a function of."""

    problem: Problem
    vector: Parameters | FlatVector
    local: bool
    single: bool
    _objective: _core.Objective | None = None
    _logs: tuple[Doubles, Doubles] | None = None  # weights, and the log of each example's risk by them

    @property
    def objective(self) -> _core.Objective:
        """Losses and gradients of each example, in native code."""
        if self._objective is None:
            self._objective = self.vector.objective(local=self.local, single=self.single)
        return self._objective

    def at(self, problem: Any) -> Part:
        """The same of other examples; of None, to be sent to where they are."""
        vector: Any = replace(self.vector, problem=problem)
        return replace(self, problem=problem, vector=vector, _objective=None, _logs=None)

    def only(self, kept: Bools) -> Part:
        """The same of some of the weights."""
        return replace(self, vector=self.vector.only(kept), _objective=None, _logs=None)

    def bound(self) -> int:
        """What no entry of a gradient exceeds."""
        return bound_of(self.objective.masses, self.problem.sentence_weights)

    def log_loss(self, x: Doubles, exponent: int) -> tuple[float, Longs]:
        """sum_i weight_i · loss_i and its gradient."""
        problem = self.problem
        losses, gradient = self.objective.sums(x, problem.sentence_weights, exponent, problem.n_threads)
        return exact_sum(problem.weigh(losses)), gradient

    def _log_risks(self, x: Doubles) -> Doubles:
        """log(weight_i · exp(loss_i)); those of the last weights are kept."""
        if self._logs is None or not np.array_equal(self._logs[0], x):
            losses = self.objective.losses(x, self.problem.n_threads)
            weights = self.problem.sentence_weights
            self._logs = x, losses if weights is None else losses + log(weights)
        return self._logs[1]

    def most_risk(self, x: Doubles) -> float:
        """The largest log of weight_i · exp(loss_i)."""
        return float(self._log_risks(x).max(initial=-np.inf))

    def risk(self, x: Doubles, top: float) -> tuple[float, int]:
        """sum_i weight_i · exp(loss_i - top), and a bound of its gradient."""
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
        """The sum of what a method of all parts gives, entry by entry."""

    def most(self, method: str, *args: Any) -> float:
        """The largest of what a method of all parts gives."""

    def only(self, kept: Bools) -> Parts:
        """The parts with some of the weights."""


@dataclass(frozen=True, slots=True)
class OnePart:
    """All examples in this process."""

    first: Any

    def sum(self, method: str, *args: Any) -> Any:
        """What the part gives."""
        return getattr(self.first, method)(*args)

    most = sum

    def only(self, kept: Bools) -> OnePart:
        """The part with some of the weights."""
        return OnePart(self.first.only(kept))


class Sums:
    """Functions of the weights that are sums over all examples."""

    def __init__(self, parts: Parts, c2: float) -> None:
        self.parts, self.c2 = parts, c2

    @cached_property
    def exponent(self) -> int:
        """Of the gradient of the log loss."""
        return exponent_of(self.parts.sum("bound"))

    def only(self, kept: Bools) -> Sums:
        """The same of some of the weights."""
        return Sums(self.parts.only(kept), self.c2)

    def log_loss(self, x: Doubles) -> tuple[float, Doubles]:
        """sum_i weight_i · loss_i + c2 · |x|² and its gradient: of whole paths, or of local decisions."""
        total, sums = self.parts.sum("log_loss", x, self.exponent)
        gradient = real_of(sums, self.exponent)
        gradient += 2 * self.c2 * x
        return total / UNIT + self.c2 * _core.dot(x, x), gradient

    def log_risk(self, x: Doubles) -> tuple[float, Doubles]:
        """R = log(sum_i weight_i · exp(loss_i) + c2 · |x|²) and its gradient, that of the sum over exp(R)."""
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
    """The sums over the examples of a problem; ``local``: of single decisions instead of whole outputs."""
    part = Part(problem, vector, local, single)
    return Sums(OnePart(part) if problem.parts is None else problem.parts(part), c2)
