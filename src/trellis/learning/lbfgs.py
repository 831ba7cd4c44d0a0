"""L-BFGS, one step at a time, with a state that can be stored in a checkpoint.

SciPy's L-BFGS is not used, because a run that is resumed from a checkpoint must be bit-identical to an uninterrupted
run. For the same reason inner products are summed in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Doubles, array_in

Function = Callable[[Doubles], tuple[float, Doubles]]  # value and gradient of the smooth part

MEMORY = 20  # pairs of steps and gradient changes kept
WINDOW = 10  # iterations over which the objective must still fall
SUFFICIENT, CURVATURE = 1e-4, 0.9  # Wolfe's conditions on a step
NOISE = 1e-7  # relative to the objective: smaller changes of the value are rounding noise; slopes are still reliable
MAX_TRIALS = 20  # evaluations per line search


class StepPairs:
    """The last steps s and gradient changes y with their inner products, which approximate the curvature."""

    memory: ClassVar[int]  # maximum number of pairs
    kind: ClassVar[type[np.generic]]

    def __init__(self, size: int) -> None:
        self.steps = np.empty((self.memory, size), self.kind)  # allocated lazily by the operating system
        self.changes = np.empty((self.memory, size), self.kind)
        self.order: list[int] = []  # rows of the pairs, the oldest first
        self.products = np.zeros((2, self.memory, self.memory))
        self.fresh = False  # whether the newest pair is missing in these products

    def __len__(self) -> int:
        return len(self.order)

    def clear(self) -> None:
        """Forget all pairs."""
        self.order = []

    def state(self) -> Arrays:
        """Everything as arrays: ``restore`` continues with the same bits."""
        n, order = len(self), np.array([*self.order, self.fresh], np.int64)
        return {"steps": self.steps[:n], "changes": self.changes[:n], "order": order, "products": self.products}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore a state; ValueError or LookupError if it is invalid or has another number of weights."""
        *order, fresh = array_in(state, "order", np.int64, None).tolist()
        n, size = len(order), self.steps.shape[1]
        if sorted(order) != list(range(n)):
            raise ValueError("the order does not match the steps")
        for name, rows in (("steps", self.steps), ("changes", self.changes)):
            rows[:n] = array_in(state, name, self.kind, n, size)
        self.order, self.fresh = order, bool(fresh)
        self.products = array_in(state, "products", np.float64, *self.products.shape).copy()


class History(StepPairs):
    """Pairs of steps and gradient changes, and the L-BFGS direction computed from them.

    Vectors are long and memory is what takes time, so a direction reads them twice only: once for all inner products,
    once to add them up. In between, the two loops of L-BFGS run over the vectors' factors (Chen, Wang and Zhou 2014).
    Steps and changes only shape the direction, and are kept in 16 bits (core/history.hpp). The inner products are
    s_i · y_j and y_i · y_j.
    """

    memory, kind = MEMORY, np.uint16

    def add(self, x: Doubles, old_x: Doubles, gradient: Doubles, old_gradient: Doubles) -> None:
        """Store the step to x and the change of the gradient; the oldest pair is dropped if there are too many."""
        full = len(self.order) == MEMORY
        row = self.order.pop(0) if full else len(self.order)
        product, square = _core.remember(x, old_x, gradient, old_gradient, self.steps[row], self.changes[row])
        if product > 1e-10 * square:
            self.order.append(row)
            self.fresh = True
        elif full:  # no positive curvature: skip the pair; its row held the oldest pair
            self.clear()

    def direction(self, slope: Doubles, n_threads: int) -> Doubles:
        """Minus the slope times the inverse Hessian approximated by the pairs."""
        if not self.order:
            return -slope
        n, order, newest = len(self.order), self.order, self.order[-1]
        dots = _core.history_dots(self.steps, self.changes, n, newest, slope, n_threads).reshape(n, 5)
        mixed, curved = self.products[:, :n, :n]
        if self.fresh:
            mixed[:, newest], mixed[newest] = dots[:, 2], dots[:, 4]
            curved[:, newest] = curved[newest] = dots[:, 3]
            self.fresh = False
        if not (mixed[newest, newest] > 0 and curved[newest, newest] > 0):  # rounding errors
            self.clear()
            return -slope
        # q = -slope - sum_j a_j y_j, from the newest pair to the oldest: a_i = s_i · q / s_i · y_i
        # NumPy sums instead of a matrix product: the last bits of a BLAS product depend on the processor.
        a = np.zeros(n)
        for i in reversed(order):
            a[i] = (-dots[i, 0] - (mixed[i] * a).sum()) / mixed[i, i]
        scale = mixed[newest, newest] / curved[newest, newest]
        # r = scale · q + sum_j b_j s_j, from the oldest to the newest: b_i = a_i - y_i · r / s_i · y_i
        b = np.zeros(n)
        for i in order:
            b[i] = a[i] - (scale * (-dots[i, 1] - (curved[i] * a).sum()) + (mixed[:, i] * b).sum()) / mixed[i, i]
        return _core.history_sum(self.steps, self.changes, -scale, slope, b, -scale * a, n_threads)


class Minimizer:
    """The state of a minimisation; ``step`` runs one iteration."""

    numbers: ClassVar[tuple[str, ...]] = ("value", "iteration")  # attributes stored in the state

    def __init__(self, x: Doubles, n_threads: int = 1) -> None:
        self.x, self.n_threads = x, n_threads
        self.pairs: Any = History(len(x))
        self.value = float("inf")
        self.values: list[float] = []  # the last objective values, for the convergence test
        self.gradient = np.empty(0)
        self.iteration = 0

    def start(self, function: Function) -> None:
        """Evaluate the starting point; call once, before the first step."""
        self.value, self.gradient = function(self.x)
        self.values = [self.value]

    def has_converged(self, tolerance: float) -> bool:
        """Whether the objective fell by less than ``tolerance`` of itself over the last ten iterations."""
        return len(self.values) > WINDOW and self.values[0] - self.value < tolerance * abs(self.value)

    def state(self) -> Arrays:
        """Everything as arrays: ``restore`` continues with the same bits."""
        numbers, values = np.array([getattr(self, name) for name in self.numbers], np.float64), np.array(self.values)
        return {"x": self.x, "gradient": self.gradient, "values": values, "numbers": numbers, **self.pairs.state()}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from a state; do not call ``start`` again."""
        self.pairs.restore(state)
        self.x = array_in(state, "x", np.float64, len(self.x))
        self.gradient = array_in(state, "gradient", np.float64, self.pairs.steps.shape[1])
        self.values = array_in(state, "values", np.float64, None).tolist()
        numbers = array_in(state, "numbers", np.float64, len(self.numbers)).tolist()
        for name, number in zip(self.numbers, numbers, strict=True):
            setattr(self, name, type(getattr(self, name))(number))

    def slope(self) -> Doubles:
        """The gradient."""
        return self.gradient

    def step(self, function: Function) -> float:
        """Run one iteration and return the length of the step; 0 if no step decreases the objective."""
        slope = self.gradient
        direction = self.pairs.direction(slope, self.n_threads)
        descent = _core.dot(direction, slope)
        if descent >= 0:
            self.pairs.clear()
            direction, descent = -slope, -_core.dot(slope, slope)
            if descent == 0:
                return 0.0
        first = 1.0 if self.pairs else min(1.0, 1.0 / np.sqrt(-descent))
        length, x, value, gradient = self._search(function, direction, descent, first)
        if length == 0 and self.pairs:  # the curvature pairs are misleading: clear them and use steepest descent
            self.pairs.clear()
            return self.step(function)
        if length == 0:
            return 0.0
        self.pairs.add(x, self.x, gradient, self.gradient)
        self.move(x, value, gradient)
        return length

    def move(self, x: Doubles, value: float, gradient: Doubles) -> None:
        """End an iteration; the next one starts at x."""
        self.x, self.value, self.gradient = x, value, gradient
        self.values = [*self.values[-WINDOW:], value]
        self.iteration += 1

    def _search(
        self, function: Function, direction: Doubles, descent: float, first: float
    ) -> tuple[float, Doubles, float, Doubles]:
        """Find a step that satisfies Wolfe's conditions by bisection."""
        low, high, length = 0.0, float("inf"), first
        best = (0.0, self.x, self.value, self.gradient)
        for _ in range(MAX_TRIALS):
            x = length * direction
            x += self.x
            value, gradient = function(x)
            end = _core.dot(gradient, direction) if np.isfinite(value) else np.inf
            falls = value <= self.value + SUFFICIENT * length * descent
            # Near the minimum values are dominated by rounding: test the slope instead (Hager and Zhang 2005).
            level = value <= self.value + NOISE * abs(self.value) and end <= (2 * SUFFICIENT - 1) * descent
            if not np.isfinite(value) or not (falls or level):
                high = length
            else:
                best = (length, x, value, gradient)
                if end >= CURVATURE * descent:
                    return best
                low = length
            length = 2 * low if high == float("inf") else (low + high) / 2
        return best
