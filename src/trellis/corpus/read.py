"""Read a corpus from wherever it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

from trellis._support.arguments import file_path, instance
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import CONLLU, Layout, Naming, parse_names, parse_text
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import EmptyError, extension, message_name, name_of, read_bytes

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


def effective_options(format: str) -> tuple[str, ...]:
    """The options beside columns and format that have an effect on files of a format."""
    return tuple(name for name, formats in FORMATS_OF_OPTIONS.items() if format in formats)


class Options(NamedTuple):
    """The options of ``read`` and ``stream`` beside the columns; checked, so that none is silently ignored."""

    format: str | None
    comments: bool
    tabs: bool | None
    sentence: str | None

    def check(self, source: str, effective: Sequence[str]) -> None:
        """ArgumentError where an option has another type, or no effect on such a source."""
        instance("comments", self.comments, bool, "True or False")
        instance("tabs", self.tabs, (bool, type(None)), "True, False or None")
        instance("sentence", self.sentence, (str, type(None)), "the name of a column")
        for name, value in self._asdict().items():
            if value and name not in effective:
                raise ArgumentError(f"{name}={value!r} has no effect on {source}; omit it")

    def check_format(self, source: str, format: str) -> None:
        """The same for a file of that format; CorpusError where there is no such format."""
        if format not in FORMATS:
            raise CorpusError(source, None, f"no format {format!r}; the formats are {', '.join(FORMATS)}")
        self.check(f"{source}, a file in the format {format}", ("format", *effective_options(format)))


def format_of(path: str, like: str = "conll") -> str:
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
    source has names, ``columns`` chooses among them. ``comments`` skips the lines of a column file that
    begin with #; ``tabs`` makes single tabs the only separators, so that fields may hold spaces (the rule for
    ``.tsv``). In a CSV file ``sentence`` is by default a column called sentence, Sentence # or the like; it may be
    filled on the first row of a sentence only. An option that has no effect on the source is an error.

    In dicts and lists a token may also be a bag of attributes: a list of strings, or a dict in which a string
    value gives "name:value", a number gives "name" that weight, True means 1 and False leaves it out.
    """
    options = Options(format, comments, tabs, sentence)
    if isinstance(source, Corpus):
        options.check("a Corpus", ())
        return source if columns is None else choose(source, parse_names(columns))
    names = parse_names(columns)
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        path = "" if hasattr(source, "read") else file_path("source", source)
        name, format = message_name(path) if path else name_of(source), format or format_of(path)
        options.check_format(name, format)
        if format in TABLES and path:
            from trellis.corpus.tables import read_table

            return _with_tokens(read_table(path, format, names, sentence))
        layout = Layout(names, extension(path) == ".tsv" if tabs is None else tabs, comments, sentence=sentence)
        return _read_text(read_bytes(path) if path else source.read(), name, format, layout)
    if is_table(source):
        from trellis.corpus.tables import from_table

        options.check("a table", ("sentence",))
        return from_table(source, names, sentence)
    options.check(f"a {type(source).__name__}", ())
    from trellis.corpus.objects import from_lists, from_mapping

    if isinstance(source, Mapping):
        return from_mapping(source, names)
    return from_lists(source, names)


def read_examples(corpus: Any, y: Any = None, *, target: str = "label", naming: Naming | None = None) -> Corpus:
    """A corpus to learn from or to evaluate on: what ``read`` takes, or sentences and their labels apart.

    Parameters
    ----------
    corpus
        What ``read`` takes; with ``y`` sentences in memory, where a token may be a string, a tuple of strings, or its
        attributes in a list or a dict. A tuple of two is (sentences, labels).
    y
        The labels of each sentence, a list of lists of strings; they become the column ``target``.
    naming
        Names of the inputs by their number (default: word; word, pos; word, pos, column3, ...; attributes).
    """
    if y is None and isinstance(corpus, tuple) and len(corpus) == 2:
        corpus, y = corpus
    if y is None:
        return read(corpus)
    from trellis.corpus.objects import from_tokens, with_labels
    from trellis.corpus.stream import CorpusStream

    if isinstance(corpus, (str, os.PathLike, CorpusStream)) or hasattr(corpus, "read"):
        raise ArgumentError("y gives the labels of sentences in memory; a file has a column of labels: omit y")
    named = isinstance(corpus, (Corpus, Mapping)) or is_table(corpus)
    return with_labels(read(corpus) if named else from_tokens(corpus, naming), target, y)


def is_table(source: Any) -> bool:
    """Whether it is a table of pandas, polars, pyarrow or datasets."""
    return type(source).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "datasets")


def read_like(source: Any, naming: Callable[[str], Naming], kept: Mapping[str, Any], n_inputs: int = 0) -> Corpus:
    """As ``read``, but a file of columns is named by ``naming`` (given the file name) and laid out as ``kept`` says.

    ``n_inputs`` is that of ``Layout``.
    """
    path = file_path("source", source) if isinstance(source, (str, os.PathLike)) else ""
    format = format_of(path, str(kept.get("format"))) if path else None
    if format != "conll":
        return read(source, format=format)
    tabs = extension(path) == ".tsv" or bool(kept.get("tabs"))
    layout = Layout(None, tabs, bool(kept.get("comments")), naming=naming(message_name(path)), n_inputs=n_inputs)
    return _read_text(read_bytes(path), message_name(path), "conll", layout)


def _read_text(text: Any, source: str, format: str, layout: Layout) -> Corpus:
    if not isinstance(text, bytes):
        raise CorpusError(source, None, "opened as text; open it in binary mode, for example open(name, 'rb')")
    if format in TABLES:
        raise CorpusError(source, None, f"{format} is not read from an open file; give the name of the file")
    if format in _MODULES:
        return _with_tokens(function_of("parse", format)(text, source, layout))
    return _with_tokens(choose(parse_text(text, source, CONLLU if format == "conllu" else layout), layout.names))


def function_of(verb: str, format: str) -> Callable[..., Any]:
    """The function that parses or formats the text of files in a format."""
    function: Callable[..., Any] = getattr(import_module(f"trellis.corpus.{_MODULES[format]}"), f"{verb}_{format}")
    return function


def choose(corpus: Corpus, names: Sequence[str] | None) -> Corpus:
    """The corpus with some of its columns in that order, ``upos+feats`` as one; all of them for None."""
    columns = corpus.columns
    if names is None:
        return corpus
    return replace(corpus, columns={name: columns[name] if name in columns else corpus.column(name) for name in names})


def _with_tokens(corpus: Corpus) -> Corpus:
    if corpus.n_tokens == 0:
        raise EmptyError(corpus.source)
    return corpus
