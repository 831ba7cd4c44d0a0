"""Training that can be killed and taken up again, with the same bits as if it had not been."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis.errors import ModelError
from trellis.learning.events import Event
from trellis.model.dual import Dual
from trellis.model.tensor_file import Tensors, map_tensors, write_tensors
from trellis.model.votes import Votes
from trellis.model.weights import ChainWeights, Rows

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
            tensors |= {f"best.{name}": array for name, array in _tensors(progress.best).items()}
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
        best = None if said["n_labels"] is None else _weights(_under("best.", tensors), said["n_labels"])
        state = {name: np.array(array) for name, array in _under("state.", tensors).items()}
        history = [Event(**event) for event in said["history"]]
        return Progress(said["done"], state, history, best, said["best_score"], said["since_best"])


def _under(prefix: str, tensors: Tensors) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): a for name, a in tensors.items() if name.startswith(prefix)}


def _tensors(weights: ChainWeights) -> dict[str, npt.NDArray[Any]]:
    out: dict[str, npt.NDArray[Any]] = {"edge": weights.edge}
    for name, rows in (("rows", weights.rows), ("edge_rows", weights.edge_rows)):
        if rows is not None:
            parts = {"starts": rows.starts, "labels": rows.labels, "weights": rows.weights}
            out |= {f"{name}.{part}": array for part, array in parts.items()}
    for name, array in (("tri", weights.tri), ("end", weights.end)):
        if array is not None:
            out[name] = array
    if weights.votes is not None:
        out |= {f"votes.{part.name}": getattr(weights.votes, part.name) for part in fields(Votes)}
    return out if weights.dual is None else out | weights.dual.tensors()


def _weights(tensors: dict[str, npt.NDArray[Any]], n_labels: int) -> ChainWeights:
    def rows(name: str) -> Rows:
        return Rows(*(np.array(tensors[f"{name}.{part}"]) for part in ("starts", "labels", "weights")))

    def array(name: str) -> npt.NDArray[Any] | None:
        return np.array(tensors[name]) if name in tensors else None

    edge_rows = rows("edge_rows") if "edge_rows.starts" in tensors else None
    votes = None
    if "votes.counts" in tensors:
        votes = Votes(*(np.array(tensors[f"votes.{part.name}"]) for part in fields(Votes)))
    return ChainWeights(
        n_labels,
        rows("rows"),
        edge_rows,
        np.array(tensors["edge"]),
        array("tri"),
        array("end"),
        votes,
        Dual.of_tensors(
            {name: np.array(part) for name, part in tensors.items()}, len(tensors["rows.starts"]) - 1
        ),
    )
