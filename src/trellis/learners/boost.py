"""Sequence AdaBoost (Altun, section 3): the exponential loss, one feature per round.

Advantages: sparse models, and the order in which features were chosen says what matters; probabilities. Disadvantages:
thousands of rounds where no feature says much; one mislabelled sentence can outweigh all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.errors import LearnerError
from trellis.learning.descent import LAYOUT, VectorWork
from trellis.learning.folds import Fold, folds_of
from trellis.learning.learner import Choice, Constraints, Learner, Real, Whole
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem
from trellis.learning.run import Event, State, restoring

Floats = npt.NDArray[np.float64]
NOTHING_LEFT = -20.0  # log of the mean risk of a sentence at which every gold path has all the probability


@dataclass(frozen=True, slots=True)
class SequenceBoost(Learner):
    """Lower sum_i (1 / p(gold_i | x_i) - 1) by one step along one feature per round, for at most ``epochs`` rounds.

    ``bound`` is how a feature and its step are chosen: by the "loose" bound on what the step does, in closed form; by
    the "tight" one, sentence by sentence, with a line search; or "exact", the feature by the tight bound and then the
    step that is truly best. No step is longer than ``max_step``: a feature that is never wrong has no best step.

    The number of rounds is chosen by the dev corpus, looked at every ``score_every`` rounds, or with ``folds`` above 1
    by cross-validation over so many parts of the training corpus, dealt by ``seed`` (default 0). ``transitions`` and
    ``start`` are those of the CRF.
    """

    bound: Literal["loose", "tight", "exact"] = "exact"
    epochs: int = 1000
    max_step: float = 2.0
    folds: int = 0
    score_every: int = 10
    transitions: Literal["seen", "all"] = "seen"
    start: bool = True
    seed: int | None = None

    family = "log-linear"
    default_pairs = "seen"
    reads_names = True
    constraints: ClassVar[Constraints] = {
        **LAYOUT,
        "bound": Choice(("loose", "tight", "exact")),
        "epochs": Whole(1),
        "max_step": Real(above=True),
        "folds": Whole(),
        "score_every": Whole(1),
        "seed": Whole(default=0, only=("folds", lambda p: p["folds"] > 0)),
    }

    def __post_init__(self) -> None:
        Learner.__post_init__(self)
        if self.folds == 1:
            raise LearnerError("folds must be at least 2, or 0 for no cross-validation")

    def begin(self, problem: Problem) -> Rounds:
        """The rounds over a problem."""
        if problem.partial is not None and (problem.gold < 0).any():
            raise LearnerError("SequenceBoost compares with the gold path, so it needs every label; use CRF")
        if self.folds and problem.score_dev is not None:
            raise LearnerError(
                "the number of rounds comes from a dev corpus or from folds; leave one of them out"
            )
        return Rounds(self, problem, Parameters.of(problem, transitions=self.transitions, start=self.start))

    def booster(
        self, problem: Problem, parameters: Parameters, sentence_weights: Floats | None
    ) -> _core.Booster:
        """The rounds themselves, in native code."""
        return parameters.booster(problem, sentence_weights, self.bound, self.max_step)


class Rounds(VectorWork):
    """One training, round by round."""

    def __init__(self, learner: SequenceBoost, problem: Problem, parameters: Parameters) -> None:
        super().__init__(problem, parameters, learner.epochs)
        self.learner, self.score_every = learner, learner.score_every
        self.native = learner.booster(problem, parameters, problem.sentence_weights)
        self.curve: Floats = np.empty(0)  # held-out scores, every score_every rounds
        self.native.begin(parameters.start(problem), None, problem.n_threads)
        if self.native.log_risk == np.inf:
            raise LearnerError("the gold labels of some sentence are forbidden; allow them or leave it out")

    def vector(self) -> Floats:
        """The weights as they are now."""
        return self.native.parameters

    def step(self, number: int) -> Event | None:
        """Choose a feature and step along it; None if no step lowers the risk."""
        problem, native = self.problem, self.native
        if self.learner.folds and len(self.curve) == 0:
            self._choose_rounds(cross_validated(self.learner, problem, self.parameters))
        chosen = next_step(native, problem)
        if chosen is None:
            return None
        feature, size = chosen
        sentences, tokens, _ = native.step(feature, size, problem.n_threads)
        name, label = self.parameters.named(feature, problem.names)
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

    def _choose_rounds(self, curve: Floats) -> None:
        """As many rounds as did best on held-out sentences, the fewest among equals."""
        self.curve = curve
        if len(curve):
            self.epochs = min(self.learner.epochs, (int(curve.argmax()) + 1) * self.score_every)

    def state(self) -> State:
        """The weights, how the risk is scaled, and the held-out scores."""
        scale = np.array([self.native.scale])
        return {"parameters": self.native.parameters, "scale": scale, "curve": self.curve}

    def restore(self, state: State) -> None:
        """Continue from there."""
        with restoring():
            if len(state["parameters"]) != self.parameters.size:
                raise ValueError("another number of weights")
            self.native.begin(state["parameters"], float(state["scale"][0]), self.problem.n_threads)
            self._choose_rounds(state["curve"])


def next_step(native: _core.Booster, problem: Problem) -> tuple[int, float] | None:
    """The feature to step along and how far; None if there is nothing left to learn."""
    if native.log_risk < NOTHING_LEFT + np.log(max(1, problem.n_sentences)):
        return None
    feature, size, _ = native.choose(problem.n_threads)
    return None if feature < 0 else (feature, size)


def cross_validated(learner: SequenceBoost, problem: Problem, parameters: Parameters) -> Floats:
    """Accuracy on held-out tokens every ``score_every`` rounds, over all folds."""
    n = -(-learner.epochs // learner.score_every)
    right, tokens = np.zeros(n), 0
    for fold in folds_of(problem, learner.folds, learner.effective()["seed"]):
        right += _held_out_right(learner, problem, _seen_without(fold, problem, parameters, learner), fold, n)
        tokens += len(fold.gold)
    return right / max(1, tokens)


def _seen_without(fold: Fold, problem: Problem, parameters: Parameters, learner: SequenceBoost) -> Parameters:
    """The features that there would be had the held-out sentences never been seen."""
    kept = parameters.gold_counts(replace(problem, sentence_weights=fold.sentence_weights)) > 0
    kept |= parameters.start(problem) != 0
    n_slots = len(parameters.rows.labels)
    n_places = len(parameters.edge_places) + len(parameters.tri_places)
    if problem.seen is None:
        kept[:n_slots] = True
    if learner.transitions == "all":
        kept[len(kept) - n_places :] = True
    return parameters.only(kept)


def _held_out_right(
    learner: SequenceBoost, problem: Problem, parameters: Parameters, fold: Fold, n: int
) -> Floats:
    """How many held-out labels are right at each look; where training ended early, as at its end."""
    native = learner.booster(problem, parameters, fold.sentence_weights)
    native.begin(parameters.start(problem), None, problem.n_threads)
    right, done = np.zeros(n), False
    for look in range(n):
        changed = False
        for _ in range(learner.score_every):
            chosen = None if done else next_step(native, problem)
            if chosen is None:
                done = True
                break
            native.step(*chosen, problem.n_threads)
            changed = True
        if changed or look == 0:
            weights = parameters.weights(native.parameters, problem)
            right[look] = fold.n_right(weights, problem.n_threads)
        else:
            right[look] = right[look - 1]
    return right
