"""Read a corpus from files, standard input, tables or Python objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

from trellis._support.arguments import file_path, instance
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import CONLLU, CONLLU_NAMES, Layout, default_names, parse_names, parse_text
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import STANDARD_STREAM, EmptyError, extension, message_name, name_of, read_bytes

FORMATS = ("conll", "conllu", "jsonl", "csv", "crfsuite", "parquet", "feather")
_BY_EXTENSION = {
    **{".conllu": "conllu", ".csv": "csv"},
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
}
TABLES = ("parquet", "feather")
_MODULES = {"jsonl": "objects", "csv": "csv_files", "crfsuite": "crfsuite_data"}
# For options of ``read`` that apply to some formats only: these formats.
FORMATS_OF_OPTIONS = {"comments": ("conll",), "tabs": ("conll",), "sentence": ("csv", "parquet", "feather")}


class FileShape(NamedTuple):
    """Format of a file, apart from its columns; None: determined by its name, or by another file.

    Attributes
    ----------
    format
        Name of the format.
    tabs
        Whether single tabs are the only separators.
    comments
        Whether lines that begin with ``#`` are skipped.
    sentence
        Column that identifies the sentence of each row, in tables with one row per token.
    """

    format: str | None = None
    tabs: bool | None = None
    comments: bool | None = None
    sentence: str | None = None

    def check(self, source: str, effective: Sequence[str]) -> None:
        """Raise ArgumentError if an option is invalid, or has no effect on this kind of source.

        Parameters
        ----------
        source
            Name of the source, for the message.
        effective
            Names of the options that have an effect.
        """
        instance("comments", self.comments, (bool, type(None)), "True or False")
        instance("tabs", self.tabs, (bool, type(None)), "True, False or None")
        instance("sentence", self.sentence, (str, type(None)), "the name of a column")
        for name, value in self._asdict().items():
            if value and name not in effective:
                raise ArgumentError(f"{name}={value!r} has no effect on {source}; omit it")

    def check_format(self, source: str, format: str, *others: str) -> None:
        """Raise ArgumentError if an option has no effect on this format, CorpusError for an unknown format.

        Parameters
        ----------
        source
            Name of the source, for the message.
        format
            Name of the format.
        *others
            Formats of other files that the options are for.
        """
        if format not in FORMATS:
            raise CorpusError(source, None, f"no format {format!r}; the formats are {', '.join(FORMATS)}")
        effective = [name for name, suited in FORMATS_OF_OPTIONS.items() if {format, *others} & {*suited}]
        self.check(f"{source}, a file in the format {format}", ("format", *effective))

    def of(self, path: str, like: FileShape | None = None) -> FileShape:
        """Complete the shape: missing options follow from the file's name, else from a similar file.

        Parameters
        ----------
        path
            Name of the file.
        like
            Shape of a similar file.

        Returns
        -------
        FileShape
            The shape without None for the format.
        """
        like = like or FileShape()
        format, tabs, comments = self.format, self.tabs, self.comments
        if format is None:
            format = like.format if path == STANDARD_STREAM and like.format else format_of(path, like.format)
        if tabs is None:
            tabs = extension(path) == ".tsv" or bool(like.tabs)
        comments = bool(like.comments) if comments is None else comments
        return FileShape(format, tabs, comments, self.sentence or like.sentence)

    def layout(self, columns: str | Sequence[str] | None = None, like: TrainingFile | None = None) -> Layout:
        """Make the layout of the columns.

        Parameters
        ----------
        columns
            Names of the columns.
        like
            Training file of a model, which names columns by their number.

        Returns
        -------
        Layout
            The layout.
        """
        names = source_names(columns)
        if self.format == "conllu":
            return CONLLU
        naming, n_inputs = (default_names, 0) if like is None else (like.names, 0 if names else like.n_inputs)
        return Layout(names, bool(self.tabs), bool(self.comments), False, naming, n_inputs, self.sentence)


@dataclass(frozen=True, slots=True)
class TrainingFile:
    """Description of the file that a model was trained on; other files are read in the same way.

    Attributes
    ----------
    columns
        Names of its columns.
    targets
        Columns that the model predicts.
    inputs
        Columns that the model reads.
    shape
        Its format.
    n_inputs
        Number of input columns, as in `Layout`.
    """

    columns: tuple[str, ...]
    targets: tuple[str, ...]
    inputs: tuple[str, ...]
    shape: FileShape
    n_inputs: int

    @classmethod
    def of(
        cls, record: Mapping[str, Any], targets: Sequence[str], inputs: Sequence[str], n_inputs: int = 0
    ) -> TrainingFile:
        """Make the description from a record of training; without a record the file had inputs and targets.

        Parameters
        ----------
        record
            The record of training.
        targets
            Columns that the model predicts.
        inputs
            Columns that the model reads.
        n_inputs
            Number of input columns, as in `Layout`.

        Returns
        -------
        TrainingFile
            The description.
        """
        shape = FileShape(**{name: record[name] for name in FileShape._fields if name in record})
        return cls(tuple(record.get("columns", (*inputs, *targets))), tuple(targets), tuple(inputs), shape, n_inputs)

    def names(self, n_columns: int, source: str = "") -> tuple[str, ...]:
        """Name the columns of a file by their number: all columns of training, all but the targets, or the inputs.

        Parameters
        ----------
        n_columns
            Number of columns in the file.
        source
            Name of the file, for the message.

        Returns
        -------
        tuple[str, ...]
            The names.

        Raises
        ------
        CorpusError
            If the number of columns does not fit the model.
        """
        if 0 < self.n_inputs < n_columns - 1:
            return (*self.inputs, *(f"column{i}" for i in range(self.n_inputs + 1, n_columns)), *self.targets)
        without = tuple(name for name in self.columns if name not in self.targets)
        read = tuple(name for name in self.columns if name in self.inputs)
        for names in (self.columns, without, read):
            if len(names) == n_columns:
                return names
        ten = "the ten of CoNLL-U"
        expected = ten if self.columns == CONLLU_NAMES else f"{len(self.columns)} ({', '.join(self.columns)})"
        actual = "1 column" if n_columns == 1 else f"{n_columns} columns"
        text = ", or raw text with tag_text or --text" if len(self.inputs) == 1 else ""
        reason = f"{actual}, but the model was trained on {expected}; read the file with columns=...{text}"
        raise CorpusError(source, None, reason)


def format_of(path: str, like: str | None = None) -> str:
    """The format by file extension; unknown extensions: "crfsuite" if ``like`` is this format, else "conll"."""
    return _BY_EXTENSION.get(extension(path), "crfsuite" if like == "crfsuite" else "conll")


def read(
    source: Any,
    *,
    columns: str | Sequence[str] | None = None,
    format: str | None = None,
    comments: bool = False,
    tabs: bool | None = None,
    sentence: str | None = None,
) -> Corpus:
    """Read a corpus from a file, standard input (``-``), an open binary file, a table, or Python lists.

    An option that has no effect on the source is an error.

    Parameters
    ----------
    source
        One of

        - a file name; compressed text (``.gz``) is decompressed. The format follows from the extension: ``.conllu``
          (CoNLL-U); ``.jsonl``, ``.ndjson`` (one JSON object per sentence: column name to list of strings); ``.csv``
          (one row per token); ``.parquet``, ``.feather``, ``.arrow``, ``.ipc`` (tables); otherwise CoNLL columns;
        - ``-`` or an open binary file: CoNLL columns, unless ``format`` says otherwise;
        - a pandas, polars or pyarrow table, or a ``datasets.Dataset``: one row per sentence with lists of strings, or
          one row per token and the column ``sentence``;
        - a dict of column name to sentences, each a list of strings;
        - a list of sentences: each a list of strings, a list of tuples (named by ``columns``), a tuple of lists such as
          (words, labels), or a dict of lists. One tagged sentence is a list of its own: ``[[("Ann", "PER"), ("slept",
          "O")]]``.

        In dicts and lists a token may also have attributes: a list of strings, or a dict; a string value makes the
        attribute ``name:value``, a number is the weight of ``name``, True means 1, False omits it.
    columns : str or list of str, optional
        Names of the columns of a source without names, ``"word,pos,label"`` or a list (default: word; word, label;
        word, pos, label; word, pos, column3, ..., label). With names in the source: the columns to read, possibly
        renamed, ``"word=form,label=upos"``.
    format : str, optional
        One of conll, conllu, jsonl, csv, crfsuite, parquet, feather (default: by the extension, conll for open files).
    comments
        Whether to skip the lines of a column file that begin with ``#``.
    tabs
        Whether single tabs are the only separators of a column file, so that fields may contain spaces (default: for
        ``.tsv``).
    sentence
        Column that identifies the sentence of each row, in CSV files and tables with one row per token (default for
        CSV: a column with a name such as ``sentence``; it may be filled only in the first row of a sentence).

    Returns
    -------
    Corpus
        The corpus.

    Raises
    ------
    CorpusError
        If the data is invalid; the message names the file and the line.
    ArgumentError
        If an option is invalid or has no effect on the source.

    Examples
    --------
    >>> import trellis
    >>> corpus = trellis.read({"word": [["Ann", "ran"], ["it", "rained"]], "pos": [["NP", "V"], ["PRP", "V"]]})
    >>> len(corpus), corpus.n_tokens, list(corpus.columns)
    (2, 4, ['word', 'pos'])
    >>> trellis.read([[("Ann", "NP"), ("ran", "V")]]).sentences("label")
    [['NP', 'V']]
    """
    shape = FileShape(format, tabs, comments, sentence)
    if isinstance(source, Corpus):
        shape.check("a Corpus", ())
        return source if columns is None else choose(source, parse_names(columns))
    if hasattr(source, "read"):
        shape.check_format(name_of(source), format or "conll")
        return _read_text(source.read(), name_of(source), shape.of(""), columns)
    if isinstance(source, (str, os.PathLike)):
        path = file_path("source", source)
        shape.check_format(message_name(path), format or format_of(path))
        return read_file(path, shape.of(path), columns)
    names = parse_names(columns)
    if is_table(source):
        from trellis.corpus.tables import from_table

        shape.check("a table", ("sentence",))
        return from_table(source, names, sentence)
    shape.check(f"a {type(source).__name__}", ())
    from trellis.corpus.objects import from_lists, from_mapping

    if isinstance(source, Mapping):
        return from_mapping(source, names)
    return from_lists(source, names)


def read_examples(corpus: Any, y: Any = None, *, target: str = "label", like: TrainingFile | None = None) -> Corpus:
    """A corpus to learn from or to evaluate on: what ``read`` takes, or sentences and their labels apart.

    Parameters
    ----------
    corpus
        What ``read`` takes; with ``y`` sentences in memory, where a token may be a string, a tuple of strings, or its
        attributes in a list or a dict. A tuple of two is (sentences, labels).
    y
        The labels of each sentence, a list of lists of strings; they become the column ``target``.
    like
        As which a file is read; names inputs by their number (default: word; word, pos; word, pos, column3, ...).
    """
    if y is None and isinstance(corpus, tuple) and len(corpus) == 2:
        corpus, y = corpus
    if y is None:
        return read_like(corpus, like)
    from trellis.corpus.objects import from_tokens, with_labels
    from trellis.corpus.stream import CorpusStream

    if isinstance(corpus, (str, os.PathLike, CorpusStream)) or hasattr(corpus, "read"):
        raise ArgumentError("y is for sentences in memory; the labels of a file are a column: omit y")
    keyed = isinstance(corpus, (Corpus, Mapping)) or is_table(corpus)
    return with_labels(read(corpus) if keyed else from_tokens(corpus, None if like is None else like.names), target, y)


def is_table(source: Any) -> bool:
    """Whether it is a table of pandas, polars, pyarrow or datasets."""
    return type(source).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "datasets")


def read_file(
    path: str, shape: FileShape, columns: str | Sequence[str] | None = None, like: TrainingFile | None = None
) -> Corpus:
    """Read a file of a complete shape; columns have given names, or the names of another file by their number."""
    if shape.format in TABLES:
        from trellis.corpus.tables import read_table

        corpus = read_table(path, str(shape.format), source_names(columns), shape.sentence)
        return _with_tokens(choose(corpus, parse_names(columns)))
    return _read_text(read_bytes(path), message_name(path), shape, columns, like)


def read_like(source: Any, like: TrainingFile | None) -> Corpus:
    """Like ``read``, but a file is read in the format of the training file of a model."""
    if like is None or not isinstance(source, (str, os.PathLike)):
        return read(source)
    path = file_path("source", source)
    return read_file(path, FileShape().of(path, like.shape), None, like)


def _read_text(
    text: Any,
    source: str,
    shape: FileShape,
    columns: str | Sequence[str] | None,
    like: TrainingFile | None = None,
) -> Corpus:
    format, layout = str(shape.format), shape.layout(columns, like)
    if not isinstance(text, bytes):
        raise CorpusError(source, None, "opened in text mode; open it in binary mode, for example open(name, 'rb')")
    if format in TABLES:
        raise CorpusError(source, None, f"{format} cannot be read from an open file; give its path")
    parse = function_of("parse", format) if format in _MODULES else parse_text
    return _with_tokens(choose(parse(text, source, layout), parse_names(columns)))


def source_names(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of columns in the source: ``form`` of ``word=form``."""
    names = parse_names(columns)
    return None if names is None else tuple(name.rpartition("=")[2] for name in names)


def function_of(verb: str, format: str) -> Callable[..., Any]:
    """The function that parses or formats the text of files in a format."""
    function: Callable[..., Any] = getattr(import_module(f"trellis.corpus.{_MODULES[format]}"), f"{verb}_{format}")
    return function


def choose(corpus: Corpus, names: Sequence[str] | None) -> Corpus:
    """Some columns in that order, ``upos+feats`` as one, ``word=form`` under another name; all of them for None."""
    if names is None or not corpus.columns:
        return corpus
    pairs = {name.partition("=")[0]: name.rpartition("=")[2] for name in names}
    columns = {new: corpus.columns[old] if old in corpus.columns else corpus.column(old) for new, old in pairs.items()}
    return replace(corpus, columns=columns)


def _with_tokens(corpus: Corpus) -> Corpus:
    if corpus.n_tokens == 0:
        raise EmptyError(corpus.source)
    return corpus
