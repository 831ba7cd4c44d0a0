"""Model files of taggers: one safetensors file, never pickle.

Arrays are tensors; everything else is JSON in the header. Reading checks every index used by native code, so that a
damaged or malicious file causes an error, not a crash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Arrays, LabelSets
from trellis._support.tensor_file import Tensors, pack_tensors, parse_header, unpack_tensors
from trellis.engine.weights import MAX_ORDER, MOST_PAIRS, ChainWeights, dense_cells
from trellis.features.dictionaries import Dictionary
from trellis.features.templates import (
    DictionaryView,
    Template,
    derived_names,
    dictionary_views,
    parse_template,
    vector_file,
)
from trellis.features.vectors import Vectors
from trellis.features.vocabulary import Bag, ColumnVocabulary, Plan, Vocabulary, derived_columns, tables_in
from trellis.features.vocabulary_tensors import columns_content, read_columns, strings_of, strings_tensors
from trellis.tasks.model import notes_and_record
from trellis.tasks.tagging.chain_model import FIRST_PASS, ChainModel, Endings, LabelFilter

FORMAT = "trellis-model-1"
TAGS = ("set_of", "starts", "labels")  # of a tag dictionary


def tensors_of(model: ChainModel) -> Arrays:
    """The arrays of its file."""
    vocabulary = model.vocabulary
    out: Arrays = {
        "plan.atoms": vocabulary.plan.atoms,
        "plan.templates": vocabulary.plan.templates,
        **model.weights.tensors(),
    }
    for name, tables in (("tables", vocabulary.tables), ("folds", vocabulary.folds)):
        out |= {f"{name}.keys": tables[0], f"{name}.ids": tables[1], f"{name}.starts": tables[2]}
    out |= columns_content(vocabulary.inputs, vocabulary.lookups)[0]
    if vocabulary.bag is not None:
        out |= strings_tensors("bag", vocabulary.bag.strings)
        out["bag.attributes"] = vocabulary.bag.attributes
        if vocabulary.bag.pairs is not None:
            out["bag.pairs"] = vocabulary.bag.pairs
    for i, dictionary in enumerate(vocabulary.dictionaries):  # tokens are stored as the strings of a view
        out |= {f"dictionary{i}.starts": dictionary.starts, f"dictionary{i}.symbols": dictionary.symbols}
    for i, vectors in enumerate(vocabulary.vectors.values()):  # so are words
        out[f"vectors{i}"] = vectors.matrix
    if model.dictionary is not None:
        out |= {f"tags.{part}": getattr(model.dictionary, part) for part in TAGS}
    if model.endings is not None:
        out |= {**strings_tensors("endings", model.endings.strings), "endings.set_of": model.endings.set_of}
    if model.segments is not None:
        out |= model.segments.tensors()
    if model.first is not None:
        first = pack_tensors(FORMAT, tensors_of(model.first), json.dumps(header_of(model.first), ensure_ascii=False))
        out["first"] = np.frombuffer(first, np.uint8)
    return out if model.filter is None else out | model.filter.tensors()


def header_of(model: ChainModel) -> dict[str, Any]:
    """The JSON header: everything but the arrays."""
    vocabulary = model.vocabulary
    _, columns = columns_content(vocabulary.inputs, vocabulary.lookups)
    return {
        "labels": list(model.labels),
        "target": model.target,
        "order": model.order,
        "templates": [str(template) for template in vocabulary.templates],
        "n_emission": vocabulary.n_emission,
        "tables": [vocabulary.plan.n_tables, vocabulary.plan.n_folds, vocabulary.plan.reach],
        "columns": columns["columns"],
        "bag": None if vocabulary.bag is None else vocabulary.bag.column,
        "lookups": columns["lookups"],
        **({"vectors": list(vocabulary.vectors)} if vocabulary.vectors else {}),
        "info": model.info,
        "training": model.training,
        "family": model.family,
        "label_parts": None if model.weights.parts is None else model.weights.parts.separator,
        "temperature": model.temperature,
        "filter": None if model.filter is None else model.filter.header,
        **({} if model.segments is None else {"segments": model.segments.header}),
    }


def model_of(tensors: Tensors, header: Mapping[str, Any]) -> ChainModel:
    """The model in a file; ValueError or LookupError if it is damaged."""
    info, training = notes_and_record(header)
    labels = tuple(str(label) for label in header["labels"])
    order = int(header["order"])
    if order not in range(MAX_ORDER + 1):
        raise ValueError(f"order {order}")
    n_tables, n_folds, reach = (int(n) for n in header["tables"])
    columns, lookups = read_columns(header, tensors)
    templates = tuple(_template(text, header["columns"]) for text in header["templates"])
    dictionaries = tuple(_dictionary(i, view, columns, tensors) for i, view in enumerate(dictionary_views(templates)))
    columns += derived_columns(derived_names(templates), reach)
    bag = None
    if header["bag"] is not None:
        strings = strings_of("bag", tensors)
        bag = Bag(str(header["bag"]), strings, tensors["bag.attributes"], tensors.get("bag.pairs"))
    vocabulary = Vocabulary(
        templates,
        int(header["n_emission"]),
        columns,
        Plan(tensors["plan.atoms"], tensors["plan.templates"], n_tables, n_folds, reach),
        tables_in(tensors, "tables"),
        tables_in(tensors, "folds"),
        bag,
        lookups,
        dictionaries,
        {str(path): _vectors(i, str(path), columns, tensors) for i, path in enumerate(header.get("vectors", ()))},
    )
    _check_plan(vocabulary)
    dictionary = None
    if "tags.set_of" in tensors:
        dictionary = LabelSets(*[tensors[f"tags.{part}"] for part in TAGS])  # type: ignore[arg-type]
    endings = None
    if "endings.set_of" in tensors:
        endings = Endings(strings_of("endings", tensors), tensors["endings.set_of"])
    parts = None
    if header.get("label_parts") is not None:
        from trellis.corpus.label_parts import LabelParts

        parts = LabelParts.of(labels, str(header["label_parts"]))
    weights = ChainWeights.of_tensors(tensors, len(labels), parts)
    kinds = [part is not None for part in (weights.tri, weights.ngrams)]
    if sum(kinds) != (order >= 2) or (kinds[0] and order > 2):
        raise ValueError(f"weights do not match order {order}")
    n_far = sum(bool(template.far) for template in templates)
    if n_far and not (weights.beam and all(template.far for template in templates[-n_far:])):
        raise ValueError("templates of labels beyond the order without a beam, or not last")
    label_filter = None
    if (filter_header := header.get("filter")) is not None:
        label_filter = LabelFilter.of_tensors(tensors, filter_header, len(labels))
    segments = None
    if (of_segments := header.get("segments")) is not None:
        from trellis.tasks.tagging.segments.weights import SegmentModel

        segments = SegmentModel.of_tensors(of_segments, labels, tensors)
    first = None
    if "first" in tensors:
        content = unpack_tensors(tensors["first"].tobytes(), "a trellis model").of(FORMAT)
        first = content.made(lambda tensors, text: model_of(tensors, parse_header(text)))
        _check_first(first, labels, vocabulary)
    elif "document_features" in training:
        raise ValueError("no first pass")
    n_attributes = weights.rows.n_attributes if segments is None else segments.first
    n_edge_attributes = 0 if weights.edge_rows is None else weights.edge_rows.n_attributes
    _check_numbers(vocabulary, n_attributes, n_edge_attributes)
    by_steps = bool(weights.beam) and weights.ngrams is None  # few label pairs per token
    if dense_cells(len(labels), 1) > MOST_PAIRS and vocabulary.has_label_pairs and not by_steps:
        raise ValueError(f"templates of label pairs with {len(labels):,} labels")
    temperature = float(header["temperature"])
    # Calibration gives 1/64 to 4,096. Scores divided by much less are too large to represent small differences.
    if not 1e-3 <= temperature <= 1e6:
        raise ValueError("a temperature that is not between 0.001 and 1,000,000")
    return ChainModel(
        labels,
        str(header["target"]),
        order,
        vocabulary,
        weights,
        dictionary,
        info,
        str(header["family"]),
        temperature,
        label_filter,
        endings,
        segments,
        first,
        training,
    )


def _vectors(i: int, path: str, columns: tuple[ColumnVocabulary, ...], tensors: Tensors) -> Vectors:
    """The vectors of a file; ValueError unless each word of a view has one."""
    matches = [s for c in columns for view, s in zip(c.views, c.strings, strict=True) if vector_file(view) == path]
    matrix = tensors[f"vectors{i}"]
    if not matches or any(strings is None or len(strings) != len(matrix) for strings in matches) or matrix.ndim != 2:
        raise ValueError("vectors do not match the words")
    if not np.isfinite(matrix).all():
        raise ValueError("vectors that are not finite")
    return Vectors(matches[0] or columns[0].values, matrix)


def _check_plan(vocabulary: Vocabulary) -> None:
    """ValueError unless each template has an atom per look, and a table shared only with templates of its name."""
    keys = [template.name or number for number, template in enumerate(vocabulary.templates)]
    rows = vocabulary.plan.templates.tolist()
    sizes = [len(template.looks) for template in vocabulary.templates]
    of_key = set(zip(keys, (table for _, _, table in rows), strict=True))
    if [last - first for first, last, _ in rows] != sizes or not (
        len(of_key) == len(set(keys)) == len({table for _, table in of_key})
    ):
        raise ValueError("the plan does not match the templates")


def _check_first(first: ChainModel, labels: tuple[str, ...], second: Vocabulary) -> None:
    """ValueError unless both passes read the same input columns and have the same labels."""
    names = [{column.name for column in part.inputs} for part in (first.vocabulary, second)]
    bags = [part.bag and part.bag.column for part in (first.vocabulary, second)]
    if first.first is not None or first.labels != labels or not names[0]:
        raise ValueError("invalid first pass: it has a first pass itself, no words or other labels")
    if names[1] - {*FIRST_PASS} != names[0] or names[0] & {*FIRST_PASS} or bags[0] != bags[1]:
        raise ValueError("invalid first pass: it reads other columns")


def _check_numbers(vocabulary: Vocabulary, n_attributes: int, n_edge_attributes: int) -> None:
    """ValueError unless each attribute occurs once in a table or in the bag, and each edge attribute in a table."""
    of_tables, n = vocabulary.plan.templates[:, 2].tolist(), vocabulary.n_emission
    _, ids, starts = vocabulary.tables
    bag = [] if vocabulary.bag is None else [vocabulary.bag.attributes]
    pairs = [] if vocabulary.bag is None or vocabulary.bag.pairs is None else [vocabulary.bag.pairs]
    for tables, extra, n_numbers in ((of_tables[:n], bag, n_attributes), (of_tables[n:], pairs, n_edge_attributes)):
        lists = [ids[starts[table] : starts[table + 1]] for table in set(tables)]  # templates of one name share a table
        if not _core.each_once([*lists, *extra], n_numbers):
            raise ValueError("an attribute with no name or with two")


def _template(text: str, columns: list[dict[str, Any]]) -> Template:
    template = parse_template(text)
    if all(look.column for look in template.looks):
        return template
    # is_first and is_last read the first input column, which their text does not name.
    looks = tuple(
        replace(look, column=str(columns[0]["name"])) if look.column == "" else look for look in template.looks
    )
    return replace(template, looks=looks)


def _dictionary(i: int, view: DictionaryView, columns: tuple[ColumnVocabulary, ...], tensors: Tensors) -> Dictionary:
    """The dictionary with entries over the strings of its view."""
    column = next((column for column in columns if column.name == view.column), None)
    if column is None:
        raise ValueError("a dictionary of a missing column")
    tokens = column.strings[column.views.index(view.calls)]
    if tokens is None:
        raise ValueError("a dictionary without tokens")
    return Dictionary.of(tokens, tensors[f"dictionary{i}.starts"], tensors[f"dictionary{i}.symbols"])
