"""Attribute lists of tokens on disk, written chunk by chunk while the vocabulary grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trellis._support.arrays import Ints, Ragged, starts_of
from trellis._support.disk import Disk
from trellis.features.extraction import AttributeLists


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Where a chunk begins in the arrays, and the sizes of tables after it."""

    token: int
    item: int
    sizes: Ints


class DiskLists(AttributeLists):
    """Lists on disk. While tables grow, numbers within a table stay the same, but its offset changes."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self.disk = disk
        self._writers = [disk.writer(kind) for kind in (np.int32, np.int32, np.float32)]  # sizes of lists, ids, values
        self._chunks = [_Chunk(0, 0, np.zeros(0, np.int32))]
        self._plain = True  # whether all values are one

    def add(self, lists: Ragged, sizes: Sequence[int]) -> None:
        """Write a chunk."""
        lengths, ids, values = self._writers
        lengths.add(np.diff(lists.starts))
        ids.add(lists.ids)
        self._plain = self._plain and not len(lists.values)
        values.add(lists.full_values())
        self._chunks.append(_Chunk(lengths.n, ids.n, np.asarray(sizes, np.int32)))

    def chunks(self) -> Iterator[Ragged]:
        """Iterate over the lists with the final numbers of attributes."""
        lengths, ids, values = (writer.array() for writer in self._writers)
        first = starts_of(self._chunks[-1].sizes)
        for previous, chunk in zip(self._chunks[:-1], self._chunks[1:], strict=True):
            items = slice(previous.item, chunk.item)
            numbers = [np.arange(size, dtype=np.int32) + start for size, start in zip(chunk.sizes, first, strict=False)]
            starts = starts_of(lengths[previous.token : chunk.token])
            lists = Ragged(starts, ids[items], values[:0] if self._plain else values[items])
            yield lists.renumber(np.concatenate([np.zeros(0, np.int32), *numbers]).astype(np.int32))

    def renumber(self, rank: Ints) -> Ragged:
        """Lists of all tokens with new ids, on disk."""
        starts, ids, values = (self.disk.writer(kind) for kind in (np.int64, np.int32, np.float32))
        starts.add(np.zeros(1, np.int64))
        for chunk in self.chunks():
            lists = chunk.renumber(rank)
            starts.add(lists.starts[1:] + ids.n)
            ids.add(lists.ids)
            values.add(lists.values)
        self._writers = []
        return Ragged(starts.array(), ids.array(), values.array())
