"""L-BFGS, one step at a time, with a state that a checkpoint can hold.

Written out here, and not SciPy's, because a run that was stopped and resumed must give the same bits as one that was
not; inner products are summed in a fixed order for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Doubles, array_in

Function = Callable[[Doubles], tuple[float, Doubles]]  # the smooth part: value and gradient

MEMORY = 20  # pairs of steps and gradient changes kept
WINDOW = 10  # iterations over which the objective must still fall
SUFFICIENT, CURVATURE = 1e-4, 0.9  # Wolfe's conditions on a step
NOISE = 1e-7  # of the objective: below it values tell nothing of a step, but slopes still do
MAX_TRIALS = 20  # of one line search


class History:
    """The last steps s and changes of the gradient y, and what they tell of the curvature.

    Vectors are long and memory is what takes time, so a direction reads them twice only: once for all inner products,
    once to add them up. In between, the two loops of L-BFGS run over the vectors' factors (Chen, Wang and Zhou 2014).
    Steps and changes only shape the direction, and are kept in 16 bits (core/history.hpp).
    """

    def __init__(self, size: int) -> None:
        self.steps = np.empty((MEMORY, size), np.uint16)  # memory that is not yet written to is not yet taken
        self.changes = np.empty((MEMORY, size), np.uint16)
        self.order: list[int] = []  # rows of the pairs, the oldest first
        self.mixed = np.zeros((MEMORY, MEMORY))  # s_i · y_j
        self.curved = np.zeros((MEMORY, MEMORY))  # y_i · y_j
        self.fresh = False  # whether the newest pair is not yet in these

    def __len__(self) -> int:
        return len(self.order)

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

    def clear(self) -> None:
        """Forget all pairs."""
        self.order = []

    def direction(self, slope: Doubles, n_threads: int) -> Doubles:
        """Minus the slope times the inverse Hessian that the pairs tell."""
        if not self.order:
            return -slope
        n, order, newest = len(self.order), self.order, self.order[-1]
        dots = _core.history_dots(self.steps, self.changes, n, newest, slope, n_threads).reshape(n, 5)
        if self.fresh:
            self.mixed[:n, newest], self.mixed[newest, :n] = dots[:, 2], dots[:, 4]
            self.curved[:n, newest] = self.curved[newest, :n] = dots[:, 3]
            self.fresh = False
        mixed, curved = self.mixed[:n, :n], self.curved[:n, :n]
        if not (mixed[newest, newest] > 0 and curved[newest, newest] > 0):  # lost by rounding
            self.clear()
            return -slope
        # q = -slope - sum_j a_j y_j, from the newest pair to the oldest: a_i = s_i · q / s_i · y_i
        a = np.zeros(n)
        for i in reversed(order):
            a[i] = (-dots[i, 0] - mixed[i] @ a) / mixed[i, i]
        scale = mixed[newest, newest] / curved[newest, newest]
        # r = scale · q + sum_j b_j s_j, from the oldest to the newest: b_i = a_i - y_i · r / s_i · y_i
        b = np.zeros(n)
        for i in order:
            b[i] = a[i] - (scale * (-dots[i, 1] - curved[i] @ a) + mixed[:, i] @ b) / mixed[i, i]
        return _core.history_sum(self.steps, self.changes, -scale, slope, b, -scale * a, n_threads)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All there is to know, as arrays: ``restore`` goes on with the same bits."""
        n = len(self.order)
        return {
            "steps": self.steps[:n],
            "changes": self.changes[:n],
            "order": np.array([*self.order, self.fresh], np.float64),
            "products": np.stack([self.mixed, self.curved]),
        }

    @classmethod
    def restore(cls, state: Mapping[str, npt.NDArray[Any]]) -> History:
        """The history whose ``state`` this is."""
        steps = array_in(state, "steps", np.uint16, None, None)
        n, history = len(steps), cls(steps.shape[1])
        history.steps[:n], history.changes[:n] = steps, array_in(state, "changes", np.uint16, *steps.shape)
        *order, fresh = array_in(state, "order", np.float64, n + 1).tolist()
        if sorted(order) != list(range(n)):
            raise ValueError("an order of other steps")
        history.order, history.fresh = [int(i) for i in order], bool(fresh)
        history.mixed, history.curved = array_in(state, "products", np.float64, 2, *history.mixed.shape).copy()
        return history


@dataclass(slots=True)
class Minimizer:
    """The state of a minimisation; ``step`` goes on by one iteration."""

    x: Doubles
    n_threads: int = 1
    value: float = float("inf")
    gradient: Doubles = field(default_factory=lambda: np.empty(0))
    history: History = field(init=False)
    iteration: int = 0
    values: list[float] = field(default_factory=list)  # the last ones, to see whether it still falls

    def __post_init__(self) -> None:
        self.history = History(len(self.x))

    def start(self, function: Function, x: Doubles | None = None) -> None:
        """Evaluate where it begins; once, before the first step."""
        self.x = self.x if x is None else x
        self.value, self.gradient = function(self.x)
        self.values = [self.value]

    def has_converged(self, tolerance: float) -> bool:
        """Whether the objective fell by less than ``tolerance`` of itself over the last ten iterations."""
        return len(self.values) > WINDOW and self.values[0] - self.value < tolerance * abs(self.value)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All there is to know, as arrays: ``restore`` goes on with the same bits."""
        return {
            "x": self.x,
            "gradient": self.gradient,
            "values": np.array(self.values, np.float64),
            "numbers": np.array([self.value, self.iteration], np.float64),
            **self.history.state(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from there; ``start`` is not to be called again."""
        value, iteration = array_in(state, "numbers", np.float64, 2).tolist()
        n = len(self.x)
        self.x, self.gradient = (array_in(state, name, np.float64, n) for name in ("x", "gradient"))
        self.value, self.history = value, History.restore(state)
        if self.history.steps.shape[1] != n:
            raise ValueError("steps of another number of weights")
        self.iteration = int(iteration)
        self.values = array_in(state, "values", np.float64, None).tolist()

    def slope(self) -> Doubles:
        """The gradient."""
        return self.gradient

    def step(self, function: Function) -> float:
        """One iteration; gives the length of the step, 0 where no step goes down any more."""
        slope = self.gradient
        direction = self.history.direction(slope, self.n_threads)
        descent = _core.dot(direction, slope)
        if descent >= 0:
            self.history.clear()
            direction, descent = -slope, -_core.dot(slope, slope)
            if descent == 0:
                return 0.0
        first = 1.0 if self.history else min(1.0, 1.0 / np.sqrt(-descent))
        length, x, value, gradient = self._search(function, direction, descent, first)
        if length == 0 and self.history:  # what was remembered misleads: forget it and go down the slope
            self.history.clear()
            return self.step(function)
        if length == 0:
            return 0.0
        self.history.add(x, self.x, gradient, self.gradient)
        self.x, self.value, self.gradient = x, value, gradient
        self.values = [*self.values[-WINDOW:], value]
        self.iteration += 1
        return length

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
