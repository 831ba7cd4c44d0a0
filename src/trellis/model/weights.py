"""The weights of a linear chain as arrays, in the layout that native code reads (core/linear_chain.hpp)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis.model.dual import Dual
from trellis.model.kernels import Expansion
from trellis.model.votes import Votes

FloatArray = npt.NDArray[np.float32]
LANES = 8


def padded(n: int) -> int:
    """Rows over labels are padded to a multiple of the kernels' lanes."""
    return (n + LANES - 1) // LANES * LANES


@dataclass(frozen=True, slots=True)
class Rows:
    """Sparse weights: attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1]."""

    starts: npt.NDArray[np.uint32]  # [n_attributes + 1]
    labels: (
        npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
    )  # [n_slots]; of edge rows: previous * stride + label
    weights: FloatArray  # [n_slots]

    @property
    def arrays(self) -> tuple[Any, Any, FloatArray]:
        """The arrays as native code takes them."""
        return self.starts, self.labels, self.weights

    @property
    def n_attributes(self) -> int:
        """How many attributes have a row."""
        return len(self.starts) - 1

    def without_empty(self) -> tuple[Rows, npt.NDArray[np.int32]]:
        """Only the attributes that have a weight, and the new number of each attribute (-1: it has none)."""
        alive = np.diff(self.starts) > 0
        rank = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
        return Rows(
            np.concatenate([[0], self.starts[1:][alive]]).astype(np.uint32), self.labels, self.weights
        ), rank


@dataclass(frozen=True, slots=True)
class ChainWeights:
    """All weights of a chain: of attributes with labels, with label pairs, of label pairs and triples."""

    n_labels: int
    rows: Rows
    edge_rows: Rows | None
    edge: FloatArray  # [n_labels + 1, stride]; row n_labels is NULL, the label before the sentence
    tri: FloatArray | None  # [n_labels + 1, n_labels + 1, stride] at order 2
    end: FloatArray | None = None  # [stride] what a last label gives; minus infinity forbids it
    votes: Votes | None = (
        None  # where given, tagging is by these; all else (scores, k best) by the weights above
    )
    dual: Dual | None = (
        None  # of a model learnt in the dual; with a kernel, labels are scored by its expansion
    )

    @property
    def expansion(self) -> Expansion | None:
        """What scores labels in place of rows, of a kernel model."""
        return None if self.dual is None else self.dual.expansion

    @property
    def end_rows(self) -> FloatArray | None:
        """What a last label gives as kernels read it: a row for every label before it at order 2."""
        if self.end is None:
            return None
        return np.tile(self.end, (1 if self.tri is None else self.n_labels + 1, 1))

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero; what is forbidden has none."""
        parts: list[npt.NDArray[Any]] = [
            self.rows.weights,
            self.edge,
            *([] if self.tri is None else [self.tri]),
        ]
        parts += [] if self.edge_rows is None else [self.edge_rows.weights]
        parts += [] if self.expansion is None else [self.expansion.coefs]
        return sum(int(np.count_nonzero(part) - np.isneginf(part).sum()) for part in parts)
