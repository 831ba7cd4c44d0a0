"""Maximum entropy taggers (Ratnaparkhi 1996; Collins 2002, section 2.3), also called MEMM: one decision a token.

Advantages: probabilities; quick to train, as no sum over paths is needed. Disadvantage: a label with few successors
ignores what is observed after it (label bias); the CRF is better and no slower to tag with.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from trellis import _core
from trellis.arrays import Lists
from trellis.errors import LearnerError
from trellis.learning.checks import check_at_least, check_choice
from trellis.learning.events import Event, Observer
from trellis.learning.gradients import log_loss, minimize
from trellis.learning.lbfgs import Floats
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem
from trellis.learning.progress import State, begin, go_on, stopping
from trellis.model.weights import ChainWeights


@dataclass(frozen=True, slots=True)
class MaxEnt:
    """Minimise -sum_t log p(gold_t | the gold labels before it, observations) + c2 · |w|².

    p is proportional to exp of the sum of weights of label and observations, label and previous label, and at order 2
    of the last three labels. ``solver="gis"`` is Generalized Iterative Scaling, ``epochs`` of it;
    ``solver="lbfgs"`` stops by ``tolerance``. The other parameters are those of the CRF.
    """

    c2: float = 1.0
    solver: Literal["lbfgs", "gis"] = "lbfgs"
    epochs: int = 1000
    tolerance: float = 1e-5
    transitions: Literal["seen", "all"] = "seen"
    start: bool = True
    precision: Literal["single", "double"] = "double"

    default_pairs: ClassVar[str] = "seen"
    family: ClassVar[str] = "local"

    def __post_init__(self) -> None:
        check_at_least(self, 0, "c2", "tolerance")
        check_at_least(self, 1, "epochs")
        check_choice(self, "solver", "lbfgs", "gis")
        check_choice(self, "transitions", "seen", "all")
        check_choice(self, "precision", "single", "double")

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        if problem.partial is not None:
            raise LearnerError("MaxEnt decides given the labels before, so it needs all of them; use CRF")
        parameters = Parameters.of(problem, transitions=self.transitions, start=self.start)
        objective = parameters.objective(problem, local=True, single=self.precision == "single")
        if self.solver == "gis":
            scaling = IterativeScaling(problem, parameters, objective, self.c2)
            return scaling.run(self.epochs, observer)

        return minimize(
            problem,
            parameters,
            log_loss(problem, objective, self.c2),
            c1=0.0,
            epochs=self.epochs,
            tolerance=self.tolerance,
            observer=observer,
        )


class IterativeScaling:
    """Generalized Iterative Scaling (Darroch and Ratcliff 1972), every feature in parallel:

        w_s += 1/C · log( count of s in training / expected count of s )

    C is the largest number of features of one decision. The correction feature, C minus the number of features, makes
    them sum to C always. Its weight v adds v · (C - sum_s f_s), a constant less v for each feature: so the score is
    that of weights w_s - v, and no model needs the feature itself.

    With a Gaussian prior the step d solves count = expected · exp(C d) + 2 c2 (w + d) instead (Chen and Rosenfeld
    1999), without a correction, which is not needed for the objective to fall (Curran and Clark 2003).
    """

    def __init__(
        self, problem: Problem, parameters: Parameters, objective: _core.Objective, c2: float
    ) -> None:
        self.problem, self.parameters, self.objective, self.c2 = problem, parameters, objective, c2
        if any((lists[2] < 0).any() for lists in _lists(problem)):
            raise LearnerError("iterative scaling needs values that are not negative; use solver='lbfgs'")
        self.counts = parameters.gold_counts(problem)
        # Without a prior a feature never seen would go to minus infinity: it stays at 0.
        self.alive = self.counts > 0 if c2 == 0 else np.ones(len(self.counts), bool)
        self.most = _most_features(problem)
        self.decisions = float(problem.token_weights().sum())
        self.w = parameters.start(problem) * self.alive
        self.v = 0.0

    def evaluate(self) -> tuple[float, Floats]:
        """The loss with its penalty, and how often each feature is expected."""
        x = self.vector()
        losses, gradient = self.objective.gradient(x, self.problem.sentence_weights, self.problem.n_threads)
        loss = float(self.problem.weigh(losses).sum()) + self.c2 * _core.dot(x, x)
        return loss, np.maximum(self.counts + gradient, 1e-300)

    def vector(self) -> Floats:
        """The weights with the correction in them."""
        return np.where(self.alive, self.w - self.v, 0.0)

    def step(self, expected: Floats) -> None:
        """All weights at once."""
        alive, most = self.alive, self.most
        if self.c2 > 0:
            self.w[alive] += _solve(self.counts[alive], expected[alive], self.w[alive], most, self.c2)
            return
        self.w[alive] += np.log(self.counts[alive] / expected[alive]) / most
        total = most * self.decisions
        seen, guessed = total - float(self.counts[alive].sum()), total - float(expected[alive].sum())
        if seen > 1e-9 * total and guessed > 1e-9 * total:
            self.v += float(np.log(seen / guessed)) / most

    def run(self, epochs: int, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """So many steps; with a dev corpus the weights of the best one are kept."""
        problem = self.problem

        def restore(saved: State) -> None:
            self.w, self.v = saved["w"], float(saved["v"][0])

        progress = begin(problem, restore)
        _, expected = self.evaluate()
        with stopping():
            for number in range(progress.done + 1, epochs + 1):
                begun = time.perf_counter()
                self.step(expected)
                loss, expected = self.evaluate()
                event = Event(
                    epoch=number,
                    epochs=epochs,
                    tokens=len(problem.gold),
                    seconds=time.perf_counter() - begun,
                    objective=loss,
                    nonzero=int(np.count_nonzero(self.vector())),
                )
                if not go_on(
                    problem,
                    progress,
                    event,
                    lambda: self.parameters.weights(self.vector(), problem),
                    lambda: {"w": self.w, "v": np.array([self.v])},
                    observer,
                ):
                    break
        return progress.best or self.parameters.weights(self.vector(), problem), progress.history


def _lists(problem: Problem) -> list[Lists]:
    return [lists for lists in (problem.corpus.lists, problem.corpus.edge_lists) if lists is not None]


def _most_features(problem: Problem) -> float:
    """C: the largest sum of features of a token, those of label pairs and triples among them."""
    total = np.full(len(problem.gold), float(problem.order))
    for starts, ids, values in _lists(problem):
        sums = np.concatenate([[0.0], np.cumsum(values if len(values) else np.ones(len(ids)))])
        total += sums[starts[1:]] - sums[starts[:-1]]
    return max(1.0, float(total.max(initial=0.0)))


def _solve(counts: Floats, expected: Floats, w: Floats, most: float, c2: float) -> Floats:
    """The d of count = expected · exp(C d) + 2 c2 (w + d), by Newton's method.

    The right side rises and is convex: from a point above the root, as both bounds are, every step stays above it.
    """
    with np.errstate(divide="ignore"):
        bound = np.log((counts + 2 * c2 * np.abs(w)) / expected) / most
    d = np.minimum(counts / (2 * c2) - w, np.maximum(bound, 0.0))
    for _ in range(100):
        grown = expected * np.exp(most * d)
        step = (grown + 2 * c2 * (w + d) - counts) / (most * grown + 2 * c2)
        d = d - step
        if float(np.abs(step).max(initial=0.0)) < 1e-12:
            break
    return d
