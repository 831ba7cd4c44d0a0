"""Training that can be killed and taken up again, with the same bits as if it had not been."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis.arrays import Arrays
from trellis.errors import ModelError
from trellis.learning.events import Event
from trellis.model.tensor_file import Tensors, map_tensors, write_tensors
from trellis.model.weights import ChainWeights

FORMAT = "trellis-checkpoint-1"


@dataclass(slots=True)
class Progress:
    """Where a training stands after some epochs or iterations."""

    done: int = 0
    state: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)  # of the learner
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
                event = event.as_best()
            else:
                self.since_best += 1
        self.history.append(event)
        return event


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that is written every so many epochs or iterations."""

    path: Path
    every: int
    fingerprint: str  # of corpus, features and learner: a checkpoint is of one training alone

    def write(self, progress: Progress) -> None:
        """Replace the file by where training stands now."""
        tensors = {f"state.{name}": array for name, array in progress.state.items()}
        if progress.best is not None:
            tensors |= {f"best.{name}": array for name, array in progress.best.tensors().items()}
        text = {
            "fingerprint": self.fingerprint,
            "done": progress.done,
            "history": [event.to_dict() for event in progress.history],
            "n_labels": None if progress.best is None else progress.best.n_labels,
            "best_score": progress.best_score,
            "since_best": progress.since_best,
        }
        write_tensors(self.path, FORMAT, tensors, json.dumps(text))

    def read(self) -> Progress | None:
        """Where training stood, or None if there is no file yet."""
        if not self.path.exists():
            return None
        return map_tensors(self.path, FORMAT, "a checkpoint of trellis").made(self._progress)

    def _progress(self, tensors: Tensors, text: str) -> Progress:
        said = json.loads(text)
        if said["fingerprint"] != self.fingerprint:
            raise ModelError(
                f"{self.path}: a checkpoint of another training (other data, features or parameters); "
                "delete it or name another file"
            )
        best = None
        if said["n_labels"] is not None:
            best = ChainWeights.of_tensors(_under("best.", tensors), said["n_labels"])
        state = _under("state.", tensors)
        history = [Event(**event) for event in said["history"]]
        return Progress(said["done"], state, history, best, said["best_score"], said["since_best"])


def _under(prefix: str, tensors: Tensors) -> Arrays:
    """Copies, for the file is replaced while training goes on."""
    return {name.removeprefix(prefix): np.array(a) for name, a in tensors.items() if name.startswith(prefix)}
