"""Phrase pairs: which runs of words translate which, read off aligned sentences (Koehn et al. 2003), and how well.

A pair of runs is one if some link is between them, and no link leads from inside of one to outside of the other.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from examples.translation.alignment import Links
from examples.translation.corpus import Pair, Words

MONOTONE, SWAP, JUMP = range(3)  # how a phrase follows the one before: to the right of it, to its left, elsewhere
ORIENTATIONS = ("monotone", "swap", "jump")


@dataclass(frozen=True, slots=True, eq=False)
class PhrasePair:
    """A source phrase with one of its translations; there is one object per pair."""

    source: Words
    target: Words
    count: int
    scores: tuple[float, float, float, float]  # logs: P(e | f), P(f | e), and by their words, lex(e | f), lex(f | e)
    orientations: tuple[float, float, float]  # logs: how probable it is that the pair follows in these ways
    links: tuple[tuple[int, int], ...] = ()  # of its words


def spans(pair: Pair, links: Links, longest: int) -> Iterator[tuple[int, int, int, int]]:
    """All phrase pairs of a sentence: source from, to, target from, to; ends are exclusive."""
    n, m = len(pair.source), len(pair.target)
    low, high = [m] * n, [-1] * n  # of each source word, the target words it is linked to
    first, last = [n] * m, [-1] * m  # and the other way round
    for j, i in links:
        low[j], high[j] = min(low[j], i), max(high[j], i)
        first[i], last[i] = min(first[i], j), max(last[i], j)
    for a in range(n):
        c, d = m, -1
        for b in range(a, min(a + longest, n)):
            c, d = min(c, low[b]), max(d, high[b])
            if d < 0 or d - c >= longest:
                continue
            if min(first[c : d + 1]) < a or max(last[c : d + 1]) > b:
                continue
            left = c
            while left >= 0 and (left == c or last[left] < 0) and d - left < longest:  # unaligned words may join
                right = d
                while right < m and (right == d or last[right] < 0) and right - left < longest:
                    yield a, b + 1, left, right + 1
                    right += 1
                left -= 1


class WordProbabilities:
    """w(e | f) and w(f | e) by counted links; a word without a link is linked to nothing, ""."""

    def __init__(self, pairs: Sequence[Pair], links: Sequence[Links]) -> None:
        joint = Counter[tuple[str, str]]()
        for pair, linked in zip(pairs, links, strict=True):
            joint.update((pair.source[j], pair.target[i]) for j, i in linked)
            joint.update((w, "") for j, w in enumerate(pair.source) if all(j != one for one, _ in linked))
            joint.update(("", w) for i, w in enumerate(pair.target) if all(i != one for _, one in linked))
        of_source, of_target = Counter[str](), Counter[str]()
        for (f, e), count in joint.items():
            of_source[f] += count
            of_target[e] += count
        self.forward = {(f, e): count / of_source[f] for (f, e), count in joint.items()}
        self.backward = {(f, e): count / of_target[e] for (f, e), count in joint.items()}

    def lexical(self, source: Words, target: Words, links: Sequence[tuple[int, int]]) -> tuple[float, float]:
        """Log lex(e | f) = sum_i log of the mean of w(e_i | f_j) over the links of i; and log lex(f | e)."""
        of_target, of_source = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        for j, i in links:
            of_target[i].append(j)
            of_source[j].append(i)
        forward = backward = 0.0
        for i, e in enumerate(target):
            linked = [self.forward[source[j], e] for j in of_target[i]] or [self.forward[("", e)]]
            forward += math.log(sum(linked) / len(linked))
        for j, f in enumerate(source):
            linked = [self.backward[f, target[i]] for i in of_source[j]] or [self.backward[(f, "")]]
            backward += math.log(sum(linked) / len(linked))
        return forward, backward


class PhraseTable:
    """The best translations of every source phrase, best first."""

    def __init__(self, pairs: Sequence[Pair], links: Sequence[Links], *, longest: int = 5, best: int = 20) -> None:
        self.longest = longest
        counts = defaultdict[Words, Counter[Words]](Counter)
        totals = Counter[Words]()  # of target phrases
        kinds = dict[tuple[Words, Words], list[int]]()  # how often a pair follows in each way
        inner = dict[tuple[Words, Words], tuple[tuple[int, int], ...]]()  # the links of its first occurrence
        for pair, linked in zip(pairs, links, strict=True):
            for a, b, c, d in spans(pair, linked, longest):
                key = f, e = pair.source[a:b], pair.target[c:d]
                counts[f][e] += 1
                totals[e] += 1
                if key not in kinds:
                    kinds[key] = [0, 0, 0]
                    inner[key] = tuple((j - a, i - c) for j, i in sorted(linked) if a <= j < b and c <= i < d)
                # By the word before the target phrase: does it come from the left or the right neighbour?
                is_next = (a - 1, c - 1) in linked or a == c == 0
                kinds[key][MONOTONE if is_next else SWAP if (b, c - 1) in linked else JUMP] += 1
        words = WordProbabilities(pairs, links)
        general = [sum(of_pair[kind] for of_pair in kinds.values()) for kind in range(len(ORIENTATIONS))]
        share = [(count + 1) / (sum(general) + 3) for count in general]
        self.entries: dict[Words, list[PhrasePair]] = {}
        for f, translations in counts.items():
            total = translations.total()
            kept = sorted(translations.items(), key=lambda one: (-one[1], one[0]))[:best]
            self.entries[f] = [
                PhrasePair(
                    f,
                    e,
                    count,
                    (math.log(count / total), math.log(count / totals[e]), *words.lexical(f, e, inner[f, e])),
                    _smoothed(kinds[f, e], share),
                    inner[f, e],
                )
                for e, count in kept
            ]

    def __len__(self) -> int:
        return sum(map(len, self.entries.values()))

    def __getitem__(self, source: Words) -> list[PhrasePair]:
        return self.entries.get(source, [])


def _smoothed(counts: Sequence[int], share: Sequence[float], prior: float = 2.0) -> tuple[float, float, float]:
    """Log probabilities, as if each had been met a few times more."""
    total = sum(counts) + prior
    one, two, three = (math.log((count + prior * part) / total) for count, part in zip(counts, share, strict=True))
    return one, two, three
