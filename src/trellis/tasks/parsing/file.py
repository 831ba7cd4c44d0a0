"""Parsers on disk: one safetensors file, as taggers are kept (model/model_file.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis import _core
from trellis._support.arguments import file_path
from trellis._support.tensor_file import Tensors, parse_header, read_tensors, write_tensors
from trellis.features.arcs import ArcTemplates, ArcVocabulary
from trellis.features.templates import parse_template
from trellis.features.vocabulary_tensors import (
    check_lookups,
    check_strings,
    column_tensors,
    columns_header,
    columns_of,
    lookup_tensors,
    lookups_of,
)

if TYPE_CHECKING:
    from trellis.tasks.parsing.model import Parser

FORMAT = "trellis-parser-1"
TABLES = ("keys", "ids", "starts")
WEIGHTS = (*(f"tables.{name}" for name in TABLES), *(f"folds.{name}" for name in TABLES), "values")
KINDS = ("arcs", "labelled", "siblings", "filter")  # of templates


def named(learnt: tuple[Any, Any, Any]) -> dict[str, Any]:
    """What native code gives of learnt weights, as named arrays."""
    tables, folds, values = learnt
    return dict(zip(WEIGHTS, (*tables, *folds, values), strict=True))


def native(plan: _core.ArcPlan, projective: bool, weights: Mapping[str, Any]) -> _core.TreeModel:
    """The weights for native code, checked; ValueError or LookupError if they make no sense."""
    tables, folds = (tuple(weights[f"{kind}.{name}"] for name in TABLES) for kind in ("tables", "folds"))
    return _core.TreeModel(plan, projective, tables, folds, weights["values"])


def save(parser: Parser, path: str | os.PathLike[str]) -> None:
    """Write a parser; the file appears whole or not at all."""
    vocabulary = parser.vocabulary
    header = {
        "templates": {kind: [str(template) for template in getattr(vocabulary.templates, kind)] for kind in KINDS},
        "columns": columns_header(vocabulary.columns),
        "lookups": [list(key) for key in vocabulary.lookups],
        "labels": list(parser.labels),
        "projective": parser.projective,
        "family": parser.family,
        "info": parser.info,
    }
    tensors = {**parser.weights, **column_tensors(vocabulary.columns), **lookup_tensors(vocabulary.lookups)}
    write_tensors(file_path("path", path), FORMAT, tensors, json.dumps(header, ensure_ascii=False))


def load(path: str | os.PathLike[str], make: Callable[..., Parser]) -> Parser:
    """Read a parser; ModelError if the file is not one, or is damaged."""

    def made(tensors: Tensors, text: str) -> Parser:
        header = parse_header(text)
        templates = ArcTemplates(*(tuple(map(parse_template, header["templates"][kind])) for kind in KINDS))
        columns = columns_of(header["columns"], tensors)
        if [column.name for column in columns] != templates.columns:
            raise ValueError("columns of other templates")
        for column in columns:
            if column.view_ids.dtype != np.int32 or column.view_ids.shape != (len(column.values), len(column.views)):
                raise ValueError("views of other values")
        lookups = lookups_of(header["lookups"], tensors)
        check_strings(columns)
        check_lookups(columns, lookups)
        vocabulary = ArcVocabulary(templates, columns, lookups)
        labels = tuple(str(label) for label in header["labels"])
        if not isinstance(header["info"], dict):
            raise ValueError("info that is not a dict")
        weights = {name: tensors[name] for name in WEIGHTS}
        return make(vocabulary, labels, weights, bool(header["projective"]), str(header["family"]), header["info"])

    return read_tensors(file_path("path", path), FORMAT, "a parser of trellis").made(made)
