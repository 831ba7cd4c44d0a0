"""Sequence AdaBoost (Altun, section 3): the exponential loss, one feature a round.

Advantages: sparse models, and the order in which features were chosen says what matters; probabilities. Disadvantages:
thousands of rounds where no feature says much; one mislabelled sentence can outweigh all others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.errors import LearnerError
from trellis.learning.checks import check_above_zero, check_at_least, check_choice
from trellis.learning.events import Event, Observer
from trellis.learning.feature_names import named
from trellis.learning.folds import Fold, folds_of
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem
from trellis.learning.progress import State, begin, go_on, stopping
from trellis.model.weights import ChainWeights

Floats = npt.NDArray[np.float64]
NOTHING_LEFT = -20.0  # log of the mean risk of a sentence at which every gold path has all the probability


@dataclass(frozen=True, slots=True)
class SequenceBoost:
    """Lower sum_i (1 / p(gold_i | x_i) - 1) by one step along one feature a round, for at most ``epochs`` rounds.

    ``bound`` is how a feature and its step are chosen: by the "loose" bound on what the step does, in closed form; by
    the "tight" one, sentence by sentence, with a line search; or "exact", the feature by the tight bound and then the
    step that is truly best. No step is longer than ``max_step``: a feature that is never wrong has no best step.

    The number of rounds is chosen by the dev corpus, looked at every ``score_every`` rounds, or with ``folds`` above 1
    by cross-validation over so many parts of the training corpus, dealt by ``seed``. ``transitions`` and ``start`` are
    those of the CRF.
    """

    bound: Literal["loose", "tight", "exact"] = "exact"
    epochs: int = 1000
    max_step: float = 2.0
    folds: int = 0
    score_every: int = 10
    transitions: Literal["seen", "all"] = "seen"
    start: bool = True
    seed: int = 0

    default_pairs: ClassVar[str] = "seen"
    family: ClassVar[str] = "log-linear"
    names_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(self, "bound", "loose", "tight", "exact")
        check_choice(self, "transitions", "seen", "all")
        check_at_least(self, 1, "epochs", "score_every")
        check_at_least(self, 0, "folds", "seed")
        check_above_zero(self, "max_step")
        if self.folds == 1:
            raise LearnerError("folds must be at least 2, or 0 for no cross-validation")

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        if problem.partial is not None and (problem.gold < 0).any():
            raise LearnerError("SequenceBoost compares with the gold path, so it needs every label; use CRF")
        if self.folds and problem.score_dev is not None:
            raise LearnerError(
                "the number of rounds comes from a dev corpus or from folds; leave one of them out"
            )
        parameters = Parameters.of(problem, transitions=self.transitions, start=self.start)
        return _Rounds(self, problem, parameters).run(observer)

    def booster(
        self, problem: Problem, parameters: Parameters, sentence_weights: Floats | None
    ) -> _core.Booster:
        """The rounds themselves, in native code."""
        return parameters.booster(problem, sentence_weights, self.bound, self.max_step)


class _Rounds:
    """One training: the loop over rounds, with all that goes around it."""

    def __init__(self, learner: SequenceBoost, problem: Problem, parameters: Parameters) -> None:
        self.learner, self.problem, self.parameters = learner, problem, parameters
        self.native = learner.booster(problem, parameters, problem.sentence_weights)
        self.curve: Floats = np.empty(0)  # held-out scores, every score_every rounds

    def run(self, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        problem, learner, native = self.problem, self.learner, self.native
        progress = begin(problem, self._restore)
        if progress.done == 0:
            native.begin(self.parameters.start(problem), None, problem.n_threads)
            if native.log_risk == np.inf:
                raise LearnerError(
                    "the gold labels of some sentence are forbidden; allow them or leave it out"
                )
            if learner.folds:
                self.curve = cross_validated(learner, problem, self.parameters)
        rounds = self._rounds()
        with stopping():
            for number in range(progress.done + 1, rounds + 1):
                event = self._round(number, rounds)
                if event is None:
                    break
                look = number % learner.score_every == 0 or number == rounds
                now = problem if look else replace(problem, score_dev=None)
                if not go_on(now, progress, event, self._weights, self._state, observer):
                    break
        return progress.best or self._weights(), progress.history

    def _rounds(self) -> int:
        """How many rounds: as many as asked for, or as did best on held-out sentences, the fewest among equals."""
        if len(self.curve) == 0:
            return self.learner.epochs
        return min(self.learner.epochs, (int(self.curve.argmax()) + 1) * self.learner.score_every)

    def _round(self, number: int, rounds: int) -> Event | None:
        """Choose a feature and step along it; None if no step lowers the risk."""
        problem, native = self.problem, self.native
        begun = time.perf_counter()
        chosen = next_step(native, problem)
        if chosen is None:
            return None
        feature, size = chosen
        sentences, tokens, _ = native.step(feature, size, problem.n_threads)
        name, label = named(self.parameters, problem.names, feature)
        at = number // self.learner.score_every
        held_out = len(self.curve) > 0 and number % self.learner.score_every == 0
        return Event(
            epoch=number,
            epochs=rounds,
            tokens=tokens,
            seconds=time.perf_counter() - begun,
            updates=sentences,
            objective=native.log_risk,
            step=size,
            nonzero=int(np.count_nonzero(native.parameters)),
            dev_score=float(self.curve[at - 1]) if held_out else None,
            feature=name,
            label=label,
        )

    def _weights(self) -> ChainWeights:
        return self.parameters.weights(self.native.parameters, self.problem)

    def _state(self) -> State:
        return {
            "parameters": self.native.parameters,
            "scale": np.array([self.native.scale]),
            "curve": self.curve,
        }

    def _restore(self, state: State) -> None:
        if len(state["parameters"]) != self.parameters.size:
            raise LearnerError("the state is not one of this training, with these settings on this corpus")
        self.native.begin(state["parameters"], float(state["scale"][0]), self.problem.n_threads)
        self.curve = state["curve"]


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
    for fold in folds_of(problem, learner.folds, learner.seed):
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
