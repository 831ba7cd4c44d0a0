"""Input of predictions in pieces, and output of predictions."""

from __future__ import annotations

import codecs
import gzip
import json
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import CONLLU_NAMES, Layout, append_labels, replace_labels
from trellis.corpus.corpus import Column, Corpus, columns_named
from trellis.corpus.files import (
    NOT_UTF8,
    STANDARD_STREAM,
    EmptyError,
    extension,
    is_gzip,
    message_name,
    reading,
    writing_whole,
)
from trellis.corpus.read import TABLES, FileShape, format_of
from trellis.corpus.stream import Piece, map_pieces, pieces_of_path, whole_piece
from trellis.corpus.tokens import Token, tokenize
from trellis.interfaces.cli.files import STREAMED, read_for, sentences_of_trees, tagger_of
from trellis.interfaces.cli.outputs import writing
from trellis.interfaces.cli.progress import say

Label = Callable[[Corpus, int | None], list[Column]]  # the columns of labels, best first, by so many threads
TextPiece = tuple[int, str, list[list[Token]]]  # offset in the text, the text of the piece, its sentences

WHOLE = (*TABLES, "csv")  # formats that are written at once
PIECE_BYTES = 1 << 20
PIECE = 256  # sentences per piece for formats that are read as a whole
LONGEST = 1 << 24  # maximum number of characters without a sentence end

_WORD = re.compile(r"[^\s\ufeff]+")


@dataclass(slots=True)
class Files:
    """Input and output of a prediction."""

    options: Namespace
    model: Any
    shape: FileShape
    output_shape: FileShape  # of the output
    count: Callable[[int], None]  # called with the number of tokens done
    brackets: bool  # whether the input is a file of trees in brackets
    group: int | None = None  # the only row group to predict; its table is stored
    table: Any = None

    @property
    def whole(self) -> bool:
        """Whether the model uses all sentences of a document."""
        return self.model.task == "tag" and self.model.model.first is not None

    @property
    def keeps_table(self) -> bool:
        """Whether a table is written in its own format with all other columns."""
        options, format = self.options, self.shape.format
        changes = options.text or options.json or options.columns is not None or self.shape.sentence is not None
        return not changes and format in TABLES and self.output_shape.format == format

    @property
    def n_groups(self) -> int:
        """The number of row groups of a Parquet file, which are predicted one by one; 1 of other files."""
        if not self.keeps_table or self.shape.format != "parquet" or self.whole:
            return 1
        from trellis.corpus.tables import n_groups

        return n_groups(self.options.source)

    @property
    def layout(self) -> Layout | None:
        """That of a file of columns, which is read piece by piece; None of other input."""
        shape, columns = self.shape, self.options.columns
        is_selected = shape.format == "conllu" and columns is not None
        if self.options.text or self.model.task == "trees" or shape.format not in STREAMED or is_selected:
            return None
        return shape.layout(columns, self.model.training_file)

    def corpora(self) -> Iterator[Corpus]:
        """The input, piece by piece where its format and the model allow it; nothing of an empty file."""
        options, model, layout = self.options, self.model, self.layout
        source = options.source
        pieces: Iterator[Corpus]
        try:
            if options.text:
                column = "word" if model.task == "trees" else tagger_of(model).columns[0]
                pieces = (text_corpus(sentences, column) for _, _, sentences in text_pieces(options, whole=self.whole))
            elif layout is None:
                corpus = (sentences_of_trees if self.brackets else partial(read_for, model))(options, source)
                pieces = (corpus[first : first + PIECE] for first in range(0, len(corpus), PIECE))
            elif self.whole:
                pieces = iter([whole_piece(source, layout).corpus])
            else:
                pieces = (piece.corpus for piece in pieces_of_path(source, layout, PIECE_BYTES))
        except EmptyError:
            return
        yield from (piece for piece in pieces if piece.n_tokens)

    def write(self, texts: Iterable[tuple[bytes, int]]) -> None:
        """Texts with the number of tokens in each."""
        with writing(self.options.output) as out:
            for text, n_tokens in texts:
                out.write(text)
                send(out)
                self.count(n_tokens)

    def write_texts(self, text: Callable[[Corpus], str]) -> None:
        """Write the text of every piece."""
        self.write((text(corpus).encode(), corpus.n_tokens) for corpus in self.corpora())

    def write_corpus(self, predicted: Callable[[Corpus], Corpus], column: str) -> None:
        """Write every piece with its predicted columns, in the format of the output."""
        from trellis.corpus.write import format_text, write

        output, shape = self.options.output, self.output_shape
        self.check_place(column, "choose another format by the extension of --output")
        if self.group is not None:
            self.table = self._predicted_group(predicted, self.group)
        elif self.keeps_table:
            write_groups((self._predicted_group(predicted, i) for i in range(self.n_groups)), output, str(shape.format))
        elif shape.format not in WHOLE:
            layout = Layout(tabs=bool(shape.tabs), sentence=shape.sentence)
            self.write_texts(lambda corpus: format_text(predicted(corpus), str(shape.format), layout))
        elif pieces := list(map(predicted, self.corpora())):
            joined = sum(pieces[1:], pieces[0])
            write(joined, output or STANDARD_STREAM, format=shape.format, sentence=shape.sentence)
        else:
            self.write([])

    def _predicted_group(self, predicted: Callable[[Corpus], Corpus], group: int) -> Any:
        """The table of a row group with its predicted columns; of a file without row groups, all of it."""
        from trellis.corpus.tables import predicted_columns, read_group, with_columns

        def counted(corpus: Corpus) -> Corpus:
            out = predicted(corpus)
            self.count(corpus.n_tokens)
            return out

        source, format = self.options.source, str(self.shape.format)
        single = format != "parquet" or self.whole
        table, first_row = read_group(source, format, None if single else group)
        file = None if self.options.tagger else getattr(self.model, "training_file", None)
        return with_columns(table, predicted_columns(table, counted, file and file.inputs, source, first_row))

    def check_place(self, column: str, instead: str) -> None:
        """ArgumentError if the output format cannot contain a column. ``instead`` is the advice in the message."""
        format = self.output_shape.format
        if format == "conllu" and not set(columns_named(column, CONLLU_NAMES)) <= set(CONLLU_NAMES):
            raise ArgumentError(f"CoNLL-U has no column {column!r}; {instead}")
        if format in TABLES and self.options.output in (None, STANDARD_STREAM):
            raise ArgumentError(f"{format} cannot be written to standard output; give --output FILE")

    def write_labels(self, label: Label, n_pieces: int) -> None:
        """The input with labels: in the target's column, or in new columns of a column file.

        Pieces of columns are labelled ``n_pieces`` at once, each by one thread; everything else by all threads.
        """
        options, tagger = self.options, tagger_of(self.model)

        def labelled(corpus: Corpus) -> Corpus:
            for rank, column in enumerate(label(corpus, options.threads), start=1):
                names = columns_named(tagger.target, corpus.columns)
                corpus = corpus.with_column("+".join(name if rank == 1 else f"{name} {rank}" for name in names), column)
            return corpus

        layout = self.layout
        if layout is None or self.output_shape != self.shape:
            self.write_corpus(labelled, tagger.target)
            return
        if self.whole:
            pieces = iter([_labelled_text(label, tagger, options.threads, whole_piece(options.source, layout))])
        else:
            pieces = map_pieces(
                partial(_labelled_text, label, tagger, 1), options.source, layout, n_pieces, PIECE_BYTES
            )
        self.write(pieces)


def write_groups(tables: Iterable[Any], output: str, format: str) -> None:
    """Tables as one file, each as a row group."""
    from trellis.corpus import tables as files

    if is_gzip(output):
        raise CorpusError(output, None, f"{format} files are already compressed; omit .gz")
    with writing_whole(output) as temporary:
        files.write_groups(tables, str(temporary), format)


def output_shape(options: Namespace, shape: FileShape) -> FileShape:
    """The shape that the output's extension tells, else that of the input; a table's bytes go under no other name."""
    output = options.output
    if shape.format == "conllu" and options.columns is not None:  # without other columns and comments
        shape = shape._replace(format="conll", tabs=True)
    if output in (None, STANDARD_STREAM):
        return shape
    ending, format = extension(output), format_of(output)
    if options.json:
        if format not in ("conll", "jsonl"):
            raise ArgumentError(f"{output}: --json writes JSON lines; the name must end in .jsonl")
        return shape
    if ending == ".json":
        raise ArgumentError(
            f"{output}: give --json to write JSON lines, one per sentence, or a name that ends in .jsonl"
        )
    if format != "conll" or ending == ".tsv" or shape.format in TABLES:
        return shape._replace(format=format, tabs=shape.tabs or ending == ".tsv")
    return shape


def _labelled_text(label: Label, tagger: Any, n_threads: int | None, piece: Piece) -> tuple[bytes, int]:
    """Text of a piece with labels (all other bytes unchanged), and its number of tokens."""
    text, layout = piece.text, piece.layout
    if piece.corpus.n_tokens:
        if piece.first_line == 1 and not layout.ids:
            _check_gold(piece.corpus, tagger, bool(layout.n_inputs))
        for labels in label(piece.corpus, n_threads):
            if layout.ids:
                text = replace_labels(text, tagger.target, labels, layout, first_line=piece.first_line)
            else:
                text = append_labels(text, labels, layout, first_line=piece.first_line)
    return text, piece.corpus.n_tokens


def _check_gold(corpus: Corpus, tagger: Any, last: bool) -> None:
    """Warn if the column read as gold labels looks like something else, such as the second word of a line of text."""
    column = corpus.columns.get(tagger.target)
    if isinstance(column, Column) and not set(column.values) & set(tagger.labels):
        column_text = "the last column" if last else f"column {list(corpus.columns).index(tagger.target) + 1}"
        say(
            f"trellis: {corpus.source}: {column_text} is read as gold labels ({tagger.target}), but has none "
            "of the model's labels; give the columns with --columns, or tag raw text with --text"
        )


def json_lines(records: Iterable[dict[str, Any]]) -> str:
    """One line per record."""
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def send(out: BinaryIO) -> None:
    """Flush the output for a reader of a pipe; compressed files are not flushed, as they would grow."""
    if not isinstance(out, gzip.GzipFile):
        out.flush()


# ------------------------------------------------------------ raw text


def text_pieces(options: Namespace, *, whole: bool = False) -> Iterator[TextPiece]:
    """The sentences of raw text, as many at once as are there; or all, for a model that looks at documents."""
    by_line = options.lines or options.words
    split = _words if options.words else partial(tokenize, lines=by_line)
    rest, base, enough = "", 0, 0
    for text in text_lines(options.source) if by_line and not whole else decoded(options.source):
        rest += text
        if text and (whole or (not by_line and len(rest) < enough)):
            continue  # no sentence end so far: do not search again after every few characters
        cut, sentences = len(rest), split(rest)
        if text and not by_line:  # the last sentence may continue
            cut = sentences[-1][0].start if len(sentences) > 1 else 0
            sentences = sentences[:-1]
            if not sentences and len(rest) > LONGEST:
                cut = max(rest.rfind(" "), rest.rfind("\n")) + 1 or len(rest)
                sentences = split(rest[:cut])
        if sentences:
            yield base, rest[:cut], sentences
        rest, base = rest[cut:], base + cut
        enough = 0 if cut else 2 * len(rest)


def text_lines(path: str, lenient: bool | None = None) -> Iterator[str]:
    """A text in pieces of whole lines; ``lenient``: bytes that are not UTF-8 are surrogates (None: no such option)."""
    rest = ""
    for text in decoded(path, lenient):
        head, newline, rest = (rest + text).rpartition("\n")
        if newline:
            yield head + newline
    if rest:
        yield rest


def text_corpus(sentences: list[list[Token]], column: str) -> Corpus:
    """The words of sentences as a corpus."""
    from trellis.corpus.objects import from_mapping

    return from_mapping({column: [[token.text for token in sentence] for sentence in sentences]}, None)


def _words(text: str) -> list[list[Token]]:
    """Read one sentence per line, words separated by whitespace."""
    sentences, at = list[list[Token]](), 0
    for line in text.splitlines(keepends=True):
        words = [Token(match[0], at + match.start(), at + match.end()) for match in _WORD.finditer(line)]
        sentences += [words] if words else []
        at += len(line)
    return sentences


def decoded(path: str, lenient: bool | None = None) -> Iterator[str]:
    """The text of a file in pieces, and an empty one at its end."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape" if lenient else "strict")
    line, block = 1, b" "
    with reading(path) as file:
        while block:
            block = file.read1(PIECE_BYTES)  # type: ignore[attr-defined]
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                reason = NOT_UTF8 if lenient is None else f"{NOT_UTF8}, or give --lenient"
                raise CorpusError(message_name(path), line, reason) from None
            if text:
                yield text
            line += text.count("\n")
    yield ""
