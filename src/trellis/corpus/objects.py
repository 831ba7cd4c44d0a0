"""Corpora from Python's own dicts and lists, and from JSON lines: a dict per sentence."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arguments import items
from trellis._support.arrays import Longs, starts_of
from trellis._support.errors import CorpusError
from trellis.corpus.columns import PLAIN, Layout, Naming, default_names
from trellis.corpus.corpus import BagColumn, Column, Corpus, Strings
from trellis.corpus.files import EmptyError, decoded


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of sentences, for messages."""

    source: str = ""
    lines: Sequence[int] | None = None  # line of each sentence, if read from a file

    def error(self, sentence: int, reason: str) -> CorpusError:
        """Make an error that names the sentence by its line in a file or its index in a list."""
        if self.lines is not None:
            return CorpusError(self.source, self.lines[sentence], reason)
        return CorpusError(self.source, None, f"sentence {sentence} (counted from 0): {reason}")


_MEMORY = Origin()


def from_mapping(columns: Mapping[str, Any], names: Sequence[str] | None, origin: Origin = _MEMORY) -> Corpus:
    """A corpus from column name -> sentences, each a list of strings or of bags of attributes."""
    selection = tuple(columns) if names is None else names
    if not selection:
        raise CorpusError(origin.source, None, "no columns; at least one is required")
    for name in columns:
        if not isinstance(name, str):
            raise CorpusError(origin.source, None, f"the name of a column must be a string, not {name!r}")
    encoded: dict[str, Column | BagColumn] = {}
    starts = np.zeros(1, np.int64)
    for name in selection:
        if name not in columns:
            raise CorpusError(origin.source, None, f"no column {name!r}; the columns are {', '.join(columns)}")
        encoded[name], ends = _encode(name, columns[name], origin)
        if name == selection[0]:
            starts = ends
        elif not np.array_equal(starts, ends):
            raise _uneven(selection[0], starts, name, ends, origin)
    lines = None if origin.lines is None else np.repeat(np.asarray(origin.lines, np.int64), np.diff(starts))
    return Corpus(encoded, starts, origin.source, lines)


def from_records(records: Sequence[Mapping[str, Any]], names: Sequence[str] | None, origin: Origin = _MEMORY) -> Corpus:
    """A corpus from sentences, each a dict from column name to list of strings, all with the same columns."""
    selection = tuple(records[0]) if names is None else names
    columns: dict[str, list[Any]] = {name: [] for name in selection}
    for i, record in enumerate(records):
        for name, sentences in columns.items():
            if name not in record:
                columns_here = ", ".join(map(str, record)) or "none"
                raise origin.error(i, f"no column {name!r}; the columns of this sentence are {columns_here}")
            sentences.append(record[name])
        if names is None and len(record) != len(selection):
            extra = next(name for name in record if name not in columns)
            raise origin.error(i, f"column {extra!r} is not in the first sentence; select columns with columns=")
    return from_mapping(columns, selection, origin)


def from_lists(sentences: Iterable[Any], names: Sequence[str] | None, *, tokens: bool = False) -> Corpus:
    """A corpus from sentences: lists of strings, of tuples or of dicts of attributes, tuples of lists, dicts of lists.

    With ``tokens``, a sentence is always the list of its tokens, never a tuple of columns.
    """
    lists = items(sentences)
    if lists is None:
        raise CorpusError("", None, f"cannot read a corpus from {type(sentences).__name__!r}; see trellis.read")
    if lists and all(isinstance(row, Mapping) for row in lists):
        return from_records(lists, names)
    if lists and not tokens and all(_is_columns(row) for row in lists):
        return _from_columns(lists, names)
    rows = [_as_list(row, i, _MEMORY) for i, row in enumerate(lists)]
    first = next((token for row in rows for token in row), "")
    if not isinstance(first, (tuple, list)):
        if lists and names is not None and all(isinstance(row, tuple) and 1 < len(row) == len(names) for row in lists):
            reason = f"a tuple of {len(names)} strings is a sentence of words"
            raise CorpusError("", None, f"{reason}; write one tagged sentence as [[(word, label), ...]]")
        default = ("attributes",) if isinstance(first, Mapping) else default_names(1)
        return from_mapping({_names_for(1, names, default)[0]: rows}, None)
    width = len(first)
    for i, row in enumerate(rows):
        for t, token in enumerate(row):
            if not isinstance(token, (tuple, list)) or len(token) != width:
                raise _MEMORY.error(i, f"token {t} is not a tuple of {width} like the first token; {_SHAPES}")
    n = len(rows[0])
    clear = tokens or (isinstance(first, tuple) and not any(isinstance(row, tuple) for row in lists))
    if not clear and n > 1 and all(len(row) == n for row in rows) and (names is None or len(names) == n == width):
        raise CorpusError("", None, f"every sentence is {n} lists of {width} strings: tokens or columns? {_SHAPES}")
    columns = _names_for(width, names, default_names(width))
    return from_mapping({name: [[t[c] for t in row] for row in rows] for c, name in enumerate(columns)}, None)


def from_tokens(sentences: Iterable[Any], naming: Naming | None = None) -> Corpus:
    """A corpus of inputs: sentences of strings, of tuples of strings, or of attributes (lists, dicts, vectors)."""
    elements = items(sentences)
    if elements is None:
        kind = type(sentences).__name__
        raise CorpusError("", None, f"sentences must be a list of sentences, each a list of tokens, not {kind!r}")
    if elements and all(isinstance(row, Mapping) for row in elements):
        return from_records(elements, None)
    rows = [_as_list(row, i, _MEMORY) for i, row in enumerate(elements)]
    first = next((token for row in rows for token in row), "")
    if isinstance(first, tuple):
        names = naming(len(first)) if naming else default_names(len(first) + 1)[:-1]
        return from_lists(rows, names, tokens=True)
    default = "attributes" if isinstance(first, (Mapping, *_BAGS)) else "word"
    return from_mapping({_names_for(1, naming and naming(1), (default,))[0]: rows}, None)


def with_labels(inputs: Corpus, name: str, labels: Any) -> Corpus:
    """The corpus with a column of labels, given as a list of lists of strings."""
    if name in inputs.columns:
        raise CorpusError(inputs.source, None, f"the sentences already have a column {name!r}; omit the labels")
    column, ends = _encode(name, labels, _MEMORY)
    if not np.array_equal(inputs.starts, ends):
        raise _uneven(next(iter(inputs.columns)), inputs.starts, name, ends, _MEMORY)
    return replace(inputs, columns={**inputs.columns, name: column})


# A list of lists is ambiguous, so only tuples are columns.
_SHAPES = "write a sentence as a list of tuples, [(word, label), ...], or as a tuple of lists, (words, labels)"


def _is_columns(row: Any) -> bool:
    """Whether a sentence is a tuple of lists, one per column."""
    if not isinstance(row, tuple) or len(row) < 2 or all(isinstance(column, tuple) for column in row):
        return False
    return all(isinstance(column, (list, tuple, np.ndarray)) for column in row)


def _from_columns(rows: Sequence[tuple[Any, ...]], names: Sequence[str] | None) -> Corpus:
    """A corpus from sentences, each a tuple of columns, such as (words, labels)."""
    width = len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width:
            raise _MEMORY.error(i, f"{len(row)} columns, but {width} in the first sentence; use the same number")
    bags = isinstance(next((token for row in rows for token in row[0]), ""), (Mapping, *_BAGS))
    default = ("attributes", *default_names(width)[1:]) if bags else default_names(width)
    columns = _names_for(width, names, default)
    return from_mapping({name: [row[c] for row in rows] for c, name in enumerate(columns)}, None)


def _names_for(n_columns: int, names: Sequence[str] | None, default: Sequence[str]) -> Sequence[str]:
    if names is not None and len(names) != n_columns:
        reason = f"tokens have {n_columns} columns, not {len(names)} ({', '.join(names)}); give one value per column"
        raise CorpusError("", None, reason)
    return default if names is None else names


_BAGS = (dict, list, tuple, set, frozenset, np.ndarray)  # valid types of attributes of a token


def _as_list(sentence: Any, i: int, origin: Origin, column: str = "") -> list[Any]:
    if hasattr(sentence, "tocsr"):  # a sparse matrix of SciPy: a row is a token, with the names of dense vectors
        rows = sentence.tocsr()
        values = [(f"[{place}]", value) for place, value in zip(rows.indices.tolist(), rows.data.tolist(), strict=True)]
        return [dict(values[a:b]) for a, b in pairwise(rows.indptr.tolist())]
    tokens = sentence if isinstance(sentence, list) else items(sentence)
    if tokens is None:
        place = f"column {column!r}: " if column else ""
        hint = "; exclude the column with columns=" if column else ""
        raise origin.error(i, f"{place}a sentence must be a list of tokens, not {type(sentence).__name__}{hint}")
    return tokens


def _encode(name: str, sentences: Any, origin: Origin) -> tuple[Column | BagColumn, Longs]:
    elements = items(sentences)
    if elements is None:
        raise CorpusError(origin.source, None, f"column {name!r} must be a list of sentences, each a list of strings")
    rows = [_as_list(row, i, origin, name) for i, row in enumerate(elements)]
    first = next((token for row in rows for token in row), "")
    try:
        if isinstance(first, _BAGS):
            (codes, data, ends), weights, places = _core.intern_bags([token for row in rows for token in row])
            return BagColumn(places, codes, weights, Strings(data, ends)), starts_of([len(row) for row in rows])
        (codes, data, ends), starts = _core.intern_sentences(rows)
        return Column(codes, Strings(data, ends)), starts
    except (TypeError, ValueError):
        raise _culprit(name, rows, isinstance(first, _BAGS), origin) from None


def _culprit(name: str, rows: list[list[Any]], bags: bool, origin: Origin) -> CorpusError:
    """Find the token that native code rejected; called only after a rejection."""
    for i, row in enumerate(rows):
        for t, token in enumerate(row):
            if token is None:
                reason = "is missing (None); add a value or omit the sentence"
            elif isinstance(token, str if bags else _BAGS):
                reason = f"is {reprlib.repr(token)}; a column contains either strings or bags of attributes"
            else:
                try:
                    _ = _core.intern_bags([token]) if bags else _core.intern_sentences([[token]])
                    continue
                except UnicodeEncodeError:
                    reason = f"is {token!r}, which contains a lone surrogate; decode the text as UTF-8"
                except ValueError as error:
                    reason = f"is invalid: {error}"
                except TypeError as error:
                    number = (
                        "; write numbers as strings: list(map(str, ...))"
                        if isinstance(token, int | float | np.number)
                        else ""
                    )
                    reason = f"is {reprlib.repr(token)}: {error}{number}"
            return origin.error(i, f"token {t} of column {name!r} {reason}")
    raise AssertionError("native code rejected what Python accepts")


def _uneven(name: str, starts: Longs, other: str, ends: Longs, origin: Origin) -> CorpusError:
    if len(starts) != len(ends):
        reason = f"column {name!r} has {len(starts) - 1} sentences, column {other!r} {len(ends) - 1}; make them equal"
        return CorpusError(origin.source, None, reason)
    sizes, others = np.diff(starts), np.diff(ends)
    i = int(np.flatnonzero(sizes != others)[0])
    return origin.error(i, f"column {name!r} has {sizes[i]} tokens, column {other!r} has {others[i]}; make them equal")


def parse_jsonl(text: bytes, source: str, layout: Layout) -> Corpus:
    """The corpus in the bytes of a file of JSON lines; blank lines are skipped."""
    lines = {number: line for number, line in enumerate(decoded(text, source).split("\n"), 1) if line.strip()}
    if not lines:
        raise EmptyError(source)
    records = [_parse_line(line, source, number) for number, line in lines.items()]
    return from_records(records, layout.names, Origin(source, list(lines)))


def _parse_line(line: str, source: str, number: int) -> dict[str, object]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        reason = f"invalid JSON: {error.msg} at column {error.colno}; expected one object per line"
        raise CorpusError(source, number, reason) from None
    except ValueError:  # raised for numbers with thousands of digits
        raise CorpusError(source, number, "a number with too many digits; write lists of strings") from None
    except RecursionError:
        raise CorpusError(source, number, "JSON nested too deeply; write lists of strings") from None
    if not isinstance(record, dict):
        raise CorpusError(
            source, number, "not an object; expected one object per line, from column names to lists of strings"
        )
    return record


def format_jsonl(corpus: Corpus, layout: Layout = PLAIN) -> str:
    """The corpus as JSON lines; bags of attributes become objects from name to weight."""
    return "".join(f"{json.dumps(sentence, ensure_ascii=False)}\n" for sentence in corpus)
