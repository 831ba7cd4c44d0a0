"""Warm starts: compatibility checks, and an older model's weights in the numbering of a new problem."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trellis._support.arrays import Ints, starts_of
from trellis._support.errors import LearnerError
from trellis.engine.weights import ChainWeights, Ngrams, Rows, padded
from trellis.learning.learner import Learner
from trellis.tasks.tagging.model import Tagger

if TYPE_CHECKING:
    from trellis.tasks.tagging.training.encoding import Setup


def check_start(init: Tagger, learner: Learner) -> None:
    """LearnerError unless the learner can start with the same scores as the older model."""
    if not isinstance(init, Tagger):
        raise LearnerError(f"init must be a tagger, as returned by trellis.load(path), not {init!r}")
    name, model = type(learner).__name__, init.model
    if not learner.takes_init:
        raise LearnerError(f"{name} does not support init; omit it")
    unfit = {
        "a kernel model; omit init": model.weights.expansion,
        "a model with a tag dictionary; train the initial model without": model.dictionary,
        "a semi-Markov model; omit init": model.segments,
        "a two-pass model; omit init": model.first,
        "a model with pruning; use init=model.pruned(None)": model.filter,
    }
    if kind := next((kind for kind, part in unfit.items() if part is not None), None):
        raise LearnerError(f"training cannot start from {kind}")
    if (model.family == "local") != (learner.family == "local"):
        first = init.training.get("learner", {}).get("name", "this")
        raise LearnerError(
            f"{name} cannot start from a {first} model: MaxEnt models are locally normalised, others are not; omit init"
        )


def carried_over(setup: Setup, numbers: Ints, edge_numbers: Ints, n_attributes: int, n_edges: int) -> ChainWeights:
    """``numbers[a]`` is the new number of attribute a of the old model; numbers of old labels are unchanged."""
    old: ChainWeights = setup.settings.init.model.weights
    rows, parts, n_labels = old.rows, setup.parts, len(setup.labelling.labels)
    sparse = setup.sparse  # label n-grams of three or more labels replace the table of triples
    if old.parts is not None and parts is not None:
        place = {name: n_labels + i for i, name in enumerate(parts.names)}
        columns = np.array([*range(old.n_labels), *(place[name] for name in old.parts.names)], np.uint16)
        rows = replace(rows, labels=columns[rows.labels])
    edge_rows = None
    if old.edge_rows is not None:
        edge_rows = _rows(old.edge_rows, edge_numbers, n_edges, np.uint32)
        columns, n_pairs = edge_rows.labels.astype(np.int64), (old.n_labels + 1) * padded(old.n_labels)
        previous, label = np.divmod(columns, padded(old.n_labels))
        previous[previous == old.n_labels] = n_labels
        node = columns - n_pairs + (n_labels - old.n_labels)  # all n-grams have two labels or more
        pairs, runs = previous * padded(n_labels) + label, (n_labels + 1) * padded(n_labels) + node
        columns = np.where(columns < n_pairs, pairs, runs).astype(np.uint32)
        edge_rows = Rows(edge_rows.starts, columns, edge_rows.weights)
    elif n_edges:
        edge_rows = Rows(np.zeros(n_edges + 1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float32))
    new_labels = np.append(np.arange(old.n_labels), n_labels)  # NULL is the last of them
    edge = np.zeros((n_labels + 1, padded(n_labels)), np.float32)
    edge[new_labels, : old.n_labels] = old.edge[:, : old.n_labels]
    tri = ngrams = None
    if old.ngrams is not None:
        ngrams = old.ngrams.more_labels(old.n_labels, n_labels)
        if not sparse:
            tri, ngrams = ngrams.table(n_labels), None
    elif old.tri is not None and sparse:
        ngrams, at_first = Ngrams.of_table(old.tri, old.n_labels)
        ngrams = ngrams.more_labels(old.n_labels, n_labels)
        edge[n_labels, : old.n_labels] += at_first
    elif setup.settings.order == 2 and not sparse:
        tri = np.zeros((n_labels + 1, n_labels + 1, padded(n_labels)), np.float32)
        if old.tri is not None:
            tri[np.ix_(new_labels, new_labels, np.arange(old.n_labels))] = old.tri[:, :, : old.n_labels]
    end = None
    if old.end is not None:
        end = np.zeros(padded(n_labels), np.float32)
        end[: old.n_labels] = old.end[: old.n_labels]
    rows = _rows(rows, numbers, n_attributes, np.uint16)
    return ChainWeights(n_labels, rows, edge_rows, edge, tri, end, parts=parts, ngrams=ngrams)


def _rows(rows: Rows, numbers: Ints, n_attributes: int, kind: type[np.unsignedinteger]) -> Rows:
    """Rows in order of their new numbers; new attributes have empty rows."""
    sizes, lengths = np.zeros(n_attributes, np.int64), np.diff(rows.starts).astype(np.int64)
    sizes[numbers] = lengths
    starts = starts_of(sizes)
    places = np.repeat(starts[numbers] - rows.starts[:-1], lengths) + np.arange(len(rows.labels))
    labels, weights = np.empty(len(rows.labels), kind), np.empty(len(rows.labels), np.float32)
    labels[places], weights[places] = rows.labels, rows.weights
    return Rows(starts.astype(np.uint32), labels, weights)
