"""Helpers for readers and writers of other tools' models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Doubles, Ints, Longs, starts_of
from trellis._support.errors import ModelError
from trellis.corpus.corpus import Strings
from trellis.engine.weights import Rows
from trellis.features.extraction import Extraction, Extractor, freeze
from trellis.features.known import attribute_names
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import View, Vocabulary
from trellis.tasks.tagging.chain_model import ChainModel

# Attributes, labels and weights, one of each per weight.
Triples = tuple[Longs, Longs, Doubles]
MOST_CELLS = 1 << 26  # limit of a table of label pairs or triples: 256 MB


def check_labels(labels: Sequence[str], order: int = 1) -> None:
    """ModelError for invalid labels, or if their table of pairs (order 2: triples) would be too large."""
    if not labels or len(set(labels)) != len(labels) or "" in labels:
        raise ModelError("the model has no labels, an empty label or a duplicate label")
    limit = round(MOST_CELLS ** (1 / (order + 1)))
    if len(labels) > limit:
        raise ModelError(f"the model has {len(labels):,} labels; at most {limit:,} are supported at order {order}")


Values = tuple[str | int, ...]  # of an observation; a number is a position outside the sentence


def frozen_vocabulary(
    templates: Sequence[Template], words: Mapping[str, Iterable[str]], observed: Sequence[Sequence[Values]]
) -> tuple[Vocabulary, list[Ints]]:
    """Make a vocabulary of these observations, and list the attributes of each template.

    ``words`` are further values of all columns; ``observed`` are the values of each template's looks.
    """
    values = {column: dict.fromkeys(words_of) for column, words_of in words.items()}
    views: dict[str, dict[View, list[str]]] = {column: defaultdict(list) for column in words}
    for template, rows in zip(templates, observed, strict=True):
        for row in rows:
            for look, value in zip(template.looks, row, strict=True):
                if isinstance(value, str) and look.calls:
                    views[look.column][look.calls].append(value)
                elif isinstance(value, str):
                    values[look.column][value] = None
    strings = {column: Strings.of(words_of) for column, words_of in values.items()}
    extractor = Extractor(templates, strings, lambda name: np.ones(len(strings[name]), np.int64), more=views)
    reach = extractor.plan.reach
    numbers = {
        (column.name, view): {value: 2 * reach + i for i, value in enumerate(column.strings_of(j))}
        for column in extractor.columns
        for j, view in enumerate(column.views)
    }

    def coded(look: Look, values: Iterable[str | int]) -> list[int]:
        numbers_of = numbers[look.column, look.calls]
        return [numbers_of[v] if isinstance(v, str) else -v - 1 if v < 0 else v - 1 + reach for v in values]

    growing, edges = extractor.growing, extractor.growing_edges
    attributes, tables = [np.empty(0, np.int32)] * len(templates), [0] * len(templates)
    places = sorted(range(len(templates)), key=lambda k: templates[k].history > 0)  # in the order of the extractor
    for place, k in enumerate(places):
        on_edge, looks = int(place >= extractor.n_emission), templates[k].looks
        ids = np.empty((len(observed[k]), len(looks)), np.int32)
        for j, look in enumerate(looks):
            ids[:, j] = coded(look, [row[j] for row in observed[k]])
        target = edges if on_edge and edges is not None else growing
        attributes[k] = target.add(extractor.parts[on_edge], place - on_edge * extractor.n_emission, ids)
        tables[k] = int(extractor.plan.templates[place, 2])
    for k, template in enumerate(templates):
        source = edges if template.history > 0 and edges is not None else growing
        attributes[k] = (attributes[k] + starts_of(source.table_sizes)[tables[k]]).astype(np.int32)
    n, n_edges = growing.n_attributes, 0 if edges is None else edges.n_attributes
    extraction = Extraction(extractor.vocabulary(), growing, edges)
    return freeze(extraction, np.arange(n, dtype=np.int32), np.arange(n_edges, dtype=np.int32)), attributes


def rows_of(triples: Triples, n_attributes: int, kind: type = np.uint16) -> Rows:
    """Weights sorted by attribute and label, or of ``kind`` uint32 by label pair."""
    attributes, labels, weights = triples
    keys = attributes.astype(np.int64) * (int(labels.max(initial=0)) + 1) + labels
    if (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
        labels, weights = labels[order], weights[order]
    starts = starts_of(np.bincount(attributes, minlength=n_attributes)).astype(np.uint32)
    return Rows(starts, labels.astype(kind), weights.astype(np.float32))


def weights_of_attributes(model: ChainModel) -> tuple[list[str], Triples, Doubles, Doubles, Doubles]:
    """Weights of a chain of order 1: attributes with their weights, label pairs [L, L], first and last labels.

    ModelError if the model has more than that.
    """
    weights, n = model.weights, len(model.labels)
    for kind, is_edge in (
        ("templates about label pairs", weights.edge_rows is not None),
        ("weights of three labels and more", weights.tri is not None or weights.ngrams is not None),
        ("votes", weights.votes is not None),
        ("a kernel", weights.expansion is not None),
        ("weights on parts of labels", weights.parts is not None),
        ("segments", model.segments is not None),
        ("two passes over documents", model.first is not None),
        ("locally normalised labels", model.family == "local"),
    ):
        if is_edge:
            raise ModelError(f"the model has {kind}, which the other format does not support")
    starts = weights.rows.starts.astype(np.int64)
    attributes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    alive = np.flatnonzero(weights.rows.weights[: starts[-1]])
    columns: npt.NDArray[Any] = weights.rows.labels[alive]
    scores = (attributes[alive], columns.astype(np.int64), weights.rows.weights[alive].astype(np.float64))
    edge = weights.edge[:, :n].astype(np.float64)
    end = np.zeros(n) if weights.end is None else weights.end[:n].astype(np.float64)
    if np.isinf(edge).any() or np.isinf(end).any():
        raise ModelError(
            "the model forbids label pairs, which the other format does not support; train without --scheme"
        )
    names = attribute_names(model.vocabulary, range(len(starts) - 1))
    return [names[number] for number in range(len(names))], scores, edge[:n], edge[n], end
