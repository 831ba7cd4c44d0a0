"""The one loop for all learners that go over the training corpus sentence by sentence, epoch by epoch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.learning.events import Event, Observer
from trellis.learning.problem import Problem
from trellis.learning.progress import begin, go_on, stopping
from trellis.model.weights import ChainWeights


class Online(Protocol):
    """What a learner by epochs must offer the loop."""

    def epoch(self, order: npt.NDArray[np.int64]) -> tuple[int, int]:
        """One pass over the sentences in that order: (tokens mistaken, sentences updated)."""
        ...

    def result(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        ...

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that a later epoch depends on."""
        ...

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from there, with the same bits."""
        ...


def run_epochs(
    problem: Problem, online: Online, *, epochs: int, shuffle: bool, seed: int, observer: Observer | None
) -> tuple[ChainWeights, list[Event]]:
    """Train for some epochs; with a dev corpus the weights of the best epoch are kept, the first among equals."""
    n_sentences = problem.n_sentences
    progress = begin(problem, online.restore)
    with stopping():
        for number in range(progress.done + 1, epochs + 1):
            begun = time.perf_counter()
            order = np.arange(n_sentences, dtype=np.int64)
            if shuffle:
                order = _core.shuffled(n_sentences, (seed * 1_000_003 + number) % 2**64)
            mistakes, updates = online.epoch(order)
            seconds = time.perf_counter() - begun
            event = Event(number, epochs, len(problem.gold), seconds, mistakes, updates)
            if go_on(problem, progress, event, online.result, online.state, observer):
                continue
            break
    return progress.best or online.result(), progress.history
