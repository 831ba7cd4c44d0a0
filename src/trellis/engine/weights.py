"""Weights of chains as data, in the layout that native code reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Bytes, Floats, Ints, Longs, Stored

if TYPE_CHECKING:
    from trellis.corpus.label_parts import LabelParts
    from trellis.engine.dual import Dual
    from trellis.engine.kernels import Expansion


START = "<start>"  # the label before the sentence


@dataclass(frozen=True, slots=True, eq=False)
class Votes(Stored):
    """Weights begin as zero; update u adds changes[starts[u]:starts[u + 1]] to them.

    A weight is identified by its row and its index there. Rows are attributes, then edge attributes, then one row for
    label pairs and one for label triples, both flattened with padded rows (core/learn/chain_learners.hpp). With sparse
    n-grams the indices of the last row are their numbers, and the model stores all weights changed by an update.
    """

    counts: Longs  # [n_updates + 1] votes of the weights after 0, 1, 2 ... updates
    starts: Longs  # [n_updates + 1]
    rows: npt.NDArray[np.uint32]  # [n_changes]
    places: npt.NDArray[np.uint32]  # [n_changes]
    changes: Floats  # [n_changes]

    def native(self, weights: _core.Weights, order: int) -> _core.Votes:
        """Checked native updates for replaying; ValueError if they do not match the model."""
        return _core.Votes(self.counts, self.starts, self.rows, self.places, self.changes, weights, order)

    def renumbered(self, attributes: Ints, edges: Ints) -> Votes:
        """Renumber attributes and edge attributes; those with changes must not be dropped."""
        n, n_edges = int(attributes.max(initial=-1)) + 1, int(edges.max(initial=-1)) + 1
        numbers = np.concatenate([attributes, n + edges, n + n_edges + np.arange(2)])
        return replace(self, rows=numbers[self.rows].astype(np.uint32))


LANES = 8
MAX_ORDER = 99
# With more labels, order 2 has weights only for label triples seen in training: the size of a table is cubic.
MANY_LABELS = 60


def padded(n: int) -> int:
    """Rows over labels are padded to a multiple of the kernels' lanes."""
    return (n + LANES - 1) // LANES * LANES


MOST_PAIRS = 1 << 26  # maximum number of cells in tables of label pairs per token: 256 MB


def dense_cells(n_labels: int, order: int) -> int:
    """Number of cells of the tables of label pairs and triples, including NULL and padding."""
    pairs = (n_labels + 1) * padded(n_labels)
    return pairs if order < 2 else pairs + (n_labels + 1) * pairs


@dataclass(frozen=True, slots=True, eq=False)
class Rows(Stored):
    """Sparse weights: attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1].

    Attributes
    ----------
    starts
        [n_attributes + 1].
    labels
        [n_slots] label; of edge rows previous * stride + label, or (n_labels + 1) * stride + number of an n-gram. If
        labels have parts, columns of labels and parts.
    weights
        [n_slots].
    """

    starts: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
    weights: Floats

    @classmethod
    def native(cls, arrays: Mapping[str, Any], kind: type[np.unsignedinteger]) -> Rows:
        """Make rows from native arrays.

        Parameters
        ----------
        arrays
            Arrays by name.
        kind
            Type of the labels.

        Returns
        -------
        Rows
            The rows.
        """
        return cls(**arrays).of_type(kind)

    def of_type(self, kind: type[np.unsignedinteger]) -> Rows:
        """Convert the labels to a type.

        Parameters
        ----------
        kind
            The type.

        Returns
        -------
        Rows
            The rows.
        """
        return self if self.labels.dtype == kind else replace(self, labels=self.labels.astype(kind))

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.starts) - 1

    def check(self, n_attributes: int) -> None:
        """Raise ValueError unless the arrays are consistent and have this many rows.

        Parameters
        ----------
        n_attributes
            Number of attributes.
        """
        shapes = (self.starts.ndim, self.labels.ndim, self.weights.ndim) == (1, 1, 1) and len(self.labels) == len(
            self.weights
        )
        kinds = self.starts.dtype == np.uint32 and self.weights.dtype == np.float32 and self.labels.dtype.kind == "u"
        if not shapes or not kinds or self.n_attributes != n_attributes:
            raise ValueError("weights do not match the attributes")
        if self.starts[0] != 0 or self.starts[-1] != len(self.labels) or (self.starts[1:] < self.starts[:-1]).any():
            raise ValueError("weight rows are not contiguous")

    def without_empty(self, beside: Rows | None = None) -> tuple[Rows, Ints]:
        """Drop attributes without weights.

        Parameters
        ----------
        beside
            Other rows; attributes with a weight there stay.

        Returns
        -------
        tuple[Rows, Ints]
            The rows, and the new number of each attribute (-1: dropped).
        """
        alive = np.diff(self.starts) > 0
        if beside is not None:
            alive |= np.diff(beside.starts) > 0
        rank = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
        return self.only(alive), rank

    def only(self, alive: Bools) -> Rows:
        """Drop the weights of some attributes; their rows become empty.

        Parameters
        ----------
        alive
            For each attribute whether its weights stay.

        Returns
        -------
        Rows
            The rows.
        """
        return Rows(np.concatenate([[0], self.starts[1:][alive]]).astype(np.uint32), self.labels, self.weights)


def is_finite(table: Floats | None) -> bool:
    """Whether no score is NaN or infinity; minus infinity forbids."""
    return table is None or table.size == 0 or bool(table.max() < np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Ngrams(Stored):
    """Weights of label n-grams of three labels and more, sparse; pairs have a table.

    N-grams are numbered: the empty one, single labels, START, then those of two labels and more in the order of these
    arrays. An n-gram comes after its prefix and its suffix.

    Attributes
    ----------
    parents
        [n] number of the n-gram without the last label.
    labels
        [n] last label.
    weights
        [n].
    """

    parents: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.uint16]
    weights: Floats

    @classmethod
    def none(cls) -> Ngrams:
        """Make one without n-grams of two labels and more.

        Returns
        -------
        Ngrams
            The n-grams.
        """
        return cls(np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty(0, np.float32))

    def lengths(self, n_labels: int) -> Longs:
        """Compute the number of labels of each n-gram.

        Parameters
        ----------
        n_labels
            Number of labels.

        Returns
        -------
        Longs
            [n].
        """
        parents = self.parents.astype(np.int64) - (n_labels + 2)  # negative: one label
        lengths, at = np.full(len(parents), 2, np.int64), parents
        while (at >= 0).any():
            lengths += at >= 0
            at = np.where(at >= 0, parents[at], at)
        return lengths

    def label_runs(self, which: Sequence[int], n_labels: int) -> list[tuple[int, ...]]:
        """List the labels of n-grams; START is label n_labels.

        Parameters
        ----------
        which
            Numbers of n-grams.
        n_labels
            Number of labels.

        Returns
        -------
        list[tuple[int, ...]]
            The labels of each.
        """
        runs = list[tuple[int, ...]]()
        for i in which:
            run: tuple[int, ...] = (int(self.labels[i]),)
            node = int(self.parents[i])
            while node > n_labels + 1:
                run, node = (int(self.labels[node - n_labels - 2]), *run), int(self.parents[node - n_labels - 2])
            runs.append((node - 1, *run))
        return runs

    def weights_in(self, others: Ngrams, n_labels: int) -> Floats:
        """Look up the weights of other n-grams; 0 for unknown ones.

        Parameters
        ----------
        others
            The n-grams to look up.
        n_labels
            Number of labels.

        Returns
        -------
        Floats
            [n] weights.
        """
        first, out = n_labels + 2, np.zeros(len(others.weights), np.float32)
        keys = others.parents.astype(np.int64) << 16 | others.labels
        if len(keys) == 0:
            return out
        order = np.argsort(keys)
        number = np.arange(first + len(self.weights))  # number of each n-gram among the others, -1: missing
        lengths = self.lengths(n_labels)
        for length in range(2, int(lengths.max(initial=1)) + 1):  # parents first
            current = np.flatnonzero(lengths == length)
            parent = number[self.parents[current]]
            targets = parent << 16 | self.labels[current]
            at = order[np.minimum(np.searchsorted(keys, targets, sorter=order), len(keys) - 1)]
            present = (parent >= 0) & (keys[at] == targets)
            number[first + current] = np.where(present, first + at, -1)
            out[at[present]] = self.weights[current[present]]
        return out

    def more_labels(self, n_old: int, n_labels: int) -> Ngrams:
        """Renumber the n-grams for more labels.

        Parameters
        ----------
        n_old
            Number of labels so far.
        n_labels
            Number of labels.

        Returns
        -------
        Ngrams
            The same n-grams.
        """
        parents = self.parents.astype(np.int64)
        parents[parents > n_old] += n_labels - n_old
        return replace(self, parents=parents.astype(np.uint32))

    @classmethod
    def of_table(cls, tri: Floats, n_labels: int) -> tuple[Ngrams, Floats]:
        """Extract the triples with a weight from a table.

        Parameters
        ----------
        tri
            [n_labels + 1, n_labels + 1, stride].
        n_labels
            Number of labels.

        Returns
        -------
        tuple[Ngrams, Floats]
            The n-grams, and [n_labels] weights of first labels after START and START.
        """
        n = n_labels
        x, y, z = np.nonzero(tri[:, :n, :n])  # START as the middle label is possible at the first token only
        pairs = np.unique(np.concatenate([x * n + y, y * n + z]))
        first, second = np.divmod(pairs, n)
        number = np.zeros((n + 1) * n, np.int64)
        number[pairs] = n + 2 + np.arange(len(pairs))
        parents = np.concatenate([first + 1, number[x * n + y]]).astype(np.uint32)
        labels = np.concatenate([second, z]).astype(np.uint16)
        weights = np.concatenate([np.zeros(len(pairs)), tri[x, y, z]]).astype(np.float32)
        return cls(parents, labels, weights), tri[n, n, :n]

    def table(self, n_labels: int) -> Floats:
        """Make a table of n-grams of three labels, if there are no longer ones.

        Parameters
        ----------
        n_labels
            Number of labels.

        Returns
        -------
        Floats
            [n_labels + 1, n_labels + 1, stride].
        """
        tri = np.zeros((n_labels + 1, n_labels + 1, padded(n_labels)), np.float32)
        long = np.flatnonzero(self.lengths(n_labels) == 3)
        pairs = self.parents[long].astype(np.int64) - (n_labels + 2)
        tri[self.parents[pairs].astype(np.int64) - 1, self.labels[pairs], self.labels[long]] = self.weights[long]
        return tri

    def native(self, n_labels: int, order: int, beam: int = 0) -> _core.Ngrams:
        """Convert to checked native n-grams.

        Parameters
        ----------
        n_labels
            Number of labels.
        order
            Markov order.
        beam
            Beam width; 0: exact search.

        Returns
        -------
        _core.Ngrams
            Native n-grams.

        Raises
        ------
        ValueError
            If the arrays are inconsistent.
        """
        return _core.Ngrams(n_labels, order, self, self.weights, beam)


@dataclass(frozen=True, slots=True, eq=False)
class ChainWeights:
    """All weights of a chain: of attributes with labels or label pairs, and of label pairs, triples and n-grams.

    Attributes
    ----------
    n_labels
        Number of labels.
    rows
        Weights of attributes with labels.
    edge_rows
        Weights of attributes with label pairs.
    edge
        [n_labels + 1, stride] weights of label pairs; row n_labels is NULL, the label before the sentence.
    tri
        [n_labels + 1, n_labels + 1, stride] weights of label triples at order 2.
    end
        [stride] weights of last labels; minus infinity forbids a label.
    votes
        Updates of a voted perceptron; prediction uses them, scores and k-best lists the weights above.
    dual
        Support sequences of a dual model; with a kernel, its expansion scores the labels.
    parts
        Parts of labels; rows then have columns for parts too.
    ngrams
        Weights of n-grams of three labels and more, in a chain of any order; ``tri`` is None then.
    beam
        Beam width in states per token; 0: exact search.
    """

    n_labels: int
    rows: Rows
    edge_rows: Rows | None
    edge: Floats
    tri: Floats | None
    end: Floats | None = None
    votes: Votes | None = None
    dual: Dual | None = None
    parts: LabelParts | None = None
    ngrams: Ngrams | None = None
    beam: int = 0

    @property
    def _arrays(self) -> list[Floats]:
        """All weights except those of ends and of an expansion; forbidden transitions are minus infinity."""
        sparse = [part.weights for part in (self.edge_rows, self.ngrams) if part is not None]
        return [self.rows.weights, self.edge, *([] if self.tri is None else [self.tri]), *sparse]

    def is_finite(self) -> bool:
        """Check that no weight is NaN or infinity; minus infinity is allowed and forbids.

        Returns
        -------
        bool
            Whether all are finite.
        """
        return all(is_finite(table) for table in (*self._arrays, self.end))

    def check(self, n_labels: int, n_attributes: int, n_edge_attributes: int) -> None:
        """Raise ValueError unless the weights have these sizes.

        Parameters
        ----------
        n_labels
            Number of labels.
        n_attributes
            Number of attributes.
        n_edge_attributes
            Number of attributes of label pairs.
        """
        if self.n_labels != n_labels or (self.edge_rows is None) != (n_edge_attributes == 0):
            raise ValueError("weights do not match the labels or label pairs")
        self.rows.check(n_attributes)
        if len(self.rows.labels) and self.rows.labels.max() >= n_labels and self.parts is None:
            raise ValueError("weights do not match the labels")
        if self.edge_rows is not None:
            self.edge_rows.check(n_edge_attributes)

    def run_at(self, column: int) -> tuple[int, ...]:
        """Get the labels of a column of edge rows: a pair, or a longer n-gram.

        Parameters
        ----------
        column
            The column.

        Returns
        -------
        tuple[int, ...]
            Labels.
        """
        n, stride = self.n_labels, padded(self.n_labels)
        if column < (n + 1) * stride or self.ngrams is None:
            return divmod(column, stride)
        return self.ngrams.label_runs([column - (n + 1) * stride - (n + 2)], n)[0]

    @property
    def expansion(self) -> Expansion | None:
        """Kernel expansion that scores labels instead of rows."""
        return None if self.dual is None else self.dual.expansion

    @property
    def n_nonzero(self) -> int:
        """Number of non-zero weights."""
        arrays: list[Any] = [*self._arrays, *([] if self.expansion is None else [self.expansion.coefs])]
        return sum(int(np.count_nonzero(array) - np.isneginf(array).sum()) for array in arrays)

    def native(
        self, ngrams: _core.Ngrams | None = None, *, local: bool = False, about: Bytes | None = None
    ) -> _core.Weights:
        """Convert to checked native weights.

        Parameters
        ----------
        ngrams
            Native n-grams.
        local
            Whether labels are normalised per token.
        about
            For each edge attribute the labels that it is about, if some are about labels further back.

        Returns
        -------
        _core.Weights
            Native weights.
        """
        return _core.Weights(
            rows=self.rows,
            edge_rows=self.edge_rows,
            edge=self.edge,
            tri=self.tri,
            end=self.end,
            parts=self.parts,
            ngrams=ngrams,
            local=local,
            about=about,
        )

    def squares(self) -> float:
        """Compute |w|²; forbidden pairs have no weight.

        Returns
        -------
        float
            The squared norm.
        """
        flat = np.concatenate([array.reshape(-1) for array in self._arrays]).astype(np.float64)
        flat[np.isinf(flat)] = 0
        return _core.dot(flat, flat)

    def tensors(self) -> Arrays:
        """Convert to named arrays, for files; tables of labels are stored without zeros.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        n = self.n_labels
        out: Arrays = {} if self.dual is None else self.dual.tensors()
        for name in ("rows", "edge_rows", "ngrams", "votes"):
            out |= {} if (part := getattr(self, name)) is None else part.tensors(name)
        for name in ("edge", "tri", "end"):
            out |= {} if (table := getattr(self, name)) is None else _nonzero(name, table[..., :n])
        return out | ({"beam": np.array([self.beam], np.int64)} if self.beam else {})

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Any], n_labels: int, parts: LabelParts | None = None) -> ChainWeights:
        """Make the weights from named arrays.

        Parameters
        ----------
        tensors
            Arrays by name.
        n_labels
            Number of labels.
        parts
            Parts of labels.

        Returns
        -------
        ChainWeights
            The weights.

        Raises
        ------
        ValueError, LookupError
            If the arrays are inconsistent.
        """
        n, rows = n_labels, Rows.of_tensors("rows", tensors)
        beam = tensors.get("beam", np.zeros(1, np.int64))
        if beam.shape != (1,) or beam.dtype != np.int64 or not 0 <= beam[0] < 2**31:
            raise ValueError("invalid beam width")
        edge_rows = Rows.of_tensors("edge_rows", tensors) if "edge_rows.starts" in tensors else None
        ngrams = Ngrams.of_tensors("ngrams", tensors) if "ngrams.parents" in tensors else None
        if edge_rows is not None:
            _check_runs(edge_rows.labels, n, 0 if ngrams is None else len(ngrams.parents))
        dual = None
        if "dual.support.alphas" in tensors:
            from trellis.engine.dual import Dual

            dual = Dual.of_tensors(tensors, rows.n_attributes)
        return cls(
            n,
            rows,
            edge_rows,
            _expand("edge", tensors, (n + 1, n)),
            _expand("tri", tensors, (n + 1, n + 1, n)) if "tri.places" in tensors else None,
            _expand("end", tensors, (n,)) if "end.places" in tensors else None,
            Votes.of_tensors("votes", tensors) if "votes.counts" in tensors else None,
            dual,
            parts,
            ngrams,
            int(beam[0]),
        )


def _check_runs(columns: npt.NDArray[Any], n_labels: int, n_ngrams: int) -> None:
    """ValueError unless each column of edge rows is a label pair or an n-gram."""
    n, stride = n_labels, padded(n_labels)
    of_ngrams = columns.astype(np.int64) - (n + 1) * stride - (n + 2)
    pairs = columns % stride < n if stride else np.zeros(len(columns), bool)
    if not np.where(of_ngrams < -(n + 2), pairs, (of_ngrams >= 0) & (of_ngrams < n_ngrams)).all():
        raise ValueError("invalid label pairs")


def _nonzero(name: str, array: Floats) -> Arrays:
    """The nonzero numbers with their indices."""
    flat = array.reshape(-1)
    places = np.flatnonzero(flat)
    return {f"{name}.places": places.astype(np.uint32), f"{name}.weights": flat[places]}


# Maximum bytes of a table of labels for any file; larger tables may take this multiple of the file's size.
SMALL_TABLE, LARGE_TABLE_RATIO = 1 << 28, 256


def _expand(name: str, tensors: Mapping[str, Any], shape: tuple[int, ...]) -> Floats:
    """Rebuild the table, rows padded for the kernels; pages without weights are not allocated until they are read."""
    n, places = shape[-1], tensors[f"{name}.places"]
    stored = sum(tensor.nbytes for tensor in tensors.values())
    if 4 * math.prod(shape) > max(SMALL_TABLE, LARGE_TABLE_RATIO * stored):
        raise ValueError(f"weights of {stored:,} bytes for the labels of a table of {4 * math.prod(shape):,}")
    if len(places) and int(places.max()) >= math.prod(shape):
        raise ValueError(f"{name} has an index out of range")
    out = np.zeros((*shape[:-1], padded(n)), np.float32)
    rows, labels = np.divmod(places.astype(np.int64), n)
    out.reshape(-1)[rows * padded(n) + labels] = tensors[f"{name}.weights"]
    return out
