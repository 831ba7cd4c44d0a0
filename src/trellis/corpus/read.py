"""Read a corpus from wherever it is."""

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
# The formats on which an option of ``read`` has an effect, if not on all.
FORMATS_OF_OPTIONS = {"comments": ("conll",), "tabs": ("conll",), "sentence": ("csv", "parquet", "feather")}


class FileShape(NamedTuple):
    """How a file is laid out, beside its columns; where it is not said (None), its name or another file tells."""

    format: str | None = None
    tabs: bool | None = None
    comments: bool | None = None
    sentence: str | None = None  # in tables with a row per token: the column that tells sentences apart

    def check(self, source: str, effective: Sequence[str]) -> None:
        """ArgumentError where an option has another type, or no effect on such a source."""
        instance("comments", self.comments, (bool, type(None)), "True or False")
        instance("tabs", self.tabs, (bool, type(None)), "True, False or None")
        instance("sentence", self.sentence, (str, type(None)), "the name of a column")
        for name, value in self._asdict().items():
            if value and name not in effective:
                raise ArgumentError(f"{name}={value!r} has no effect on {source}; omit it")

    def check_format(self, source: str, format: str, *others: str) -> None:
        """The same for a file of that format, and files of others; CorpusError where there is no such format."""
        if format not in FORMATS:
            raise CorpusError(source, None, f"no format {format!r}; the formats are {', '.join(FORMATS)}")
        effective = [name for name, suited in FORMATS_OF_OPTIONS.items() if {format, *others} & {*suited}]
        self.check(f"{source}, a file in the format {format}", ("format", *effective))

    def of(self, path: str, like: FileShape | None = None) -> FileShape:
        """The whole shape of a file: what this says of it, else its name, else the shape of a file that it is like."""
        like = like or FileShape()
        format, tabs, comments = self.format, self.tabs, self.comments
        if format is None:
            format = like.format if path == STANDARD_STREAM and like.format else format_of(path, like.format)
        if tabs is None:
            tabs = extension(path) == ".tsv" or bool(like.tabs)
        comments = bool(like.comments) if comments is None else comments
        return FileShape(format, tabs, comments, self.sentence or like.sentence)

    def layout(self, columns: str | Sequence[str] | None = None, like: TrainingFile | None = None) -> Layout:
        """The same with the columns: their names, or how a model names them by their number."""
        names = source_names(columns)
        if self.format == "conllu":
            return CONLLU
        naming, n_inputs = (default_names, 0) if like is None else (like.names, 0 if names else like.n_inputs)
        return Layout(names, bool(self.tabs), bool(self.comments), False, naming, n_inputs, self.sentence)


@dataclass(frozen=True, slots=True)
class TrainingFile:
    """What a model knows of the file that it was trained on; files are read as that one."""

    columns: tuple[str, ...]
    targets: tuple[str, ...]  # the columns that it predicts
    inputs: tuple[str, ...]  # the columns that it reads
    shape: FileShape
    n_inputs: int  # of Layout

    @classmethod
    def of(
        cls, record: Mapping[str, Any], targets: Sequence[str], inputs: Sequence[str], n_inputs: int = 0
    ) -> TrainingFile:
        """From what a record of training says of the file; without one, it had inputs and targets."""
        shape = FileShape(**{name: record[name] for name in FileShape._fields if name in record})
        return cls(tuple(record.get("columns", (*inputs, *targets))), tuple(targets), tuple(inputs), shape, n_inputs)

    def names(self, n_columns: int, source: str = "") -> tuple[str, ...]:
        """Names of that many columns: all of training; all but the targets; the columns that the model reads."""
        if 0 < self.n_inputs < n_columns - 1:
            return (*self.inputs, *(f"column{i}" for i in range(self.n_inputs + 1, n_columns)), *self.targets)
        without = tuple(name for name in self.columns if name not in self.targets)
        read = tuple(name for name in self.columns if name in self.inputs)
        for names in (self.columns, without, read):
            if len(names) == n_columns:
                return names
        ten = "the ten of CoNLL-U"
        shown = ten if self.columns == CONLLU_NAMES else f"{len(self.columns)} ({', '.join(self.columns)})"
        found = "1 column" if n_columns == 1 else f"{n_columns} columns"
        text = ", or running text with tag_text or --text" if len(self.inputs) == 1 else ""
        why = f"{found}, but the model was trained on {shown}; read the file with columns=...{text}"
        raise CorpusError(source, None, why)


def format_of(path: str, like: str | None = None) -> str:
    """The format that a file's extension tells; one without a known extension may be as data of CRFsuite it is like."""
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
    """Read a corpus from a file, standard input (``-``), an open binary file, a table, or Python's own lists.

    ``source`` is one of

    - the name of a file. Its extension tells the format, or ``format`` does (conll, conllu, jsonl, csv, crfsuite,
      parquet, feather): ``.conllu`` is CoNLL-U; ``.jsonl`` and ``.ndjson`` are one JSON object per sentence, column
      name to list of strings; ``.csv`` has a row per token; ``.parquet``, ``.feather``, ``.arrow`` and ``.ipc`` are
      tables; everything else is CoNLL columns; data files of CRFsuite are read with ``format="crfsuite"``. Text
      formats may be compressed, with ``.gz`` at the end of the name;
    - ``-`` or an open binary file: columns, unless ``format`` says otherwise;
    - a pandas, polars or pyarrow table, or a ``datasets.Dataset``: one row per sentence with lists of strings in its
      cells, or one row per token with the column that tells sentences apart named by ``sentence``;
    - a dict from column name to sentences, each a list of strings;
    - a list of sentences, each a list of strings or of tuples (named by ``columns``), a tuple of lists such as
      (words, labels), or a dict of lists. A tuple of strings is a sentence of words: one tagged sentence,
      [("Ann", "PER"), ("slept", "O")], goes into a list of its own.

    ``columns`` ("word,pos,label" or a list) names the columns of files and tuples that carry no names:
    without it they are called word; word, label; word, pos, label; word, pos, column3, ..., label. Where the
    source has names, ``columns`` chooses among them (of files also under other names, "word=form,label=upos").
    ``comments`` skips the lines of a column file that begin with #; ``tabs`` makes single tabs the only separators, so
    that fields may hold spaces (the rule for ``.tsv``). In a CSV file ``sentence`` is by default a column called
    sentence, Sentence # or the like; it may be filled on the first row of a sentence only. An option that has no effect
    on the source is an error.

    In dicts and lists a token may also be a bag of attributes: a list of strings, or a dict in which a string
    value gives "name:value", a number gives "name" that weight, True means 1 and False leaves it out.
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
    named = isinstance(corpus, (Corpus, Mapping)) or is_table(corpus)
    return with_labels(read(corpus) if named else from_tokens(corpus, None if like is None else like.names), target, y)


def is_table(source: Any) -> bool:
    """Whether it is a table of pandas, polars, pyarrow or datasets."""
    return type(source).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "datasets")


def read_file(
    path: str, shape: FileShape, columns: str | Sequence[str] | None = None, like: TrainingFile | None = None
) -> Corpus:
    """A file of a whole shape; its columns named, or named as those of another file by their number."""
    if shape.format in TABLES:
        from trellis.corpus.tables import read_table

        corpus = read_table(path, str(shape.format), source_names(columns), shape.sentence)
        return _with_tokens(choose(corpus, parse_names(columns)))
    return _read_text(read_bytes(path), message_name(path), shape, columns, like)


def read_like(source: Any, like: TrainingFile | None) -> Corpus:
    """As ``read``, but a file is read as the one that a model was trained on."""
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
