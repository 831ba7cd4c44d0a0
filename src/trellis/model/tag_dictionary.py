"""The tag dictionary: which labels a word may have, so that decoding tries no others.

A word seen often in training may have the labels it was seen with; a rare or unknown one has the open-class labels,
those that rare words were seen with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TagDictionary:
    """Label sets and the set of every value of the first input column."""

    set_of: IntArray  # [n_values]
    starts: npt.NDArray[np.int64]  # [n_sets + 1]; set s is labels[starts[s]:starts[s + 1]], ascending
    labels: IntArray
    open_set: int = 0  # the set of unknown words

    @classmethod
    def learn(
        cls, codes: IntArray, n_values: int, gold: IntArray, n_labels: int, min_count: int
    ) -> TagDictionary:
        """From a training corpus: a word counts as frequent from min_count occurrences on."""
        counts = np.bincount(codes, minlength=n_values)
        frequent = counts >= min_count
        rare_labels = np.unique(gold[~frequent[codes]])
        open_class = tuple(rare_labels.tolist()) or tuple(range(n_labels))
        pairs = np.unique(codes[frequent[codes]].astype(np.int64) * n_labels + gold[frequent[codes]])
        sets = {open_class: 0}
        set_of = np.zeros(n_values, np.int32)
        values, first = np.unique(pairs // n_labels, return_index=True)
        for value, group in zip(values.tolist(), np.split(pairs % n_labels, first[1:]), strict=False):
            set_of[value] = sets.setdefault(tuple(group.tolist()), len(sets))
        starts = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
        return cls(set_of, starts, np.concatenate([np.array(s, np.int32) for s in sets]).astype(np.int32))
