"""Files that are there whole or not at all, also after a crash."""

from __future__ import annotations

import errno
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trellis._support.errors import TrellisError

ABANDONED = 24 * 3600.0  # seconds after which nobody writes to a temporary file any more


@contextmanager
def replacing(path: str | os.PathLike[str], failed: Callable[[str], TrellisError]) -> Iterator[Path]:
    """A temporary file to be written in the block: it takes the place of ``path`` on success, vanishes on failure.

    It is synced to the disk first. ``failed`` makes the error, from the reason, where it cannot be made, written or
    renamed: an OSError in the block counts as one of writing. Old leftovers of killed processes that wrote the same
    path are removed.
    """
    with _explaining(failed):
        target = Path(path)
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "not a regular file; choose another file")
        remove_leftovers(target, ABANDONED)
        temporary = target.with_name(f"{_prefix(target)}{os.urandom(8).hex()}.tmp")
    try:  # a signal may come as soon as the file is there
        with _explaining(failed):
            temporary.touch(exist_ok=False)
        try:
            yield temporary
        except BrokenPipeError:  # not of a file
            raise
        except OSError as error:
            raise failed(error.strerror or str(error)) from error
        with _explaining(failed):
            _sync(temporary, os.O_RDWR)
            temporary.replace(target)
            with suppress(OSError):  # so that the new name is on the disk too; not every system can
                _sync(target.parent, os.O_RDONLY)
    finally:
        with suppress(OSError):
            temporary.unlink()


def remove_leftovers(target: Path, seconds: float = 0.0) -> None:
    """Remove temporary files of killed processes that wrote this path, and wrote nothing for so long."""
    for left in target.parent.glob(f"{_prefix(target)}*.tmp"):
        with suppress(OSError):  # another process was quicker
            if time.time() - left.stat().st_mtime >= seconds:
                left.unlink()


def _prefix(target: Path) -> str:
    return f".trellis-{zlib.crc32(os.fsencode(target.name)):08x}-"


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        with suppress(OSError):  # all that was written is on the disk already
            os.close(handle)


@contextmanager
def _explaining(failed: Callable[[str], TrellisError]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failed(error.strerror or str(error)) from None
    except ValueError as error:  # a path with a null character
        raise failed(str(error)) from None
