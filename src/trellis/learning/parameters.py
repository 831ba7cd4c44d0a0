"""The weights of a chain as one flat vector, for batch learners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Bools, Doubles, Floats, Ints, Lists, Longs
from trellis.engine.weights import START, ChainWeights, Ngrams, Rows, padded
from trellis.features.templates import history_name
from trellis.learning.chain_problem import ChainProblem

CHUNK = 1 << 14  # sentences per chunk when labels are read

BLOCK_BYTES, LEAST_BLOCK = 4 << 20, 1024  # buffer of token gradients: bytes, minimum of tokens


def block_tokens(n_columns: int, *, of_segments: bool = False) -> int:
    """Tokens per block of a sum; rounding of gradients depends on it, so it is a function of the model alone."""
    # With weights of segments, each piece of a block has a copy of them all: use fewer and larger pieces.
    return max(LEAST_BLOCK, BLOCK_BYTES * (8 if of_segments else 1) // (4 * padded(n_columns)))


@dataclass(frozen=True, slots=True)
class Parameters:
    """Positions of weights in a flat vector: rows, edge rows, label pairs, label triples (core/weights/layout.hpp).

    With sparse label n-grams (``ChainProblem.is_sparse``), those of three labels and more replace triples.

    Attributes
    ----------
    problem
        The training problem.
    rows
        Attributes with labels.
    edge_rows
        Attributes with label pairs.
    edge_places
        Cells of [L + 1, stride].
    tri_places
        Cells of [L + 1, L + 1, stride], or numbers of n-grams.
    ngrams
        The n-grams; all weights are zero.
    """

    problem: ChainProblem
    rows: Rows
    edge_rows: Rows | None
    edge_places: Ints
    tri_places: Ints
    ngrams: Ngrams | None = None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.problem.n_labels

    @classmethod
    def of(cls, problem: ChainProblem, *, transitions: str, start: bool, sparse: bool = False) -> Parameters:
        """Make the positions of all weights of a problem.

        Parameters
        ----------
        problem
            The training problem.
        transitions
            ``"seen"``: label pairs and triples that occur in training; ``"all"``: all.
        start
            Whether pairs and triples with NULL have weights.
        sparse
            Whether label n-grams of three labels and more replace triples; they always are those of training. Below
            order 2 there are none.

        Returns
        -------
        Parameters
            The positions.
        """
        n, first = problem.n_labels, problem.initial
        sparse = sparse or problem.order > 2
        rows = _full(problem.corpus.n_attributes, problem.n_columns) if problem.seen_rows is None else problem.seen_rows
        edge_rows = problem.seen_edges
        pairs, triples = _places(problem, transitions, start, min(1, problem.order) if sparse else problem.order)
        ngrams = None
        if sparse:
            ngrams = _seen_ngrams(problem, start) if problem.order >= 2 else Ngrams.none()
            triples = np.flatnonzero(_have_weights(ngrams, problem, start)).astype(np.int32) + np.int32(n + 2)
        if first is not None:  # and all weights of the warm start
            rows = rows if problem.seen_rows is None else _united(rows, first.rows, problem.n_columns)
            if edge_rows is not None and first.edge_rows is not None:
                edge_rows = _united(edge_rows, first.edge_rows, n_runs(n, ngrams))
            pairs = np.union1d(pairs, _weighted(first.edge)).astype(np.int32)
            triples = triples if sparse else np.union1d(triples, _weighted(first.tri)).astype(np.int32)
        return cls(problem, rows, edge_rows, pairs, triples, ngrams)

    def only(self, mask: Bools) -> Parameters:
        """Restrict the vector to some weights.

        Parameters
        ----------
        mask
            For each weight whether it stays.

        Returns
        -------
        Parameters
            The shorter vector.
        """
        rows, edge_rows, pairs, triples = self._parts(mask)
        return replace(
            self,
            rows=_taken(self.rows, rows),
            edge_rows=None if self.edge_rows is None else _taken(self.edge_rows, edge_rows),
            edge_places=self.edge_places[pairs],
            tri_places=self.tri_places[triples],
        )

    @property
    def size(self) -> int:
        """Number of weights."""
        edge_rows = 0 if self.edge_rows is None else len(self.edge_rows.labels)
        return len(self.rows.labels) + edge_rows + len(self.edge_places) + len(self.tri_places)

    def _parts(self, vector: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Split a vector into rows, edge rows, label pairs and label triples."""
        edge_rows = 0 if self.edge_rows is None else len(self.edge_rows.labels)
        return np.split(vector, np.cumsum([len(self.rows.labels), edge_rows, len(self.edge_places)]))

    def objective(self, *, local: bool, single: bool) -> _core.Objective:
        """Make the objective: losses and gradients as functions of the vector.

        Parameters
        ----------
        local
            Whether labels are normalised per token.
        single
            Whether potentials are in single precision.

        Returns
        -------
        _core.Objective
            The objective.
        """
        problem = self.problem
        block = problem.block or block_tokens(problem.n_columns, of_segments=problem.corpus.segments is not None)
        return _core.ChainObjective(
            self._layout(), problem.examples(), local=local, single=single, first_token=problem.first_token, block=block
        )

    def booster(self, bound: str, max_step: float) -> _core.Booster:
        """Make the rounds of Sequence AdaBoost.

        Parameters
        ----------
        bound
            Bound that chooses the feature.
        max_step
            Maximum length of a step.

        Returns
        -------
        _core.Booster
            The booster.
        """
        problem = self.problem
        examples, weights = problem.examples(), problem.sentence_weights
        return _core.Booster(self._layout(), examples, weights, bound=bound, max_step=max_step)

    def _layout(self) -> _core.Layout:
        """Layout of the weights for native code."""
        problem, n, stride, edge_rows = self.problem, self.n_labels, padded(self.n_labels), self.edge_rows
        no_rows = Rows(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float32))
        return _core.Layout(
            problem.corpus,
            order=max(1, problem.order),
            rows=self.rows.of_type(np.uint16),
            edge_rows=no_rows if edge_rows is None else edge_rows.of_type(np.uint32),
            edge_places=self.edge_places,
            tri_places=self.tri_places,
            edge_base=np.zeros((n + 1, stride), np.float32) if problem.edge_base is None else problem.edge_base,
            end_base=np.empty(0, np.float32) if problem.end is None else problem.end,
            parts=problem.label_parts,
            ngrams=self.ngrams,
        )

    def start(self) -> Doubles:
        """Get the initial values: zero, or the weights of a warm start.

        Returns
        -------
        Doubles
            The vector.
        """
        vector, initial = np.zeros(self.size), self.problem.initial
        if initial is None:
            return vector
        rows, edge_rows, pairs, triples = self._parts(vector)
        rows[:] = _look_up(initial.rows, self.rows, self.problem.n_columns)
        if self.edge_rows is not None and initial.edge_rows is not None:
            edge_rows[:] = _look_up(initial.edge_rows, self.edge_rows, n_runs(self.n_labels, self.ngrams))
        pairs[:] = initial.edge.reshape(-1)[self.edge_places]
        if self.ngrams is not None and initial.ngrams is not None:
            triples[:] = initial.ngrams.weights_in(self.ngrams, self.n_labels)[self.tri_places - (self.n_labels + 2)]
        elif initial.tri is not None:
            triples[:] = initial.tri.reshape(-1)[self.tri_places]
        return np.where(np.isfinite(vector), vector, 0.0)  # forbidden transitions have no weight

    def gold_counts(self) -> Doubles:
        """Count the features of the gold labels: the sum of Phi(x, gold) over the corpus.

        Returns
        -------
        Doubles
            One count per weight.
        """
        problem, token_weights = self.problem, self.problem.token_weights()
        gold, stride = problem.gold.astype(np.int64), padded(self.n_labels)
        x, y, z = problem.label_triples()
        parts = [_count(self.rows, problem.corpus.lists, gold, token_weights, self.n_labels)]
        if self.edge_rows is not None and problem.corpus.edge_lists is not None:
            places = y * stride + z
            n_places = (self.n_labels + 1) * stride
            parts.append(_count(self.edge_rows, problem.corpus.edge_lists, places, token_weights, n_places))
        tables = [(self.edge_places, y * stride + z)]
        if self.ngrams is None:
            tables.append((self.tri_places, (x * (self.n_labels + 1) + y) * stride + z))
        for places, cells in tables:
            size = int(places.max(initial=-1)) + 1
            parts.append(np.bincount(cells, weights=token_weights, minlength=size)[places].astype(np.float64))
        if self.ngrams is not None:
            parts.append(_seen(problem, True, self.ngrams)[1][self.tri_places])
        return np.concatenate(parts)

    def weights(self, vector: Doubles) -> ChainWeights:
        """Convert a vector to weights of a chain, with forbidden transitions; rows have no zeros.

        Parameters
        ----------
        vector
            Values.

        Returns
        -------
        ChainWeights
            The weights.
        """
        problem, n, stride = self.problem, self.n_labels, padded(self.n_labels)
        rows, edge_rows, pairs, triples = self._parts(vector)
        edge = np.zeros((n + 1, stride), np.float32)
        edge.reshape(-1)[self.edge_places] = pairs
        if problem.edge_base is not None:
            edge += problem.edge_base
        tri = ngrams = None
        on_edges = None if self.edge_rows is None else nonzero(self.edge_rows, edge_rows, np.uint32)
        if self.ngrams is not None and problem.order >= 2:
            values = np.zeros(len(self.ngrams.weights), np.float32)
            values[self.tri_places - (n + 2)] = triples
            columns = np.empty(0, np.uint32) if on_edges is None else on_edges.labels.astype(np.uint32)
            needed, columns = _core.needed_ngrams(n, problem.order, self.ngrams, values, columns)
            ngrams, on_edges = Ngrams(**needed), None if on_edges is None else replace(on_edges, labels=columns)
        elif problem.order == 2:
            tri = np.zeros((n + 1, n + 1, stride), np.float32)
            tri.reshape(-1)[self.tri_places] = triples
        return ChainWeights(
            n,
            nonzero(self.rows, rows, np.uint16),
            on_edges,
            edge,
            tri,
            problem.end,
            parts=problem.label_parts,
            ngrams=ngrams,
        )

    def named(self, k: int) -> tuple[str, str]:
        """Get the name of a weight, as ``trellis explain`` writes it.

        Parameters
        ----------
        k
            Number of the weight.

        Returns
        -------
        tuple[str, str]
            Feature, and label or label n-gram.
        """
        n, stride, names = self.n_labels, padded(self.n_labels), self.problem.names
        labels = (*(map(str, range(n)) if names is None else names.labels), START)
        attributes, edge_attributes = ({}, {}) if names is None else (names.attributes, names.edge_attributes)
        if k < len(self.rows.labels):
            a = int(np.searchsorted(self.rows.starts, k, side="right")) - 1
            return attributes.get(a, f"attribute {a}"), labels[int(self.rows.labels[k])]
        k -= len(self.rows.labels)
        name: str = "label[-1]"
        places: npt.NDArray[Any] = self.edge_places
        if self.edge_rows is not None and k < len(self.edge_rows.labels):
            a = int(np.searchsorted(self.edge_rows.starts, k, side="right")) - 1
            name, places = edge_attributes.get(a, f"edge attribute {a}"), self.edge_rows.labels
        elif self.edge_rows is not None:
            k -= len(self.edge_rows.labels)
        if k < len(places):
            y, z = divmod(int(places[k]), stride)
            return name, f"{labels[y]} {labels[z]}"
        previous, z = divmod(int(self.tri_places[k - len(places)]), stride)
        x, y = divmod(previous, n + 1)
        return history_name(2), f"{labels[x]} {labels[y]} {labels[z]}"


def _full(n_attributes: int, n_labels: int) -> Rows:
    starts = np.arange(n_attributes + 1, dtype=np.uint32) * np.uint32(n_labels)
    labels = np.tile(np.arange(n_labels, dtype=np.uint32), n_attributes)
    return Rows(starts, labels, np.zeros(len(labels), np.float32))


def _united(rows: Rows, second: Rows, n_labels: int) -> Rows:
    """The slots of both, of the second only those that have a weight; all of them at zero."""
    new_keys = _keys(second, n_labels)[second.weights != 0]
    attribute, label = np.divmod(np.union1d(_keys(rows, n_labels), new_keys), n_labels)
    starts = np.searchsorted(attribute, np.arange(rows.n_attributes + 1)).astype(np.uint32)
    return Rows(starts, label.astype(np.uint32), np.zeros(len(label), np.float32))


def _weighted(table: Floats | None) -> Longs:
    """Cells with a weight; forbidden transitions have none."""
    if table is None:
        return np.empty(0, np.int64)
    flat = table.reshape(-1)
    return np.flatnonzero((flat != 0) & np.isfinite(flat))


def _taken(rows: Rows, mask: Bools) -> Rows:
    starts = np.concatenate([[0], np.cumsum(mask)])[rows.starts]
    return Rows(starts.astype(np.uint32), rows.labels[mask], rows.weights[mask])


def nonzero(rows: Rows, values: Doubles, kind: type[np.unsignedinteger]) -> Rows:
    """Slots of rows with new weights; zero weights are dropped."""
    weights = values.astype(np.float32)
    return _taken(Rows(rows.starts, rows.labels.astype(kind), weights), weights != 0)


def _keys(rows: Rows, n_labels: int) -> Longs:
    """Every slot as one number, (attribute, label), ascending."""
    starts = rows.starts.astype(np.int64)
    sizes: Longs = starts[1:] - starts[:-1]
    return np.repeat(np.arange(rows.n_attributes, dtype=np.int64), sizes) * n_labels + rows.labels


def _find(rows: Rows, n_labels: int, searched: Longs) -> tuple[Longs, Bools]:
    """The slot of each key, and whether there is one."""
    keys = _keys(rows, n_labels)
    if len(keys) == 0:
        return np.zeros(len(searched), np.int64), np.zeros(len(searched), bool)
    order = np.argsort(keys, kind="stable")
    slot = order[np.minimum(np.searchsorted(keys, searched, sorter=order), len(keys) - 1)]
    return slot, keys[slot] == searched


def _look_up(table: Rows, rows: Rows, n_labels: int) -> Doubles:
    """Weights of ``table`` at the slots of ``rows``; 0 for missing slots."""
    slot, is_present = _find(table, n_labels, _keys(rows, n_labels))
    out = np.zeros(len(is_present))
    out[is_present] = table.weights[slot[is_present]]
    return out


def _count(rows: Rows, lists: Lists, labels: Longs, token_weights: Doubles, n_labels: int) -> Doubles:
    """How often the label of each slot stood at a token of its attribute."""
    starts, ids, values = lists
    token = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    slot, is_present = _find(rows, n_labels, ids.astype(np.int64) * n_labels + labels[token])
    amount = token_weights[token] * (values if len(values) else 1.0)
    return np.bincount(slot[is_present], weights=amount[is_present], minlength=len(rows.labels)).astype(np.float64)


def _seen(problem: ChainProblem, null: bool, first: Ngrams | None) -> tuple[dict[str, Any], Doubles]:
    """Parents and last labels of the n-grams of training, after the first ones, and counts."""
    return _core.seen_ngrams(
        problem.n_labels,
        problem.order,
        problem.gold,
        problem.starts,
        null=null,
        weights=problem.sentence_weights,
        first=first,
    )


def _seen_ngrams(problem: ChainProblem, start: bool) -> Ngrams:
    """The n-grams of a warm start, those that attributes were seen with, and those of training."""
    first = problem.ngrams
    if first is None and problem.initial is not None:
        first = problem.initial.ngrams
    ngrams, _ = _seen(problem, start, first)
    return Ngrams(**ngrams, weights=np.zeros(len(ngrams["labels"]), np.float32))


def _have_weights(ngrams: Ngrams, problem: ChainProblem, start: bool) -> Bools:
    """Mask of the n-grams with weights: three labels or more; with NULL only if ``start`` or in a warm start."""
    n, first = problem.n_labels, None if problem.initial is None else problem.initial.ngrams
    root = ngrams.parents.astype(np.int64)  # down to a single label
    while (root > n + 1).any():
        root = np.where(root > n + 1, root[root - (n + 2)], root)
    has_weight = np.arange(len(root)) < (0 if first is None else len(first.weights))
    return (ngrams.lengths(n) > 2) & ((root <= n) | start | has_weight)


def n_runs(n_labels: int, ngrams: Ngrams | None) -> int:
    """Number of columns of edge rows: cells of label pairs, or n-grams."""
    return (n_labels + 1) * padded(n_labels) + (0 if ngrams is None else n_labels + 2 + len(ngrams.parents))


def _places(problem: ChainProblem, transitions: str, start: bool, order: int) -> tuple[Ints, Ints]:
    """The cells of the label pairs and triples that have weights."""
    n, stride, no_places = problem.n_labels, padded(problem.n_labels), np.empty(0, np.int32)
    if order == 0:
        return no_places, no_places
    if transitions == "all":
        first = np.arange(n + 1) if order > 1 else np.array([n])
        x, y, z = (a.reshape(-1) for a in np.meshgrid(first, np.arange(n + 1), np.arange(n), indexing="ij"))
        pairs = (x == n) | (y != n)  # NULL stands only before the sentence
    else:
        x, y, z = seen_triples(problem, order)
        pairs = (y >= 0) & (z >= 0)
    if not start:
        pairs &= y != n
    triples = pairs & (x >= 0) & (start | (x != n))
    pair_places = np.unique((y * stride + z)[pairs]).astype(np.int32)
    if order < 2:
        return pair_places, no_places
    return pair_places, np.unique(((x * (n + 1) + y) * stride + z)[triples]).astype(np.int32)


def seen_triples(problem: ChainProblem, order: int) -> tuple[Longs, Longs, Longs]:
    """The distinct label triples of a corpus; below order 2 label pairs, without a first label."""
    if problem.seen_triples is not None:
        return problem.seen_triples
    n, cuts = problem.n_labels + 2, range(0, problem.n_sentences, CHUNK)  # labels, NULL and -1
    triples = np.empty(0, np.int64)
    for first in cuts:
        x, y, z = problem.label_triples(first, first + CHUNK)
        triples = np.union1d(triples, (((x + 1) if order > 1 else 0 * x) * n + (y + 1)) * n + (z + 1))
    rest, z = np.divmod(triples, n)
    x, y = np.divmod(rest, n)
    return x - 1, y - 1, z - 1
