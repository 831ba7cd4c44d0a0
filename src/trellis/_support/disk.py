"""Arrays larger than memory: written piece by piece to temporary files, then memory-mapped.

The files have no names, so that they disappear when the process ends, even after a crash. Pages that were read stay
resident until the system needs memory; `Disk` releases them earlier, so that the reported memory of the process stays
small.
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

SMALL = 64 << 20  # bytes of mapped arrays that may stay resident
PERIOD = 0.05  # seconds between two releases of pages
CHUNK = 1 << 20  # numbers per chunk


class Disk:
    """Temporary files in a folder (None: the system's default), and the arrays mapped from them."""

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
        """Concatenate pieces to an array."""
        writer = self.writer(kind)
        for piece in pieces:
            writer.add(piece)
        return writer.array()

    def keep(self, mapped: mmap.mmap) -> None:
        """Release the pages of a map periodically."""
        offset, self._size = self._size, self._size + len(mapped)
        self._maps.append(mapped)
        if offset < SMALL <= self._size:
            threading.Thread(target=_give_back, args=(weakref.ref(self),), daemon=True).start()

    def give_back(self) -> None:
        """Release the pages of all maps; the system reads them again on demand."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)
        _core.give_back_pages()


def _give_back(disk: Callable[[], Disk | None]) -> None:
    """Release pages until the arrays are no longer used."""
    while (mapping := disk()) is not None:
        mapping.give_back()
        del mapping
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
            reason = f"no temporary file could be written there ({error.strerror}); name another folder, or make room"
            raise CorpusError(self.disk.folder, None, reason) from None

    def add(self, piece: npt.NDArray[Any]) -> None:
        """Append to the array."""
        if len(piece):
            with self._explaining():
                self.file.write(np.ascontiguousarray(piece, self.kind).view(np.uint8).data)
            self.n += len(piece)

    def array(self) -> npt.NDArray[Any]:
        """Finish writing and map the array."""
        if self._array is None:
            self._array = np.empty(0, self.kind)
            with self._explaining(), self.file as file:
                file.flush()
                if self.n:
                    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    self.disk.keep(mapped)
                    self._array = np.frombuffer(mapped, self.kind)
        return self._array
