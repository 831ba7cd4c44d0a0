"""AdaGrad: stochastic gradients, each weight with a rate of its own. Good after few passes, never quite the best.

Duchi, Hazan and Singer 2011; the L1 penalty is taken after the step, so that weights become exactly zero.
"""

from __future__ import annotations

import time

import numpy as np

from trellis import _core
from trellis.engine.weights import ChainWeights
from trellis.learners.events import Event, Observer
from trellis.learners.parameters import Parameters
from trellis.learners.problem import Problem
from trellis.learners.progress import State, begin, go_on, stopping


def run_passes(
    problem: Problem,
    parameters: Parameters,
    objective: _core.Objective,
    *,
    c1: float,
    c2: float,
    rate: float,
    epochs: int,
    seed: int,
    observer: Observer | None,
) -> tuple[ChainWeights, list[Event]]:
    """Pass over the sentences, shuffled anew each time; with a dev corpus the weights of the best epoch are kept."""
    x = parameters.start(problem)
    squares = np.ones(len(x))

    def restore(saved: State) -> None:
        x[:], squares[:] = saved["x"], saved["squares"]

    progress = begin(problem, restore)
    with stopping():
        for number in range(progress.done + 1, epochs + 1):
            begun = time.perf_counter()
            order = _core.shuffled(problem.n_sentences, (seed * 1_000_003 + number) % 2**64)
            losses = objective.one_pass(x, squares, order, problem.sentence_weights, rate, c1, c2)
            seconds = time.perf_counter() - begun
            penalty = c2 * _core.dot(x, x) + c1 * float(np.abs(x).sum())
            event = Event(
                epoch=number,
                epochs=epochs,
                tokens=len(problem.gold),
                seconds=seconds,
                # each sentence's loss as it was met, so more than the sum after the pass
                objective=float(problem.weigh(losses).sum()) + penalty,
                nonzero=int(np.count_nonzero(x)),
            )
            if not go_on(
                problem,
                progress,
                event,
                lambda: parameters.weights(x, problem),
                lambda: {"x": x, "squares": squares},
                observer,
            ):
                break
    return progress.best or parameters.weights(x, problem), progress.history
