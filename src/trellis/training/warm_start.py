"""Weights of an older model in the numbering of a new problem, with new labels and new attributes added."""

from __future__ import annotations

import numpy as np

from trellis.arrays import Ints
from trellis.model.weights import ChainWeights, Rows, padded


def carried_over(
    old: ChainWeights,
    numbers: Ints,
    edge_numbers: Ints,
    n_attributes: int,
    n_edges: int,
    n_labels: int,
    order: int,
) -> ChainWeights:
    """``numbers[a]`` is what attribute a of the old model is called now; old labels keep their numbers."""
    edge_rows = None
    if old.edge_rows is not None:
        edge_rows = _rows(old.edge_rows, edge_numbers, n_edges, np.uint32)
        previous, label = np.divmod(edge_rows.labels.astype(np.int64), padded(old.n_labels))
        previous[previous == old.n_labels] = n_labels
        edge_rows = Rows(
            edge_rows.starts, (previous * padded(n_labels) + label).astype(np.uint32), edge_rows.weights
        )
    elif n_edges:
        edge_rows = Rows(np.zeros(n_edges + 1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float32))
    to = np.append(np.arange(old.n_labels), n_labels)  # NULL is the last of them
    edge = np.zeros((n_labels + 1, padded(n_labels)), np.float32)
    edge[to, : old.n_labels] = old.edge[:, : old.n_labels]
    tri = None
    if order == 2:
        tri = np.zeros((n_labels + 1, n_labels + 1, padded(n_labels)), np.float32)
        if old.tri is not None:
            tri[np.ix_(to, to, np.arange(old.n_labels))] = old.tri[:, :, : old.n_labels]
    end = None
    if old.end is not None:
        end = np.zeros(padded(n_labels), np.float32)
        end[: old.n_labels] = old.end[: old.n_labels]
    return ChainWeights(
        n_labels, _rows(old.rows, numbers, n_attributes, np.uint16), edge_rows, edge, tri, end
    )


def _rows(rows: Rows, numbers: Ints, n_attributes: int, kind: type[np.unsignedinteger]) -> Rows:
    """The rows in the order of their new numbers; attributes that are new have empty ones."""
    sizes = np.zeros(n_attributes, np.int64)
    sizes[numbers] = np.diff(rows.starts)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    lengths = np.diff(rows.starts).astype(np.int64)
    to = np.repeat(starts[numbers].astype(np.int64) - rows.starts[:-1], lengths) + np.arange(len(rows.labels))
    labels, weights = np.empty(len(rows.labels), kind), np.empty(len(rows.labels), np.float32)
    labels[to], weights[to] = rows.labels, rows.weights
    return Rows(starts, labels, weights)
