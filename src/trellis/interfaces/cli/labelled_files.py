"""Files with labels written into them: in the format of the output's extension, else in that of what is read."""

from __future__ import annotations

import gzip
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import CONLLU_NAMES, append_labels, replace_labels
from trellis.corpus.corpus import Column, Corpus, columns_named
from trellis.corpus.files import STANDARD_STREAM, extension, message_name
from trellis.corpus.read import TABLES, format_of
from trellis.corpus.stream import Piece, map_pieces, pieces_of_path, whole_piece
from trellis.interfaces.cli.file_shape import STREAMED, FileShape, tagger_of
from trellis.interfaces.cli.outputs import writing
from trellis.interfaces.cli.progress import say

if TYPE_CHECKING:
    from trellis.corpus.columns import Layout

Label = Callable[[Corpus], list[Column]]  # the columns of labels, best first
Labeller = Callable[[int | None], Label]  # such a function by so many threads

WHOLE = (*TABLES, "csv")  # formats that are written at once
PIECE_BYTES = 1 << 20
PIECE = 256  # sentences of formats that are read whole


def output_shape(output: str | None, shape: FileShape, instead: str) -> FileShape:
    """The shape that the output's extension tells, else that of the input; a table's bytes go under no other name.

    ``instead`` says what .json could be.
    """
    if output in (None, STANDARD_STREAM):
        return shape
    ending, format = extension(output), format_of(output)
    if ending == ".json":
        raise ArgumentError(f"{output}: name a .jsonl file{instead}")
    if format != "conll" or ending == ".tsv" or shape.format in TABLES:
        return replace(shape, format=format, tabs=shape.tabs or ending == ".tsv")
    return shape


def check_place(output: str | None, target: str, format: str, instead: str) -> None:
    """ArgumentError where the labels have no place in that format. ``instead`` says what to do."""
    if format == "conllu" and not set(columns_named(target, CONLLU_NAMES)) <= set(CONLLU_NAMES):
        raise ArgumentError(f"CoNLL-U has no column {target!r} to be filled in; {instead}")
    if format in TABLES and output in (None, STANDARD_STREAM):
        raise ArgumentError(f"{format} is not for standard output; name a file with --output")


def corpora(source: str, columns: str | None, model: Any, shape: FileShape) -> Iterator[Corpus]:
    """A file, piece by piece where its format allows and the model does not read whole documents or trees.

    CorpusError where there is nothing in it.
    """
    pieces: Iterable[Corpus]
    if model.task == "trees" or shape.format not in STREAMED:
        corpus = shape.read(source, columns)
        pieces = (corpus[first : first + PIECE] for first in range(0, len(corpus), PIECE))
    elif reads_documents(model):
        pieces = [whole_piece(source, shape.layout(source, model, columns)).corpus]
    else:
        pieces = (piece.corpus for piece in pieces_of_path(source, shape.layout(source, model, columns), PIECE_BYTES))
    n_tokens = 0
    for piece in pieces:
        n_tokens += piece.n_tokens
        if piece.n_tokens:
            yield piece
    if not n_tokens and model.task in ("parse", "trees"):
        raise CorpusError(message_name(source), None, "no tokens in it; give a file with at least one sentence")


def reads_documents(model: Any) -> bool:
    """Whether a tagger looks at all sentences of a document."""
    return model.task == "tag" and model.model.first is not None


def labelled(label: Label, target: str, corpus: Corpus) -> Corpus:
    """The corpus with the target's column filled in, and one more for every further column of labels."""
    for rank, column in enumerate(label(corpus), start=1):
        names = columns_named(target, corpus.columns)
        corpus = corpus.with_column("+".join(name if rank == 1 else f"{name} {rank}" for name in names), column)
    return corpus


def formatted(corpus: Corpus, shape: FileShape) -> str:
    """A corpus as the text of a file of that shape."""
    from trellis.corpus.columns import Layout
    from trellis.corpus.write import format_text

    return format_text(corpus, shape.format, Layout(tabs=shape.tabs, sentence=shape.sentence))


def write_texts(
    text: Callable[[Corpus], str], pieces: Iterable[Corpus], out: BinaryIO, count: Callable[[int], None]
) -> None:
    """Pieces one after the other, each as its text."""
    for corpus in pieces:
        if corpus.n_tokens:
            out.write(text(corpus).encode())
            send(out)
            count(corpus.n_tokens)


def write_labelled(
    labeller: Labeller,
    model: Any,
    options: Namespace,
    shapes: tuple[FileShape, FileShape],
    count: Callable[[int], None],
    n_pieces: int,
) -> None:
    """The file that is given with labels written into it, from the first shape to the second.

    Pieces of columns are labelled ``n_pieces`` at once, each by one thread; everything else by the threads given.
    """
    (shape, wanted), target = shapes, tagger_of(model).target
    if wanted.format in WHOLE:
        from trellis.corpus.write import write

        whole = shape.read_for(options.source, model, options.columns)
        corpus = labelled(labeller(options.threads), target, whole)
        write(corpus, options.output or STANDARD_STREAM, format=wanted.format, sentence=wanted.sentence)
        return
    with writing(options.output) as out:
        label = labeller(options.threads)
        if wanted == shape and shape.format in STREAMED:
            layout = shape.layout(options.source, model, options.columns)
            by_piece = label if reads_documents(model) else labeller(1)
            _write_columns(by_piece, model, options.source, layout, n_pieces, out, count)
            return
        pieces = corpora(options.source, options.columns, model, shape)
        write_texts(lambda corpus: formatted(labelled(label, target, corpus), wanted), pieces, out, count)


def _write_columns(
    label: Label,
    model: Any,
    source: str,
    layout: Layout,
    n_threads: int,
    out: BinaryIO,
    count: Callable[[int], None],
) -> None:
    """The text of a file with labels: in the target's column of CoNLL-U, else in new columns."""
    tagger = tagger_of(model)

    def labelled(piece: Piece) -> tuple[bytes, int]:
        text, layout = piece.text, piece.layout
        if piece.corpus.n_tokens:
            if piece.first_line == 1 and not layout.ids:
                _check_gold(piece.corpus, tagger, layout)
            for labels in label(piece.corpus):
                if layout.ids:
                    text = replace_labels(text, tagger.target, labels, layout, first_line=piece.first_line)
                else:
                    text = append_labels(text, labels, layout, first_line=piece.first_line)
        return text, piece.corpus.n_tokens

    pieces = map_pieces(labelled, source, layout, n_threads, PIECE_BYTES)
    if reads_documents(model):
        pieces = iter([labelled(whole_piece(source, layout))])
    for text, n_tokens in pieces:
        out.write(text)
        send(out)
        count(n_tokens)


def _check_gold(corpus: Corpus, tagger: Any, layout: Layout) -> None:
    """Warn where what was taken for the true labels is something else, such as the second word of a line of text."""
    column = corpus.columns.get(tagger.target)
    if isinstance(column, Column) and not set(column.values) & set(tagger.labels):
        number = list(corpus.columns).index(tagger.target) + 1
        which = "the last column" if layout.n_inputs else f"column {number}"
        say(
            f"trellis: {corpus.source}: {which} is read as the true labels ({tagger.target}), but has none "
            "of the model's labels; name the columns with --columns, or tag running text with --text"
        )


def send(out: BinaryIO) -> None:
    """Someone may wait at the other end of a pipe; a compressed file would only become longer."""
    if not isinstance(out, gzip.GzipFile):
        out.flush()
