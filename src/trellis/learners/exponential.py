"""The exponential loss of whole sequences (Altun, section 3): all weights at once, or one feature a round by AdaBoost.

Both have probabilities. Sentences of low probability weigh most, so that one mislabelled sentence can outweigh all
others: prefer the CRF on noisy data. Boosting makes sparse models; the order of features shows their importance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from trellis import _core
from trellis._support.arrays import Doubles, runs_of
from trellis._support.errors import LearnerError
from trellis.engine.elementary import log
from trellis.learning.chain_problem import ChainProblem, chains_of
from trellis.learning.descent import BatchLearner, Descent, VectorWork
from trellis.learning.learner import ALL_ABILITIES, Constraints, choice, real, whole
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem, State
from trellis.learning.run import Event
from trellis.learning.sums import sums_of

NOTHING_LEFT = -20.0  # converged: log of the mean risk per sentence at which every gold path has probability 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialLoss(BatchLearner):
    """Exponential loss: minimise sum_i (1 / p(gold_i | x_i) - 1) + c2 · |w|² by L-BFGS.

    The reported objective is log(sum_i 1 / p_i + c2 · |w|²), which has the same minimum and does not overflow. Choose
    it if every training sentence must be predicted correctly: the least probable ones count most. With noisy labels
    choose the CRF.

    Parameters
    ----------
    c2
        Weight of the L2 penalty.
    epochs
        Maximum number of iterations.
    tolerance
        Training ends when the objective falls by less than this fraction over ten epochs.
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
    >>> trellis.train(X, y, learner=trellis.ExponentialLoss()).predict(["a", "dog"])
    ['D', 'N']
    """

    c2: float = 1.0
    epochs: int = 1000
    tolerance: float = 1e-5
    precision: Literal["single", "double"] = "double"

    constraints: ClassVar[Constraints] = {
        **BatchLearner.constraints,
        "c2": real(),
        "epochs": whole(1),
        "tolerance": real(),
        "precision": choice("single", "double"),
    }

    abilities = ALL_ABILITIES - {"beam"}  # sums go over all paths

    @property
    def on_workers(self) -> bool:
        """Whether workers can train it."""
        return True

    def begin(self, problem: Problem) -> Descent:
        """The weights in training."""
        vector = problem.vector(self)
        sums = sums_of(problem, vector, self.c2, single=self.precision == "single")
        return Descent(problem, vector, sums.log_risk, epochs=self.epochs, tolerance=self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceBoost(BatchLearner):
    """Sequence AdaBoost: lower sum_i (1 / p(gold_i | x_i) - 1) by one step along one feature per round.

    Choose it for a very small model: it has at most one feature per round. Training is slow.

    Parameters
    ----------
    bound
        How a feature and its step are chosen: ``"loose"``, by a bound in closed form; ``"tight"``, by a bound per
        sentence with a line search; ``"exact"``, the feature by the tight bound, the step by its true optimum.
    epochs
        Maximum number of rounds.
    max_step
        Maximum length of a step.
    folds
        Number of folds of cross-validation that choose the number of rounds (0: none; ``dev`` chooses it, if there is
        one).
    score_every
        Number of rounds between scores on ``dev``.
    seed
        Seed of the folds.
    transitions
        Label pairs that have weights: ``"seen"`` in training, or ``"all"``.
    start
        Whether the first label of a sentence has weights of its own.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> trellis.train(X, y, learner=trellis.SequenceBoost(epochs=20)).predict(["the", "dog"])
    ['D', 'N']
    """

    bound: Literal["loose", "tight", "exact"] = "exact"
    epochs: int = 1000
    max_step: float = 2.0
    folds: int = 0
    score_every: int = 10
    seed: int = 0

    reads_names = True
    constraints: ClassVar[Constraints] = {
        **BatchLearner.constraints,
        "bound": choice("loose", "tight", "exact"),
        "epochs": whole(1),
        "max_step": real(above=True),
        "folds": whole(),
        "score_every": whole(1),
        "seed": whole(only=("folds", lambda p: p["folds"] > 0)),
    }

    def __post_init__(self) -> None:
        BatchLearner.__post_init__(self)
        if self.folds == 1:
            raise LearnerError("folds must be at least 2, or 0 for no cross-validation")

    def epoch_parameters(self) -> dict[str, Any]:
        """List the parameters that change what an epoch learns; with folds, ``epochs`` is one of them.

        Returns
        -------
        dict[str, Any]
            Values by name.
        """
        return self.parameters() if self.folds else BatchLearner.epoch_parameters(self)

    def begin(self, problem: Problem) -> _Rounds:
        """The rounds over a problem."""
        chains = chains_of(problem, self)
        if chains.partial is not None and (chains.gold < 0).any():
            raise LearnerError("SequenceBoost does not support partial labels; use CRF")
        if self.folds and problem.score_dev is not None:
            raise LearnerError("dev cannot be combined with folds: both determine the number of rounds")
        return _Rounds(self, self.layout(chains))


class _Rounds(VectorWork):
    """One training, round by round."""

    problem: ChainProblem
    parameters: Parameters

    def __init__(self, learner: SequenceBoost, parameters: Parameters) -> None:
        super().__init__(parameters.problem, parameters, learner.epochs)
        self.learner, self.score_every = learner, learner.score_every
        self.native = parameters.booster(learner.bound, learner.max_step)
        self.curve: Doubles = np.empty(0)  # held-out scores, every score_every rounds
        self.native.begin(parameters.start(), None, self.problem.n_threads)
        if self.native.log_risk == np.inf:
            raise LearnerError("the gold labels of a sentence are forbidden; allow them or omit the sentence")

    def vector(self) -> Doubles:
        return self.native.parameters

    def step(self, number: int) -> Event | None:
        """Choose a feature and step along it; None if no step lowers the risk."""
        problem, native = self.problem, self.native
        if self.learner.folds and len(self.curve) == 0:
            self._choose_rounds(cross_validated(self.learner, self.parameters))
        if native.log_risk < NOTHING_LEFT + log(max(1, problem.n_sentences)):
            return None
        feature, size, _ = native.choose(problem.n_threads)
        if feature < 0:
            return None
        sentences, tokens = native.step(feature, size, problem.n_threads)
        name, label = self.parameters.named(feature)
        look, rest = divmod(number, self.score_every)
        held_out = len(self.curve) > 0 and rest == 0
        return Event(
            number,
            tokens=tokens,
            updates=sentences,
            objective=native.log_risk,
            step=size,
            nonzero=self.nonzero(),
            dev_score=float(self.curve[look - 1]) if held_out else None,
            feature=name,
            label=label,
        )

    def _choose_rounds(self, curve: Doubles) -> None:
        """The number of rounds with the best held-out score; the smallest if tied."""
        self.curve = curve
        if len(curve):
            self.epochs = min(self.learner.epochs, (int(curve.argmax()) + 1) * self.score_every)

    def state(self) -> State:
        scale = np.array([self.native.scale])
        return {"parameters": self.native.parameters, "scale": scale, "curve": self.curve}

    def _restore(self, state: State) -> None:
        if len(state["parameters"]) != self.parameters.size:
            raise ValueError("the number of weights differs")
        self.native.begin(state["parameters"], float(state["scale"][0]), self.problem.n_threads)
        self._choose_rounds(state["curve"])


def cross_validated(learner: SequenceBoost, parameters: Parameters) -> Doubles:
    """Accuracy on held-out tokens every ``score_every`` rounds, over all folds.

    The sentences are shuffled and split into folds; held-out sentences have weight 0 in training.
    """
    problem = parameters.problem
    n_folds, n, tag = learner.folds, problem.n_sentences, problem.tag
    assert tag is not None
    if n < n_folds:
        raise LearnerError(f"{n_folds} folds need at least {n_folds} sentences, but there are {n}")
    order = _core.shuffled(n, learner.effective()["seed"] % 2**64)
    interval, single = learner.score_every, replace(learner, folds=0, seed=0)
    right = np.zeros((n_folds, -(-learner.epochs // interval)))
    for part in range(n_folds):
        held_out = np.sort(order[part::n_folds])
        weights = np.ones(n) if problem.sentence_weights is None else problem.sentence_weights.copy()
        weights[held_out] = 0
        work = _Rounds(single, _seen(learner, replace(parameters, problem=replace(problem, sentence_weights=weights))))
        gold = problem.gold[runs_of(problem.starts, held_out)[1]]
        for look in range(right.shape[1]):
            ended = any(work.step(number) is None for number in range(look * interval, (look + 1) * interval))
            right[part, look:] = (tag(work.weights(), held_out) == gold).sum()
            if ended:  # later evaluations would give the same result
                break
    shares: Doubles = right.sum(axis=0) / max(1, len(problem.gold))
    return shares


def _seen(learner: SequenceBoost, parameters: Parameters) -> Parameters:
    """The features seen in sentences with nonzero weight."""
    nonzero = (parameters.gold_counts() > 0) | (parameters.start() != 0)
    n_places = len(parameters.edge_places) + len(parameters.tri_places)
    if parameters.problem.seen_rows is None:
        nonzero[: len(parameters.rows.labels)] = True
    if learner.transitions == "all":
        nonzero[len(nonzero) - n_places :] = True
    return parameters.only(nonzero)
