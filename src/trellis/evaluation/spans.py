"""Precision, recall and F1 of spans, counted as conlleval counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trellis.arrays import Longs
from trellis.corpus.corpus import Column
from trellis.corpus.schemes import OUTSIDE, split_label, starts_anew

_LETTERS = (OUTSIDE, "B", "I", "E", "S")
# [5, 5] whether a span ends or begins between two letters even if their types are the same.
_CUTS = np.array([[starts_anew(a, "", b, "") for b in _LETTERS] for a in _LETTERS])


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of spans and what follows from them; what would be 0/0 is 0."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """The share of the predicted that is correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of gold that was found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.gold + self.predicted
        return 2 * self.correct / both if both else 0.0


@dataclass(frozen=True, slots=True)
class SpanScores:
    """All spans together (micro), and type by type in alphabetical order."""

    micro: Score
    types: dict[str, Score]


@dataclass(frozen=True, slots=True)
class SpanTable:
    """The spans of many sentences, by where they begin."""

    begins: Longs  # [n_spans] first token
    ends: Longs  # [n_spans] last token + 1
    types: Longs  # [n_spans] index into a list of types


def span_scores(gold: Column, predicted: Column, starts: Longs) -> SpanScores:
    """Compare two columns of span labels; starts [n_sentences + 1].

    A predicted span is correct if gold has one of the same type with the same first and last token.
    """
    types = sorted({split_label(label)[1] for column in (gold, predicted) for label in column.values})
    wanted, found = find_spans(gold, starts, types), find_spans(predicted, starts, types)
    # Two spans of one side never begin at the same token, so a token's span there is unique.
    end_at = np.zeros(len(gold.codes) + 1, np.int64)
    type_at = np.zeros(len(gold.codes) + 1, np.int64)
    end_at[wanted.begins], type_at[wanted.begins] = wanted.ends, wanted.types
    correct = (end_at[found.begins] == found.ends) & (type_at[found.begins] == found.types)
    counts = [
        np.bincount(chosen, minlength=len(types)).tolist()
        for chosen in (wanted.types, found.types, found.types[correct])
    ]
    scores = {name: Score(*row) for name, *row in zip(types, *counts, strict=True) if row[0] or row[1]}
    return SpanScores(Score(*(sum(column) for column in counts)), scores)


def find_spans(column: Column, starts: Longs, types: list[str]) -> SpanTable:
    """The spans that a column of labels marks, read as ``corpus.schemes.spans`` reads them, all at once."""
    index = {name: i for i, name in enumerate(types)}
    parsed = [split_label(label) for label in column.values] or [(OUTSIDE, "")]
    letter_of = np.array([_LETTERS.index(letter) for letter, _ in parsed])
    type_of = np.array([index[kind] if letter != OUTSIDE else -1 for letter, kind in parsed])
    letters, kinds = letter_of[column.codes], type_of[column.codes]  # [n_tokens]
    cut = np.ones(len(letters) + 1, bool)  # [n_tokens + 1] whether something ends or begins before token t
    cut[1:-1] = _CUTS[letters[:-1], letters[1:]] | (kinds[:-1] != kinds[1:])
    cut[starts] = True
    inside = letters > 0
    begins = np.flatnonzero(cut[:-1] & inside)
    ends = np.flatnonzero(cut[1:] & inside) + 1
    return SpanTable(begins, ends, kinds[begins])
