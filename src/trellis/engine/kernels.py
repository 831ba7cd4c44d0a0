"""Kernels over observations, and models that score labels by sums of kernel values.

An observation is the sparse vector of a token's attributes. A kernel k(a, b) is an inner product of two observations in
a feature space; ``linear``, ``poly`` and ``rbf`` are computed natively, others are Python functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Doubles, Lists, Longs, Ragged
from trellis._support.errors import ModelError

KERNELS = ("linear", "poly", "rbf", "callable")
# Values of user-defined kernels are computed in pieces of this size.
PIECE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Observations(Ragged):
    """Sparse vectors of attributes, one per token: the arguments of a kernel function.

    Attributes
    ----------
    n_attributes
        Number of attributes.
    starts
        [n_tokens + 1]; the items of token t are at starts[t] to starts[t + 1], exclusive.
    ids
        [n_items] attribute of each item.
    values
        [n_items] value of each item; empty if all are 1.
    """

    n_attributes: int

    def dot(self, other: Observations, n_threads: int = 1) -> Doubles:
        """Compute the inner products with other vectors.

        Parameters
        ----------
        other
            The other vectors.
        n_threads
            Number of threads.

        Returns
        -------
        Doubles
            [len(self), len(other)].
        """
        return _core.sparse_products(self, other, self.n_attributes, n_threads)

    def squares(self) -> Doubles:
        """Compute the squared norms.

        Returns
        -------
        Doubles
            [len(self)].
        """
        token = np.repeat(np.arange(len(self)), np.diff(self.starts))
        keys, place = np.unique(token * self.n_attributes + self.ids, return_inverse=True)
        once = np.bincount(place, weights=self.full_values(), minlength=len(keys))
        out = np.bincount(keys // max(1, self.n_attributes), weights=once**2, minlength=len(self))
        return out.astype(np.float64)

    def dense(self) -> Doubles:
        """Convert to a dense array.

        Returns
        -------
        Doubles
            [len(self), n_attributes].
        """
        out = np.zeros((len(self), self.n_attributes))
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        np.add.at(out, (rows, self.ids), self.full_values())
        return out


KernelFunction = Callable[[Observations, Observations], npt.ArrayLike]


@dataclass(frozen=True, slots=True)
class Kernel:
    """linear <a, b>; poly (gamma <a, b> + coef0)^degree; rbf exp(-gamma |a - b|²); or a function of Observations."""

    name: str  # one of KERNELS
    degree: int = 1
    gamma: float = 1.0
    coef0: float = 0.0
    function: KernelFunction | None = None  # for a callable kernel; not stored in files

    @property
    def parameters(self) -> Doubles:
        """Convert to an array, for files."""
        return np.array([KERNELS.index(self.name), self.degree, self.gamma, self.coef0])

    @classmethod
    def of_parameters(cls, parameters: npt.NDArray[Any]) -> Kernel:
        """Make the kernel from such an array; ValueError if it is invalid."""
        if parameters.shape != (4,) or not np.isfinite(parameters).all():
            raise ValueError("invalid kernel parameters")
        kind, degree, gamma, coef0 = (float(p) for p in parameters)
        if kind not in range(len(KERNELS)) or degree not in range(1, 1000):
            raise ValueError("invalid kernel parameters")
        return cls(KERNELS[int(kind)], int(degree), gamma, coef0)

    def values(self, a: Observations, b: Observations) -> Doubles:
        """Checked values of a user-defined kernel for all pairs of a and b: [len(a), len(b)]."""
        if self.function is None:
            raise ModelError("the model's kernel is a function, which was not given to load")
        out = np.ascontiguousarray(np.asarray(self.function(a, b), np.float64))
        if out.shape != (len(a), len(b)):
            raise ModelError(f"the kernel must return an array of shape ({len(a)}, {len(b)}), not {out.shape}")
        if not np.isfinite(out).all():
            raise ModelError("the kernel returned values that are not finite")
        return out


@dataclass(frozen=True, slots=True)
class Expansion:
    """emit[t, z] = sum over support observations o of coef(o, z) · k(x_t, o)."""

    kernel: Kernel
    observations: Observations  # the support
    starts: Longs  # [n_support + 1] coefficients of each
    labels: npt.NDArray[np.uint16]  # [n_coefs]
    coefs: Doubles  # [n_coefs]

    def native(self, n_attributes: int, n_labels: int) -> _core.Expansion:
        """Checked native expansion; ValueError or IndexError if the parts are inconsistent."""
        coefs = self.starts, self.labels, self.coefs
        return _core.Expansion(self.kernel, self.observations, *coefs, n_attributes, n_labels)

    def emit(self, native: _core.Expansion, lists: Lists, n_threads: int) -> Doubles:
        """Scores of the labels of some tokens, [n_tokens, n_labels]."""
        if self.kernel.name != "callable":
            return native.emit(lists, n_threads)
        tokens = Observations(*lists, self.observations.n_attributes)
        step = max(1, PIECE_BYTES // (8 * max(1, len(self.observations))))
        pieces = (tokens.slice(t, min(t + step, len(tokens))) for t in range(0, max(1, len(tokens)), step))
        return np.concatenate([native.emit_given(self.kernel.values(self.observations, piece)) for piece in pieces])
