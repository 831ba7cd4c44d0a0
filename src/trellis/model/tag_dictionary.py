"""The tag dictionary: which labels a word may have, so that decoding tries no others.

A word seen often in training may have the labels it was seen with; a rare or unknown one has the open-class labels,
those that rare words were seen with. They are the first set.
"""

from __future__ import annotations

import numpy as np

from trellis.arrays import Ints, LabelSets


def learn_tags(codes: Ints, n_values: int, gold: Ints, n_labels: int, min_count: int) -> LabelSets:
    """The labels of every value of the first input column; a word is frequent from min_count occurrences on."""
    frequent = np.bincount(codes, minlength=n_values)[codes] >= min_count  # [n_tokens]
    open_class = np.unique(gold[~frequent]).tolist() or range(n_labels)
    pairs = np.unique(codes[frequent].astype(np.int64) * n_labels + gold[frequent])
    words, first = np.unique(pairs // n_labels, return_index=True)
    seen = np.split(pairs % n_labels, first[1:]) if len(words) else []
    sets = LabelSets.of([open_class, *(labels.tolist() for labels in seen)])
    set_of = np.zeros(n_values, np.int32)
    set_of[words] = sets.set_of[1:]
    return sets._replace(set_of=set_of)
