"""Atomic writing of files, safe against crashes."""

from __future__ import annotations

import errno
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trellis._support.errors import TrellisError

ABANDONED = 24 * 3600.0  # seconds without writes after which a temporary file is abandoned


@contextmanager
def replacing(path: str | os.PathLike[str], failed: Callable[[str], TrellisError]) -> Iterator[Path]:
    """Open a temporary file for the block; on success it replaces ``path``, on failure it is deleted.

    It is synced to the disk first. ``failed`` makes the error from the reason if the file cannot be created, written or
    renamed; an OSError in the block counts as a write error. Old temporary files of killed processes for the same
    path are removed.
    """
    with _explaining(failed):
        target = Path(path)
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "not a regular file; choose another file")
        remove_leftovers(target, ABANDONED)
        temporary = target.with_name(f"{_prefix(target)}{os.urandom(8).hex()}.tmp")
    try:  # a signal may arrive as soon as the file exists
        with _explaining(failed):
            temporary.touch(exist_ok=False)
        try:
            yield temporary
        except BrokenPipeError:  # only for files
            raise
        except OSError as error:
            raise failed(error.strerror or str(error)) from error
        with _explaining(failed):
            _sync(temporary, os.O_RDWR)
            temporary.replace(target)
            with suppress(OSError):  # sync the new name, too; not supported by every system
                _sync(target.parent, os.O_RDONLY)
    finally:
        with suppress(OSError):
            temporary.unlink()


def remove_leftovers(target: Path, seconds: float = 0.0) -> None:
    """Remove abandoned temporary files of killed processes for this path."""
    for left in target.parent.glob(f"{_prefix(target)}*.tmp"):
        with suppress(OSError):  # already removed by another process
            if time.time() - left.stat().st_mtime >= seconds:
                left.unlink()


def _prefix(target: Path) -> str:
    return f".trellis-{zlib.crc32(os.fsencode(target.name)):08x}-"


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        with suppress(OSError):  # the content is synced already
            os.close(handle)


@contextmanager
def _explaining(failed: Callable[[str], TrellisError]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failed(error.strerror or str(error)) from None
    except ValueError as error:  # a path with a null character
        raise failed(str(error)) from None
