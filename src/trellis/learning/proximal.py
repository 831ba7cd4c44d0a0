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
from trellis._support.arrays import Arrays, Bools, Doubles, Longs, array_in
from trellis.learning.lbfgs import MAX_TRIALS, SUFFICIENT, Function, Minimizer, StepPairs

MEMORY = 10  # pairs of steps and gradient changes kept
SWEEPS, SWEEP_TOLERANCE = 30, 1e-3  # passes of coordinate descent in one step
SCREEN = 0.8  # fraction of c1: zero weights with a smaller slope are screened out
PERIOD = 40  # iterations between checks of all weights


class Curvature(StepPairs):
    """Approximate Hessian: scale · diagonal, corrected by pairs of steps and gradient changes.

    The inner products of pairs are s_i · diagonal s_j and s_i · y_j.
    """

    memory, kind = MEMORY, np.float64

    def __init__(self, diagonal: Doubles) -> None:
        super().__init__(len(diagonal))
        self.diagonal = diagonal  # [n]

    def add(self, step: Doubles, change: Doubles) -> None:
        """Store a step and the change of the gradient, unless the curvature along it is not positive."""
        if _core.dot(step, change) <= 1e-10 * _core.dot(change, change):
            return
        row = self.order.pop(0) if len(self) == MEMORY else len(self)
        self.steps[row], self.changes[row] = step, change
        self.order.append(row)
        scaled, (lengths, mixed) = self.diagonal * step, self.products
        for i in self.order:
            lengths[i, row] = lengths[row, i] = _core.dot(scaled, self.steps[i])
            mixed[i, row] = _core.dot(self.steps[i], change)
            mixed[row, i] = _core.dot(step, self.changes[i])

    def of(self, places: Longs, diagonal: Doubles) -> Curvature:
        """Copy for other weights; ``places`` are their old positions, -1 for new weights."""
        result, used = Curvature(diagonal), places >= 0
        for row in self.order:
            result.add(np.where(used, self.steps[row][places], 0.0), np.where(used, self.changes[row][places], 0.0))
        return result

    def scale(self) -> float:
        """Factor of the diagonal that reproduces the curvature of the last step."""
        if not self.order:
            return 1.0
        newest = self.order[-1]
        change = self.changes[newest]
        return _core.dot(change / self.diagonal, change) / float(self.products[1, newest, newest])

    def step(self, x: Doubles, gradient: Doubles, c1: float, n_threads: int) -> Doubles:
        """Step from x to the minimum of the quadratic model with the penalty."""
        n, scale, age = len(self), self.scale(), np.argsort(self.order)
        lengths, mixed = self.products[:, :n, :n]
        below = np.where(age[:, None] > age[None, :], mixed, 0.0)
        middle = np.block([[scale * lengths, below], [below.T, -np.diag(np.diag(mixed))]])
        return _core.proximal_step(
            x,
            gradient,
            scale * self.diagonal,
            self.steps[:n],
            self.changes[:n],
            _inverse(middle),
            c1,
            SWEEPS,
            SWEEP_TOLERANCE,
            n_threads,
        )


def _inverse(matrix: Doubles) -> Doubles:
    """Invert a small matrix by Gauss-Jordan elimination; unlike with LAPACK, results are the same on all processors."""
    n = len(matrix)
    table = np.hstack([matrix, np.eye(n)])
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(table[i:, i])))
        table[[i, pivot]] = table[[pivot, i]]
        table[i] /= table[i, i]
        rest = np.arange(n) != i
        table[rest] -= table[rest, i, None] * table[i]
    return np.ascontiguousarray(table[:, n:])


class ProximalMinimizer(Minimizer):
    """The state of a minimisation with an L1 penalty. ``value`` includes the penalty, ``gradient`` does not.

    ``measure`` gives the curvature of each weight at x, roughly, all above zero; ``restrict`` gives f as a function of
    the weights that a mask keeps, all others being zero.
    """

    numbers = (*Minimizer.numbers, "looked_at", "nonzero_then", "outside")

    def __init__(
        self,
        x: Doubles,
        c1: float,
        measure: Callable[[Doubles], Doubles],
        restrict: Callable[[Bools], Function],
        n_threads: int = 1,
    ) -> None:
        super().__init__(x, n_threads)
        self.c1, self.measure, self.restrict = c1, measure, restrict
        self.diagonal = np.ones(len(x))  # result of ``measure``, [n]
        self.support = np.arange(len(x))  # [n_kept] weights that were not screened out, as in ``gradient``
        self.function: Function | None = None  # function of these weights; created on demand
        self.looked_at = -1  # iteration of the last check of all weights
        self.nonzero_then = 0
        self.outside = 0.0  # possible decrease of the objective by weights that were screened out

    def start(self, function: Function) -> None:
        """Evaluate the starting point; call once, before the first step."""
        self.diagonal = self.measure(self.x)
        self.pairs = Curvature(self.diagonal)
        self._screen(function)
        self.values = [self.value]

    def slope(self) -> Doubles:
        """The pseudo-gradient of the remaining weights: zero where no direction decreases the objective."""
        x, g, c1 = self.x[self.support], self.gradient, self.c1
        return np.where(x != 0, g + c1 * np.sign(x), np.sign(g) * np.maximum(np.abs(g) - c1, 0.0))

    def has_converged(self, tolerance: float) -> bool:
        """Whether the relative decrease over ten iterations is below ``tolerance``, and no more weights are needed.

        When this first happens, the next step checks all weights; so training ends one iteration later.
        """
        if not super().has_converged(tolerance):
            return False
        if self.iteration > self.looked_at + 1:
            self.looked_at = -1  # check all weights before the next step
            return False
        if self.outside < tolerance * abs(self.value):
            return True
        self.values = [self.value]
        return False

    def step(self, function: Function) -> float:
        """One iteration; gives the length of the step, 0 where no step goes down any more. ``function`` is of all."""
        fewer = 2 * np.count_nonzero(self.x) < self.nonzero_then
        if self.looked_at < 0 or self.iteration >= self.looked_at + PERIOD or fewer:
            self._screen(function)
        if self.function is None:  # after a checkpoint
            self.function = self._restricted(function)
        x, c1 = self.x[self.support], self.c1
        direction = self.pairs.step(x, self.gradient, c1, self.n_threads)
        descent = _core.dot(direction, self.gradient) + c1 * float((np.abs(x + direction) - np.abs(x)).sum())
        length = 1.0
        for _ in range(MAX_TRIALS if descent < 0 else 0):
            point = x + direction if length == 1 else x + length * direction
            value, gradient = self._evaluate(self.function, point)
            if np.isfinite(value) and value <= self.value + SUFFICIENT * length * descent:
                self.pairs.add(point - x, gradient - self.gradient)
                everywhere = np.zeros(len(self.x))
                everywhere[self.support] = point
                self.move(everywhere, value, gradient)
                return length
            length /= 2
        if self.pairs:  # the curvature pairs are misleading: clear them
            self.pairs.clear()
        elif self.looked_at == self.iteration:
            return 0.0
        else:
            self.looked_at = -1
        return self.step(function)

    def _evaluate(self, function: Function, x: Doubles) -> tuple[float, Doubles]:
        value, gradient = function(x)
        return value + self.c1 * float(np.abs(x).sum()), gradient

    def _screen(self, function: Function) -> None:
        """Check all weights; continue with those that are nonzero or have a slope near c1."""
        x = self.x
        self.value, gradient = self._evaluate(function, x)
        steeper = np.maximum(np.abs(gradient) - self.c1, 0.0)  # zero weights: bound of the decrease
        gains = steeper * steeper / (2 * self.pairs.scale() * self.diagonal)
        place = np.full(len(x), -1)
        place[self.support] = np.arange(len(self.support))
        self.outside = float(gains[place < 0].sum())
        mask = (x != 0) | (np.abs(gradient) > SCREEN * self.c1)
        if 2 * np.count_nonzero(mask) > len(x):  # restriction would save little
            mask[:] = True
        self.looked_at, self.nonzero_then = self.iteration, int(np.count_nonzero(x))
        self.support = np.flatnonzero(mask)
        self.gradient = gradient[self.support]
        self.pairs = self.pairs.of(place[self.support], self.diagonal[self.support])
        self.function = self._restricted(function)
        if self.function is not function:  # rounding differs from that of the unrestricted function
            self.value, self.gradient = self._evaluate(self.function, x[self.support])

    def _restricted(self, function: Function) -> Function:
        if len(self.support) == len(self.diagonal):
            return function
        mask = np.zeros(len(self.diagonal), bool)
        mask[self.support] = True
        return self.restrict(mask)

    def state(self) -> Arrays:
        """Everything as arrays: ``restore`` continues with the same bits."""
        return {**super().state(), "kept": self.support, "diagonal": self.diagonal}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from a state; do not call ``start`` again."""
        n, support = len(self.diagonal), array_in(state, "kept", np.int64, None)
        if len(support) and not (support[0] >= 0 and support[-1] < n and (np.diff(support) > 0).all()):
            raise ValueError("weights of unknown features")
        self.support, self.diagonal = support, array_in(state, "diagonal", np.float64, n)
        self.pairs, self.function = Curvature(self.diagonal[support]), None
        super().restore(state)
