"""Arrays larger than memory: written piece by piece to temporary files, then mapped and read as any array.

A file has no name, so that nothing of it is left when the process ends, however it ends. Pages that were read stay
with the process until the system needs them; `Disk` gives them back earlier, so that the process does not look larger
than it is.
"""

from __future__ import annotations

import mmap
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.errors import ArgumentError, CorpusError

SMALL = 64 << 20  # bytes of mapped arrays that need not be given back
PERIOD = 0.05  # seconds between two times that pages are given back
CHUNK = 1 << 20  # numbers of an array that are worked on at a time


class Disk:
    """Temporary files in a folder (None: where the system has its own), and the arrays mapped from them."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = tempfile.gettempdir() if folder is None else str(folder)
        self._maps: list[mmap.mmap] = []
        self._size = 0
        if not Path(self.folder).is_dir():
            raise ArgumentError(f"{self.folder!r} is not a folder for temporary files; choose another one")

    def writer(self, kind: npt.DTypeLike) -> Writer:
        """A new array, still empty."""
        return Writer(self, np.dtype(kind))

    def array(self, pieces: Iterable[npt.NDArray[Any]], kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """The pieces one after the other."""
        writer = self.writer(kind)
        for piece in pieces:
            writer.add(piece)
        return writer.array()

    def keep(self, mapped: mmap.mmap) -> None:
        """Give back the pages of a map from time to time."""
        before, self._size = self._size, self._size + len(mapped)
        self._maps.append(mapped)
        if before < SMALL <= self._size:
            threading.Thread(target=_give_back, args=(weakref.ref(self),), daemon=True).start()

    def give_back(self) -> None:
        """Leave the pages of all maps to the system, which reads them again when they are needed."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)
        _core.give_back_pages()


def _give_back(disk: Callable[[], Disk | None]) -> None:
    """Until the arrays are no longer used."""
    while (found := disk()) is not None:
        found.give_back()
        del found
        time.sleep(PERIOD)


class Writer:
    """An array that grows in a temporary file."""

    def __init__(self, disk: Disk, kind: np.dtype[Any]) -> None:
        self.disk, self.kind = disk, kind
        with self._explaining():
            self.file = tempfile.TemporaryFile(dir=disk.folder)  # noqa: SIM115
        weakref.finalize(self, self.file.close)
        self.n = 0
        self._array: npt.NDArray[Any] | None = None

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = f"no temporary file could be written there ({error.strerror}); name another folder, or make room"
            raise CorpusError(self.disk.folder, None, why) from None

    def add(self, piece: npt.NDArray[Any]) -> None:
        """Write more of it."""
        if len(piece):
            with self._explaining():
                self.file.write(np.ascontiguousarray(piece, self.kind).view(np.uint8).data)
            self.n += len(piece)

    def array(self) -> npt.NDArray[Any]:
        """All that was written, mapped; nothing can be added any more."""
        if self._array is None:
            self._array = np.empty(0, self.kind)
            with self._explaining(), self.file as file:
                file.flush()
                if self.n:
                    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    self.disk.keep(mapped)
                    self._array = np.frombuffer(mapped, self.kind)
        return self._array
