"""Files that are there whole or not at all, also after a crash."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trellis._support.errors import TrellisError

try:
    import fcntl
except ImportError:  # Windows, where what a killed process left behind stays
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: str | os.PathLike[str], failed: Callable[[str], TrellisError]) -> Iterator[Path]:
    """A temporary file to be written in the block: it takes the place of ``path`` on success, vanishes on failure.

    It is synced to the disk first. ``failed`` makes the error, from the reason, where it cannot be made, written or
    renamed: an OSError in the block counts as one of writing. Leftovers of a killed process that wrote the
    same path are removed: their locks are free.
    """
    with _explaining(failed):
        target = Path(path)
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "not a plain file; name another")
        prefix = f".trellis-{zlib.crc32(os.fsencode(target.name)):08x}-"
        _remove_abandoned(target.parent, prefix)
    temporary, handle = target, None
    try:  # a signal may come as soon as the file is there
        with _explaining(failed):
            while handle is None:
                temporary = target.with_name(f"{prefix}{os.urandom(8).hex()}.tmp")
                handle = _created(temporary)
        try:
            yield temporary
        except BrokenPipeError:  # not of a file
            raise
        except OSError as error:
            raise failed(error.strerror or str(error)) from error
        with _explaining(failed):
            os.fsync(handle)
            temporary.replace(target)
            _sync_folder(target.parent)
    finally:
        with suppress(OSError):
            if temporary != target:
                temporary.unlink()
        with suppress(OSError):  # all that was written is on the disk already
            if handle is not None:
                os.close(handle)


def _created(path: Path) -> int | None:
    """A new file, opened and locked; None where another process took it for abandoned before it was locked."""
    try:
        handle = _locked(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    except BlockingIOError:
        return None
    if os.fstat(handle).st_nlink:
        return handle
    os.close(handle)
    return None


def _locked(path: Path, flags: int) -> int:
    """The file opened and locked until it is closed or the process ends; OSError if another has the lock."""
    handle = os.open(path, flags, 0o666)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _remove_abandoned(folder: Path, prefix: str) -> None:
    for left in folder.glob(f"{prefix}*.tmp") if fcntl is not None else ():
        with suppress(OSError):  # another process is writing it, or was quicker
            handle = _locked(left, os.O_RDWR)
            left.unlink(missing_ok=True)
            os.close(handle)


def _sync_folder(folder: Path) -> None:
    """So that the new name is on the disk too; not every system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _explaining(failed: Callable[[str], TrellisError]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failed(error.strerror or str(error)) from None
    except ValueError as error:  # a path with a null character
        raise failed(str(error)) from None
