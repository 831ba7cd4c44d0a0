"""Columns and look-ups of a vocabulary as named arrays, on their way to and from model files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Arrays
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Strings
from trellis.features.functions import COUNTED, FILED, Lookups
from trellis.features.templates import Call, Look, parse_template
from trellis.features.vocabulary import ColumnVocabulary

_OUTSIDE = (Call("outside"),)


def strings_tensors(name: str, strings: Strings, *, slots: bool = True) -> Arrays:
    """Packed strings, with the hash table by which native code finds them."""
    out: Arrays = {f"{name}.data": strings.data, f"{name}.starts": strings.starts}
    return out | {f"{name}.slots": strings.slots} if slots else out


def strings_of(name: str, tensors: Tensors) -> Strings:
    """The strings again."""
    return Strings(tensors[f"{name}.data"], tensors[f"{name}.starts"], tensors.get(f"{name}.slots"))


def column_tensors(columns: Sequence[ColumnVocabulary]) -> Arrays:
    """What is known of input columns."""
    out: Arrays = {}
    for c, column in enumerate(columns):
        out |= strings_tensors(f"column{c}", column.values)
        out[f"column{c}.view_ids"] = column.view_ids
        for j, strings in enumerate(column.strings):
            if strings is not None:
                out |= strings_tensors(f"column{c}.view{j}", strings)
    return out


def columns_header(columns: Sequence[ColumnVocabulary]) -> list[dict[str, Any]]:
    """Their names and views, as JSON."""
    # A view is written as a look at offset 0, a place outside the sentence as its own word.
    return [
        {"name": c.name, "views": ["outside" if v[:1] == _OUTSIDE else str(Look("value", 0, v)) for v in c.views]}
        for c in columns
    ]


def columns_of(header: Sequence[dict[str, Any]], tensors: Tensors) -> tuple[ColumnVocabulary, ...]:
    """The columns again."""
    columns = list[ColumnVocabulary]()
    for c, entry in enumerate(header):
        texts, name = entry["views"], f"column{c}"
        views = tuple(_OUTSIDE if text == "outside" else parse_template(text).looks[0].calls for text in texts)
        strings = tuple(strings_of(f"{name}.view{j}", tensors) if view else None for j, view in enumerate(views))
        ids = tensors[f"{name}.view_ids"]
        columns.append(ColumnVocabulary(str(entry["name"]), views, strings_of(name, tensors), ids, strings))
    return tuple(columns)


def lookup_tensors(lookups: Lookups) -> Arrays:
    """What the files said that templates name."""
    out: Arrays = {}
    for i, lookup in enumerate(lookups.values()):
        out |= strings_tensors(f"lookup{i}", Strings.of(lookup))
        out |= strings_tensors(f"lookup{i}.said", Strings.of(lookup.values()), slots=False)
    return out


def lookups_of(header: Sequence[Sequence[str]], tensors: Tensors) -> dict[tuple[str, str], dict[str, str]]:
    """The same again."""
    return {
        (str(function), str(path)): dict(
            zip(strings_of(f"lookup{i}", tensors), strings_of(f"lookup{i}.said", tensors), strict=True)
        )
        for i, (function, path) in enumerate(header)
    }


def columns_content(columns: Sequence[ColumnVocabulary], lookups: Lookups) -> tuple[Arrays, dict[str, Any]]:
    """Columns and look-ups of a parser as arrays, and what its header says of them."""
    header = {"columns": columns_header(columns), "lookups": [list(key) for key in lookups]}
    return column_tensors(columns) | lookup_tensors(lookups), header


def read_columns(header: Mapping[str, Any], tensors: Tensors) -> tuple[tuple[ColumnVocabulary, ...], Lookups]:
    """Columns and look-ups of a parser, which Python looks up; ValueError, LookupError or TypeError if damaged."""
    columns, lookups = columns_of(header["columns"], tensors), lookups_of(header["lookups"], tensors)
    for column in columns:
        if column.view_ids.dtype != np.int32 or column.view_ids.shape != (len(column.values), len(column.views)):
            raise ValueError("views of other values")
        tables = (column.values, *(strings for strings in column.strings if strings is not None))
        if not all(_core.valid_strings(*strings.arrays) for strings in tables):
            raise ValueError("a damaged table of strings")
    check_lookups(columns, lookups)
    return columns, lookups


def check_lookups(columns: Sequence[ColumnVocabulary], lookups: Lookups) -> None:
    """ValueError unless all files and frequent words that views ask for are there."""
    for column in columns:
        for call in (call for view in column.views for call in view if call.name in (*FILED, *COUNTED)):
            of = str(call.arguments[0]) if call.name in FILED else column.name
            if (call.name, of) not in lookups:
                raise ValueError(f"no look-up for {call.name} of {of}")
