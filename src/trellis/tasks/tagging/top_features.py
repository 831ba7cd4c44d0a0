"""The features with the largest absolute weights, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trellis._support.arguments import whole_number
from trellis._support.arrays import Floats, farthest
from trellis.engine.weights import START, Rows
from trellis.features.templates import history_name
from trellis.tasks.explanation import Term
from trellis.tasks.tagging.chain_model import ChainModel


def top_features(model: ChainModel, n: int | None) -> list[Term]:
    """The n largest absolute weights in descending order; None: all."""
    n = model.weights.n_nonzero if n is None else whole_number("n", n, 0)
    weights, n_labels = model.weights, len(model.labels)
    names = (*model.labels, START)

    def named(run: Sequence[int]) -> str:
        return " ".join(names[label] for label in run)

    terms = _of_rows(model, weights.rows, n, model.row_name, on_edge=False)
    if weights.edge_rows is not None:
        terms += _of_rows(model, weights.edge_rows, n, lambda _, column: named(weights.run_at(column)), on_edge=True)
    terms += _of_labels(weights.edge[:, :n_labels], n, "label[-1]", names)
    if weights.tri is not None:
        terms += _of_labels(weights.tri[:, :, :n_labels], n, history_name(2), names)
    if weights.ngrams is not None:
        top = _top(weights.ngrams.weights, n)
        for i, run in zip(top, weights.ngrams.label_runs(top, n_labels), strict=True):
            terms.append(Term(history_name(len(run) - 1), float(weights.ngrams.weights[i]), label=named(run)))
    return sorted(terms, key=lambda weight: -abs(weight.weight))[:n]


def _of_rows(model: ChainModel, rows: Rows, n: int, label: Callable[[int, int], str], *, on_edge: bool) -> list[Term]:
    slots = _top(rows.weights, n)
    attributes = [int(np.searchsorted(rows.starts, slot, side="right")) - 1 for slot in slots]
    names = model.attribute_names(attributes, on_edge=on_edge)
    return [
        Term(names[attribute], float(rows.weights[slot]), label=label(attribute, int(rows.labels[slot])))
        for slot, attribute in zip(slots, attributes, strict=True)
    ]


def _of_labels(weights: Floats, n: int, feature: str, names: Sequence[str]) -> list[Term]:
    terms = list[Term]()
    for place in _top(weights.reshape(-1), n):
        at = np.unravel_index(place, weights.shape)
        terms.append(Term(feature, float(weights[at]), label=" ".join(names[int(i)] for i in at)))
    return terms


def _top(weights: Floats, n: int) -> list[int]:
    """Indices of the n largest absolute weights; ties by index."""
    return [int(place) for place in farthest(weights, n)[:n]]
