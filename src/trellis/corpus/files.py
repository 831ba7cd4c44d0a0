"""Read and write files: gzip, standard input, helpful errors, atomic writes."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from trellis._support.errors import CorpusError, file_reason
from trellis._support.replacing import replacing

T = TypeVar("T")
STANDARD_STREAM = "-"
NO_TOKENS = "no tokens; the file must have at least one sentence"
NOT_UTF8 = "not valid UTF-8; convert the file, for example with iconv -t UTF-8"
BRACKETS = (".trees", ".tree", ".mrg", ".ptb")  # extensions of files of constituency trees


class EmptyError(CorpusError):
    """A file without tokens."""

    def __init__(self, path: str, line: int | None = None, reason: str = NO_TOKENS) -> None:
        super().__init__(path, line, reason)


def kept(results: Iterable[T | CorpusError], lenient: bool) -> tuple[list[T], list[CorpusError]]:
    """Return the readable items, with ``lenient`` also the errors of skipped items; otherwise raise the first error."""
    examples, skipped = list[T](), list[CorpusError]()
    for item in results:
        if not isinstance(item, CorpusError):
            examples.append(item)
        elif lenient:
            skipped.append(item)
        else:
            raise item
    return examples, skipped


def is_gzip(path: str) -> bool:
    """Whether the file name ends in ``.gz``."""
    return path.lower().endswith(".gz")


def extension(path: str) -> str:
    """The name's last part with its dot, in lower case; that of what is inside if it is compressed."""
    return Path(path[:-3] if is_gzip(path) else path).suffix.lower()


def name_of(file: BinaryIO) -> str:
    """Name of an open file in messages."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "<stream>"


def message_name(path: str) -> str:
    """Name of a path in messages."""
    return "<stdin>" if path == STANDARD_STREAM else path


@contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
    """Open a file for its uncompressed bytes; an OSError within becomes a CorpusError, so only read there."""
    name = message_name(path)
    try:
        if path == STANDARD_STREAM:
            if sys.stdin is None:
                raise CorpusError(name, None, "standard input is closed; give a file")
            yield sys.stdin.buffer
        elif is_gzip(path):
            with gzip.open(path, "rb") as packed:
                yield cast(BinaryIO, packed)
        else:
            with Path(path).open("rb") as plain:
                yield plain
    except EOFError:
        raise CorpusError(name, None, "the gzip file is truncated; download or compress it again") from None
    except (gzip.BadGzipFile, zlib.error):
        reason = "not a valid gzip file; drop the .gz from its name or compress it again"
        raise CorpusError(name, None, reason) from None
    except OSError as error:
        label, reason = file_reason(name, error)
        raise CorpusError(label, None, reason) from None


def read_bytes(path: str) -> bytes:
    """Read a whole file, uncompressed; ``-`` is standard input."""
    with reading(path) as file:
        try:
            return file.read()
        except MemoryError:
            reason = "does not fit into memory; read it in blocks with trellis.stream"
            raise CorpusError(message_name(path), None, reason) from None


def decoded(text: bytes, source: str) -> str:
    """The text of a file without its byte order mark; CorpusError that names the line if it is not UTF-8."""
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(source, 1 + text.count(b"\n", 0, error.start), NOT_UTF8) from None


def writing_whole(path: str) -> AbstractContextManager[Path]:
    """Open a temporary file that replaces ``path`` at the end of the block; CorpusError if this fails."""
    return replacing(path, lambda reason: CorpusError(path, None, f"cannot be written: {reason}"))


def write_bytes(path: str, content: bytes) -> None:
    """Write a file atomically; compressed if its name ends in ``.gz``, with reproducible bytes.

    ``-`` is standard output; devices and pipes are written as they are.
    """
    if path == STANDARD_STREAM:
        sys.stdout.buffer.write(content)
        return
    packed = gzip.compress(content, mtime=0) if is_gzip(path) else content
    target = Path(path)
    if target.is_char_device() or target.is_fifo():
        with writing_device(path):
            target.write_bytes(packed)
        return
    with writing_whole(path) as temporary:
        temporary.write_bytes(packed)


@contextmanager
def writing_device(path: str) -> Iterator[None]:
    """An OSError within, other than that of a closed pipe, becomes a CorpusError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CorpusError(path, None, f"cannot be written: {error.strerror or error}") from None
