"""The weights of a linear chain as arrays, in the layout that native code reads (core/linear_chain.hpp)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis.arrays import Arrays, Floats, Ints
from trellis.model.dual import Dual
from trellis.model.kernels import Expansion
from trellis.model.votes import Votes

LANES = 8


def padded(n: int) -> int:
    """Rows over labels are padded to a multiple of the kernels' lanes."""
    return (n + LANES - 1) // LANES * LANES


@dataclass(frozen=True, slots=True)
class Rows:
    """Sparse weights: attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1]."""

    starts: npt.NDArray[np.uint32]  # [n_attributes + 1]
    # [n_slots]; of edge rows: previous * stride + label.
    labels: npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
    weights: Floats  # [n_slots]

    @property
    def arrays(self) -> tuple[Any, Any, Floats]:
        """The arrays as native code takes them."""
        return self.starts, self.labels, self.weights

    @property
    def n_attributes(self) -> int:
        """How many attributes have a row."""
        return len(self.starts) - 1

    def tensors(self, name: str) -> Arrays:
        """As named arrays, for files."""
        return {f"{name}.{part.name}": getattr(self, part.name) for part in fields(self)}

    @classmethod
    def of_tensors(cls, name: str, tensors: Mapping[str, Any]) -> Rows:
        """From such arrays."""
        return cls(*(tensors[f"{name}.{part.name}"] for part in fields(cls)))

    def without_empty(self) -> tuple[Rows, Ints]:
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
    edge: Floats  # [n_labels + 1, stride]; row n_labels is NULL, the label before the sentence
    tri: Floats | None  # [n_labels + 1, n_labels + 1, stride] at order 2
    end: Floats | None = None  # [stride] what a last label gives; minus infinity forbids it
    # Where given, tagging is by these; all else (scores, k best) by the weights above.
    votes: Votes | None = None
    # Of a model learnt in the dual; with a kernel, labels are scored by its expansion.
    dual: Dual | None = None

    @property
    def expansion(self) -> Expansion | None:
        """What scores labels in place of rows, of a kernel model."""
        return None if self.dual is None else self.dual.expansion

    @property
    def end_rows(self) -> Floats | None:
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

    def tensors(self) -> Arrays:
        """As named arrays, for files; of the tables of labels only what is not zero."""
        n = self.n_labels
        out = {**self.rows.tensors("rows"), **_nonzero("edge", self.edge[:, :n])}
        out |= {} if self.edge_rows is None else self.edge_rows.tensors("edge_rows")
        out |= {} if self.tri is None else _nonzero("tri", self.tri[:, :, :n])
        out |= {} if self.end is None else _nonzero("end", self.end[:n])
        if self.votes is not None:
            out |= {f"votes.{part.name}": getattr(self.votes, part.name) for part in fields(Votes)}
        return out if self.dual is None else out | self.dual.tensors()

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Any], n_labels: int) -> ChainWeights:
        """From such arrays; LookupError or ValueError if they make no sense."""
        n, rows = n_labels, Rows.of_tensors("rows", tensors)
        return cls(
            n,
            rows,
            Rows.of_tensors("edge_rows", tensors) if "edge_rows.starts" in tensors else None,
            _expand("edge", tensors, (n + 1, n)),
            _expand("tri", tensors, (n + 1, n + 1, n)) if "tri.places" in tensors else None,
            _expand("end", tensors, (n,)) if "end.places" in tensors else None,
            Votes(*(tensors[f"votes.{part.name}"] for part in fields(Votes)))
            if "votes.counts" in tensors
            else None,
            Dual.of_tensors(tensors, rows.n_attributes),
        )


def _nonzero(name: str, array: Floats) -> Arrays:
    """Only the numbers that are not zero, with their places."""
    flat = array.reshape(-1)
    places = np.flatnonzero(flat)
    return {f"{name}.places": places.astype(np.uint32), f"{name}.weights": flat[places]}


def _expand(name: str, tensors: Mapping[str, Any], shape: tuple[int, ...]) -> Floats:
    """The table again, its rows padded for the kernels."""
    flat = np.zeros(int(np.prod(shape)), np.float32)
    flat[tensors[f"{name}.places"]] = tensors[f"{name}.weights"]
    out = np.zeros((*shape[:-1], padded(shape[-1])), np.float32)
    out[..., : shape[-1]] = flat.reshape(shape)
    return out
