"""The voted perceptron's model: every update of its training, in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.arrays import Floats, Ints, Longs


@dataclass(frozen=True, slots=True)
class Votes:
    """Weights begin as zero; update u adds changes[starts[u]:starts[u + 1]] to them.

    A weight is known by its row and its place in it. Rows are attributes, then edge attributes, then one row for label
    pairs and one for label triples, both flattened with padded rows (core/online.hpp).
    """

    counts: Longs  # [n_updates + 1] votes of the weights after 0, 1, 2 ... updates
    starts: Longs  # [n_updates + 1]
    rows: npt.NDArray[np.uint32]  # [n_changes]
    places: npt.NDArray[np.uint32]  # [n_changes]
    changes: Floats  # [n_changes]

    def native(self, n_attributes: int, n_edge_attributes: int, n_labels: int, order: int) -> _core.Votes:
        """Checked, and ready to be replayed; ValueError if the updates are not those of such a model."""
        arrays = (self.counts, self.starts, self.rows, self.places, self.changes)
        return _core.Votes(*arrays, n_attributes, n_edge_attributes, n_labels, order)

    def renumbered(self, attributes: Ints, edges: Ints) -> Votes:
        """With other numbers for attributes and edge attributes; none that has a change may have been dropped."""
        n, n_edges = int(attributes.max(initial=-1)) + 1, int(edges.max(initial=-1)) + 1
        numbers = np.concatenate([attributes, n + edges, n + n_edges + np.arange(2)])
        return replace(self, rows=numbers[self.rows].astype(np.uint32))
