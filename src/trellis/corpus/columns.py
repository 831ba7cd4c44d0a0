"""CoNLL columns: one token per line, blank lines between sentences."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trellis import _core
from trellis._support.arguments import items
from trellis._support.arrays import Longs
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Corpus, Extras, Strings, columns_named
from trellis.corpus.files import NOT_UTF8


def default_names(n_columns: int, source: str = "") -> tuple[str, ...]:
    """Names by number: word; word, label; word, pos, label; word, pos, column3, ..., label."""
    if n_columns <= 2:
        return ("word", "label")[:n_columns]
    return ("word", "pos", *(f"column{i}" for i in range(3, n_columns)), "label")


Naming = Callable[..., tuple[str, ...]]  # (number of columns, source) -> their names, or a CorpusError


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a file of columns.

    Attributes
    ----------
    names
        Names of the columns; None: by their number, see ``naming``.
    tabs
        Whether fields end at single tabs, and may contain spaces or be empty, instead of at whitespace.
    comments
        Whether lines that begin with ``#`` are skipped.
    ids
        Whether rows with ``-`` or ``.`` in the first field are skipped, as in CoNLL-U.
    naming
        Function from a number of columns to their names.
    n_inputs
        If above 0, rows may have any number of fields: this many are inputs; further fields are columns if all rows
        have the same number; the last one is the label if all rows have more.
    sentence
        For CSV: the column that identifies sentences.
    """

    names: tuple[str, ...] | None = None
    tabs: bool = False
    comments: bool = False
    ids: bool = False
    naming: Naming = default_names
    n_inputs: int = 0
    sentence: str | None = None

    def _rules(self, first_line: int, n_columns: int = 0) -> dict[str, Any]:
        """Rules for tokens, for native code; lines are counted from first_line, 0 columns: as in the first row."""
        kinds = {"tabs": self.tabs, "comments": self.comments, "ids": self.ids}
        return {**kinds, "n_columns": n_columns, "first_line": first_line}


PLAIN = Layout()

# CoNLL-U, the format of Universal Dependencies. Words are the tokens; ranges (1-2), empty nodes (8.1) and comments are
# kept as extras and written back.
CONLLU_NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
CONLLU = Layout(CONLLU_NAMES, tabs=True, comments=True, ids=True)


def parse_names(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of columns from "word,pos,label" or a list."""
    if columns is None:
        return None
    names = columns.split(",") if isinstance(columns, str) else items(columns)
    if names is None or not all(isinstance(name, str) for name in names):
        raise CorpusError("", None, f"columns must be names, 'word,pos,label' or a list, not {reprlib.repr(columns)}")
    cleaned = tuple(name.strip() for name in names)
    if not all(cleaned) or len(set(cleaned)) != len(cleaned):
        raise CorpusError("", None, f"columns {', '.join(names)!r}: names must be unique")
    return cleaned


def parse_text(text: bytes, source: str, layout: Layout, *, first_line: int = 1) -> Corpus:
    """The corpus in the bytes of a file; lines are counted from first_line. It may have no tokens."""
    return parse_rows(text, source, layout, first_line=first_line)[0]


def parse_rows(text: bytes, source: str, layout: Layout, *, first_line: int = 1) -> tuple[Corpus, Longs]:
    """The corpus, and where its extras are in the bytes: [n_extras, 2] begin and end."""

    def parse(n_columns: int) -> Any:
        return _core.parse_columns(text, layout._rules(first_line, n_columns))

    coded, facts = parse(len(layout.names or ()))
    if facts["trouble"] == "fields" and layout.n_inputs:
        text, n_columns = _evened(text, layout)
        coded, facts = parse(n_columns)
    if facts["trouble"]:
        raise CorpusError(source, facts["line"], _why(facts["trouble"], facts["found"], facts["expected"], layout))
    names = layout.names or (layout.naming(len(coded), source) if coded else ())
    columns = {name: Column(codes, Strings(data, ends)) for name, (codes, data, ends) in zip(names, coded, strict=True)}
    extras = None
    asides = facts["asides"].reshape(-1, 4)
    if len(asides):  # lines that are not tokens
        comments = [text[a:b].decode() for a, b in asides[:, 2:].tolist()]
        extras = Extras(asides[:, 0].copy(), asides[:, 1].copy(), comments)
    return Corpus(columns, facts["starts"], source, facts["lines"], extras), asides[:, 2:]


def append_labels(text: bytes, labels: Column, layout: Layout, *, first_line: int = 1) -> bytes:
    """Append each token's label as a field; all other bytes are unchanged."""
    return _core.with_column(text, None, labels, layout._rules(first_line))


def replace_labels(text: bytes, name: str, labels: Column, layout: Layout, *, first_line: int = 1) -> bytes:
    """The text with each token's label in the column (or two, ``upos+feats``) of that name; every other byte stays."""
    names = columns_named(name, layout.names or ())
    for part, column in zip(names, labels.split() if len(names) == 2 else (labels,), strict=True):
        place = (layout.names or ()).index(part)
        text = _core.with_column(text, place, column, layout._rules(first_line))
    return text


def fix_names(layout: Layout, corpus: Corpus) -> Layout:
    """Layout with the names of columns found in the first piece of the file."""
    return replace(layout, names=tuple(corpus.columns)) if corpus.columns and not layout.n_inputs else layout


def _evened(text: bytes, layout: Layout) -> tuple[bytes, int]:
    """Cut rows to the fields that are read, and count these; shorter rows are unchanged."""
    lines, separator, n = text.split(b"\n"), b"\t" if layout.tabs else None, layout.n_inputs
    rows = [line.rstrip(b"\r").split(separator) if line.strip() else [] for line in lines]
    for i, line in enumerate(lines):
        if (layout.comments and line.startswith(b"#")) or rows[i][:1] == [b"-DOCSTART-"]:
            rows[i] = []
    has_labels = all(len(row) > n for row in rows if row)
    for i, row in enumerate(rows):
        if len(row) >= n:
            lines[i] = b"\t".join([*row[:n], row[-1]] if has_labels else row[:n])
    return b"\n".join(lines), n + has_labels


def _why(trouble: str, n_fields: int, expected: int, layout: Layout) -> str:
    if trouble == "utf8":
        return NOT_UTF8
    needed = f"{expected} ({', '.join(layout.names)})" if layout.names else f"{expected} like the first row of the file"
    if layout.n_inputs:
        needed = f"at least {layout.n_inputs}, the columns that the model reads"
    separator = "tab" if layout.tabs else "whitespace"
    fields = "1 field" if n_fields == 1 else f"{n_fields} fields"
    return f"{fields} ({separator}-separated), expected {needed}; correct the row or name all columns"
