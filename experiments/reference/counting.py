"""Hidden Markov models by counts: log P(words, labels) by the definition, over dictionaries.

    log P = sum_t ( log P(z | x, y) + log P(word | z) ) + log P(end | last label)

x, y, z are the labels at t-2, t-1, t, and NULL before the sentence. Every count begins with k.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

NULL = "<null>"


class HMMCounts:
    """What a corpus says: words and labels, label bigrams and trigrams, last labels."""

    def __init__(self, corpus: Iterable[tuple[Sequence[str], Sequence[str]]], order: int, k: float) -> None:
        self.order, self.k = order, k
        self.emitted: Counter[tuple[str, str]] = Counter()  # (word, z)
        self.words: Counter[str] = Counter()
        # (z), (y, z), (x, y, z)
        self.grams: list[Counter[tuple[str, ...]]] = [Counter() for _ in range(order + 1)]
        self.ends: Counter[str] = Counter()
        for words, labels in corpus:
            history = (NULL,) * order
            for word, z in zip(words, labels, strict=True):
                self.emitted[word, z] += 1
                self.words[word] += 1
                for n, table in enumerate(self.grams):
                    table[(*history[order - n :], z)] += 1
                history = (*history, z)[1:]
            self.ends.update(labels[-1:])
        self.labels = sorted(z for (z,) in self.grams[0])
        self.once = Counter(z for word, z in self.emitted if self.words[word] == 1)

    def log_emission(self, word: str, z: str) -> float:
        """log P(word | z): all words never seen share the probability of those seen once."""
        count = self.emitted[word, z] if word in self.words else self.once[z]
        total = self.grams[0][z,] + self.once[z] + self.k * (len(self.words) + 1)
        return math.log((count + self.k) / total)

    def stop(self, z: str) -> float:
        """P(end | z), decided before every label but the first."""
        return (self.ends[z] + self.k) / (self.grams[0][z,] + 2 * self.k)

    def total(self, history: tuple[str, ...]) -> int:
        """How often any label came after these."""
        return sum(self.grams[len(history)][(*history, z)] for z in self.labels)

    def added(self, history: tuple[str, ...], z: str) -> float:
        """P(z | history), k added to every count."""
        count = self.grams[self.order][(*history, z)]
        return (count + self.k) / (self.total(history) + self.k * len(self.labels))

    def lambdas(self) -> list[float]:
        """Deleted interpolation (Brants 2000, figure 1).

        An n-gram votes with its count for the history length that predicts it best once it is taken out of the counts;
        of equals the longest. One vote each to begin with, so that no probability is zero.
        """
        votes = [1.0] * (self.order + 1)
        for gram, count in self.grams[self.order].items():
            cases = []
            for n in range(self.order + 1):
                shorter = gram[self.order - n :]
                rest = self.total(shorter[:-1]) - 1
                cases.append((self.grams[n][shorter] - 1) / rest if rest > 0 else 0.0)
            votes[max(range(len(cases)), key=lambda n: (cases[n], n))] += count
        return [vote / sum(votes) for vote in votes]

    def interpolated(self, history: tuple[str, ...], z: str) -> float:
        """sum_n lambda_n P_n(z | last n labels); a history never seen has the frequencies of the shorter one."""
        parts: list[float] = []
        for n in range(self.order + 1):
            known = history[self.order - n :]
            total = self.total(known)
            parts.append(self.grams[n][(*known, z)] / total if total else parts[-1])
        return sum(weight * part for weight, part in zip(self.lambdas(), parts, strict=True))

    def score(self, words: Sequence[str], labels: Sequence[str], smoothing: str, *, end: bool) -> float:
        """log P(words, labels)."""
        history, total = (NULL,) * self.order, 0.0
        for t, (word, z) in enumerate(zip(words, labels, strict=True)):
            if end and t:
                total += math.log(1 - self.stop(labels[t - 1]))
            prior = self.added(history, z) if smoothing == "added" else self.interpolated(history, z)
            total += math.log(prior) + self.log_emission(word, z)
            history = (*history, z)[1:]
        return total + (math.log(self.stop(labels[-1])) if end and len(labels) else 0.0)


def suffix_probability(counts: Sequence[Counter[str]], z: str, n_labels: int, k: float, strength: float) -> float:
    """P(z | suffix) = (count + strength P(z | shorter suffix)) / (total + strength), among rare words.

    ``counts`` has the labels of all rare words, then of those with the same last letter, the same last two, ... A word
    never seen has log P(word | z) + log P(z | suffix) - log P(z), P(z) that of rare words.
    """
    root = counts[0]
    p = (root[z] + k) / (root.total() + k * n_labels)
    for level in counts[1:]:
        p = (level[z] + strength * p) / (level.total() + strength)
    return p
