"""Corpora larger than memory: blocks of whole sentences, read anew for every pass."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from trellis._support.arguments import file_path, whole_number
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import CONLLU, Layout, parse_names
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import STANDARD_STREAM, EmptyError, extension
from trellis.corpus.read import Options, choose, format_of, read
from trellis.corpus.stream import pieces_of_path

BLOCK_BYTES = 4 << 20  # of text, some hundred thousand tokens


class CorpusStream:
    """Sentences block by block. Get one from ``trellis.stream``; every iteration reads its source again."""

    __slots__ = ("_columns", "_open", "source")

    def __init__(self, open: Callable[[], Iterable[Any]], source: str) -> None:
        self._open = open
        self._columns: tuple[str, ...] | None = None
        self.source = source  # for messages

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, from the first block."""
        if self._columns is None:
            first = next(iter(self), None)
            if first is None:
                raise EmptyError(self.source)
            self._columns = tuple(first.columns)
        return self._columns

    def __iter__(self) -> Iterator[Corpus]:
        try:
            blocks = iter(self._open())
        except TypeError as error:
            why = f"a stream needs a function without arguments that returns corpora ({error})"
            raise CorpusError(self.source, None, why) from error
        for block in blocks:
            corpus = block if isinstance(block, Corpus) else read(block)
            if corpus.n_tokens:
                yield corpus

    def __repr__(self) -> str:
        return f"CorpusStream({self.source})"


def stream(
    source: Any,
    *,
    block_bytes: int = BLOCK_BYTES,
    columns: str | Sequence[str] | None = None,
    comments: bool = False,
    format: str | None = None,
    sentence: str | None = None,
    tabs: bool | None = None,
) -> CorpusStream:
    """A corpus that is read block by block, for training on more than memory holds.

    ``source`` is

    - the name of a file, or a pattern such as ``"parts/*.parquet"``, or a list of these: files of columns, CoNLL-U and
      Parquet are read in blocks of about ``block_bytes`` of text (default: 4 MB), others one file at a time;
    - a function without arguments that returns corpora, or what ``trellis.read`` takes, one after the other. It is
      called again for every pass, and must give the same sentences.

    The other parameters are those of ``trellis.read``.
    """
    size = whole_number("block_bytes", block_bytes, 1, 1 << 40)
    names, options = parse_names(columns), Options(format, comments, tabs, sentence)
    if callable(source):
        options.check("a function that returns blocks", ())
        if columns is not None:
            raise ArgumentError("columns has no effect on a function that returns blocks; omit it")
        return CorpusStream(source, "<blocks>")
    given = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(given, list | tuple) or not all(isinstance(name, str | os.PathLike) for name in given):
        raise CorpusError("", None, f"a stream needs names of files or a function that returns blocks, not {source!r}")
    paths = [path for name in given for path in _matching(file_path("source", name))]
    for path in paths:
        options.check_format(path, format or format_of(path))

    def blocks() -> Iterator[Corpus]:
        for path in paths:
            kind = format or format_of(path)
            layout = Layout(names, extension(path) == ".tsv" if tabs is None else tabs, comments)
            if kind == "parquet":
                from trellis.corpus.tables import parquet_blocks

                yield from parquet_blocks(path, names, sentence, size)
            elif kind == "conllu":
                for piece in pieces_of_path(path, CONLLU, size):
                    yield choose(piece.corpus, names)
            elif kind == "conll":
                for piece in pieces_of_path(path, layout, size):
                    yield piece.corpus
            else:
                yield read(path, columns=columns, format=kind, sentence=sentence)

    return CorpusStream(blocks, ", ".join(map(str, given)))


def _matching(name: str) -> list[str]:
    """The files that a name stands for."""
    if name == STANDARD_STREAM:
        raise CorpusError("<stdin>", None, "standard input can be read only once; a stream needs files")
    if Path(name).exists() or not glob.has_magic(name):
        return [name]
    found = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    if not found:
        raise CorpusError(name, None, "no file matches this pattern; check the folder")
    return found
