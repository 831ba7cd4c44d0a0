"""Evaluation of word segmentation: precision, recall and F1, recall of known and unknown words."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from trellis._support.errors import CorpusError
from trellis.corpus.unspaced import narrow, to_points, to_text
from trellis.display.tables import Figure, Row
from trellis.evaluation.scores import Score, ScoreReport


@dataclass(frozen=True, slots=True, repr=False)
class WordReport(ScoreReport):
    """Scores of word segmentation; a word is correct if it begins and ends where a gold word does.

    Attributes
    ----------
    n_sentences
        Number of lines.
    micro
        Score of all words.
    known
        Recall of words that occurred in training.
    unknown
        Recall of words that did not.
    """

    n_sentences: int
    micro: Score
    known: Figure
    unknown: Figure
    counts: ClassVar[tuple[str, ...]] = ("n_sentences", "n_words")

    @property
    def n_words(self) -> int:
        """Number of gold words."""
        return self.micro.gold

    @property
    def rows(self) -> Mapping[str, Row]:  # type: ignore[override]
        """Recall of known and unknown words."""
        figures = {"known words": self.known, "unknown words": self.unknown}
        return {name: {"recall": recall, "support": n} for name, (recall, n) in figures.items() if n}


def compare_words(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], known: Container[str]
) -> WordReport:
    """Compare predicted with gold words by line; ``known`` are the words of training, in half width."""
    n_gold = n_predicted = n_right = n_known = n_known_right = 0
    if len(gold) != len(predicted):
        raise CorpusError("", None, f"{len(gold)} lines, {len(predicted)} predicted; compare the same text")
    for number, (true, words) in enumerate(zip(gold, predicted, strict=True), 1):
        if "".join(true) != "".join(words):
            raise CorpusError("", number, "the text differs from that of the gold words; compare the same text")
        places = set(places_of(words))
        n_gold, n_predicted = n_gold + len(true), n_predicted + len(words)
        for word, place in zip(true, places_of(true), strict=True):
            right = place in places
            n_right += right
            if half_width(word) in known:
                n_known, n_known_right = n_known + 1, n_known_right + right
    counts = (n_known_right, n_known), (n_right - n_known_right, n_gold - n_known)
    recalls = (Figure(right / max(1, n), n) for right, n in counts)
    return WordReport(len(gold), Score(n_gold, n_predicted, n_right), *recalls)


def half_width(word: str) -> str:
    """Convert a word to half width, as in dictionaries."""
    return word if word.isascii() else to_text(narrow(to_points(word)))


def places_of(words: Sequence[str]) -> list[tuple[int, int]]:
    """Character offsets of words."""
    ends = list(accumulate(map(len, words)))
    return list(zip([0, *ends[:-1]], ends, strict=True)) if words else []
