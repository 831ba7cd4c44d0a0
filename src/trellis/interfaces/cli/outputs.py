"""Output of results: to standard output, or atomically to a file."""

from __future__ import annotations

import gzip
import json
import os
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from trellis._support.errors import ArgumentError, CorpusError, ModelError
from trellis.corpus.files import STANDARD_STREAM, is_gzip, writing_device, writing_whole
from trellis.interfaces.cli.progress import printable

if TYPE_CHECKING:
    from trellis.corpus.corpus import Column, Corpus

AROUND = 3  # words of context on either side of an error


def standard_output() -> TextIO:
    """Standard output; an error if it is closed."""
    if sys.stdout is None:
        raise CorpusError("<stdout>", None, "standard output is closed; redirect it to a file")
    return sys.stdout


def show(text: str) -> None:
    """Print text on standard output."""
    print(printable(text), file=standard_output())


def show_json(value: Any, indent: int | None = 2) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=indent), file=standard_output())


def align(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Format rows as aligned columns, separated by two spaces; columns in ``right`` are right-aligned."""
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
    """Open standard output, or with a path a file that is written atomically."""
    if path is None or path == STANDARD_STREAM:
        yield standard_output().buffer
        standard_output().buffer.flush()
    elif Path(path).is_char_device() or Path(path).is_fifo():
        with writing_device(path), Path(path).open("wb") as device:  # devices cannot be replaced
            yield device
    else:
        with writing_whole(path) as temporary, temporary.open("wb") as file:
            if is_gzip(path):
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield file


def check_outputs(outputs: Mapping[str, str], inputs: Sequence[Any]) -> None:
    """Check outputs before long work; ModelError if a file cannot be written, or would replace an input.

    ``outputs`` are paths by the names of their options, ``inputs`` paths or lists of paths.
    """
    read = [path for paths in inputs for path in ([paths] if isinstance(paths, str) else paths)]
    for option, path in outputs.items():
        target, is_model = Path(path), option in ("model", "checkpoint")
        if path == STANDARD_STREAM or (not is_model and (target.is_char_device() or target.is_fifo())):
            continue
        if target.exists() and not target.is_file():
            raise ModelError(f"{path}: cannot be written: not a regular file")
        if not target.parent.is_dir():
            raise ModelError(f"{path}: cannot be written: no such folder")
        if not os.access(target.parent, os.W_OK):
            raise ModelError(f"{path}: cannot be written: its folder is read-only")
        for source in read if target.is_file() else ():
            if source != STANDARD_STREAM and not Path(source).exists():
                continue
            if os.path.samestat(os.fstat(0) if source == STANDARD_STREAM else Path(source).stat(), target.stat()):
                name = "standard input" if source == STANDARD_STREAM else source
                raise ModelError(f"{path}: the output would overwrite {name}, which is an input; choose another file")
    if len({Path(path).resolve() for path in outputs.values()}) < len(outputs):
        options = " and ".join(f"--{option}" for option in outputs)
        raise ModelError(f"{options} are the same file; choose different files")


def check_picture(path: str) -> None:
    """ArgumentError for an invalid file name of a picture."""
    if not path.lower().endswith(".svg"):
        raise ArgumentError(f"{path}: pictures are SVG; the name must end in .svg")


def one_field(text: str) -> str:
    """A text that stays one field of a table, which people may look at in a terminal."""
    return printable(text.replace("\t", " ").replace("\n", " ").replace("\r", " "))


def write_mistakes(
    path: str, corpus: Corpus, word: str, columns: Sequence[tuple[str, Column]], tokens: Sequence[int]
) -> None:
    """A table of tokens (numbers over the whole corpus): where each is, its word, these columns, and words around."""
    words = [str(text) for text in corpus.column(word).tolist()] if word in corpus.columns else ["_"] * corpus.n_tokens
    values, starts = [column.tolist() for _, column in columns], corpus.starts.tolist()
    lines = ["\t".join(["sentence", "token", "word", *(name for name, _ in columns), "context"])]
    for t in tokens:
        i = bisect_right(starts, t) - 1
        begin, end = starts[i : i + 2]
        left, right = words[max(begin, t - AROUND) : t], words[t + 1 : min(end, t + 1 + AROUND)]
        around = " ".join([*left, f"[{words[t]}]", *right])
        fields = [str(i + 1), str(t - begin + 1), words[t], *(value[t] for value in values), around]
        lines.append("\t".join(map(one_field, fields)))
    with writing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
