"""Distinct strings as two arrays, so that native code reads them without a Python object each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from trellis import _core
from trellis.arrays import Bytes, Ints, Longs, runs_of


class Strings:
    """An immutable list of UTF-8 strings: string i is ``data[starts[i]:starts[i + 1]]``."""

    __slots__ = ("_slots", "data", "starts")

    def __init__(
        self,
        data: Bytes,
        starts: Longs,
        slots: Ints | None = None,
    ) -> None:
        self.data = data  # uint8 [n_bytes]
        self.starts = starts  # int64 [n_strings + 1]
        self._slots = slots  # int32 [2^k] hash table of the strings' numbers, -1 where empty

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """Pack Python strings."""
        encoded = [s.encode() for s in strings]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(b) for b in encoded], out=starts[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), starts)

    @property
    def slots(self) -> Ints:
        """The hash table by which native code finds a string's number, built when first asked for."""
        if self._slots is None:
            self._slots = _core.build_slots(self.data, self.starts)
        return self._slots

    @property
    def arrays(self) -> tuple[Bytes, Longs, Ints]:
        """The strings as native code looks them up."""
        return self.data, self.starts, self.slots

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> str:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self.data[self.starts[i] : self.starts[i + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def take(self, numbers: Longs | Ints) -> Strings:
        """Some of the strings, in that order."""
        starts, letters = runs_of(self.starts, numbers)
        return Strings(self.data[letters], starts)

    def at(self, numbers: Ints) -> list[str]:
        """The string of every number."""
        strings = self if 4 * len(numbers) < len(self) else self.tolist()  # few of many, or each but once
        return [strings[i] for i in numbers.tolist()]

    def tolist(self) -> list[str]:
        """All strings as Python objects."""
        data, starts = self.data.tobytes(), self.starts.tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(starts)]
