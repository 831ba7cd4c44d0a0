"""The one loop for all learners that go by gradients of the whole corpus."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from trellis import _core
from trellis.errors import LearnerError
from trellis.learning.events import Event, Observer
from trellis.learning.lbfgs import Floats, Function, Minimizer
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem
from trellis.learning.progress import State, begin, go_on, stopping
from trellis.learning.stochastic import Passes
from trellis.model.weights import ChainWeights


def log_loss(problem: Problem, objective: _core.Objective, c2: float) -> Function:
    """sum_i weight_i · loss_i + c2 · |w|², with its gradient: the same for whole paths and for local decisions."""

    def function(x: Floats) -> tuple[float, Floats]:
        losses, gradient = objective.gradient(x, problem.sentence_weights, problem.n_threads)
        _core.add_scaled(gradient, 2 * c2, x)
        return float(problem.weigh(losses).sum()) + c2 * _core.dot(x, x), gradient

    return function


class Descent:
    """Where a minimisation stands: first some passes of AdaGrad (``warm_up``, which may be 0), then L-BFGS.

    From zero L-BFGS takes some forty gradients to get where three stochastic passes get, each of which costs about
    four. What it is worth is in docs/performance.md.
    """

    def __init__(
        self,
        start: Floats,
        function: Function,
        c1: float,
        n_threads: int,
        passes: Passes | None,
        warm_up: int,
    ) -> None:
        self.minimizer = Minimizer(start, c1, n_threads)
        self.squares = np.ones(len(start)) if passes is not None and warm_up else np.empty(0)
        self.function, self.passes, self.warm_up = function, passes, warm_up

    @property
    def x(self) -> Floats:
        """The parameters."""
        return self.minimizer.x

    def restore(self, saved: State) -> None:
        """Go on from what ``state`` gave."""
        if "squares" in saved:
            self.minimizer.x, self.squares = saved["x"], saved["squares"]
        else:
            self.minimizer = Minimizer.restore(saved, self.minimizer.n_threads)

    def state(self) -> State:
        """All there is to know, as arrays."""
        return self.minimizer.state() if self.minimizer.values else {"x": self.x, "squares": self.squares}

    def step(self, number: int, tolerance: float) -> Step | None:
        """Iteration ``number``; None where there is nothing to gain any more."""
        minimizer = self.minimizer
        if self.passes is not None and number <= self.warm_up:
            # Long steps first; short ones in the last pass, which take out the noise of the others.
            times = 0.5 if number == self.warm_up and number > 1 else 1.5
            value = self.passes.take(number, minimizer.x, self.squares, times)
            _check_finite(value)
            return Step(value)
        if not minimizer.values:
            self.squares = np.empty(0)
            minimizer.start(self.function)
            _check_finite(minimizer.value)
        if minimizer.has_converged(tolerance):
            return None
        length = minimizer.step(self.function)
        if length == 0:
            return None
        slope = minimizer.slope()
        return Step(minimizer.value, length, math.sqrt(_core.dot(slope, slope)))


@dataclass(frozen=True, slots=True)
class Step:
    """What an iteration came to; a stochastic pass has no single gradient and length."""

    value: float
    length: float | None = None
    gradient_norm: float | None = None


def minimize(
    problem: Problem,
    parameters: Parameters,
    function: Function,
    *,
    c1: float,
    epochs: int,
    tolerance: float,
    observer: Observer | None,
    passes: Passes | None = None,
    warm_up: int = 0,
) -> tuple[ChainWeights, list[Event]]:
    """Go down until the objective falls by less than ``tolerance`` of itself over ten iterations."""
    if problem.initial is not None:  # where there are weights already, they are the start
        warm_up = 0
    descent = Descent(parameters.start(problem), function, c1, problem.n_threads, passes, warm_up)
    progress = begin(problem, descent.restore)
    with stopping():
        for number in range(progress.done + 1, epochs + 1):
            begun = time.perf_counter()
            step = descent.step(number, tolerance)
            if step is None:
                break
            event = Event(
                epoch=number,
                epochs=epochs,
                tokens=len(problem.gold),
                seconds=time.perf_counter() - begun,
                objective=step.value,
                gradient_norm=step.gradient_norm,
                step=step.length,
                nonzero=int(np.count_nonzero(descent.x)),
            )
            if not go_on(
                problem,
                progress,
                event,
                lambda: parameters.weights(descent.x, problem),
                descent.state,
                observer,
            ):
                break
    return progress.best or parameters.weights(descent.x, problem), progress.history


def _check_finite(value: float) -> None:
    if not np.isfinite(value):
        raise LearnerError("the gold labels of some sentence are forbidden; allow them or leave it out")
