"""Weights of a fixed set of features as one flat vector, for gradient learners over structures other than chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from trellis import _core
from trellis._support.arrays import Bools, Doubles


class FlatVector(Protocol):
    """What a structure says of its weights."""

    @property
    def size(self) -> int:
        """How many there are."""

    def objective(self, kept: Bools | None) -> _core.Objective:
        """Log losses as a function of the vector, or of some of its entries."""

    def weights(self, vector: Doubles) -> Any:
        """What a vector stands for."""


@dataclass(frozen=True, slots=True)
class FlatParameters:
    """All weights of a vector, or some."""

    vector: FlatVector
    kept: Bools | None = None

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.vector.size if self.kept is None else int(self.kept.sum())

    def only(self, kept: Bools) -> FlatParameters:
        """Some of the weights."""
        return FlatParameters(self.vector, kept)

    def start(self, problem: Any) -> Doubles:
        """Zero, or the weights of a warm start."""
        if problem.initial is None:
            return np.zeros(self.size)
        first: Doubles = problem.start
        return first if self.kept is None else first[self.kept]

    def weights(self, vector: Doubles, problem: Any) -> Any:
        """What a vector stands for."""
        return self.vector.weights(vector)

    def objective(self, problem: Any, *, local: bool, single: bool) -> _core.Objective:
        """Losses and gradients as functions of the flat vector, in double precision."""
        return self.vector.objective(self.kept)
