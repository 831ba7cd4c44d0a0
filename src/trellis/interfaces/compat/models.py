"""Models of other tools as ours: what their readers build, and what their writers ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Doubles, Ints, Longs
from trellis._support.errors import ModelError
from trellis.corpus.corpus import Strings
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.features.extraction import Extraction, Extractor, freeze
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import Bag, Vocabulary
from trellis.tasks.tagging.chain_model import ChainModel

# Attributes, labels and weights, one of each per weight.
Triples = tuple[Longs, Longs, Doubles]
COLUMN = "attributes"
MOST_CELLS = 1 << 26  # of a table of label pairs or triples of another tool's model: 256 MB


def check_labels(labels: Sequence[str], order: int = 1) -> None:
    """ModelError for labels that cannot be, or whose table of pairs (order 2: of triples) would be too large."""
    if not labels or len(set(labels)) != len(labels) or "" in labels:
        raise ModelError("the model has no labels, an empty one, or one twice")
    most = round(MOST_CELLS ** (1 / (order + 1)))
    if len(labels) > most:
        raise ModelError(f"the model has {len(labels):,} labels; at most {most:,} are read at order {order}")


def attribute_model(
    labels: Sequence[str],
    attributes: Sequence[str],
    triples: Triples,
    edge: Doubles,
    info: dict[str, Any],
    first: Doubles,
    last: Doubles,
) -> ChainModel:
    """A log-linear chain of order 1 over free-form attributes.

    edge [L, L] are weights of label pairs, first [L] and last [L] those of the labels at either end.
    """
    vocabulary = Extractor([], {}, lambda name: np.empty(0, np.int64)).vocabulary(
        Bag(COLUMN, Strings.of(attributes), np.arange(len(attributes), dtype=np.int32))
    )
    n = len(labels)
    table = np.zeros((n + 1, padded(n)), np.float32)
    table[:n, :n], table[n, :n] = edge, first
    end = np.zeros(padded(n), np.float32)
    end[:n] = last
    rows = rows_of(triples, len(attributes))
    weights = ChainWeights(n, rows, None, table, None, end if last.any() else None)
    return ChainModel(tuple(labels), "label", 1, vocabulary, weights, training=info, family="log-linear")


def frozen_vocabulary(
    extractor: Extractor,
    templates: Sequence[Template],
    observed: Sequence[Sequence[tuple[str, ...]]],
    view_id: Callable[[Look, str], int],
) -> tuple[Vocabulary, dict[tuple[int, int], Ints]]:
    """The vocabulary that has these observations, and the attributes of each template's, by (on edge, template).

    ``observed`` are the values of each template's looks; ``view_id`` gives the id of one, -1 if it is never asked for.
    """
    growing, edges = extractor.growing, extractor.growing_edges
    local: dict[int, tuple[int, Ints]] = {}
    for k, template in enumerate(templates):
        place = _place(extractor.templates, templates, k)
        on_edge = place >= extractor.n_emission
        ids = np.array(
            [
                [view_id(look, value) for look, value in zip(template.looks, values, strict=True)]
                for values in observed[k]
            ],
            np.int32,
        ).reshape(len(observed[k]), len(template.looks))
        target = edges if on_edge and edges is not None else growing
        number = place - extractor.n_emission if on_edge else place
        table = int(extractor.plan.templates[place, 2])
        alive = np.flatnonzero((ids >= 0).all(axis=1))
        found = np.full(len(ids), -1, np.int32)
        found[alive] = target.add(extractor.parts[int(on_edge)], number, np.ascontiguousarray(ids[alive]))
        local[k] = (table, found)
    numbers = dict[tuple[int, int], Ints]()
    for k, (table, found) in local.items():
        on_edge = templates[k].history > 0
        source = edges if on_edge and edges is not None else growing
        base = np.concatenate([[0], np.cumsum(source.table_sizes)])[table]
        numbers[int(on_edge), k] = np.where(found >= 0, found + base, -1).astype(np.int32)
    n, n_edges = growing.n_attributes, 0 if edges is None else edges.n_attributes
    extraction = Extraction(extractor.vocabulary(), growing, edges)
    return freeze(extraction, np.arange(n, dtype=np.int32), np.arange(n_edges, dtype=np.int32)), numbers


def _place(ordered: Sequence[Template], templates: Sequence[Template], k: int) -> int:
    """Where a template stands after those of labels were put before those of pairs; equal ones keep their order."""
    same = [i for i, one in enumerate(ordered) if one == templates[k]]
    return same[sum(one == templates[k] for one in templates[:k])]


def rows_of(triples: Triples, n_attributes: int, kind: type = np.uint16) -> Rows:
    """Weights sorted by attribute and label, or of ``kind`` uint32 by label pair."""
    attributes, labels, weights = triples
    order = np.lexsort((labels, attributes))
    starts = np.searchsorted(attributes[order], np.arange(n_attributes + 1)).astype(np.uint32)
    return Rows(starts, labels[order].astype(kind), weights[order].astype(np.float32))


def weights_of_attributes(model: ChainModel) -> tuple[int, Triples, Doubles, Doubles, Doubles]:
    """Of a chain of order 1: how many attributes, their weights, those of pairs [L, L], of first and of last labels.

    ModelError if the model has more than that.
    """
    weights, n = model.weights, len(model.labels)
    for what, there in (
        ("templates about label pairs", weights.edge_rows is not None),
        ("weights of three labels and more", weights.tri is not None or weights.ngrams is not None),
        ("votes", weights.votes is not None),
        ("a kernel", weights.expansion is not None),
        ("weights on parts of labels", weights.parts is not None),
        ("segments", model.segments is not None),
        ("two passes over documents", model.first is not None),
        ("labels normalised one by one", model.family == "local"),
    ):
        if there:
            raise ModelError(f"the model has {what}, which the other format cannot hold")
    starts = weights.rows.starts.astype(np.int64)
    attributes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    columns: npt.NDArray[Any] = weights.rows.labels[: starts[-1]]
    scores = (attributes, columns.astype(np.int64), weights.rows.weights[: starts[-1]].astype(np.float64))
    edge = weights.edge[:, :n].astype(np.float64)
    end = np.zeros(n) if weights.end is None else weights.end[:n].astype(np.float64)
    if np.isinf(edge).any() or np.isinf(end).any():
        raise ModelError("the model forbids label pairs, which the other format cannot hold; train without --scheme")
    return len(starts) - 1, scores, edge[:n], edge[n], end
