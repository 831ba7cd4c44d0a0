"""Where results go: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from trellis.corpus.files import STANDARD_STREAM, is_gzip, replacing
from trellis.errors import ModelError


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


@contextmanager
def writing(path: str | None) -> Iterator[BinaryIO]:
    """A place for bytes: standard output, or with a path a file that is there when all is written."""
    if path is None or path == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif Path(path).is_char_device() or Path(path).is_fifo():
        with Path(path).open("wb") as device:  # nothing to rename over
            yield device
    else:
        with replacing(path) as temporary, temporary.open("wb") as file:
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
