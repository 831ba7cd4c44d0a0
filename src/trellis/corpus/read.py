"""Read a corpus from wherever it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, cast

from trellis.corpus.columns import CONLLU, Layout, Naming, parse_names, parse_text
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import extension, message_name, name_of, read_bytes
from trellis.errors import CorpusError

FORMATS = ("conll", "conllu", "jsonl", "parquet", "feather")
_BY_EXTENSION = {
    ".conllu": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
}


def format_of(path: str) -> str:
    """The format that a file's extension tells."""
    return _BY_EXTENSION.get(extension(path), "conll")


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for, once and for all formats."""

    names: tuple[str, ...] | None
    comments: bool
    tabs: bool
    sentence: str | None


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

    - the name of a file. Its extension tells the format, or ``format`` does (conll, conllu, jsonl, parquet,
      feather): ``.conllu`` is CoNLL-U; ``.jsonl`` and ``.ndjson`` are one JSON object per sentence, column name
      to list of strings; ``.parquet``, ``.feather``, ``.arrow`` and ``.ipc`` are tables; everything else is
      CoNLL columns. Text formats may be compressed, with ``.gz`` at the end of the name;
    - ``-`` or an open binary file: columns, unless ``format`` says otherwise;
    - a pandas, polars or pyarrow table: one row per sentence with lists of strings in its cells, or one row per
      token with the column that tells sentences apart named by ``sentence``;
    - a dict from column name to sentences, each a list of strings;
    - a list of sentences, each a list of strings or of tuples (named by ``columns``), or a dict of lists.

    ``columns`` ("word,pos,label" or a list) names the columns of files and tuples that carry no names:
    without it they are called word; word, label; word, pos, label; word, pos, column3, ..., label. Where the
    source has names, ``columns`` chooses among them. ``comments`` leaves out the lines of a column file that
    begin with #; ``tabs`` makes single tabs the only separators, so that fields may hold blanks (the rule for
    ``.tsv``).

    In dicts and lists a token may also be a bag of attributes: a list of strings, or a dict in which a string
    value gives "name:value", a number gives "name" that weight, True means 1 and False leaves it out.
    """
    if isinstance(source, Corpus):
        return source
    names = parse_names(columns)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        use_tabs = extension(path) == ".tsv" if tabs is None else tabs
        return _read_file(path, format or format_of(path), Options(names, comments, use_tabs, sentence))
    options = Options(names, comments, bool(tabs), sentence)
    if hasattr(source, "read"):
        file = cast(BinaryIO, source)
        return _read_text(file.read(), name_of(file), format or "conll", options)
    if type(source).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow"):
        from trellis.corpus.tables import from_table

        return from_table(source, names, sentence)
    from trellis.corpus.objects import from_lists, from_mapping

    if isinstance(source, Mapping):
        return from_mapping(source, names)
    return from_lists(source, names)


def read_like(source: Any, naming: Callable[[str], Naming], kept: Mapping[str, Any]) -> Corpus:
    """As ``read``, but a file of columns is named by ``naming`` (given the file name) and laid out as ``kept`` says."""
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    if not path or format_of(path) != "conll":
        return read(source)
    tabs = extension(path) == ".tsv" or bool(kept.get("tabs"))
    layout = Layout(None, tabs, bool(kept.get("comments")), naming=naming(message_name(path)))
    return _with_tokens(parse_text(read_bytes(path), message_name(path), layout))


def _read_file(path: str, format: str, options: Options) -> Corpus:
    if format in ("parquet", "feather"):
        from trellis.corpus.tables import read_table

        return _with_tokens(read_table(path, format, options.names, options.sentence))
    return _read_text(read_bytes(path), message_name(path), format, options)


def _read_text(text: bytes, source: str, format: str, options: Options) -> Corpus:
    if not isinstance(text, bytes):
        raise CorpusError(
            source, None, "opened as text; open it in binary mode, for example open(name, 'rb')"
        )
    reader = _TEXT_READERS.get(format)
    if reader is None:
        raise CorpusError(source, None, f"no format {format!r} here; the formats are {', '.join(FORMATS)}")
    return _with_tokens(reader(text, source, options))


def _read_columns(text: bytes, source: str, options: Options) -> Corpus:
    return parse_text(text, source, Layout(options.names, options.tabs, options.comments))


def _read_conllu(text: bytes, source: str, options: Options) -> Corpus:
    corpus = parse_text(text, source, CONLLU)
    if options.names is None:
        return corpus
    return replace(corpus, columns={name: corpus.column(name) for name in options.names})


def _read_jsonl(text: bytes, source: str, options: Options) -> Corpus:
    from trellis.corpus.jsonl import parse_jsonl

    return parse_jsonl(text, source, options.names)


_TEXT_READERS: dict[str, Callable[[bytes, str, Options], Corpus]] = {
    "conll": _read_columns,
    "conllu": _read_conllu,
    "jsonl": _read_jsonl,
}


def _with_tokens(corpus: Corpus) -> Corpus:
    if corpus.n_tokens == 0:
        raise CorpusError(corpus.source, None, "no tokens in it; give a file with at least one sentence")
    return corpus
