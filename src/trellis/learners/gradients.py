"""The one loop for all learners that go by gradients of the whole corpus."""

from __future__ import annotations

import time

import numpy as np

from trellis import _core
from trellis.engine.weights import ChainWeights
from trellis.errors import LearnerError
from trellis.learners.events import Event, Observer
from trellis.learners.lbfgs import Floats, Function, Minimizer
from trellis.learners.parameters import Parameters
from trellis.learners.problem import Problem
from trellis.learners.progress import State, begin, go_on, stopping


def log_loss(problem: Problem, objective: _core.Objective, c2: float) -> Function:
    """sum_i weight_i · loss_i + c2 · |w|², with its gradient: the same for whole paths and for local decisions."""

    def function(x: Floats) -> tuple[float, Floats]:
        losses, gradient = objective.gradient(x, problem.sentence_weights, problem.n_threads)
        gradient += (2 * c2) * x
        return float(problem.weigh(losses).sum()) + c2 * _core.dot(x, x), gradient

    return function


def minimize(
    problem: Problem,
    parameters: Parameters,
    function: Function,
    *,
    c1: float,
    iterations: int,
    tolerance: float,
    observer: Observer | None,
) -> tuple[ChainWeights, list[Event]]:
    """Go down until the objective falls by less than ``tolerance`` of itself over ten iterations."""
    state = Minimizer(parameters.start(problem), c1)

    def restore(saved: State) -> None:
        nonlocal state
        state = Minimizer.restore(saved)

    progress = begin(problem, restore)
    if progress.done == 0:
        state.start(function)
        if not np.isfinite(state.value):
            raise LearnerError("the gold labels of some sentence are forbidden; allow them or leave it out")
    with stopping():
        while state.iteration < iterations and not state.has_converged(tolerance):
            begun = time.perf_counter()
            length = state.step(function)
            if length == 0:
                break
            event = Event(
                epoch=state.iteration,
                epochs=iterations,
                tokens=len(problem.gold),
                seconds=time.perf_counter() - begun,
                objective=state.value,
                gradient_norm=float(np.sqrt(np.square(state.slope()).sum())),
                step=length,
                nonzero=int(np.count_nonzero(state.x)),
            )
            if not go_on(
                problem,
                progress,
                event,
                lambda: parameters.weights(state.x, problem),
                lambda: state.state(),
                observer,
            ):
                break
    return progress.best or parameters.weights(state.x, problem), progress.history
