"""The tag dictionary: which labels a word may have, from how often it was seen with which.

Smoothed, it knows that a word seen a few times may have labels it was not seen with: words have similar labels where
they end alike. Of each ending that rare words have often enough, it keeps the labels that they were seen with.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from trellis._support.arrays import Ints, LabelSets, Longs
from trellis.corpus.corpus import Column, Strings
from trellis.tasks.tagging.chain_model import Endings

RARE = 10  # occurrences of a word up to which it says something of words unseen
LONGEST = 3  # characters of an ending
ENOUGH = 400  # tokens of rare words that an ending needs


def tag_dictionary(
    column: Column, tokens: Longs, tags: Ints, n_labels: int, frequent: int, *, smoothed: bool
) -> tuple[LabelSets, Endings | None]:
    """The labels by words, the values of the column, and by endings of words that it does not have.

    A word seen often may have the labels it was seen with; another one has those of rare words, which are the first
    set. Smoothed, it has those it was seen with and those of its longest ending.
    """
    codes, n_values = column.codes[tokens], len(column.values)
    occurrences = np.bincount(codes, minlength=n_values)
    is_frequent = occurrences[codes] >= frequent  # [n_tokens]
    open_class = np.unique(tags[~is_frequent]).tolist() or range(n_labels)
    pairs = np.unique(codes.astype(np.int64) * n_labels + tags)
    words, first = np.unique(pairs // n_labels, return_index=True)
    seen = dict(zip(words.tolist(), np.split(pairs % n_labels, first[1:]) if len(words) else [], strict=True))
    if not smoothed:
        often = [word for word in seen if occurrences[word] >= frequent]
        sets = LabelSets.of([open_class, *(seen[word].tolist() for word in often)])
        set_of = np.zeros(n_values, np.int32)
        set_of[often] = sets.set_of[1:]
        return sets._replace(set_of=set_of), None
    values = column.values.tolist()
    by_ending = _endings({values[word]: (int(occurrences[word]), labels) for word, labels in seen.items()})

    def labels_of(word: int) -> list[int]:
        known = seen[word].tolist() if word in seen else []
        if occurrences[word] >= frequent:
            return known
        found = next((by_ending[ending] for ending in endings_of(values[word]) if ending in by_ending), open_class)
        return [*known, *found]

    sets = LabelSets.of([open_class, *by_ending.values(), *map(labels_of, range(n_values))])
    n_endings = len(by_ending)
    endings = Endings(Strings.of(by_ending), sets.set_of[1 : 1 + n_endings])
    return sets._replace(set_of=sets.set_of[1 + n_endings :]), endings


def endings_of(word: str) -> list[str]:
    """What a word may end in, the longest first."""
    return [word[-n:] for n in range(min(LONGEST, len(word)), 0, -1)]


def _endings(words: dict[str, tuple[int, Ints]]) -> dict[str, list[int]]:
    """The labels of rare words by what they end in; ``words`` have how often they were seen, and their labels."""
    n_tokens, labels = Counter[str](), defaultdict[str, set[int]](set)
    for word, (n, its_labels) in words.items():
        if n <= RARE:
            for ending in endings_of(word):
                n_tokens[ending] += n
                labels[ending].update(its_labels.tolist())
    return {ending: sorted(labels[ending]) for ending, n in n_tokens.items() if n >= ENOUGH}
