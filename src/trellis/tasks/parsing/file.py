"""Parsers on disk: one safetensors file, as taggers are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trellis._support.tensor_file import Tensors
from trellis.features.arcs import ArcTemplates, ArcVocabulary
from trellis.features.templates import parse_template
from trellis.features.vocabulary import Tables
from trellis.features.vocabulary_tensors import checked_columns, columns_content
from trellis.tasks.model import notes_and_record

if TYPE_CHECKING:
    from trellis.tasks.parsing.model import Parser

FORMAT = "trellis-parser-1"
WEIGHTS = (*(f"{kind}.{name}" for kind in ("tables", "folds") for name in Tables._fields), "values")
KINDS = ("arcs", "labelled", "siblings", "filter")  # of templates


def content_of(parser: Parser) -> tuple[Tensors, dict[str, Any]]:
    """The arrays of a parser's file, and everything else for its header."""
    vocabulary = parser.vocabulary
    known, columns = columns_content(vocabulary.columns, vocabulary.lookups)
    header = {
        "templates": {kind: [str(template) for template in getattr(vocabulary.templates, kind)] for kind in KINDS},
        **columns,
        "labels": list(parser.labels),
        "projective": parser.projective,
        "family": parser.family,
        "info": parser.info,
        "training": parser.training,
    }
    return {**parser.weights, **known}, header


def parts_of(tensors: Tensors, header: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of ``Parser`` in a file; ValueError or LookupError if it is damaged."""
    templates = ArcTemplates(*(tuple(map(parse_template, header["templates"][kind])) for kind in KINDS))
    columns, lookups = checked_columns(header, tensors)
    if [column.name for column in columns] != templates.columns:
        raise ValueError("columns of other templates")
    labels = tuple(str(label) for label in header["labels"])
    weights = {name: tensors[name] for name in WEIGHTS}
    vocabulary = ArcVocabulary(templates, columns, lookups)
    return vocabulary, labels, weights, bool(header["projective"]), str(header["family"]), *notes_and_record(header)
