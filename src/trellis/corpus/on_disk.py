"""Corpora with tokens on disk: a stream is stored as such a corpus for training."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Ints, Longs, starts_of
from trellis._support.disk import Disk, Writer
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import BagColumn, Column, Corpus, Strings

CHUNK = 1 << 18  # approximate number of tokens per chunk
NO_LINE = -1


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DiskCorpus(Corpus):
    """Sentences whose columns are mapped from temporary files; values of columns are in memory."""

    _: KW_ONLY
    disk: Disk
    sources: tuple[tuple[int, str], ...] = ()  # first sentence of each file, and the file's name
    joined: Mapping[str, Column] = field(default_factory=dict)  # joined columns (``a+b``) that were numbered elsewhere

    def column(self, name: str) -> Column:
        """Get one column; ``upos+feats`` joins two columns."""
        joint = self.joined.get(name) if isinstance(name, str) else None
        return joint if joint is not None and len(joint.codes) == self.n_tokens else Corpus.column(self, name)

    def chunks(self) -> Iterator[Corpus]:
        """Iterate over chunks of about `CHUNK` tokens; a chunk has sentences of one file only."""
        begin, n = 0, len(self)
        if not n:
            yield self
        firsts = [first for first, _ in self.sources]
        while begin < n:
            end = int(np.searchsorted(self.starts, self.starts[begin] + CHUNK, side="right")) - 1
            part = bisect.bisect_right(firsts, begin) - 1
            end = max(begin + 1, min(end, *(firsts[part + 1 : part + 2] or [n]), n))
            columns = {name: c.slice(*self.starts[[begin, end]].tolist()) for name, c in self.columns.items()}
            first, last = self.starts[[begin, end]].tolist()
            lines = None if self.lines is None else self.lines[first:last]
            if lines is not None and len(lines) and lines[0] == NO_LINE:
                lines = None
            yield Corpus(columns, self.starts[begin : end + 1] - first, self.sources[part][1], lines)
            begin = end

    def looked_up(self, table: npt.NDArray[Any], numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """``table[number]`` for the number of every token, stored on disk."""
        cuts = range(0, len(numbers), CHUNK)
        return self.disk.array((table[numbers[i : i + CHUNK]] for i in cuts), table.dtype)


@dataclass(slots=True)
class _Values:
    """The distinct values of a column over all blocks, in order of first appearance."""

    disk: Disk
    numbers: dict[str, int] = field(default_factory=dict)
    codes: Writer = field(init=False)

    def __post_init__(self) -> None:
        self.codes = self.disk.writer(np.int32)

    def add(self, codes: Ints, values: Strings) -> None:
        """Write the numbers of a block's values; new ones get the next numbers."""
        # Only values that occur, in order of their numbers in the block: a slice shares the values of the whole corpus.
        present = np.flatnonzero(np.bincount(codes, minlength=len(values)))
        of_value = np.full(len(values), -1, np.int32)
        numbers = self.numbers
        of_value[present] = [numbers.setdefault(value, len(numbers)) for value in values.take(present)]
        self.codes.add(of_value[codes])

    def column(self) -> Column:
        """The column of all blocks."""
        return Column(self.codes.array(), Strings.of(self.numbers))


@dataclass(slots=True)
class _Attributes(_Values):
    """The same for a column of attributes."""

    sizes: Writer = field(init=False)
    values: Writer = field(init=False)
    plain: bool = True  # whether all values are 1

    def __post_init__(self) -> None:
        _Values.__post_init__(self)
        self.sizes, self.values = self.disk.writer(np.int64), self.disk.writer(np.float32)

    def add_bag(self, bag: BagColumn) -> None:
        """Add the attributes of a block."""
        self.add(bag.ids, bag.names)
        self.sizes.add(np.diff(bag.starts))
        values = bag.full_values()
        self.plain = self.plain and bool((values == 1).all())
        self.values.add(values)

    def bag(self) -> BagColumn:
        """The attributes of all blocks."""
        values = self.values.array()
        starts = starts_on_disk(self.disk, self.sizes.array())
        return BagColumn(starts, self.codes.array(), values[:0] if self.plain else values, Strings.of(self.numbers))


def starts_on_disk(disk: Disk, sizes: Longs) -> Longs:
    """Offsets of runs of these sizes, including the end of the last."""

    def pieces() -> Iterator[Longs]:
        first = 0
        yield np.zeros(1, np.int64)
        for i in range(0, len(sizes), CHUNK):
            ends = first + np.cumsum(sizes[i : i + CHUNK])
            first = int(ends[-1])
            yield ends

    return disk.array(pieces(), np.int64)


def on_disk(blocks: Iterator[Corpus], source: str, disk: Disk) -> Corpus:
    """Store all blocks as one corpus; CorpusError if their columns differ."""
    columns: dict[str, _Values] | None = None
    lengths, lines, documents = disk.writer(np.int64), disk.writer(np.int64), disk.writer(np.int64)
    sources, n_sentences, n_documents = list[tuple[int, str]](), 0, 0
    for block in blocks:
        if columns is None:
            columns = {
                n: (_Attributes if isinstance(c, BagColumn) else _Values)(disk) for n, c in block.columns.items()
            }
        if list(columns) != list(block.columns):
            names, needed = ", ".join(block.columns), ", ".join(columns)
            raise CorpusError(
                block.source, None, f"the columns are {names}, but {needed} in other files; use the same column names"
            )
        for name, column in block.columns.items():
            values = columns[name]
            if isinstance(column, BagColumn) != isinstance(values, _Attributes):
                reason = f"column {name!r} has attributes in one file and strings in another"
                raise CorpusError(block.source, None, reason)
            if isinstance(column, Column):
                values.add(column.codes, column.values)
            elif isinstance(values, _Attributes):
                values.add_bag(column)
        if not sources or sources[-1][1] != block.source:
            sources.append((n_sentences, block.source))
        lengths.add(np.diff(block.starts))
        lines.add(np.full(block.n_tokens, NO_LINE, np.int64) if block.lines is None else block.lines)
        numbers = block.document_numbers() + n_documents
        documents.add(numbers)
        n_sentences, n_documents = n_sentences + len(block), int(numbers[-1])
    if columns is None:
        return Corpus({}, np.zeros(1, np.int64), source)
    return DiskCorpus(
        {name: c.bag() if isinstance(c, _Attributes) else c.column() for name, c in columns.items()},
        starts_of(lengths.array()),
        source,
        lines.array(),
        documents=documents.array(),
        disk=disk,
        sources=tuple(sources),
    )
