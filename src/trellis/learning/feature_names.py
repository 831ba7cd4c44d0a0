"""Names of features while they are learnt, for learners that say which one they chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trellis.model.model import START
from trellis.model.weights import padded

if TYPE_CHECKING:
    from trellis.learning.parameters import Parameters


@dataclass(frozen=True, slots=True)
class FeatureNames:
    """What the numbers of a problem stand for."""

    labels: tuple[str, ...]
    attributes: Mapping[int, str]
    edge_attributes: Mapping[int, str]


def named(parameters: Parameters, names: FeatureNames | None, k: int) -> tuple[str, str]:
    """Parameter k as a feature and its label or run of labels, as ``trellis explain`` writes them."""
    n, stride = parameters.n_labels, padded(parameters.n_labels)
    attributes = {} if names is None else names.attributes
    edge_attributes = {} if names is None else names.edge_attributes
    labels = (*map(str, range(n)), START) if names is None else (*names.labels, START)

    def pair(place: int) -> str:
        return f"{labels[place // stride]} {labels[place % stride]}"

    if k < len(parameters.rows.labels):
        a = int(np.searchsorted(parameters.rows.starts, k, side="right")) - 1
        return attributes.get(a, f"attribute {a}"), labels[int(parameters.rows.labels[k])]
    k -= len(parameters.rows.labels)
    if parameters.edge_rows is not None:
        if k < len(parameters.edge_rows.labels):
            a = int(np.searchsorted(parameters.edge_rows.starts, k, side="right")) - 1
            return edge_attributes.get(a, f"edge attribute {a}"), pair(int(parameters.edge_rows.labels[k]))
        k -= len(parameters.edge_rows.labels)
    if k < len(parameters.edge_places):
        return "label[-1]", pair(int(parameters.edge_places[k]))
    place = int(parameters.tri_places[k - len(parameters.edge_places)])
    before, z = divmod(place, stride)
    x, y = divmod(before, n + 1)
    return "label[-2] & label[-1]", f"{labels[x]} {labels[y]} {labels[z]}"
