"""A corpus larger than memory, piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from trellis import _core
from trellis.corpus.columns import Layout, append_labels, fix_names, parse_names, parse_text
from trellis.corpus.conllu import CONLLU
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.files import extension, message_name, name_of, reading
from trellis.corpus.read import format_of
from trellis.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole sentences of a file of columns, with the bytes they were read from."""

    corpus: Corpus  # may have no tokens, where the file has only comments or blank lines
    text: bytes
    first_line: int  # the number of its first line in the whole file
    layout: Layout

    def with_labels(self, labels: Column) -> bytes:
        """The text with each token's label as one more field; every other byte stays."""
        return append_labels(self.text, labels, self.layout, first_line=self.first_line)


def read_stream(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    columns: str | Sequence[str] | None = None,
    format: str | None = None,
    comments: bool = False,
    tabs: bool | None = None,
    piece_bytes: int = 1 << 22,
) -> Iterator[Piece]:
    """Read a file of columns or CoNLL-U by pieces of about ``piece_bytes``; options are those of ``read``.

    Pieces are cut after blank lines; their texts one after the other are the file. Lines in errors and in
    ``Corpus.lines`` are those of the whole file, and every row must have as many fields as the very first.
    """
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    ending = None if path is None else extension(path)
    format = format or ("conll" if path is None else format_of(path))
    if format == "conllu":
        layout = CONLLU
    elif format == "conll":
        layout = Layout(parse_names(columns), ending == ".tsv" if tabs is None else tabs, comments)
    else:
        why = f"{format} cannot be read piece by piece; read it whole, or convert it to conll or conllu"
        raise CorpusError(path or "", None, why)
    if isinstance(source, (str, os.PathLike)):
        return pieces_of_path(os.fspath(source), layout, piece_bytes)
    return _pieces(source, name_of(source), layout, piece_bytes)


def pieces_of_path(path: str, layout: Layout, piece_bytes: int = 1 << 22) -> Iterator[Piece]:
    """The same of a file whose layout is known."""
    with reading(path) as file:
        yield from _pieces(file, message_name(path), layout, piece_bytes)


def _pieces(file: BinaryIO, source: str, layout: Layout, piece_bytes: int) -> Iterator[Piece]:
    line, rest, wanted = 1, b"", piece_bytes
    while block := file.read(wanted):
        rest += block
        cut = _core.last_sentence_end(rest, tabs=layout.tabs)
        # A sentence longer than a piece: read ever more at a time, so that searching its end stays linear.
        wanted = piece_bytes if cut else 2 * wanted
        if cut:
            text, rest = rest[:cut], rest[cut:]
            piece = Piece(parse_text(text, source, layout, first_line=line), text, line, layout)
            line += text.count(b"\n")
            layout = fix_names(layout, piece.corpus)
            yield piece
    if rest:
        yield Piece(parse_text(rest, source, layout, first_line=line), rest, line, layout)
