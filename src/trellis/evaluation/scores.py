"""Precision, recall and F1: of spans, counted as by conlleval, and of other items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trellis._support.arrays import Bools, Longs
from trellis.corpus.corpus import Column
from trellis.corpus.schemes import SpanReading, SpanTable
from trellis.display.tables import Row
from trellis.evaluation.report import Report


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of labels, spans or words, with precision, recall and F1 (0/0 is 0).

    Attributes
    ----------
    gold
        Number of gold items.
    predicted
        Number of predicted items.
    correct
        Number of correct items.
    """

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """Fraction of predicted items that are correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Fraction of gold items that were predicted."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.gold + self.predicted
        return 2 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, float]:
        """Convert to a row of a report.

        Returns
        -------
        dict[str, float]
            Counts, precision, recall and F1.
        """
        shares = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**shares, "support": self.gold, "predicted": self.predicted, "correct": self.correct}


def macro_average(scores: Iterable[Score]) -> dict[str, float]:
    """The mean of the figures of all labels or types as a row of a report."""
    rows = [score.to_dict() for score in scores]
    means = {name: sum(row[name] for row in rows) / max(1, len(rows)) for name in ("precision", "recall", "f1")}
    return {**means, "support": sum(row["support"] for row in rows)}


class ScoreReport(Report):
    """Base class of reports with precision, recall and F1.

    Attributes
    ----------
    micro
        Score of all items together.
    """

    __slots__ = ()
    micro: Score
    metrics: ClassVar[Mapping[str, str]] = {"auto": "f1", "f1": "f1"}

    @property
    def precision(self) -> float:
        """Fraction of predicted items that are correct."""
        return self.micro.precision

    @property
    def recall(self) -> float:
        """Fraction of gold items that were predicted."""
        return self.micro.recall

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return self.micro.f1

    def summary(self) -> Mapping[str, Row]:
        """Compute the figures of all predictions together.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        return {"micro avg": self.micro}


def span_scores(gold: Column, predicted: Column, starts: Longs) -> tuple[Score, dict[str, Score]]:
    """Compare two columns of span labels: all spans, and type by type; starts [n_sentences + 1].

    A predicted span is correct if gold has one of the same type with the same first and last token.
    """
    types, truth, guess, correct = matched_spans(gold, predicted, starts)
    counts = [
        np.bincount(types_of, minlength=len(types)).tolist()
        for types_of in (truth.types, guess.types, guess.types[correct])
    ]
    scores = {name: Score(*row) for name, *row in zip(types, *counts, strict=True) if row[0] or row[1]}
    return Score(*(sum(column) for column in counts)), scores


def span_counts(gold: Column, predicted: Column, starts: Longs) -> Longs:
    """Numbers of correct, predicted and gold spans per sentence: [n_sentences, 3]."""
    _, truth, guess, correct = matched_spans(gold, predicted, starts)
    begins = (guess.begins[correct], guess.begins, truth.begins)
    n = len(starts) - 1
    counts = [np.bincount(np.searchsorted(starts, positions, "right") - 1, minlength=n) for positions in begins]
    return np.stack(counts, axis=1).astype(np.int64)


def matched_spans(
    gold: Column, predicted: Column, starts: Longs
) -> tuple[tuple[str, ...], SpanTable, SpanTable, Bools]:
    """The types, the gold spans, the predicted spans, and a mask of correct predicted spans."""
    sides = [(gold, predicted), (predicted, gold)]
    readings = [SpanReading.of(x.values.tolist(), y.values.tolist()) for x, y in sides]
    types = readings[0].types
    truth, guess = (r.find(side.codes, starts) for r, (side, _) in zip(readings, sides, strict=True))
    # Two spans of one side never begin at the same token, so a token's span there is unique.
    end_at = np.zeros(len(gold.codes) + 1, np.int64)
    type_at = np.zeros(len(gold.codes) + 1, np.int64)
    end_at[truth.begins], type_at[truth.begins] = truth.ends, truth.types
    correct = (end_at[guess.begins] == guess.ends) & (type_at[guess.begins] == guess.types)
    return types, truth, guess, correct
