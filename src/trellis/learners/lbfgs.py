"""L-BFGS, and OWL-QN for an L1 penalty: one step at a time, with a state that can be kept and taken up again.

Written out here, and not SciPy's, because a run that was stopped and resumed must give the same bits as one that was
not; inner products are summed in a fixed order for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trellis import _core

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats]]  # the smooth part: value and gradient

MEMORY = 10  # pairs of steps and gradient changes kept
WINDOW = 10  # iterations over which the objective must still fall
SUFFICIENT, CURVATURE = 1e-4, 0.9  # Wolfe's conditions on a step
MAX_TRIALS = 20  # of one line search


@dataclass(slots=True)
class Minimizer:
    """The state of a minimisation of f(x) + c1 · |x|_1; ``step`` goes on by one iteration."""

    x: Floats
    c1: float = 0.0
    value: float = float("inf")  # with the penalty
    gradient: Floats = field(default_factory=lambda: np.empty(0))  # of the smooth part
    steps: list[Floats] = field(default_factory=list)
    changes: list[Floats] = field(default_factory=list)
    iteration: int = 0
    evaluations: int = 0
    values: list[float] = field(default_factory=list)  # the last ones, to see whether it still falls

    def start(self, function: Function) -> None:
        """Evaluate where it stands; once, before the first step."""
        self.value, self.gradient = self._evaluate(function, self.x)
        self.values = [self.value]

    def has_converged(self, tolerance: float) -> bool:
        """Whether the objective fell by less than ``tolerance`` of itself over the last ten iterations."""
        return len(self.values) > WINDOW and self.values[0] - self.value < tolerance * abs(self.value)

    def state(self) -> dict[str, npt.NDArray[np.float64]]:
        """All there is to know, as arrays: ``restore`` goes on with the same bits."""
        size = len(self.x)
        return {
            "x": self.x,
            "gradient": self.gradient,
            "steps": np.array(self.steps, np.float64).reshape(-1, size),
            "changes": np.array(self.changes, np.float64).reshape(-1, size),
            "values": np.array(self.values, np.float64),
            "numbers": np.array([self.c1, self.value, self.iteration, self.evaluations], np.float64),
        }

    @classmethod
    def restore(cls, state: Mapping[str, npt.NDArray[np.float64]]) -> Minimizer:
        """The minimisation whose ``state`` this is; ``start`` is not to be called again."""
        c1, value, iteration, evaluations = state["numbers"].tolist()
        return cls(
            state["x"],
            c1,
            value,
            state["gradient"],
            list(state["steps"]),
            list(state["changes"]),
            int(iteration),
            int(evaluations),
            state["values"].tolist(),
        )

    def slope(self) -> Floats:
        """The gradient; with an L1 penalty the pseudo-gradient, zero where no direction goes down."""
        if self.c1 == 0:
            return self.gradient
        x, g, c1 = self.x, self.gradient, self.c1
        at_zero = np.where(g + c1 < 0, g + c1, np.where(g - c1 > 0, g - c1, 0.0))
        return np.where(x != 0, g + c1 * np.sign(x), at_zero)

    def step(self, function: Function) -> float:
        """One iteration; gives the length of the step, 0 where no step goes down any more."""
        slope = self.slope()
        direction = self._direction(slope)
        if self.c1:
            direction[direction * slope >= 0] = 0.0  # OWL-QN: never against the pseudo-gradient
        descent = _core.dot(direction, slope)
        if descent >= 0:
            self.steps.clear()
            self.changes.clear()
            direction, descent = -slope, -_core.dot(slope, slope)
            if descent == 0:
                return 0.0
        first = 1.0 if self.steps else min(1.0, 1.0 / np.sqrt(-descent))
        search = self._search_orthant if self.c1 else self._search_wolfe
        length, x, value, gradient = search(function, direction, slope, descent, first)
        if length == 0 and self.steps:  # what was remembered misleads: forget it and go down the slope
            self.steps.clear()
            self.changes.clear()
            return self.step(function)
        if length == 0:
            return 0.0
        taken, change = x - self.x, gradient - self.gradient
        if _core.dot(taken, change) > 1e-10 * _core.dot(change, change):
            self.steps.append(taken)
            self.changes.append(change)
            del self.steps[:-MEMORY], self.changes[:-MEMORY]
        self.x, self.value, self.gradient = x, value, gradient
        self.values = [*self.values[-WINDOW:], value]
        self.iteration += 1
        return length

    def _direction(self, slope: Floats) -> Floats:
        """Minus the slope times the inverse Hessian that the last steps tell (two loops)."""
        q = -slope
        curvatures = [_core.dot(s, y) for s, y in zip(self.steps, self.changes, strict=True)]
        factors = [0.0] * len(curvatures)
        for i in reversed(range(len(curvatures))):
            factors[i] = _core.dot(self.steps[i], q) / curvatures[i]
            _core.add_scaled(q, -factors[i], self.changes[i])
        if curvatures:
            q *= curvatures[-1] / _core.dot(self.changes[-1], self.changes[-1])
        for i in range(len(curvatures)):
            _core.add_scaled(q, factors[i] - _core.dot(self.changes[i], q) / curvatures[i], self.steps[i])
        return q

    def _evaluate(self, function: Function, x: Floats) -> tuple[float, Floats]:
        value, gradient = function(x)
        self.evaluations += 1
        return value + (self.c1 * float(np.abs(x).sum()) if self.c1 else 0.0), gradient

    def _search_wolfe(
        self, function: Function, direction: Floats, slope: Floats, descent: float, first: float
    ) -> tuple[float, Floats, float, Floats]:
        """A step that goes down enough and flattens the slope enough: bisection between too short and too long."""
        low, high, length = 0.0, float("inf"), first
        best = (0.0, self.x, self.value, self.gradient)
        for _ in range(MAX_TRIALS):
            x = self.x + length * direction
            value, gradient = self._evaluate(function, x)
            if not np.isfinite(value) or value > self.value + SUFFICIENT * length * descent:
                high = length
            else:
                best = (length, x, value, gradient)
                if _core.dot(gradient, direction) >= CURVATURE * descent:
                    return best
                low = length
            length = 2 * low if high == float("inf") else (low + high) / 2
        return best

    def _search_orthant(
        self, function: Function, direction: Floats, slope: Floats, descent: float, first: float
    ) -> tuple[float, Floats, float, Floats]:
        """A step that stays in the orthant it begins in (OWL-QN), halved until it goes down enough."""
        orthant = np.where(self.x != 0, np.sign(self.x), -np.sign(slope))
        length = first
        for _ in range(MAX_TRIALS):
            x = self.x + length * direction
            x[x * orthant < 0] = 0.0
            value, gradient = self._evaluate(function, x)
            if np.isfinite(value) and value <= self.value + SUFFICIENT * _core.dot(slope, x - self.x):
                return length, x, value, gradient
            length /= 2
        return 0.0, self.x, self.value, self.gradient
