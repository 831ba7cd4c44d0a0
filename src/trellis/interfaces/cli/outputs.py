"""Where results go: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from trellis._support.errors import ArgumentError, CorpusError, ModelError
from trellis.corpus.files import STANDARD_STREAM, is_gzip, writing_device, writing_whole
from trellis.interfaces.cli.progress import printable


def standard_output() -> TextIO:
    """Standard output, unless it was closed by whoever started the process."""
    if sys.stdout is None:
        raise CorpusError("<stdout>", None, "standard output is closed; redirect it to a file")
    return sys.stdout


def show(text: str) -> None:
    """Text for people on standard output."""
    print(printable(text), file=standard_output())


def show_json(value: Any, indent: int | None = 2) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=indent), file=standard_output())


def align(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of cells as columns of text, two blanks apart; those numbered in ``right`` end where they end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


@contextmanager
def writing(path: str | None) -> Iterator[BinaryIO]:
    """A place for bytes: standard output, or with a path a file that is there when all is written."""
    if path is None or path == STANDARD_STREAM:
        yield standard_output().buffer
        standard_output().buffer.flush()
    elif Path(path).is_char_device() or Path(path).is_fifo():
        with writing_device(path), Path(path).open("wb") as device:  # nothing to rename over
            yield device
    else:
        with writing_whole(path) as temporary, temporary.open("wb") as file:
            if is_gzip(path):
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield file


def check_writable(path: str) -> None:
    """ModelError now rather than after a long training."""
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ModelError(f"cannot write {path}: not a regular file")
    if not target.parent.is_dir():
        raise ModelError(f"cannot write {path}: no such folder")
    if not os.access(target.parent, os.W_OK):
        raise ModelError(f"cannot write {path}: its folder is read-only")


def check_apart(output: str | None, *inputs: str | None) -> None:
    """ModelError where the output would replace a file that is read."""
    target = Path(output or STANDARD_STREAM)
    for path in inputs:
        if path is None or not target.is_file():
            continue
        read = os.fstat(0) if path == "-" else Path(path).stat() if Path(path).exists() else None
        if read is not None and os.path.samestat(read, target.stat()):
            name = "standard input" if path == "-" else path
            raise ModelError(f"{output}: the output would replace {name}, which is read; name another file")


def check_picture(path: str) -> None:
    """ArgumentError where a picture has another name."""
    if not path.lower().endswith(".svg"):
        raise ArgumentError(f"{path}: the picture is SVG; name a .svg file")
