"""Maximum entropy taggers (Ratnaparkhi 1996; Collins 2002, section 2.3), also called MEMM: one decision per token.

Advantages: probabilities; training needs no sum over paths. Disadvantage: a label with few successors ignores later
observations (label bias); the CRF does not, and tags as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from trellis._support.arrays import Doubles, Lists, array_in
from trellis._support.errors import LearnerError
from trellis.engine.elementary import exp, log
from trellis.learning.chain_problem import ChainProblem, chains_of
from trellis.learning.descent import BatchLearner, Descent, VectorWork
from trellis.learning.learner import Ability, Constraints, choice, real, whole
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem, State
from trellis.learning.run import Event, Work
from trellis.learning.sums import Sums, sums_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxEnt(BatchLearner):
    """Maximum entropy Markov model: minimise -sum_t log p(gold_t | preceding gold labels, observations) + c2 · |w|².

    p is a softmax over labels of the sum of the weights of the label with the observations and with the preceding
    labels. Choose it with many labels, because training needs no sum over paths, or to reproduce published results.

    Parameters
    ----------
    c2
        Weight of the L2 penalty.
    solver
        ``"lbfgs"``, or ``"gis"`` for generalized iterative scaling.
    epochs
        Maximum number of iterations.
    tolerance
        L-BFGS ends when the objective falls by less than this fraction over ten epochs.
    precision
        Precision of potentials, ``"single"`` or ``"double"``.
    transitions
        Label pairs that have weights: ``"seen"`` in training, or ``"all"``.
    start
        Whether the first label of a sentence has weights of its own.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> trellis.train(X, y, learner=trellis.MaxEnt()).predict(["a", "dog"])
    ['D', 'N']
    """

    c2: float = 1.0
    solver: Literal["lbfgs", "gis"] = "lbfgs"
    epochs: int = 1000
    tolerance: float = 1e-5
    precision: Literal["single", "double"] = "double"

    family = "local"
    constraints: ClassVar[Constraints] = {
        **BatchLearner.constraints,
        "c2": real(),
        "solver": choice("lbfgs", "gis"),
        "epochs": whole(1),
        "tolerance": real(only=("solver='lbfgs'", lambda p: p["solver"] == "lbfgs")),
        "precision": choice("single", "double"),
    }

    @property
    def on_workers(self) -> bool:
        """Whether workers can train it: with L-BFGS."""
        return self.solver == "lbfgs"

    @property
    def abilities(self) -> frozenset[Ability]:
        """Iterative scaling wants as many features whatever the label is."""
        return frozenset({"orders", "parts"} if self.solver == "lbfgs" else {"orders"})

    def begin(self, problem: Problem) -> Work:
        """The weights in training."""
        chains = chains_of(problem, self)
        if chains.partial is not None:
            raise LearnerError("MaxEnt does not support partial labels; use CRF")
        parameters = self.layout(chains)
        sums = sums_of(problem, parameters, self.c2, local=True, single=self.precision == "single")
        if self.solver == "gis":
            return _Scaling(chains, parameters, sums, self.epochs)
        tolerance = self.effective()["tolerance"]
        return Descent(problem, parameters, sums.log_loss, epochs=self.epochs, tolerance=tolerance)


class _Scaling(VectorWork):
    """Generalized Iterative Scaling (Darroch and Ratcliff 1972), every feature in parallel:

        w_s += 1/C · log( count of s in training / expected count of s )

    C is the largest number of features of one decision. The correction feature, C minus the number of features, makes
    them sum to C always. Its weight v adds v · (C - sum_s f_s), a constant less v for each feature: so the score is
    that of weights w_s - v, and no model needs the feature itself.

    With a Gaussian prior the step d solves count = expected · exp(C d) + 2 c2 (w + d) instead (Chen and Rosenfeld
    1999), without a correction, which is not needed for the objective to fall (Curran and Clark 2003).
    """

    def __init__(self, problem: ChainProblem, parameters: Parameters, sums: Sums, epochs: int) -> None:
        super().__init__(problem, parameters, epochs)
        self.sums, self.c2 = sums, sums.c2
        if any((lists[2] < 0).any() for lists in _lists(problem)):
            raise LearnerError("iterative scaling needs non-negative attribute values; use solver='lbfgs'")
        self.counts = parameters.gold_counts()
        # Without a prior the weight of an unseen feature would diverge to minus infinity: it stays 0.
        self.alive = self.counts > 0 if self.c2 == 0 else np.ones(len(self.counts), bool)
        self.most = _most_features(problem)
        self.decisions = float(problem.token_weights().sum())
        self.w = parameters.start()
        self.v = 0.0
        self.expected: Doubles | None = None  # with the current weights

    def evaluate(self) -> tuple[float, Doubles]:
        """The loss with its penalty, and the expected count of each feature."""
        x = self.vector()
        loss, gradient = self.sums.log_loss(x)
        return loss, np.maximum(self.counts + gradient - 2 * self.c2 * x, 1e-300)

    def vector(self) -> Doubles:
        """The weights including the correction; weights that are not learnt are those of the warm start."""
        return np.where(self.alive, self.w - self.v, self.w)

    def step(self, number: int) -> Event:
        if self.expected is None:
            _, self.expected = self.evaluate()
        self._scale(self.expected)
        loss, self.expected = self.evaluate()
        return Event(number, objective=loss, nonzero=self.nonzero())

    def state(self) -> State:
        return {"w": self.w, "v": np.array([self.v])}

    def _restore(self, state: State) -> None:
        self.w = array_in(state, "w", np.float64, len(self.w))
        self.v, self.expected = float(array_in(state, "v", np.float64, 1)[0]), None

    def _scale(self, expected: Doubles) -> None:
        alive, limit = self.alive, self.most
        if self.c2 > 0:
            self.w[alive] += _solve(self.counts[alive], expected[alive], self.w[alive], limit, self.c2)
            return
        self.w[alive] += log(self.counts[alive] / expected[alive]) / limit
        total = limit * self.decisions
        observed, guessed = total - float(self.counts[alive].sum()), total - float(expected[alive].sum())
        if observed > 1e-9 * total and guessed > 1e-9 * total:
            self.v += float(log(observed / guessed)) / limit


def _lists(problem: ChainProblem) -> list[Lists]:
    return [lists for lists in (problem.corpus.lists, problem.corpus.edge_lists) if lists is not None]


def _most_features(problem: ChainProblem) -> float:
    """C: the largest sum of features of a token, those of label pairs and longer n-grams among them."""
    total = np.full(len(problem.gold), float(problem.order))
    for starts, ids, values in _lists(problem):
        sums = np.concatenate([[0.0], np.cumsum(values if len(values) else np.ones(len(ids)))])
        total += sums[starts[1:]] - sums[starts[:-1]]
    return max(1.0, float(total.max(initial=0.0)))


def _solve(counts: Doubles, expected: Doubles, w: Doubles, limit: float, c2: float) -> Doubles:
    """The d of count = expected · exp(C d) + 2 c2 (w + d), by Newton's method.

    The right side rises and is convex: from a point above the root, as both bounds are, every step stays above it.
    """
    with np.errstate(divide="ignore"):
        bound = log((counts + 2 * c2 * np.abs(w)) / expected) / limit
    d = np.minimum(counts / (2 * c2) - w, np.maximum(bound, 0.0))
    for _ in range(100):
        grown = expected * exp(limit * d)
        step = (grown + 2 * c2 * (w + d) - counts) / (limit * grown + 2 * c2)
        d = d - step
        if float(np.abs(step).max(initial=0.0)) < 1e-12:
            break
    return d
