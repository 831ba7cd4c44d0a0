"""Dictionaries learned from a training corpus: the tag dictionary, and dictionaries of spans.

Smoothed, the tag dictionary knows that a word seen a few times may have labels it was not seen with: words have similar
labels where they end alike. Of each ending that rare words have often enough, it keeps the labels that they were seen
with.

A dictionary of spans knows every word of the training corpus; of a new text it does not. Two things keep training from
trusting it too much. The corpus is cut into folds of neighbouring sentences, and a sentence sees no entry that its own
fold alone has. And every sentence is learned from twice, the second time without the dictionary: otherwise the weights
of other features stay small where the dictionary explains the labels, and words that it lacks have no others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from trellis._support.arrays import Doubles, Ints, LabelSets, Longs
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.schemes import SpanReading, guess_scheme
from trellis.features.dictionaries import NOBODY, EntrySpans
from trellis.tasks.tagging.chain_model import Endings

if TYPE_CHECKING:
    from trellis.tasks.tagging.training.encoding import Labelling

RARE = 10  # maximum count of words from which labels of unseen words are estimated
LONGEST = 3  # maximum length of a suffix in characters
ENOUGH = 400  # minimum number of rare-word tokens with a suffix
FOLDS = 4  # on PKU's held-out lines fewer lowered F1 and more lowered recall of unknown words, both slightly


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
    labels_seen = dict(zip(words.tolist(), np.split(pairs % n_labels, first[1:]) if len(words) else [], strict=True))
    if not smoothed:
        often = [word for word in labels_seen if occurrences[word] >= frequent]
        sets = LabelSets.of([open_class, *(labels_seen[word].tolist() for word in often)])
        set_of = np.zeros(n_values, np.int32)
        set_of[often] = sets.set_of[1:]
        return sets._replace(set_of=set_of), None
    values = column.values.tolist()
    by_ending = _endings({values[word]: (int(occurrences[word]), labels) for word, labels in labels_seen.items()})

    def labels_of(word: int) -> list[int]:
        labels = labels_seen[word].tolist() if word in labels_seen else []
        if occurrences[word] >= frequent:
            return labels
        by_suffix = next((by_ending[ending] for ending in endings_of(values[word]) if ending in by_ending), open_class)
        return [*labels, *by_suffix]

    sets = LabelSets.of([open_class, *by_ending.values(), *map(labels_of, range(n_values))])
    n_endings = len(by_ending)
    endings = Endings(Strings.of(by_ending), sets.set_of[1 : 1 + n_endings])
    return sets._replace(set_of=sets.set_of[1 + n_endings :]), endings


def endings_of(word: str) -> list[str]:
    """Suffixes of a word, longest first."""
    return [word[-n:] for n in range(min(LONGEST, len(word)), 0, -1)]


def _endings(words: dict[str, tuple[int, Ints]]) -> dict[str, list[int]]:
    """The labels of rare words by suffix; ``words`` are counts and labels of words."""
    n_tokens, labels = Counter[str](), defaultdict[str, set[int]](set)
    for word, (n, its_labels) in words.items():
        if n <= RARE:
            for ending in endings_of(word):
                n_tokens[ending] += n
                labels[ending].update(its_labels.tolist())
    return {ending: sorted(labels[ending]) for ending, n in n_tokens.items() if n >= ENOUGH}


def twice(corpus: Corpus, weights: Doubles | None) -> tuple[Corpus, Doubles | None]:
    """Repeat all sentences, with their weights, after the last one."""
    return corpus.take(np.tile(np.arange(len(corpus)), 2)), None if weights is None else np.tile(weights, 2)


def spans_twice(corpus: Corpus, target: str, labelling: Labelling) -> EntrySpans:
    """The spans of a corpus in which every sentence occurs twice."""
    if guess_scheme(labelling.labels) is None:
        examples = ", ".join(labelling.labels[:3])
        reason = f"column {target!r} marks no spans ({examples}...), so no dictionary can be learned; give a file"
        raise CorpusError(corpus.source, None, reason)
    n = len(corpus) // 2
    starts = corpus.starts[: n + 1]
    spans = SpanReading.of(labelling.labels).find(labelling.gold[: starts[-1]], starts)
    folds = (np.arange(n) * FOLDS // max(n, 1)).astype(np.int32)
    of_span = folds[np.searchsorted(starts, spans.begins, side="right") - 1]
    return EntrySpans(spans.begins, spans.ends - spans.begins, of_span, np.append(folds, np.full(n, NOBODY, np.int32)))
