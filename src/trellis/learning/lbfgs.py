"""L-BFGS, one step at a time, with a state that a checkpoint can hold.

Written out here, and not SciPy's, because a run that was stopped and resumed must give the same bits as one that was
not; inner products are summed in a fixed order for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Doubles, array_in

Function = Callable[[Doubles], tuple[float, Doubles]]  # the smooth part: value and gradient

MEMORY = 20  # pairs of steps and gradient changes kept
WINDOW = 10  # iterations over which the objective must still fall
SUFFICIENT, CURVATURE = 1e-4, 0.9  # Wolfe's conditions on a step
NOISE = 1e-7  # of the objective: below it values tell nothing of a step, but slopes still do
MAX_TRIALS = 20  # of one line search


class StepPairs:
    """The last steps s and changes of the gradient y, with their inner products: what is known of the curvature."""

    memory: ClassVar[int]  # at most so many
    kind: ClassVar[type[np.generic]]

    def __init__(self, size: int) -> None:
        self.steps = np.empty((self.memory, size), self.kind)  # memory that is not yet written to is not yet taken
        self.changes = np.empty((self.memory, size), self.kind)
        self.order: list[int] = []  # rows of the pairs, the oldest first
        self.products = np.zeros((2, self.memory, self.memory))
        self.fresh = False  # whether the newest pair is not yet in these

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
        """Take over such a state; ValueError or LookupError if it is not one of as many weights."""
        *order, fresh = array_in(state, "order", np.int64, None).tolist()
        n, size = len(order), self.steps.shape[1]
        if sorted(order) != list(range(n)):
            raise ValueError("the order does not match the steps")
        for name, rows in (("steps", self.steps), ("changes", self.changes)):
            rows[:n] = array_in(state, name, self.kind, n, size)
        self.order, self.fresh = order, bool(fresh)
        self.products = array_in(state, "products", np.float64, *self.products.shape).copy()


class History(StepPairs):
    """Pairs of steps and changes that give the direction of L-BFGS.

    Vectors are long and memory is what takes time, so a direction reads them twice only: once for all inner products,
    once to add them up. In between, the two loops of L-BFGS run over the vectors' factors (Chen, Wang and Zhou 2014).
    Steps and changes only shape the direction, and are kept in 16 bits (core/history.hpp). The inner products are
    s_i · y_j and y_i · y_j.
    """

    memory, kind = MEMORY, np.uint16

    def add(self, x: Doubles, old_x: Doubles, gradient: Doubles, old_gradient: Doubles) -> None:
        """Remember the step to x and how the gradient changed by it; the oldest goes when there are too many."""
        full = len(self.order) == MEMORY
        row = self.order.pop(0) if full else len(self.order)
        product, square = _core.remember(x, old_x, gradient, old_gradient, self.steps[row], self.changes[row])
        if product > 1e-10 * square:
            self.order.append(row)
            self.fresh = True
        elif full:  # it tells nothing of the curvature, and its row was that of the oldest
            self.clear()

    def direction(self, slope: Doubles, n_threads: int) -> Doubles:
        """Minus the slope times the inverse Hessian that the pairs tell."""
        if not self.order:
            return -slope
        n, order, newest = len(self.order), self.order, self.order[-1]
        dots = _core.history_dots(self.steps, self.changes, n, newest, slope, n_threads).reshape(n, 5)
        mixed, curved = self.products[:, :n, :n]
        if self.fresh:
            mixed[:, newest], mixed[newest] = dots[:, 2], dots[:, 4]
            curved[:, newest] = curved[newest] = dots[:, 3]
            self.fresh = False
        if not (mixed[newest, newest] > 0 and curved[newest, newest] > 0):  # lost by rounding
            self.clear()
            return -slope
        # q = -slope - sum_j a_j y_j, from the newest pair to the oldest: a_i = s_i · q / s_i · y_i
        # Sums by NumPy alone: the last bits of a product of its library for matrices depend on the processor.
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
    """The state of a minimisation; ``step`` goes on by one iteration."""

    numbers: ClassVar[tuple[str, ...]] = ("value", "iteration")  # attributes that are in the state

    def __init__(self, x: Doubles, n_threads: int = 1) -> None:
        self.x, self.n_threads = x, n_threads
        self.pairs: Any = History(len(x))
        self.value = float("inf")
        self.values: list[float] = []  # the last ones, to see whether it still falls
        self.gradient = np.empty(0)
        self.iteration = 0

    def start(self, function: Function) -> None:
        """Evaluate where it begins; once, before the first step."""
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
        """Continue from there; ``start`` is not to be called again."""
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
        """One iteration; gives the length of the step, 0 where no step goes down any more."""
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
        if length == 0 and self.pairs:  # what was remembered misleads: forget it and go down the slope
            self.pairs.clear()
            return self.step(function)
        if length == 0:
            return 0.0
        self.pairs.add(x, self.x, gradient, self.gradient)
        self.move(x, value, gradient)
        return length

    def move(self, x: Doubles, value: float, gradient: Doubles) -> None:
        """The end of an iteration: the next one begins at x."""
        self.x, self.value, self.gradient = x, value, gradient
        self.values = [*self.values[-WINDOW:], value]
        self.iteration += 1

    def _search(
        self, function: Function, direction: Doubles, descent: float, first: float
    ) -> tuple[float, Doubles, float, Doubles]:
        """A step that goes down enough and flattens the slope enough: bisection between too short and too long."""
        low, high, length = 0.0, float("inf"), first
        best = (0.0, self.x, self.value, self.gradient)
        for _ in range(MAX_TRIALS):
            x = length * direction
            x += self.x
            value, gradient = function(x)
            end = _core.dot(gradient, direction) if np.isfinite(value) else np.inf
            falls = value <= self.value + SUFFICIENT * length * descent
            # Near the bottom, where values are all noise: the slope says the same (Hager and Zhang 2005).
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
