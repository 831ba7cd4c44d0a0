"""What all loops do around an epoch or iteration: dev score, best so far, checkpoint, observer, patience."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from trellis.learning.checkpoint import Progress
from trellis.learning.events import Event, Observer, StopTrainingError
from trellis.learning.problem import Problem
from trellis.model.weights import ChainWeights

State = Mapping[str, npt.NDArray[Any]]


def begin(problem: Problem, restore: Callable[[State], None]) -> Progress:
    """Where training begins: at nothing, or where a checkpoint left off."""
    saved = None if problem.checkpoint is None else problem.checkpoint.read()
    if saved is None:
        return Progress()
    restore(saved.state)
    return saved


def go_on(
    problem: Problem,
    progress: Progress,
    event: Event,
    weights: Callable[[], ChainWeights],
    state: Callable[[], State],
    observer: Observer | None,
) -> bool:
    """Note an epoch that was done; whether another should follow."""
    scored = None
    if problem.score_dev is not None:
        scored = weights()
        event = replace(event, dev_score=problem.score_dev(scored))
    event = progress.note(event, scored)
    tired = problem.patience is not None and progress.since_best >= problem.patience
    if problem.checkpoint is not None and (tired or event.epoch % problem.checkpoint.every == 0):
        progress.state = state()
        problem.checkpoint.write(progress)
    if observer is not None:
        observer(event)
    return not tired


@contextmanager
def stopping() -> Iterator[None]:
    """An observer may end training; what was learnt so far stands."""
    try:
        yield
    except StopTrainingError:
        return
