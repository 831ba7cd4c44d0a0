"""The sparse weights of a parser as arrays: unpacked from those of a model, group by group (core/weights/arcs.hpp)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arrays import Floats, Longs
from trellis.features.arcs import Block
from trellis.features.places import Keys

PACKED = ("keys", "sizes", "columns")
NAMES = (
    "attributes.counts",
    *(f"attributes.{name}" for name in PACKED),
    "attributes.weights",
    "folds.keys",
    "folds.starts",
)


class Rows(NamedTuple):
    """The attributes of a group of templates; attribute i has the weights from ``starts[i]`` to ``starts[i + 1]``."""

    keys: Keys  # [n] ascending
    starts: Longs  # [n + 1]
    columns: Longs  # of each weight, ascending in a row
    weights: Floats

    def of(self, block: Block) -> tuple[Longs, Longs, Longs, Floats]:
        """The weights of a template: their attributes, the values of its measure, labels and weights."""
        at = np.flatnonzero((self.columns >= block.first) & (self.columns < block.end))
        value, label = np.divmod(self.columns[at] - block.first, block.width)
        return self.attributes[at], value, label, self.weights[at]

    @property
    def attributes(self) -> Longs:
        """The number of the attribute of each weight."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.starts))


def rows_of(arrays: Mapping[str, Any]) -> Iterator[Rows]:
    """The rows of each group."""
    keys, sizes, columns = (_core.unpacked(arrays[f"attributes.{name}"]) for name in PACKED)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    sums = np.cumsum(columns).astype(np.int64)
    first = starts[:-1]  # columns of a row are differences, so sums begin anew in each
    labels = sums - np.repeat(sums[first] - columns[first].astype(np.int64), np.diff(starts))
    ends = np.concatenate([[0], np.cumsum(arrays["attributes.counts"])])
    for begin, end in pairwise(ends.tolist()):
        own = starts[begin : end + 1]
        here = slice(own[0], own[-1])
        yield Rows(np.cumsum(keys[begin:end]), own - own[0], labels[here], arrays["attributes.weights"][here])


def folds_of(arrays: Mapping[str, Any]) -> list[Keys]:
    """The keys of each fold, by their numbers."""
    keys, starts = arrays["folds.keys"], arrays["folds.starts"]
    return [keys[begin:end] for begin, end in pairwise(starts.tolist())]
