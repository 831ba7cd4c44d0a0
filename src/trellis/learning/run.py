"""The one training loop: epochs, dev scores, best weights, checkpoints, an observer, Ctrl-C."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Longs
from trellis._support.errors import LearnerError, ModelError, warn
from trellis.learning.problem import Problem, State

LOG = logging.getLogger("trellis")  # every epoch at level INFO; silent unless the program asks for it


@dataclass(frozen=True, slots=True)
class Event:
    """One epoch done. The library never prints: an observer does with events what it likes."""

    epoch: int  # from 1
    epochs: int = 0  # how many there will be at most
    tokens: int = 0  # tokens seen in it
    seconds: float | None = None  # what this one took; not kept in a model
    mistakes: int | None = None  # tokens whose label in the best path was wrong when they were seen
    # The same of the best path by score plus cost, for learners that look at no other: more than the mistakes. Zero
    # where every wrong path scores less than the gold path by at least its cost.
    violations: int | None = None
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
    unit: str = "tokens"  # what ``tokens``, ``mistakes`` and ``violations`` count

    def to_dict(self) -> dict[str, object]:
        """For the history inside a model, which is the same for the same training: without the time it took."""
        idle = {"seconds"} if self.unit != "tokens" else {"seconds", "unit"}
        return {key: value for key, value in asdict(self).items() if value is not None and key not in idle}

    def text(self) -> str:
        """One line for people."""
        # An objective may converge long before the last epoch.
        parts = [f"epoch {self.epoch}" + (f" of {self.epochs}" if self.epochs and self.objective is None else "")]
        n, what = (self.violations, "margin violations")
        if self.mistakes is not None:
            n, what = self.mistakes, "training error"
        if n is not None:
            parts.append(f"{what} {100 * n / max(1, self.tokens):.2f}% of {self.unit}")
        if self.objective is not None:
            parts.append(f"objective {self.objective:.6g}")
        if self.dev_score is not None:
            parts.append(f"dev {100 * self.dev_score:.2f}" + (" (best)" if self.best else ""))
        if self.seconds is not None:
            parts.append(f"{self.seconds:.2f} s")
        return ", ".join(parts)


Observer = Callable[[Event], None]


class StopTrainingError(Exception):
    """Raised by an observer: training ends here, and the best weights so far are what it gives."""


class Watched:
    """An observer of several trainings that remembers whether it ended one: then no other is begun."""

    __slots__ = ("observer", "stopped")

    def __init__(self, observer: Observer | None) -> None:
        self.observer, self.stopped = observer, False

    def __call__(self, event: Event) -> None:
        """Pass the event on."""
        try:
            if self.observer is not None:
                self.observer(event)
        except StopTrainingError:
            self.stopped = True
            raise


_RAISING = ContextVar("raising", default=False)


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt at once, where one call trains several models: it ends the whole call."""
    token = _RAISING.set(True)
    try:
        yield
    finally:
        _RAISING.reset(token)


@contextmanager
def keeping_epochs(observer: Observer | None, continued: str) -> Iterator[Observer | None]:
    """The observer, ending a training after the epoch in which Ctrl-C was pressed.

    Before the first epoch is done, and a second time, Ctrl-C raises KeyboardInterrupt. ``continued`` says how the
    training can be continued.
    """
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread hears Ctrl-C; a job in the background ignores it.
    if _RAISING.get() or not callable(before) or threading.current_thread() is not threading.main_thread():
        yield observer
        return
    current, asked = 0, False  # the epoch that Ctrl-C ends the training after

    def interrupt(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        nonlocal asked
        if asked or not current:
            raise KeyboardInterrupt
        asked = True
        with suppress(RuntimeError):  # in the midst of another line on standard error
            warn(f"training stops after epoch {current} with the best model so far{continued}; Ctrl-C again aborts")

    def observe(event: Event) -> None:
        nonlocal current
        current = event.epoch
        try:
            if observer is not None:
                observer(event)
        except KeyboardInterrupt:
            interrupt()
        if asked:
            raise StopTrainingError
        current += 1

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield observe
    except StopTrainingError:  # a learner of one's own that cannot end early
        if asked:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def sentence_order(n: int, number: int, seed: int | None) -> Longs:
    """The order of n examples in epoch ``number``: shuffled by ``seed``, or unchanged."""
    if seed is None:
        return np.arange(n, dtype=np.int64)
    return _core.shuffled(n, (seed * 1_000_003 + number) % 2**64)


class Work:
    """A training under way, as a learner gives it to the loop."""

    epochs: int  # at most
    solved: bool = False  # for certain: no later epoch would gain anything
    score_every: int = 1  # epochs between scores on the dev corpus

    def step(self, number: int) -> Event | None:
        """Epoch ``number``, from 1; None if there is nothing left to gain. The loop fills in what all events have."""
        raise NotImplementedError

    def weights(self) -> Any:
        """The weights to predict with, were the training over now; of a chain `ChainWeights`."""
        raise NotImplementedError

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        return {}

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        try:
            self._restore(state)
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            why = str(error).partition("\n")[0]
            raise LearnerError(
                f"the saved state does not match this training (settings or corpus differ: {why})"
            ) from error

    def _restore(self, state: State) -> None:
        """Take over that state, checked."""

    def restored(self, best: Any) -> Any:
        """Weights from a checkpoint, with what no file can hold."""
        return best


@dataclass(slots=True)
class Progress:
    """Where a training stands after some epochs."""

    done: int = 0
    state: State = field(default_factory=dict)  # of the learner
    history: list[Event] = field(default_factory=list)
    best: Any = None  # the weights with the best dev score
    best_score: float = -1.0
    since_best: int = 0
    solved: bool = False

    def note(self, event: Event, weights: Any) -> Event:
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


def run(problem: Problem, work: Work, observer: Observer | None = None) -> tuple[Any, list[Event]]:
    """All epochs, from a checkpoint if there is one: the weights to predict with and the history.

    With a dev corpus they are the weights of the best epoch, the first among equals.
    """
    progress = _begin(problem, work)
    try:
        while progress.done < work.epochs and not work.solved and not _is_tired(problem, progress):
            event = _epoch(problem, work, progress)
            if event is None:
                break
            if LOG.isEnabledFor(logging.INFO):
                LOG.info("%s", event.text())
            if observer is not None:
                observer(event)
    except StopTrainingError:
        pass
    return progress.best or work.weights(), progress.history


def _begin(problem: Problem, work: Work) -> Progress:
    saved = None if problem.checkpoint is None else problem.checkpoint.read(problem.weights_of)
    if saved is None or problem.checkpoint is None:
        return Progress()
    work.restore(saved.state)
    work.solved = saved.solved
    if saved.done > work.epochs:
        raise ModelError(
            f"{problem.checkpoint.path}: a checkpoint after {saved.done} epochs, more than the {work.epochs} of this "
            "training; use more epochs, delete it or choose another file"
        )
    saved.history = [replace(event, epochs=work.epochs) for event in saved.history]
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
    event, scored = replace(event, epochs=work.epochs, tokens=tokens, seconds=seconds, unit=problem.unit), None
    if problem.score_dev is not None and (number % work.score_every == 0 or number == work.epochs):
        scored = work.weights()
        event = replace(event, dev_score=problem.score_dev(scored))
    event = progress.note(event, scored)
    checkpoint = problem.checkpoint
    if checkpoint is not None and (number % checkpoint.every == 0 or _is_tired(problem, progress)):
        progress.state, progress.solved = work.state(), work.solved
        checkpoint.write(progress)
    return event
