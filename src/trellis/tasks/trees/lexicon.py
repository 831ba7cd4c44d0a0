"""Possible tags of words without given tags, from counts in training and from spelling.

    P(tag | word) = (c(word, tag) + K · P(tag | spelling)) / (c(word) + K)
    P(tag | spelling) = (c(spelling, tag) + K · P(tag | shorter spelling)) / (c(spelling) + K), counted over rare words

A parser adds log P(tag | word) - log P(tag) to the score of a tree: log P(word | tag) without the term log P(word),
which is the same for all tags.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trellis._support.arrays import Arrays, starts_of
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Strings
from trellis.engine.elementary import log
from trellis.features.functions import shape
from trellis.features.vocabulary_tensors import strings_of, strings_tensors

K = 1.0
RARE = 2  # maximum count of words from which tags of unknown words are estimated
ENDING = 3  # maximum number of letters
LEAST = 1e-4  # tags with a lower probability relative to the best tag are dropped

MOST_KNOWN = 10_000  # size of the cache of word scores, in words

Counts = Mapping[str, Mapping[str, int]]


def spellings(word: str) -> Iterator[str]:
    """Spelling classes of a word, from the most specific to the empty one."""
    kind = shape(word)
    for k in range(min(ENDING, len(word)), 0, -1):
        yield f"{kind} {word[-k:].lower()}"
    yield kind
    yield ""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Counts of words, and of spellings of rare words, with tags.

    Attributes
    ----------
    words
        Counts by word and tag.
    by_spelling
        Counts by spelling and tag.
    tags
        Counts by tag.
    """

    words: Counts
    by_spelling: Counts
    tags: Mapping[str, int]
    _cache: dict[str, list[tuple[str, float]]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, tagged: Iterable[tuple[str, str]]) -> Lexicon:
        """Count words with their tags.

        Parameters
        ----------
        tagged
            Pairs (word, tag).

        Returns
        -------
        Lexicon
            The lexicon.
        """
        words, tags, spelling_counts = dict[str, Counter[str]](), Counter[str](), dict[str, Counter[str]]()
        for word, tag in tagged:
            words.setdefault(word, Counter())[tag] += 1
            tags[tag] += 1
        for word, counts in words.items():
            if counts.total() <= RARE:
                for spelling in spellings(word):
                    spelling_counts.setdefault(spelling, Counter()).update(counts)
        return cls(words, spelling_counts, tags)

    def tensors(self, tags: Sequence[str]) -> Arrays:
        """Convert to named arrays, for files.

        Parameters
        ----------
        tags
            The tags in the order of their numbers.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        out: Arrays = {"lexicon.tags": np.array([self.tags[tag] for tag in tags], np.int64)}
        number = {tag: i for i, tag in enumerate(tags)}
        for name, counts in (("lexicon.words", self.words), ("lexicon.spelt", self.by_spelling)):
            out |= strings_tensors(name, Strings.of(counts), slots=False)
            out[f"{name}.places"] = starts_of([len(counter) for counter in counts.values()])
            out[f"{name}.which"] = np.array([number[tag] for counter in counts.values() for tag in counter], np.int32)
            out[f"{name}.often"] = np.array([n for counter in counts.values() for n in counter.values()], np.int64)
        return out

    @classmethod
    def of_tensors(cls, tensors: Tensors, tags: Sequence[str]) -> Lexicon:
        """Make the lexicon from named arrays.

        Parameters
        ----------
        tensors
            Arrays by name.
        tags
            The tags in the order of their numbers.

        Returns
        -------
        Lexicon
            The lexicon.

        Raises
        ------
        ValueError, LookupError
            If the arrays are damaged.
        """
        tables = list[dict[str, dict[str, int]]]()
        for name in ("words", "spelt"):
            keys = strings_of(f"lexicon.{name}", tensors)
            places, ids, often = (tensors[f"lexicon.{name}.{part}"].tolist() for part in ("places", "which", "often"))
            if (
                len(places) != len(keys) + 1
                or len(ids) != len(often)
                or min(often, default=1) < 1
                or min(ids, default=0) < 0
            ):
                raise ValueError("counts do not match the words")
            tables.append(
                {
                    key: {tags[t]: n for t, n in zip(ids[a:b], often[a:b], strict=True)}
                    for key, a, b in zip(keys, places, places[1:], strict=False)
                }
            )
        totals = tensors["lexicon.tags"].tolist()
        if len(totals) != len(tags) or min(totals, default=1) < 1:
            raise ValueError("counts do not match the tags")
        return cls(tables[0], tables[1], dict(zip(tags, totals, strict=True)))

    def probabilities(self, word: str) -> dict[str, float]:
        """Compute P(tag | word) of every tag.

        Parameters
        ----------
        word
            The word.

        Returns
        -------
        dict[str, float]
            Probabilities by tag.
        """
        total = sum(self.tags.values())
        shares = {tag: n / total for tag, n in self.tags.items()}
        for spelling in reversed([*spellings(word)]):
            shares = _mixed(self.by_spelling.get(spelling), shares)
        return _mixed(self.words.get(word), shares)

    def scores(self, word: str) -> list[tuple[str, float]]:
        """List the tags of a word with log P(tag | word) - log P(tag).

        Parameters
        ----------
        word
            The word.

        Returns
        -------
        list[tuple[str, float]]
            Pairs (tag, score).
        """
        if word not in self._cache:
            if len(self._cache) >= MOST_KNOWN:
                self._cache.clear()
            shares, total = self.probabilities(word), sum(self.tags.values())
            threshold = LEAST * max(shares.values())
            ratios = {tag: p / (self.tags[tag] / total) for tag, p in shares.items() if p >= threshold}
            self._cache[word] = [*zip(ratios, log([*ratios.values()]).tolist(), strict=True)]
        return self._cache[word]


def _mixed(counts: Mapping[str, int] | None, behind: dict[str, float]) -> dict[str, float]:
    if counts is None:
        return behind
    total = sum(counts.values()) + K
    return {tag: (counts.get(tag, 0) + K * p) / total for tag, p in behind.items()}
