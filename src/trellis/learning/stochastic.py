"""AdaGrad: stochastic gradients, each weight with a rate of its own. Good after few passes, never quite the best.

Duchi, Hazan and Singer 2011; the L1 penalty is taken after the step, so that weights become exactly zero.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.learning.events import Event, Observer
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem
from trellis.learning.progress import State, begin, go_on, stopping
from trellis.model.weights import ChainWeights

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes of AdaGrad over the sentences of a problem, shuffled anew for each by ``seed``."""

    problem: Problem
    objective: _core.Objective
    c1: float
    c2: float
    rate: float
    seed: int

    def take(self, number: int, x: Floats, squares: Floats, times: float = 1.0) -> float:
        """Pass ``number``, changing x and squares; steps are ``times`` as long. Gives the objective.

        It is the sum of each sentence's loss as it was met, so more than that of the weights after the pass.
        """
        order = _core.shuffled(self.problem.n_sentences, (self.seed * 1_000_003 + number) % 2**64)
        losses = self.objective.one_pass(
            x, squares, order, self.problem.sentence_weights, times * self.rate, self.c1, self.c2
        )
        penalty = self.c2 * _core.dot(x, x) + self.c1 * float(np.abs(x).sum())
        return float(self.problem.weigh(losses).sum()) + penalty


def run_passes(
    passes: Passes, parameters: Parameters, epochs: int, observer: Observer | None
) -> tuple[ChainWeights, list[Event]]:
    """So many passes; with a dev corpus the weights of the best one are kept."""
    problem = passes.problem
    x = parameters.start(problem)
    squares = np.ones(len(x))

    def restore(saved: State) -> None:
        x[:], squares[:] = saved["x"], saved["squares"]

    progress = begin(problem, restore)
    with stopping():
        for number in range(progress.done + 1, epochs + 1):
            begun = time.perf_counter()
            value = passes.take(number, x, squares)
            event = Event(
                epoch=number,
                epochs=epochs,
                tokens=len(problem.gold),
                seconds=time.perf_counter() - begun,
                objective=value,
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
