"""Options that trainings of all kinds of models share, checked in one place."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trellis._support.arguments import file_path
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import Column, Corpus
from trellis.learning.learner import whole


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a training stops, and where and how often its progress is saved."""

    patience: int | None  # epochs without a better dev score after which to stop
    checkpoint: Path | None
    every: int  # epochs between two checkpoints

    @classmethod
    def of(
        cls,
        dev: Any,
        metric: Any,
        patience: int | None,
        checkpoint: str | os.PathLike[str] | None,
        every: int | None,
    ) -> Schedule:
        """Check the options; LearnerError for one without effect, as there is no ``dev`` or no ``checkpoint``."""
        if patience is not None and dev is None:
            raise LearnerError("patience is a number of epochs without a better dev score; it needs a dev corpus")
        if metric is not None and dev is None:
            raise LearnerError("metric compares epochs by their dev scores; it needs a dev corpus")
        if every is not None and checkpoint is None:
            raise LearnerError("checkpoint_every is how often a checkpoint is written; it needs a checkpoint")
        return cls(
            None if patience is None else whole(1).check("patience", patience),
            None if checkpoint is None else Path(file_path("checkpoint", checkpoint)),
            1 if every is None else whole(1).check("checkpoint_every", every),
        )


def check_not_empty(corpus: Corpus, purpose: str) -> None:
    """CorpusError for a corpus without a token; ``purpose`` is "train on" or "compare epochs on"."""
    if not corpus.n_tokens:
        raise CorpusError(corpus.source, None, f"no sentences to {purpose}; give at least one")


def check_dev_labels(dev: Corpus, column: Column, labels: Iterable[str]) -> None:
    """CorpusError if no label of the dev corpus is one of training: all epochs would have the score 0."""
    values = {column.values[code] for code in np.unique(column.codes).tolist()}
    if values.isdisjoint(labels):
        shown = ", ".join(sorted(values)[:3])
        raise CorpusError(dev.source, None, f"no label of the dev corpus ({shown}) occurs in training; give another")


def user_notes(info: Mapping[str, Any] | None) -> dict[str, Any]:
    """The user's notes, converted to what a file gives back.

    Raises
    ------
    LearnerError
        If they are not a dict, or hold something that JSON cannot hold.
    """
    if info is None:
        return {}
    if not isinstance(info, Mapping):
        raise LearnerError(f"info must be a dict of what JSON can hold, not {info!r}")
    try:
        text = json.dumps(dict(info), default=plain, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise LearnerError(f"info must be what JSON can hold: {error}") from None
    notes: dict[str, Any] = json.loads(text)
    return notes


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python number, for ``json.dumps``."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not a {type(value).__name__}")
