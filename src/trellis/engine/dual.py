"""Dual models: support sequences, and the kernel expansion that scores labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Arrays, Doubles, Ints, Longs, Stored, array_in
from trellis.engine.kernels import Expansion, Kernel, KernelFunction, Observations

_EXPANSION = ("starts", "labels", "coefs")
_OBSERVATIONS = ("starts", "ids", "values")


@dataclass(frozen=True, slots=True)
class SupportSequence:
    """A label sequence of a training sentence that a dual model consists of.

    Attributes
    ----------
    sentence
        Number of the sentence in the training corpus.
    alpha
        Its coefficient.
    positions
        Tokens where it differs from the gold labels.
    gold
        Gold labels of these tokens.
    labels
        Its own labels of these tokens.
    """

    sentence: int
    alpha: float
    positions: tuple[int, ...]
    gold: tuple[str, ...]
    labels: tuple[str, ...]

    def __str__(self) -> str:
        parts = zip(self.positions, self.gold, self.labels, strict=True)
        changes = ", ".join(f"{t}: {gold} -> {label}" for t, gold, label in parts)
        return f"sentence {self.sentence}, alpha {self.alpha:.4g}: {changes}"


@dataclass(frozen=True, slots=True)
class Support(Stored):
    """All sequences with alpha > 0 as arrays, by sentence; only the differences to the gold sequences are stored."""

    sentences: Longs  # [n]
    alphas: Doubles  # [n]
    starts: Longs  # [n + 1]
    positions: Ints  # [n_differences]
    gold: npt.NDArray[np.uint16]  # [n_differences]
    labels: npt.NDArray[np.uint16]  # [n_differences]

    def check(self, n_labels: int) -> None:
        """ValueError if the arrays are inconsistent."""
        n, sizes = len(self.sentences), {len(self.positions), len(self.gold), len(self.labels)}
        fits = len(self.alphas) == n and len(self.starts) == n + 1 and len(sizes) == 1
        fits = fits and self.starts[0] == 0 and self.starts[-1] == len(self.labels)
        if not fits or (np.diff(self.starts) < 0).any() or (n and self.sentences.min() < 0):
            raise ValueError("inconsistent support sequences")
        if max(self.gold.max(initial=0), self.labels.max(initial=0)) >= n_labels:
            raise ValueError("a support sequence with a label out of range")

    def named(self, labels: Sequence[str]) -> list[SupportSequence]:
        """The sequences with names of labels."""
        positions, label_names = self.positions.tolist(), np.array(labels, object)
        gold, predicted = label_names[self.gold].tolist(), label_names[self.labels].tolist()
        rows = zip(self.sentences.tolist(), self.alphas.tolist(), pairwise(self.starts.tolist()), strict=True)
        return [
            SupportSequence(i, alpha, tuple(positions[a:b]), tuple(gold[a:b]), tuple(predicted[a:b]))
            for i, alpha, (a, b) in rows
        ]


@dataclass(frozen=True, slots=True)
class Dual:
    """Additional content of dual models: the support, and for kernel models the expansion that scores labels."""

    support: Support
    # None with the linear kernel, which has ordinary weights in rows.
    expansion: Expansion | None = None

    def tensors(self) -> Arrays:
        """Convert to named arrays, for files; a kernel function is omitted."""
        out = self.support.tensors("dual.support")
        if self.expansion is not None:
            out["dual.kernel"] = self.expansion.kernel.parameters
            out |= {f"dual.expansion.{part}": getattr(self.expansion, part) for part in _EXPANSION}
            out |= {f"dual.observations.{part}": getattr(self.expansion.observations, part) for part in _OBSERVATIONS}
        return out

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Any], n_attributes: int) -> Dual:
        """Make the object from named arrays; LookupError or ValueError if they are inconsistent."""
        support = Support.of_tensors("dual.support", tensors)
        if "dual.kernel" not in tensors:
            return cls(support)
        lists: list[Any] = [tensors[f"dual.observations.{part}"] for part in _OBSERVATIONS]
        ids = array_in(tensors, "dual.observations.ids", np.int32, None)
        if len(ids) and not 0 <= ids.min() <= ids.max() < n_attributes:
            raise ValueError("observations do not match the attributes")
        observed = Observations(lists[0], lists[1], lists[2], n_attributes)
        parts: list[Any] = [tensors[f"dual.expansion.{part}"] for part in _EXPANSION]
        return cls(support, Expansion(Kernel.of_parameters(tensors["dual.kernel"]), observed, *parts))

    def renumbered(self, attributes: Ints) -> Dual:
        """Renumber attributes; attributes of the expansion must not be dropped."""
        if self.expansion is None:
            return self
        old, n = self.expansion.observations, int(attributes.max(initial=-1)) + 1
        observed = replace(old, ids=attributes[old.ids].astype(np.int32), n_attributes=n)
        return replace(self, expansion=replace(self.expansion, observations=observed))

    def with_function(self, function: KernelFunction | None) -> Dual:
        """Set the function of a user-defined kernel."""
        if self.expansion is None or self.expansion.kernel.name != "callable":
            return self
        kernel = replace(self.expansion.kernel, function=function)
        return replace(self, expansion=replace(self.expansion, kernel=kernel))
