"""Columns and look-ups of a vocabulary as named arrays, on their way to and from model files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Arrays
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Strings
from trellis.features.functions import COUNTED, FILED
from trellis.features.places import PlaceVocabulary
from trellis.features.templates import Call, Look, parse_template
from trellis.features.vocabulary import ColumnVocabulary, Lookups, View


def strings_tensors(name: str, strings: Strings, *, slots: bool = True) -> Arrays:
    """Packed strings, with the hash table by which native code finds them."""
    out: Arrays = {f"{name}.data": strings.data, f"{name}.starts": strings.starts}
    if slots:
        out[f"{name}.slots"] = strings.slots
    return out


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
    return [{"name": column.name, "views": [_view_text(view) for view in column.views]} for column in columns]


def columns_of(header: Sequence[dict[str, Any]], tensors: Tensors) -> tuple[ColumnVocabulary, ...]:
    """The columns again."""
    return tuple(_column(c, entry, tensors) for c, entry in enumerate(header))


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


def check_lookups(columns: Sequence[ColumnVocabulary], lookups: Lookups) -> None:
    """ValueError unless all files and frequent words that views ask for are there."""
    for column in columns:
        for call in (call for view in column.views for call in view if call.name in (*FILED, *COUNTED)):
            of = str(call.arguments[0]) if call.name in FILED else column.name
            if (call.name, of) not in lookups:
                raise ValueError(f"no look-up for {call.name} of {of}")


def place_content(vocabulary: PlaceVocabulary[Any]) -> tuple[Arrays, dict[str, Any]]:
    """What a parser's vocabulary knows of columns, and its look-ups: arrays, and entries of the header."""
    header = {"columns": columns_header(vocabulary.columns), "lookups": [list(key) for key in vocabulary.lookups]}
    return column_tensors(vocabulary.columns) | lookup_tensors(vocabulary.lookups), header


def place_columns(header: Mapping[str, Any], tensors: Tensors) -> tuple[tuple[ColumnVocabulary, ...], Lookups]:
    """The same again; ValueError or LookupError unless all that a parser looks up can be found."""
    columns, lookups = columns_of(header["columns"], tensors), lookups_of(header["lookups"], tensors)
    for column in columns:
        if column.view_ids.dtype != np.int32 or column.view_ids.shape != (len(column.values), len(column.views)):
            raise ValueError("views of other values")
        for strings in (column.values, *column.strings):
            if strings is not None and not _core.valid_strings(*strings.arrays):
                raise ValueError("a damaged table of strings")
    check_lookups(columns, lookups)
    return columns, lookups


def _view_text(view: View) -> str:
    """A view written as a look at offset 0 (a place outside the sentence: its own word)."""
    return "outside" if view and view[0].name == "outside" else str(Look("value", 0, view))


def _column(c: int, entry: dict[str, Any], tensors: Tensors) -> ColumnVocabulary:
    views = tuple(
        (Call("outside"),) if text == "outside" else parse_template(text).looks[0].calls for text in entry["views"]
    )
    strings = tuple(strings_of(f"column{c}.view{j}", tensors) if view else None for j, view in enumerate(views))
    return ColumnVocabulary(
        str(entry["name"]), views, strings_of(f"column{c}", tensors), tensors[f"column{c}.view_ids"], strings
    )
