"""Types of arrays, ragged arrays and label sets: the shapes of data that all packages share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from trellis import _core

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]


def array_in(arrays: Mapping[str, npt.NDArray[Any]], name: str, dtype: npt.DTypeLike, *shape: int | None) -> Any:
    """Get an array by name; LookupError or ValueError unless it has that type and shape (None: any length)."""
    array = arrays[name]
    lengths = len(array.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not lengths:
        raise ValueError(f"{name} has the type {array.dtype} and the shape {array.shape}")
    return array


class Stored:
    """A dataclass of arrays, stored in files under the names of its fields."""

    __slots__ = ()

    def tensors(self, name: str) -> Arrays:
        """Convert to named arrays, for files.

        Parameters
        ----------
        name
            Prefix of the names.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        return {f"{name}.{part.name}": getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def of_tensors(cls, name: str, tensors: Mapping[str, Any]) -> Self:
        """Make the object from named arrays.

        Parameters
        ----------
        name
            Prefix of the names.
        tensors
            Arrays by name.

        Returns
        -------
        Stored
            The object.
        """
        return cls(*(tensors[f"{name}.{part.name}"] for part in fields(cls)))  # type: ignore[arg-type]


def starts_of(sizes: npt.ArrayLike) -> Longs:
    """Offsets of consecutive runs of these sizes, including the end: [n + 1]."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def runs_of(starts: npt.NDArray[Any], runs: npt.NDArray[Any]) -> tuple[Longs, Longs]:
    """Concatenate the chosen runs: offsets [n_chosen + 1], and the old indices of their items."""
    sizes = np.diff(starts)[runs]
    new = starts_of(sizes)
    return new, np.repeat(starts[:-1][runs] - new[:-1], sizes) + np.arange(new[-1])


def same_words(words: Ints, starts: Longs) -> Ints:
    """The last earlier token of the sentence with the same word, counted from its first; -1: none, or no words."""
    same = np.full(starts[-1], -1, np.int32)
    if len(words):
        sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        order = np.lexsort((words, sentence))
        before, after = order[:-1], order[1:]
        equal = (words[before] == words[after]) & (sentence[before] == sentence[after])
        same[after[equal]] = (before - starts[sentence[before]])[equal]
    return same


class Lists(NamedTuple):
    """A Ragged in the format of native code."""

    starts: Longs
    ids: Ints
    values: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """A sparse vector per token: ids[starts[t]:starts[t + 1]], each with a value."""

    starts: Longs  # [n_tokens + 1]
    ids: Ints  # [n_items]
    values: Floats  # [n_items], or empty if all values are 1

    @classmethod
    def none(cls) -> Ragged:
        """Make one without tokens.

        Returns
        -------
        Ragged
            No vectors.
        """
        return Ragged(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def arrays(self) -> Lists:
        """The three arrays, for native code."""
        return Lists(self.starts, self.ids, self.values)

    def full_values(self) -> Floats:
        """Get the values, also if they were omitted because all are 1.

        Returns
        -------
        Floats
            One value per item.
        """
        return self.values if len(self.values) else np.ones(len(self.ids), np.float32)

    def slice(self, begin: int, end: int) -> Self:
        """Select a range of tokens.

        Parameters
        ----------
        begin
            First token.
        end
            Token after the last one.

        Returns
        -------
        Ragged
            The part.
        """
        first, last = int(self.starts[begin]), int(self.starts[end])
        starts = self.starts[begin : end + 1] - first
        return replace(self, starts=starts, ids=self.ids[first:last], values=self.values[first:last])

    def take(self, tokens: npt.ArrayLike) -> Self:
        """Select tokens.

        Parameters
        ----------
        tokens
            Indices of tokens, in the order of the result.

        Returns
        -------
        Ragged
            The selected tokens.
        """
        starts, items = runs_of(self.starts, np.asarray(tokens, np.int64))
        values = self.values[items] if len(self.values) else self.values
        return replace(self, starts=starts, ids=self.ids[items], values=values)

    def renumber(self, rank: Ints) -> Ragged:
        """Change the ids.

        Parameters
        ----------
        rank
            New id of each id; items with rank -1 are dropped.

        Returns
        -------
        Ragged
            The vectors with new ids.
        """
        return Ragged(**_core.renumber(self, rank))


class Lattice(NamedTuple):
    """Label pairs and longer n-grams that remain after pruning, for tokens with their own label sets.

    A node is a label of a token, or the label n-gram that ends there; its arcs come from nodes of the previous token.
    """

    starts: Longs  # [n_sets + 1] the nodes of the token with set s are starts[s] to starts[s + 1]
    labels: Ints  # [n_nodes] the last label of each
    in_starts: Longs  # [n_nodes + 1] the arcs into each
    before: Ints  # [n_arcs] node of the previous token, relative to its first node


class LabelSets(NamedTuple):
    """Allowed labels of tokens or words: set s is labels[starts[s]:starts[s + 1]]."""

    set_of: Ints  # [n_tokens] the set of each
    starts: Longs  # [n_sets + 1]
    labels: Ints  # ascending within a set; sets are not empty
    # Allowed transitions between them; used in sentences whose tokens all have nodes.
    lattice: Lattice | None = None

    @classmethod
    def native(cls, arrays: Mapping[str, Any]) -> LabelSets:
        """Make label sets from the result of native code."""
        sets = cls(arrays["set_of"], arrays["starts"], arrays["labels"])
        if not len(arrays["node_labels"]):
            return sets
        nodes = (arrays[name] for name in ("node_starts", "node_labels", "in_starts", "before"))
        return sets._replace(lattice=Lattice(*nodes))

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> LabelSets:
        """Make label sets from the labels of each token; equal sets are stored once, in order of first appearance."""
        numbers: dict[tuple[int, ...], int] = {}
        set_of = [numbers.setdefault(tuple(sorted(set(labels))), len(numbers)) for labels in sets]
        flat = [label for labels in numbers for label in labels]
        sizes = [len(labels) for labels in numbers]
        return cls(np.array(set_of, np.int32), starts_of(sizes), np.array(flat, np.int32))

    def at(self, tokens: npt.NDArray[Any]) -> LabelSets:
        """The sets of the given tokens, or of the words at tokens."""
        return self._replace(set_of=self.set_of[tokens])

    def replaced(self, tokens: npt.NDArray[Any], other: LabelSets) -> LabelSets:
        """Other sets, one per token given, for some tokens (their numbers, or a mask)."""
        set_of = self.set_of.copy()
        set_of[tokens] = other.set_of + (len(self.starts) - 1)
        labels = np.concatenate([self.labels, other.labels])
        return LabelSets(set_of, _joined(self.starts, other.starts), labels, self._lattices(other))

    def _lattices(self, other: LabelSets) -> Lattice | None:
        """Concatenate the lattices of both; sets without a lattice get no nodes."""
        if self.lattice is None and other.lattice is None:
            return None
        first, second = (
            Lattice(np.zeros(len(sets.starts), np.int64), NONE, np.zeros(1, np.int64), NONE)
            if sets.lattice is None
            else sets.lattice
            for sets in (self, other)
        )
        return Lattice(
            _joined(first.starts, second.starts),
            np.concatenate([first.labels, second.labels]),
            _joined(first.in_starts, second.in_starts),
            np.concatenate([first.before, second.before]),
        )


NONE = np.empty(0, np.int32)


def farthest(numbers: Floats, n: int | None) -> Longs:
    """Indices of the n largest absolute values (None: all) in descending order, including ties with the last.

    Zeros and infinite values are skipped.
    """
    size = np.where(np.isfinite(numbers), np.abs(numbers), 0)
    least = np.partition(size, -n)[-n] if n is not None and 0 < n < len(size) else 0
    candidates = np.flatnonzero((size >= least) & (size > 0)) if n != 0 else np.empty(0, np.int64)
    return candidates[np.argsort(-size[candidates], kind="stable")]


def _joined(starts: Longs, others: Longs) -> Longs:
    return np.concatenate([starts, starts[-1] + others[1:]])
