"""The one training loop: epochs, dev scores, the best weights so far, checkpoints, an observer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy.typing as npt

from trellis.errors import LearnerError
from trellis.learning.problem import Problem
from trellis.model.model import ChainWeights

State = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Event:
    """One epoch done. The library never prints: an observer does with events what it likes."""

    epoch: int  # from 1
    epochs: int = 0  # how many there will be at most
    tokens: int = 0  # tokens seen in it
    seconds: float | None = None  # what this one took; not kept in a model
    mistakes: int | None = None  # tokens whose best label was wrong when they were seen
    updates: int | None = None  # sentences that changed the weights
    objective: float | None = None  # what is minimised
    dual: float | None = None  # lower bound of the objective
    gap: float | None = None  # objective less dual; an estimate where there is no objective
    gradient_norm: float | None = None
    step: float | None = None  # length of the step
    nonzero: int | None = None  # weights that are not zero
    dev_score: float | None = None  # on the dev corpus, from 0 to 1
    feature: str | None = None  # what a round of boosting chose, and with which label or labels
    label: str | None = None
    best: bool = False  # whether the dev score is the best so far

    def to_dict(self) -> dict[str, object]:
        """For the history inside a model, which is the same for the same training: without the time it took."""
        return {key: value for key, value in asdict(self).items() if value is not None and key != "seconds"}


Observer = Callable[[Event], None]


class StopTrainingError(Exception):
    """Raised by an observer: training ends here, and the best weights so far are what it gives."""


class Work:
    """A training under way, as a learner gives it to the loop."""

    epochs: int  # at most
    score_every: int = 1  # epochs between scores on the dev corpus

    def step(self, number: int) -> Event | None:
        """Epoch ``number``, from 1; None if there is nothing left to gain. The loop fills in what all events have."""
        raise NotImplementedError

    def weights(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        raise NotImplementedError

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        raise NotImplementedError

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        raise NotImplementedError

    def restored(self, best: ChainWeights) -> ChainWeights:
        """Weights from a checkpoint, with what no file can hold."""
        return best


@contextmanager
def restoring() -> Iterator[None]:
    """LearnerError where a state turns out not to be one of this training."""
    try:
        yield
    except (LookupError, ValueError, TypeError) as error:
        raise LearnerError(
            f"the state is not one of this training, with these settings on this corpus ({error})"
        ) from error


@dataclass(slots=True)
class Progress:
    """Where a training stands after some epochs."""

    done: int = 0
    state: State = field(default_factory=dict)  # of the learner
    history: list[Event] = field(default_factory=list)
    best: ChainWeights | None = None  # on the dev corpus
    best_score: float = -1.0
    since_best: int = 0

    def note(self, event: Event, weights: ChainWeights | None) -> Event:
        """Add an event to the history; with a dev score, keep the weights if they are the best so far."""
        self.done = event.epoch
        if event.dev_score is not None:
            if event.dev_score > self.best_score:
                self.best, self.best_score, self.since_best = weights, event.dev_score, 0
                event = replace(event, best=True)
            else:
                self.since_best += 1
        self.history.append(event)
        return event


def run(problem: Problem, work: Work, observer: Observer | None = None) -> tuple[ChainWeights, list[Event]]:
    """All epochs, from a checkpoint if there is one: the weights to tag with and the history.

    With a dev corpus they are the weights of the best epoch, the first among equals.
    """
    progress = _begin(problem, work)
    try:
        while progress.done < work.epochs and not _is_tired(problem, progress):
            event = _epoch(problem, work, progress)
            if event is None:
                break
            if observer is not None:
                observer(event)
    except StopTrainingError:
        pass
    return progress.best or work.weights(), progress.history


def _begin(problem: Problem, work: Work) -> Progress:
    saved = None if problem.checkpoint is None else problem.checkpoint.read()
    if saved is None:
        return Progress()
    work.restore(saved.state)
    saved.best = None if saved.best is None else work.restored(saved.best)
    return saved


def _is_tired(problem: Problem, progress: Progress) -> bool:
    return problem.patience is not None and progress.since_best >= problem.patience


def _epoch(problem: Problem, work: Work, progress: Progress) -> Event | None:
    """One epoch with what goes around it; None if there is nothing left to gain."""
    number, begun = progress.done + 1, time.perf_counter()
    event = work.step(number)
    if event is None:
        return None
    seconds, tokens = time.perf_counter() - begun, event.tokens or len(problem.gold)
    event, scored = replace(event, epochs=work.epochs, tokens=tokens, seconds=seconds), None
    if problem.score_dev is not None and (number % work.score_every == 0 or number == work.epochs):
        scored = work.weights()
        event = replace(event, dev_score=problem.score_dev(scored))
    event = progress.note(event, scored)
    kept = problem.checkpoint
    if kept is not None and (number % kept.every == 0 or _is_tired(problem, progress)):
        progress.state = work.state()
        kept.write(progress)
    return event
