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

LOG = logging.getLogger("trellis")  # one record per epoch at level INFO; silent unless the program configures logging


@dataclass(frozen=True, slots=True)
class Event:
    """Result of one epoch, passed to observers and stored in the model's history. None: not measured by this learner.

    Attributes
    ----------
    epoch
        Number of the epoch, from 1.
    epochs
        Maximum number of epochs.
    tokens
        Number of tokens in the epoch.
    seconds
        Duration; not stored in the model.
    mistakes
        Number of wrong labels in the best paths when they were decoded.
    violations
        The same for the best paths by score plus cost, for learners that decode these; 0 if the gold path beats all
        others by their cost.
    updates
        Number of sentences that changed the weights.
    objective
        Value of the objective function.
    dual
        Lower bound of the objective.
    gap
        Objective less dual; an estimate if there is no objective.
    gradient_norm
        Norm of the gradient.
    step
        Length of the step.
    nonzero
        Number of non-zero weights.
    dev_score
        Score on the held-out data, from 0 to 1.
    feature
        Feature that a round of boosting chose.
    label
        Its label or labels.
    best
        Whether the score on the held-out data is the best so far.
    unit
        What ``tokens``, ``mistakes`` and ``violations`` count.
    part
        Part of a pipeline that is trained.
    """

    epoch: int
    epochs: int = 0
    tokens: int = 0
    seconds: float | None = None
    mistakes: int | None = None
    violations: int | None = None
    updates: int | None = None
    objective: float | None = None
    dual: float | None = None
    gap: float | None = None
    gradient_norm: float | None = None
    step: float | None = None
    nonzero: int | None = None
    dev_score: float | None = None
    feature: str | None = None
    label: str | None = None
    best: bool = False
    unit: str = "tokens"
    part: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Convert to plain data, without the duration: equal trainings have equal histories.

        Returns
        -------
        dict[str, object]
            The fields that were measured.
        """
        idle = {"seconds"} if self.unit != "tokens" else {"seconds", "unit"}
        return {key: value for key, value in asdict(self).items() if value is not None and key not in idle}

    def text(self) -> str:
        """Format as one line.

        Returns
        -------
        str
            The line.
        """
        # An objective may converge long before the last epoch.
        parts = [f"epoch {self.epoch}" + (f" of {self.epochs}" if self.epochs and self.objective is None else "")]
        n, unit = (self.violations, "margin violations")
        if self.mistakes is not None:
            n, unit = self.mistakes, "training error"
        if n is not None:
            parts.append(f"{unit} {100 * n / max(1, self.tokens):.2f}% of {self.unit}")
        if self.objective is not None:
            parts.append(f"objective {self.objective:.6g}")
        if self.dev_score is not None:
            parts.append(f"dev {100 * self.dev_score:.2f}" + (" (best)" if self.best else ""))
        if self.seconds is not None:
            parts.append(f"{self.seconds:.2f} s")
        return (f"{self.part}: " if self.part else "") + ", ".join(parts)


Observer = Callable[[Event], None]


class StopTrainingError(Exception):
    """Raise it in an observer to end training; the best weights so far become the model."""


class Watched:
    """Observer of several trainings that records whether it stopped one; then no further training is started."""

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
    """Let Ctrl-C raise KeyboardInterrupt at once: a call that trains several models ends as a whole."""
    token = _RAISING.set(True)
    try:
        yield
    finally:
        _RAISING.reset(token)


@contextmanager
def keeping_epochs(observer: Observer | None, continued: str) -> Iterator[Observer | None]:
    """Wrap the observer: Ctrl-C stops training after the current epoch.

    Before the first epoch is done, and a second time, Ctrl-C raises KeyboardInterrupt. ``continued`` says how the
    training can be continued.
    """
    handler = signal.getsignal(signal.SIGINT)
    # Only the main thread receives Ctrl-C; background jobs ignore it.
    if _RAISING.get() or not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield observer
        return
    current, interrupted = 0, False  # the epoch that Ctrl-C ends the training after

    def interrupt(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        nonlocal interrupted
        if interrupted or not current:
            raise KeyboardInterrupt
        interrupted = True
        with suppress(RuntimeError):  # standard error may be within a line
            warn(f"training stops after epoch {current} with the best model so far{continued}; Ctrl-C again aborts")

    def observe(event: Event) -> None:
        nonlocal current
        current = event.epoch
        try:
            if observer is not None:
                observer(event)
        except KeyboardInterrupt:
            interrupt()
        if interrupted:
            raise StopTrainingError
        current += 1

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield observe
    except StopTrainingError:  # user-defined learners that cannot stop early
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, handler)


def sentence_order(n: int, number: int, seed: int | None) -> Longs:
    """The order of n examples in epoch ``number``: shuffled by ``seed``, or unchanged."""
    if seed is None:
        return np.arange(n, dtype=np.int64)
    return _core.shuffled(n, (seed * 1_000_003 + number) % 2**64)


class Work:
    """Base class of a training in progress: what ``Learner.begin`` returns.

    Attributes
    ----------
    epochs
        Maximum number of epochs.
    solved
        Whether no later epoch can improve the result.
    score_every
        Number of epochs between scores on the held-out data.
    """

    epochs: int
    solved: bool = False
    score_every: int = 1

    def step(self, number: int) -> Event | None:
        """Run one epoch.

        Parameters
        ----------
        number
            Number of the epoch, from 1.

        Returns
        -------
        Event | None
            Its event, or None if no improvement is possible.
        """
        raise NotImplementedError

    def weights(self) -> Any:
        """Compute the weights to predict with, as of now.

        Returns
        -------
        Any
            The weights; for chains `ChainWeights`.
        """
        raise NotImplementedError

    def state(self) -> State:
        """Collect everything that later epochs depend on, for a checkpoint.

        Returns
        -------
        State
            Arrays and numbers by name.
        """
        return {}

    def restore(self, state: State) -> None:
        """Continue from a state, with a bit-identical result.

        Parameters
        ----------
        state
            Result of ``state``.

        Raises
        ------
        LearnerError
            If the state is not one of such a training.
        """
        try:
            self._restore(state)
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            reason = str(error).partition("\n")[0]
            raise LearnerError(
                f"the saved state does not match this training (settings or corpus differ: {reason})"
            ) from error

    def _restore(self, state: State) -> None:
        """Restore the checked state."""

    def restored(self, best: Any) -> Any:
        """Complete the weights in a checkpoint with parts that a file cannot contain.

        Parameters
        ----------
        best
            The weights in the checkpoint.

        Returns
        -------
        Any
            The weights to predict with.
        """
        return best


@dataclass(slots=True)
class Progress:
    """State of a training after some epochs."""

    n_done: int = 0
    state: State = field(default_factory=dict)  # of the learner
    history: list[Event] = field(default_factory=list)
    best: Any = None  # the weights with the best dev score
    best_score: float = -1.0
    since_best: int = 0
    solved: bool = False

    def note(self, event: Event, weights: Any) -> Event:
        """Add an event to the history; with a dev score, keep the weights if they are the best so far."""
        self.n_done = event.epoch
        if event.dev_score is not None:
            if event.dev_score > self.best_score:
                self.best, self.best_score, self.since_best = weights, event.dev_score, 0
                event = replace(event, best=True)
            else:
                self.since_best += 1
        self.history.append(event)
        return event


def run(problem: Problem, work: Work, observer: Observer | None = None) -> tuple[Any, list[Event]]:
    """Run all epochs, starting from a checkpoint if there is one; return weights and history.

    With a dev corpus the weights are those of the best epoch (the first one if tied).
    """
    progress = _begin(problem, work)
    try:
        while progress.n_done < work.epochs and not work.solved and not _is_tired(problem, progress):
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
    if saved.n_done > work.epochs:
        raise ModelError(
            f"{problem.checkpoint.path}: a checkpoint after {saved.n_done} epochs, more than the {work.epochs} of this "
            "training; use more epochs, delete it or choose another file"
        )
    saved.history = [replace(event, epochs=work.epochs) for event in saved.history]
    saved.best = None if saved.best is None else work.restored(saved.best)
    return saved


def _is_tired(problem: Problem, progress: Progress) -> bool:
    return problem.patience is not None and progress.since_best >= problem.patience


def _epoch(problem: Problem, work: Work, progress: Progress) -> Event | None:
    """Run one epoch with scoring, events and checkpoint; None if the training has converged."""
    number, start = progress.n_done + 1, time.perf_counter()
    event = work.step(number)
    if event is None:
        return None
    seconds, tokens = time.perf_counter() - start, event.tokens or len(problem.gold)
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
