"""How good a segmentation is: words found, and of those the words that training had and had not."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from trellis._support.errors import CorpusError
from trellis.corpus.unspaced import narrow, to_points, to_text
from trellis.evaluation.spans import Score


@dataclass(frozen=True, slots=True)
class WordScores:
    """Counts of words. A word is right if it begins and ends where a true word does."""

    words: Score
    known: tuple[int, int] = (0, 0)  # true words that training had; how many of them are right
    unknown: tuple[int, int] = (0, 0)  # the same of those that it had not

    @property
    def recall_of_known(self) -> float:
        """The share of known words that are right, 0 if there are none."""
        return self.known[1] / self.known[0] if self.known[0] else 0.0

    @property
    def recall_of_unknown(self) -> float:
        """The share of unknown words that are right, 0 if there are none."""
        return self.unknown[1] / self.unknown[0] if self.unknown[0] else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The figures as a plain dict, ready for JSON."""
        return {
            "precision": self.words.precision,
            "recall": self.words.recall,
            "f1": self.words.f1,
            "gold": self.words.gold,
            "predicted": self.words.predicted,
            "correct": self.words.correct,
            "known": self.known[0],
            "recall_of_known": self.recall_of_known,
            "unknown": self.unknown[0],
            "recall_of_unknown": self.recall_of_unknown,
        }

    def __str__(self) -> str:
        if not self.words.gold:
            return "no words to evaluate"
        n, words = sum(row[0] for row in (self.known, self.unknown)), self.words
        share = f" ({100 * self.unknown[0] / n:.2f}% of the words)" if n else ""
        return "\n".join(
            [
                f"words      {words.gold}, found {words.predicted}, right {words.correct}",
                f"precision  {100 * words.precision:.2f}",
                f"recall     {100 * words.recall:.2f}",
                f"F1         {100 * words.f1:.2f}",
                f"recall of known words    {100 * self.recall_of_known:.2f}",
                f"recall of unknown words  {100 * self.recall_of_unknown:.2f}{share}",
            ]
        )


def compare_words(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], known: Container[str]
) -> WordScores:
    """Compare lines of words with the true ones; ``known`` are the words of training, in half width."""
    n_gold = n_predicted = n_right = n_known = n_known_right = 0
    if len(gold) != len(predicted):
        raise CorpusError("", None, f"{len(gold)} lines, {len(predicted)} predicted; compare the same text")
    for number, (true, found) in enumerate(zip(gold, predicted, strict=True), 1):
        if "".join(true) != "".join(found):
            raise CorpusError("", number, "another text than that of the true words; compare the same text")
        places = set(places_of(found))
        n_gold, n_predicted = n_gold + len(true), n_predicted + len(found)
        for word, place in zip(true, places_of(true), strict=True):
            right = place in places
            n_right += right
            if half_width(word) in known:
                n_known, n_known_right = n_known + 1, n_known_right + right
    of_known = n_known, n_known_right
    return WordScores(Score(n_gold, n_predicted, n_right), of_known, (n_gold - n_known, n_right - n_known_right))


def half_width(word: str) -> str:
    """A word as dictionaries have it."""
    return word if word.isascii() else to_text(narrow(to_points(word)))


def places_of(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where words begin and end, in characters."""
    ends = list(accumulate(map(len, words)))
    return list(zip([0, *ends[:-1]], ends, strict=True)) if words else []
