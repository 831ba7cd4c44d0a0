"""Convert columns and look-up tables of a vocabulary to and from named arrays, for model files."""

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
    """The strings in named arrays."""
    return Strings(tensors[f"{name}.data"], tensors[f"{name}.starts"], tensors.get(f"{name}.slots"))


def columns_content(columns: Sequence[ColumnVocabulary], lookups: Lookups) -> tuple[Arrays, dict[str, Any]]:
    """Vocabularies of input columns and contents of the files named in templates: arrays, and entries of a header."""
    out: Arrays = {}
    for c, column in enumerate(columns):
        out |= strings_tensors(f"column{c}", column.values)
        out[f"column{c}.view_ids"] = column.view_ids
        for j, strings in enumerate(column.strings):
            if strings is not None:
                out |= strings_tensors(f"column{c}.view{j}", strings)
    for i, lookup in enumerate(lookups.values()):
        out |= strings_tensors(f"lookup{i}", Strings.of(lookup))
        out |= strings_tensors(f"lookup{i}.said", Strings.of(lookup.values()), slots=False)
    # A view is written as a look at offset 0, a place outside the sentence as its own word.
    names = [
        {"name": c.name, "views": ["outside" if v[:1] == _OUTSIDE else str(Look("value", 0, v)) for v in c.views]}
        for c in columns
    ]
    return out, {"columns": names, "lookups": [list(key) for key in lookups]}


def read_columns(header: Mapping[str, Any], tensors: Tensors) -> tuple[tuple[ColumnVocabulary, ...], Lookups]:
    """Columns and look-ups again; ValueError, LookupError or TypeError unless views have the look-ups they ask for."""
    columns = list[ColumnVocabulary]()
    lookups = {
        (str(function), str(path)): dict(
            zip(strings_of(f"lookup{i}", tensors), strings_of(f"lookup{i}.said", tensors), strict=True)
        )
        for i, (function, path) in enumerate(header["lookups"])
    }
    for c, entry in enumerate(header["columns"]):
        texts, name, place = entry["views"], str(entry["name"]), f"column{c}"
        views = tuple(_OUTSIDE if text == "outside" else parse_template(text).looks[0].calls for text in texts)
        strings = tuple(strings_of(f"{place}.view{j}", tensors) if view else None for j, view in enumerate(views))
        columns.append(ColumnVocabulary(name, views, strings_of(place, tensors), tensors[f"{place}.view_ids"], strings))
        for call in (call for view in views for call in view if call.name in (*FILED, *COUNTED)):
            file_name = str(call.arguments[0]) if call.name in FILED else name
            if (call.name, file_name) not in lookups:
                raise ValueError(f"no look-up for {call.name} of {file_name}")
    return tuple(columns), lookups


def checked_columns(header: Mapping[str, Any], tensors: Tensors) -> tuple[tuple[ColumnVocabulary, ...], Lookups]:
    """The same of a parser, whose columns Python looks up: ValueError, too, if a table of strings is damaged."""
    columns, lookups = read_columns(header, tensors)
    for column in columns:
        if column.view_ids.dtype != np.int32 or column.view_ids.shape != (len(column.values), len(column.views)):
            raise ValueError("views do not match the values")
        tables = (column.values, *(strings for strings in column.strings if strings is not None))
        if not all(_core.valid_strings(strings) for strings in tables):
            raise ValueError("a damaged table of strings")
    return columns, lookups
