"""Minimising f(x) + c1 · |x|_1: proximal quasi-Newton steps over the few weights that may be other than zero.

Each step minimises a quadratic model with the penalty (Scheinberg and Tang 2016; core/learn/proximal.hpp). The model's
curvature is that of L-BFGS, on a diagonal that was measured. Weights at zero whose slope is well below c1 are screened
out: the function is restricted to the others, which makes its gradient cheaper, and from time to time all are looked
at again. The minimum is that of all weights: training ends only where none that was left out would lower the objective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Bools, Doubles, Longs, array_in
from trellis.learning.lbfgs import MAX_TRIALS, SUFFICIENT, WINDOW, Function

MEMORY = 10  # pairs of steps and gradient changes kept
SWEEPS, SWEEP_TOLERANCE = 30, 1e-3  # of coordinate descent in one step
SCREEN = 0.8  # of c1: weights at zero with a slope below it are left out
PERIOD = 40  # iterations after which all weights are looked at again


class Curvature:
    """The Hessian as the last steps tell it: scale · diagonal, corrected by pairs of steps and gradient changes."""

    def __init__(self, diagonal: Doubles) -> None:
        self.diagonal = diagonal  # [n]
        self.steps = np.empty((0, len(diagonal)))  # [pairs, n]
        self.changes = np.empty((0, len(diagonal)))  # [pairs, n]
        self.order: list[int] = []  # rows of the pairs, the oldest first
        self.lengths = np.zeros((MEMORY, MEMORY))  # s_i · diagonal s_j
        self.mixed = np.zeros((MEMORY, MEMORY))  # s_i · y_j

    def add(self, step: Doubles, change: Doubles) -> None:
        """Remember a step and how the gradient changed by it, unless that shows no curvature."""
        if _core.dot(step, change) <= 1e-10 * _core.dot(change, change):
            return
        if len(self.order) == MEMORY:
            row = self.order.pop(0)
            self.steps[row], self.changes[row] = step, change
        else:
            row = len(self.order)
            self.steps, self.changes = np.vstack([self.steps, step]), np.vstack([self.changes, change])
        self.order.append(row)
        scaled = self.diagonal * step
        for i in self.order:
            self.lengths[i, row] = self.lengths[row, i] = _core.dot(scaled, self.steps[i])
            self.mixed[i, row] = _core.dot(self.steps[i], change)
            self.mixed[row, i] = _core.dot(step, self.changes[i])

    def of(self, places: Longs, diagonal: Doubles) -> Curvature:
        """The same for other weights: ``places`` says where each was, -1 for those that were not there."""
        other, there = Curvature(diagonal), places >= 0
        for row in self.order:
            other.add(np.where(there, self.steps[row][places], 0.0), np.where(there, self.changes[row][places], 0.0))
        return other

    def scale(self) -> float:
        """What the diagonal is multiplied with, so that it has the curvature of the last step."""
        if not self.order:
            return 1.0
        newest = self.order[-1]
        change = self.changes[newest]
        return _core.dot(change / self.diagonal, change) / float(self.mixed[newest, newest])

    def step(self, x: Doubles, gradient: Doubles, c1: float, n_threads: int) -> Doubles:
        """The minimum of the quadratic model with the penalty, seen from x."""
        n, scale = len(self.order), self.scale()
        age = np.argsort(self.order)
        mixed, newer = self.mixed[:n, :n], age[:, None] > age[None, :]
        below = np.where(newer, mixed, 0.0)
        middle = np.block([[scale * self.lengths[:n, :n], below], [below.T, -np.diag(np.diag(mixed))]])
        return _core.proximal_step(
            x,
            gradient,
            scale * self.diagonal,
            self.steps,
            self.changes,
            np.linalg.inv(middle) if n else middle,
            c1,
            SWEEPS,
            SWEEP_TOLERANCE,
            n_threads,
        )


class ProximalMinimizer:
    """The state of a minimisation; ``step`` goes on by one iteration.

    ``measure`` gives the curvature of each weight at x, roughly, all above zero; ``restrict`` gives f as a function of
    the weights that a mask keeps, all others being zero.
    """

    def __init__(
        self,
        x: Doubles,
        c1: float,
        measure: Callable[[Doubles], Doubles],
        restrict: Callable[[Bools], Function],
        n_threads: int = 1,
    ) -> None:
        self.c1, self.measure, self.restrict, self.n_threads = c1, measure, restrict, n_threads
        self.diagonal = np.ones(len(x))  # what was measured, [n]
        self.kept = np.arange(len(x))  # [n_kept] the weights that were not screened out
        self.kept_x = x  # [n_kept]
        self.gradient = np.empty(0)  # [n_kept] of the smooth part
        self.curvature = Curvature(self.diagonal)
        self.function: Function | None = None  # of the weights kept; made when it is needed
        self.value = float("inf")  # with the penalty
        self.values: list[float] = []  # the last ones, to see whether it still falls
        self.iteration = 0
        self.looked_at = -1  # the iteration in which all weights were last looked at
        self.nonzero_then = 0
        self.outside = 0.0  # what the weights that had been left out could lower the objective by

    @property
    def x(self) -> Doubles:
        """All weights."""
        x = np.zeros(len(self.diagonal))
        x[self.kept] = self.kept_x
        return x

    def start(self, function: Function, x: Doubles | None = None) -> None:
        """Evaluate where it begins; once, before the first step."""
        self.kept_x = self.kept_x if x is None else x
        self.diagonal = self.measure(self.kept_x)
        self.curvature = Curvature(self.diagonal)
        self._screen(function)
        self.values = [self.value]

    def slope(self) -> Doubles:
        """The pseudo-gradient of the weights kept: zero where no direction goes down."""
        x, g, c1 = self.kept_x, self.gradient, self.c1
        return np.where(x != 0, g + c1 * np.sign(x), np.sign(g) * np.maximum(np.abs(g) - c1, 0.0))

    def has_converged(self, tolerance: float) -> bool:
        """Whether it fell by less than ``tolerance`` of itself over ten iterations, and no weight is missed.

        The first time it hardly falls the next step looks at all weights; so training ends one iteration later.
        """
        least = tolerance * abs(self.value)
        if len(self.values) <= WINDOW or self.values[0] - self.value >= least:
            return False
        if self.iteration > self.looked_at + 1:
            self.looked_at = -1  # look before the next step
            return False
        if self.outside < least:
            return True
        self.values = [self.value]
        return False

    def step(self, function: Function) -> float:
        """One iteration; gives the length of the step, 0 where no step goes down any more. ``function`` is of all."""
        fewer = 2 * np.count_nonzero(self.kept_x) < self.nonzero_then
        if self.looked_at < 0 or self.iteration >= self.looked_at + PERIOD or fewer:
            self._screen(function)
        if self.function is None:  # after a checkpoint
            self.function = self._restricted(function)
        x, c1 = self.kept_x, self.c1
        direction = self.curvature.step(x, self.gradient, c1, self.n_threads)
        descent = _core.dot(direction, self.gradient) + c1 * float((np.abs(x + direction) - np.abs(x)).sum())
        length = 1.0
        for _ in range(MAX_TRIALS if descent < 0 else 0):
            there = x + direction if length == 1 else x + length * direction
            value, gradient = self._evaluate(self.function, there)
            if np.isfinite(value) and value <= self.value + SUFFICIENT * length * descent:
                self.curvature.add(there - x, gradient - self.gradient)
                self.kept_x, self.value, self.gradient = there, value, gradient
                self.values = [*self.values[-WINDOW:], value]
                self.iteration += 1
                return length
            length /= 2
        if self.curvature.order:  # what was remembered misleads: forget it
            self.curvature = Curvature(self.curvature.diagonal)
        elif self.looked_at == self.iteration:
            return 0.0
        else:
            self.looked_at = -1
        return self.step(function)

    def _evaluate(self, function: Function, x: Doubles) -> tuple[float, Doubles]:
        value, gradient = function(x)
        return value + self.c1 * float(np.abs(x).sum()), gradient

    def _screen(self, function: Function) -> None:
        """Look at all weights, and go on with those that are not zero or whose slope is nearly as steep as c1."""
        x = self.x
        self.value, gradient = self._evaluate(function, x)
        steeper = np.maximum(np.abs(gradient) - self.c1, 0.0)  # a bound on what a weight at zero may gain, by the model
        gains = steeper * steeper / (2 * self.curvature.scale() * self.diagonal)
        place = np.full(len(x), -1)
        place[self.kept] = np.arange(len(self.kept))
        self.outside = float(gains[place < 0].sum())
        mask = (x != 0) | (np.abs(gradient) > SCREEN * self.c1)
        if 2 * np.count_nonzero(mask) > len(x):  # restricting would gain little
            mask[:] = True
        self.looked_at, self.nonzero_then = self.iteration, int(np.count_nonzero(x))
        self.kept = np.flatnonzero(mask)
        self.kept_x, self.gradient = x[self.kept], gradient[self.kept]
        self.curvature = self.curvature.of(place[self.kept], self.diagonal[self.kept])
        self.function = self._restricted(function)
        if self.function is not function:  # rounding is not that of all weights
            self.value, self.gradient = self._evaluate(self.function, self.kept_x)

    def _restricted(self, function: Function) -> Function:
        if len(self.kept) == len(self.diagonal):
            return function
        mask = np.zeros(len(self.diagonal), bool)
        mask[self.kept] = True
        return self.restrict(mask)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All there is to know, as arrays: ``restore`` goes on with the same bits."""
        numbers = (self.value, self.iteration, self.looked_at, self.nonzero_then, self.outside)
        curvature = self.curvature
        return {
            "x": self.x,
            "kept": self.kept,
            "gradient": self.gradient,
            "values": np.array(self.values, np.float64),
            "numbers": np.array(numbers, np.float64),
            "diagonal": self.diagonal,
            "steps": curvature.steps,
            "changes": curvature.changes,
            "order": np.array(curvature.order, np.int64),
            "products": np.stack([curvature.lengths, curvature.mixed]),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from there; ``start`` is not to be called again."""
        n, kept = len(self.diagonal), array_in(state, "kept", np.int64, None)
        steps = array_in(state, "steps", np.float64, None, len(kept))
        order = array_in(state, "order", np.int64, len(steps)).tolist()
        if len(kept) and not (kept[0] >= 0 and kept[-1] < n and (np.diff(kept) > 0).all()):
            raise ValueError("weights of unknown features")
        if sorted(order) != list(range(len(steps))) or len(steps) > MEMORY:
            raise ValueError("an order of other steps")
        self.kept, self.gradient = kept, array_in(state, "gradient", np.float64, len(kept))
        self.diagonal = array_in(state, "diagonal", np.float64, n)
        self.kept_x = array_in(state, "x", np.float64, n)[kept]
        self.values = array_in(state, "values", np.float64, None).tolist()
        numbers = array_in(state, "numbers", np.float64, 5).tolist()
        self.value, iteration, looked_at, nonzero_then, self.outside = numbers
        self.iteration, self.looked_at, self.nonzero_then = int(iteration), int(looked_at), int(nonzero_then)
        self.curvature, self.function = Curvature(self.diagonal[kept]), None
        self.curvature.steps, self.curvature.order = steps.copy(), order
        self.curvature.changes = array_in(state, "changes", np.float64, *steps.shape).copy()
        products = array_in(state, "products", np.float64, 2, MEMORY, MEMORY)
        self.curvature.lengths, self.curvature.mixed = products.copy()
