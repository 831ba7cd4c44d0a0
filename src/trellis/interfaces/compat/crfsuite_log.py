"""The training log of python-crfsuite: lines, and the same as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import trellis
from trellis.evaluation.tagging import complete_sentences, label_scores, right_tokens


class LabelScore(NamedTuple):
    """Of one label on held-out sentences: how often right, predicted, there; precision, recall, F1."""

    match: int
    model: int
    ref: int
    precision: float
    recall: float
    f1: float


class TrainLog:
    """Iterations as dicts: num, loss, time, active_features; with held-out sentences also item_accuracy.

    Every line of the log is given to ``say``.
    """

    def __init__(self, say: Callable[[str], None] | None) -> None:
        self.iterations: list[dict[str, Any]] = []
        self.log: list[str] = []
        self.featgen_num_features: int | None = None
        self.training_seconds = 0.0
        self._say = say

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last finished iteration."""
        return self.iterations[-1] if self.iterations else None

    def line(self, text: str) -> None:
        """Add a line."""
        self.log.append(text + "\n")
        if self._say is not None:
            self._say(text + "\n")

    def observe(self, event: trellis.Event) -> None:
        """Log the end of an epoch."""
        losses = (event.objective, event.mistakes, event.violations)
        figures = {
            "loss": next((float(loss) for loss in losses if loss is not None), None),
            "error_norm": event.gradient_norm,
            "active_features": event.nonzero,
            "item_accuracy": event.dev_score,
            "time": event.seconds or 0.0,
        }
        iteration: dict[str, Any] = {name: value for name, value in figures.items() if value is not None}
        self.line(f"***** Iteration #{event.epoch} *****")
        for name, value in iteration.items():
            title = "Seconds required for this iteration" if name == "time" else name.replace("_", " ").capitalize()
            self.line(f"{title}: {value if isinstance(value, int) else f'{value:f}'}")
        self.line("")
        if "item_accuracy" in iteration:
            iteration["item_accuracy_float"] = iteration["item_accuracy"]
        self.training_seconds += iteration["time"]
        self.iterations.append({"num": event.epoch, "scores": {}, **iteration})

    def end(self, tagger: trellis.Tagger, dev: trellis.Corpus | None) -> None:
        """Log the end of training; scores by label on held-out sentences are those of the last iteration."""
        self.featgen_num_features = tagger.model.weights.n_nonzero
        if dev is not None and self.iterations:
            gold, predicted = dev.column("label"), tagger.tag_column(dev)
            right = right_tokens(gold, predicted)
            scores = {
                label: LabelScore(score.correct, score.predicted, score.gold, score.precision, score.recall, score.f1)
                for label, score in label_scores(gold, predicted, right).items()
            }
            means = {
                f"avg_{name}": float(np.mean([getattr(score, name) for score in scores.values()] or [0.0]))
                for name in ("precision", "recall", "f1")
            }
            accuracy = complete_sentences(right, dev.starts) / len(dev) if len(dev) else 0.0
            last = {"scores": scores, "instance_accuracy": accuracy, "instance_accuracy_float": accuracy}
            self.iterations[-1] |= last | means
        self.line(f"Total seconds required for training: {self.training_seconds:.3f}")
        self.line("")
