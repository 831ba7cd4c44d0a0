"""The features of a translation, Phi: what the phrase table and the language model say, and which words are used how.

A derivation is the phrases in the order in which their translations are said. Its features are those of each phrase
pair wherever it stands, and those of a phrase after what was said before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from examples.translation.corpus import Pair, Words, numbered
from examples.translation.language_model import BEGIN, END, LanguageModel
from examples.translation.phrases import JUMP, MONOTONE, ORIENTATIONS, SWAP, PhrasePair

SCORES = ("P(e | f)", "P(f | e)", "lex(e | f)", "lex(f | e)")
# Dense features are told in tens: a step then changes their weights by a hundredth of what it would, beside those of
# sparse features, which are 1 where they hold.
UNIT = 10.0
# Before anything is learnt, as other phrase-based systems begin.
_PER_ONE = dict.fromkeys(SCORES, 0.2) | {
    "language model": 0.5,
    "words": 1.0,
    "phrases": 0.2,
    "distance": -0.3,
    "orientation": 0.3,
    "unknown": -5.0,
}
UNTUNED = {name: weight * UNIT for name, weight in _PER_ONE.items()}


class Step(NamedTuple):
    """A phrase pair at its place: source words from ``start`` to ``end``."""

    start: int
    end: int
    pair: PhrasePair


Derivation = tuple[Step, ...]


def words_of(derivation: Derivation) -> Words:
    """The translation."""
    return tuple(word for step in derivation for word in step.pair.target)


def orientation(before: tuple[int, int], start: int, end: int) -> int:
    """How a phrase follows another, given by its place."""
    return MONOTONE if start == before[1] else SWAP if end == before[0] else JUMP


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """Which features there are."""

    language_model: LanguageModel
    frequent_sources: frozenset[str]  # words that reordering is told apart by
    frequent_targets: frozenset[str]  # and bigrams; the language model knows them all

    @classmethod
    def of(cls, pairs: Sequence[Pair], language_model: LanguageModel, *, n_frequent: int = 200) -> FeatureSet:
        """Those of a training corpus."""
        sources, targets = (
            list(numbered(side))[:n_frequent]
            for side in ((pair.source for pair in pairs), (pair.target for pair in pairs))
        )
        return cls(language_model, frozenset(sources), frozenset([BEGIN, END, *targets]))

    def of_pair(self, pair: PhrasePair) -> dict[str, float]:
        """Those that a pair has wherever it stands."""
        out = {name: score / UNIT for name, score in zip(SCORES, pair.scores, strict=True)}
        out |= {"words": len(pair.target) / UNIT, "phrases": 1 / UNIT}
        if not pair.count:
            out["unknown"] = 1 / UNIT
            return out
        names = [
            f"met {min(pair.count, 4)}",
            f"sizes {len(pair.source)} {len(pair.target)}",
            f"pair {' '.join(pair.source)} = {' '.join(pair.target)}",
            *(f"word {pair.source[j]} = {pair.target[i]}" for j, i in pair.links),
        ]
        linked = {j for j, _ in pair.links}
        names += [f"drop {word}" for j, word in enumerate(pair.source) if j not in linked]
        names += [name for u, v in zip(pair.target, pair.target[1:], strict=False) for name in self.of_bigram(u, v)]
        for name in names:
            out[name] = out.get(name, 0.0) + 1.0
        return out

    def of_bigram(self, u: str, v: str) -> list[str]:
        """Those of two words of the translation, one after the other."""
        return [f"bigram {u} {v}"] if {u, v} <= self.frequent_targets else []

    def of_move(self, source: Words, kind: int) -> list[str]:
        """Those of the way in which a source phrase follows, but for what the phrase table says of it."""
        name = ORIENTATIONS[kind]
        ends = ((source[0], "first"), (source[-1], "last"))
        return [name, *(f"{name} {word} {which}" for word, which in ends if word in self.frequent_sources)]

    def of_derivation(self, derivation: Derivation) -> dict[str, float]:
        """All of them: Phi."""
        out: dict[str, float] = {}

        def add(features: dict[str, float]) -> None:
            for name, value in features.items():
                out[name] = out.get(name, 0.0) + value

        before, word = (0, 0), BEGIN
        for start, end, pair in derivation:
            add(self.of_pair(pair))
            kind = orientation(before, start, end)
            add({"distance": abs(start - before[1]) / UNIT, "orientation": pair.orientations[kind] / UNIT})
            add(dict.fromkeys((*self.of_move(pair.source, kind), *self.of_bigram(word, pair.target[0])), 1.0))
            before, word = (start, end), pair.target[-1]
        add(dict.fromkeys(self.of_bigram(word, END), 1.0))
        add({"language model": self.language_model.sentence_score(words_of(derivation)) / UNIT})
        return {name: value for name, value in out.items() if value}
