"""Training that can be killed and resumed, with the same bits as if it had not been."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trellis._support.arrays import Arrays
from trellis._support.errors import ModelError
from trellis._support.tensor_file import Tensors, parse_header, read_tensors, write_tensors
from trellis.learning.run import Event, Progress

FORMAT = "trellis-checkpoint-2"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint file, written every ``every`` epochs."""

    path: Path
    every: int
    # Digest of all inputs of an epoch: a checkpoint belongs to one training, with any number of epochs or patience.
    fingerprint: str

    def write(self, progress: Progress) -> None:
        """Replace the file by the current state of training."""
        tensors = {f"state.{name}": array for name, array in progress.state.items()}
        if progress.best is not None:
            best = progress.best if isinstance(progress.best, dict) else progress.best.tensors()
            tensors |= {f"best.{name}": array for name, array in best.items()}
        text = {
            "fingerprint": self.fingerprint,
            "done": progress.n_done,
            "history": [event.to_dict() for event in progress.history],
            "best_score": progress.best_score,
            "since_best": progress.since_best,
            "solved": progress.solved,
        }
        write_tensors(self.path, FORMAT, tensors, json.dumps(text))

    def read(self, weights_of: Callable[[Arrays], Any]) -> Progress | None:
        """Read the state of training, None if there is no file yet; ``weights_of`` makes weights from named arrays."""
        if not self.path.exists():
            return None
        file = read_tensors(self.path, "a checkpoint of trellis")
        if file.format == "trellis-checkpoint-1":
            raise ModelError(f"{self.path}: a checkpoint of an older release; delete it to restart training")
        return file.of(FORMAT).made(lambda tensors, text: self._progress(tensors, text, weights_of))

    def _progress(self, tensors: Tensors, text: str, weights_of: Callable[[Arrays], Any]) -> Progress:
        header = parse_header(text)
        if header["fingerprint"] != self.fingerprint:
            raise ModelError(
                f"{self.path}: a checkpoint of another training (other data, features or parameters); "
                "delete it or choose another file"
            )
        best = _under("best.", tensors)
        state = _under("state.", tensors)
        history = [Event(**event) for event in header["history"]]
        n_done, best_score, since_best = header["done"], header["best_score"], header["since_best"]
        if type(n_done) is not int or type(since_best) is not int or type(best_score) not in (int, float):
            raise ValueError("invalid numbers of epochs")
        if [event.epoch for event in history] != list(range(1, n_done + 1)):
            raise ValueError("the history does not match the epochs")
        weights, solved = weights_of(best) if best else None, bool(header["solved"])
        return Progress(n_done, state, history, weights, best_score, since_best, solved)


def _under(prefix: str, tensors: Tensors) -> Arrays:
    """Copy the arrays under a prefix, as the file is replaced during training."""
    return {name.removeprefix(prefix): np.array(a) for name, a in tensors.items() if name.startswith(prefix)}
