"""Precision, recall and F1 of spans, counted as conlleval counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trellis._support.arrays import Bools, Bytes, Ints, Longs
from trellis.corpus.corpus import Column
from trellis.corpus.schemes import OUTSIDE, split_label, starts_anew

_LETTERS = (OUTSIDE, "B", "I", "E", "S")
# [5, 5] whether a span ends or begins between two letters even if their types are the same.
_CUTS = np.array([[starts_anew(a, "", b, "") for b in _LETTERS] for a in _LETTERS])


@dataclass(frozen=True, slots=True)
class SpanReading:
    """What labels mark, as ``corpus.schemes.spans`` reads them: the same for all schemes."""

    types: tuple[str, ...]
    type_of: Ints  # [L] the type of a label's span, -1 outside
    cut: Bytes  # [L, L] whether something ends or begins between two neighbours

    @classmethod
    def of(cls, labels: Sequence[str], *more: Sequence[str]) -> SpanReading:
        """Of these labels, with the types of more of them too; CorpusError if one is not O or like B-NP."""
        parsed = [split_label(label) for label in labels]
        others = [split_label(label) for some in more for label in some]
        types = sorted({kind for letter, kind in [*parsed, *others] if letter != OUTSIDE})
        number = {kind: i for i, kind in enumerate(types)}
        letters = np.array([_LETTERS.index(letter) for letter, _ in parsed], np.int64)
        type_of = np.array([-1 if letter == OUTSIDE else number[kind] for letter, kind in parsed], np.int32)
        cut = _CUTS[letters[:, None], letters] | (type_of[:, None] != type_of)
        return cls(tuple(types), type_of, cut.astype(np.uint8))

    def find(self, codes: Ints, starts: Longs) -> SpanTable:
        """The spans of sentences that begin at starts [n_sentences + 1], all at once; codes [n_tokens] are labels."""
        cut = np.ones(len(codes) + 1, bool)  # [n_tokens + 1] whether something ends or begins before token t
        cut[1:-1] = self.cut[codes[:-1], codes[1:]]
        cut[starts] = True
        types = self.type_of[codes] if len(codes) else np.empty(0, np.int32)
        begins = np.flatnonzero(cut[:-1] & (types >= 0))
        return SpanTable(begins, np.flatnonzero(cut[1:] & (types >= 0)) + 1, types[begins].astype(np.int64))


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of spans, or of parts of labels, and what follows from them; what would be 0/0 is 0."""

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
    types, wanted, found, correct = _matched(gold, predicted, starts)
    counts = [
        np.bincount(chosen, minlength=len(types)).tolist()
        for chosen in (wanted.types, found.types, found.types[correct])
    ]
    scores = {name: Score(*row) for name, *row in zip(types, *counts, strict=True) if row[0] or row[1]}
    return SpanScores(Score(*(sum(column) for column in counts)), scores)


def span_counts(gold: Column, predicted: Column, starts: Longs) -> Longs:
    """Of each sentence how many spans are correct, predicted and gold: [n_sentences, 3]."""
    _, wanted, found, correct = _matched(gold, predicted, starts)
    begins = (found.begins[correct], found.begins, wanted.begins)
    n = len(starts) - 1
    of = [np.bincount(np.searchsorted(starts, one, "right") - 1, minlength=n) for one in begins]
    return np.stack(of, axis=1).astype(np.int64)


def _matched(gold: Column, predicted: Column, starts: Longs) -> tuple[tuple[str, ...], SpanTable, SpanTable, Bools]:
    """The types, the spans of gold, those predicted, and which of the latter are correct."""
    sides = [(gold, predicted), (predicted, gold)]
    readings = [SpanReading.of(one.values.tolist(), other.values.tolist()) for one, other in sides]
    types = readings[0].types
    wanted, found = (r.find(side.codes, starts) for r, (side, _) in zip(readings, sides, strict=True))
    # Two spans of one side never begin at the same token, so a token's span there is unique.
    end_at = np.zeros(len(gold.codes) + 1, np.int64)
    type_at = np.zeros(len(gold.codes) + 1, np.int64)
    end_at[wanted.begins], type_at[wanted.begins] = wanted.ends, wanted.types
    correct = (end_at[found.begins] == found.ends) & (type_at[found.begins] == found.types)
    return types, wanted, found, correct
