"""A language model of word n-grams, smoothed by interpolated Kneser-Ney.

    P(w | h) = max(c(h w) - D, 0) / c(h) + D n(h) / c(h) · P(w | h without its first word)

n(h) is how many different words follow h. D is n_1 / (n_1 + 2 n_2) of the order, where n_r n-grams occur r times. Below
the highest order c counts different words before an n-gram instead of its occurrences.

Contexts are numbers, so that a search compares and keeps them quickly: the words of an n-gram are digits in base V, and
words out of the vocabulary are all ``<unknown>``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from examples.translation.corpus import Words, numbered

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unknown>"
COMMON_DISCOUNT = 0.5  # where counts are too few to estimate one


class LanguageModel:
    """Log probabilities of words after the n - 1 words before them."""

    def __init__(self, sentences: Iterable[Words], order: int = 3) -> None:
        sentences = list(sentences)
        self.order = order
        self.numbers = numbered(sentences, [BEGIN, END, UNKNOWN])
        self.base = len(self.numbers)
        self.start = 0  # the context of a sentence's first word: BEGIN, whose digit is 0, again and again
        self._contexts = self.base ** (order - 1)
        counts = Counter[int]()
        for sentence in sentences:
            context = self.start
            for word in (*map(self.numbers.__getitem__, sentence), self.numbers[END]):
                counts[context * self.base + word] += 1
                context = (context * self.base + word) % self._contexts
        # Of each order from 1 on: what n-grams and contexts add up to in the formula above.
        self._discounted: list[dict[int, float]] = []
        self._backoff: list[dict[int, float]] = []
        tables = [counts]
        for n in range(order - 1, 0, -1):
            shortened = self.base**n
            tables.append(Counter(ngram % shortened for ngram in tables[-1]))
        for table in reversed(tables):
            self._add(table)
        self._known: dict[int, float] = {}

    def _add(self, counts: Counter[int]) -> None:
        """The next order."""
        times = Counter(counts.values())
        discount = times[1] / (times[1] + 2 * times[2]) if times[1] and times[2] else COMMON_DISCOUNT
        totals, followers = Counter[int](), Counter[int]()
        for ngram, count in counts.items():
            totals[ngram // self.base] += count
            followers[ngram // self.base] += 1
        self._discounted.append({g: (c - discount) / totals[g // self.base] for g, c in counts.items()})
        self._backoff.append({h: discount * followers[h] / total for h, total in totals.items()})

    def number(self, word: str) -> int:
        """The number of a word."""
        return self.numbers.get(word, self.numbers[UNKNOWN])

    def probability(self, context: int, word: int, n_known: int | None = None) -> float:
        """P(word | context), both as numbers; of the context only the last ``n_known`` words count (default: all)."""
        p = 1 / (self.base - 1)  # of all words but BEGIN, were nothing known
        n_orders = self.order if n_known is None else n_known + 1
        orders = zip(self._discounted[:n_orders], self._backoff, strict=False)
        for n, (discounted, backoff) in enumerate(orders):
            h = context % self.base**n
            if h not in backoff:
                break
            p = discounted.get(h * self.base + word, 0.0) + backoff[h] * p
        return p

    def score(self, context: int, word: int) -> tuple[float, int]:
        """Log P(word | context), and the context after it."""
        ngram = context * self.base + word
        found = self._known.get(ngram)
        if found is None:
            found = self._known[ngram] = math.log(self.probability(context, word))
        return found, ngram % self._contexts

    def inner_score(self, words: Sequence[int]) -> float:
        """Log P of words of which nothing is known that stands before them."""
        total, context = 0.0, 0
        for n, word in enumerate(words):
            total += math.log(self.probability(context, word, n))
            context = (context * self.base + word) % self._contexts
        return total

    def sentence_score(self, words: Sequence[str]) -> float:
        """Log P of a whole sentence."""
        total, context = 0.0, self.start
        for word in (*words, END):
            score, context = self.score(context, self.number(word))
            total += score
        return total
