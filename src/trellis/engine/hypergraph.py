"""Hypergraphs and lattices: the best derivation, the k best, log Z, marginals, counts and expectations.

A hyperedge leads from its tails, any number of nodes, to its head. A *derivation* of a node is one of the edges into it
with a derivation of each tail; a node that no edge leads to is a leaf. Where every edge has one tail the hypergraph is
a lattice, and a derivation a path. All answers are functions of scores, one per edge; minus infinity forbids an edge.

    >>> g = Hypergraph(heads=[2, 2, 3], tails=[[0, 1], [1], [2]])
    >>> g.best([1.0, 3.0, 0.5])
    Derivation(score=3.5, edges=(2, 1))
    >>> g.count()
    2
"""

from __future__ import annotations

import functools
import itertools
import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arguments import items, thread_count, whole_number
from trellis._support.arrays import Doubles, Ints, Longs, runs_of, starts_of
from trellis._support.errors import ArgumentError

if TYPE_CHECKING:
    from trellis.display.svg import Picture

_EXACT = 2.0**53  # larger integers are not exact in double precision


@dataclass(frozen=True, slots=True)
class Derivation:
    """One derivation of the goal.

    Attributes
    ----------
    score
        Sum of the scores of its edges.
    edges
        Its edges, from the goal down, the tails of an edge from left to right.
    """

    score: float
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DerivationMarginals:
    """Expected number of occurrences of edges and nodes in a derivation drawn with probability exp(score) / Z.

    Attributes
    ----------
    edges
        [n_edges]; a probability if no derivation has an edge more than once.
    nodes
        [n_nodes].
    log_z
        Logarithm of Z.
    """

    edges: Doubles
    nodes: Doubles
    log_z: float


class Hypergraph:
    """A directed acyclic hypergraph: nodes 0, 1, ..., tails before heads; an edge has a head and any number of tails.

    Edges may come in any order. Among equally good derivations the one whose edges come first wins, decided from the
    goal down.

    Parameters
    ----------
    heads
        [n_edges] head of each edge.
    tails
        Tails of each edge: a list of lists; for a lattice an array [n_edges]; an array [n_edges, n] if all edges have n
        tails; with ``tail_starts`` one flat array.
    tail_starts
        [n_edges + 1]; the tails of edge e are ``tails[tail_starts[e]:tail_starts[e + 1]]``.
    n_nodes
        Number of nodes (default: by the largest number in use).
    goal
        Node to derive (default: the last one).

    Examples
    --------
    >>> import trellis
    >>> graph = trellis.Hypergraph(heads=[0, 1, 2, 2], tails=[[], [], [0, 1], [1]])
    >>> graph.best([1.0, 2.0, 0.5, 1.0])
    Derivation(score=3.5, edges=(2, 0, 1))
    >>> graph.count()
    2
    """

    def __init__(
        self,
        heads: npt.ArrayLike,
        tails: Any,
        *,
        tail_starts: npt.ArrayLike | None = None,
        n_nodes: int | None = None,
        goal: int | None = None,
    ) -> None:
        self.heads: Ints = _nodes("heads", heads)
        if tail_starts is None:
            self.tail_starts, self.tails = _tail_arrays(tails, len(self.heads))
        else:
            self.tails = _nodes("tails", tails)
            self.tail_starts = _starts(tail_starts, len(self.heads), len(self.tails))
        greatest = max((int(a.max()) for a in (self.heads, self.tails) if len(a)), default=0)
        self.n_nodes = greatest + 1 if n_nodes is None else whole_number("n_nodes", n_nodes, 1, 2**31 - 1)
        self.goal = self.n_nodes - 1 if goal is None else whole_number("goal", goal, 0, 2**31 - 1)
        self._check()

    def __repr__(self) -> str:
        kind = "lattice" if self.is_lattice else "hypergraph"
        return f"<{kind} of {self.n_nodes:,} nodes and {self.n_edges:,} edges>"

    def _check(self) -> None:
        has = f", and there are {self.n_nodes} nodes"
        if self.goal >= self.n_nodes:
            raise ArgumentError(f"the goal is node {self.goal}{has}")
        for e in np.flatnonzero(self.heads >= self.n_nodes)[:1]:
            raise ArgumentError(f"edge {e}: the head is node {self.heads[e]}{has}")
        edges = np.repeat(np.arange(self.n_edges), np.diff(self.tail_starts))  # of tails
        for i in np.flatnonzero(self.tails >= self.n_nodes)[:1]:
            raise ArgumentError(f"edge {edges[i]}: a tail is node {self.tails[i]}{has}")
        for i in np.flatnonzero(self.tails >= self.heads[edges])[:1]:
            raise ArgumentError(
                f"edge {edges[i]} leads from node {self.tails[i]} to node {self.heads[edges[i]]}; number the nodes so "
                "that tails come before heads, which a cycle makes impossible"
            )

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.heads)

    @property
    def is_lattice(self) -> bool:
        """Whether every edge has one tail."""
        return bool((np.diff(self.tail_starts) == 1).all())

    def tails_of(self, edge: int) -> tuple[int, ...]:
        """Get the tails of one edge.

        Parameters
        ----------
        edge
            The edge.

        Returns
        -------
        tuple[int, ...]
            Nodes.
        """
        edge = whole_number("edge", edge, 0, self.n_edges - 1)
        first, last = self.tail_starts[edge], self.tail_starts[edge + 1]
        return tuple(self.tails[first:last].tolist())

    @functools.cached_property
    def _alone(self) -> Hypergraphs:
        return Hypergraphs([self])

    def best(self, scores: npt.ArrayLike) -> Derivation:
        """Find the best derivation.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.

        Returns
        -------
        Derivation
            The derivation.

        Raises
        ------
        ArgumentError
            If every derivation is forbidden.
        """
        (derivation,) = self._alone.best([scores])
        if derivation is None:
            raise ArgumentError("all derivations have score minus infinity; use finite scores for some edges")
        return derivation

    def kbest(self, scores: npt.ArrayLike, k: int) -> list[Derivation]:
        """Find the k best derivations.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.
        k
            Number of derivations.

        Returns
        -------
        list[Derivation]
            Derivations, best first; fewer than ``k`` if there are not as many.
        """
        return self._alone.kbest([scores], k)[0]

    def log_z(self, scores: npt.ArrayLike) -> float:
        """Compute the log partition function: log of the sum of exp(score) over all derivations.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.

        Returns
        -------
        float
            log Z; minus infinity if all are forbidden.
        """
        return float(self._alone.log_z([scores])[0])

    def inside(self, scores: npt.ArrayLike) -> Doubles:
        """Compute inside scores: log of the sum of exp(score) over the derivations of each node.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.

        Returns
        -------
        Doubles
            [n_nodes].
        """
        return self._alone.native.sums(*self._alone.flat([scores]), False, 1)[1]

    def outside(self, scores: npt.ArrayLike) -> Doubles:
        """Compute outside scores: the same over what remains of derivations of the goal without the node.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.

        Returns
        -------
        Doubles
            [n_nodes].
        """
        inside, m = self.inside(scores), self.marginals(scores)
        with np.errstate(divide="ignore", invalid="ignore"):
            outside: Doubles = np.where(m.nodes > 0, np.log(m.nodes) + (m.log_z - inside), -np.inf)
        return outside

    def marginals(self, scores: npt.ArrayLike) -> DerivationMarginals:
        """Compute the marginals of edges and nodes.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.

        Returns
        -------
        DerivationMarginals
            Expected numbers of occurrences, and log Z.
        """
        return self._alone.marginals([scores])[0]

    def count(self, scores: npt.ArrayLike | None = None) -> int:
        """Count the derivations.

        Parameters
        ----------
        scores
            [n_edges]; minus infinity forbids an edge (default: no edge is forbidden).

        Returns
        -------
        int
            The number of derivations.
        """
        values = np.zeros(self.n_edges) if scores is None else scores
        count = float(self._alone.native.counts(*self._alone.flat([values]), 1)[0])
        return int(count) if count < _EXACT else self._exact_count(np.asarray(values))

    def _exact_count(self, scores: npt.NDArray[Any]) -> int:
        """Count with Python's unbounded integers."""
        counts: list[int] = (np.bincount(self.heads, minlength=self.n_nodes) == 0).astype(int).tolist()  # 1 for leaves
        for e in np.argsort(self.heads, kind="stable").tolist():
            if scores[e] > -np.inf:
                counts[self.heads[e]] += math.prod(counts[tail] for tail in self.tails_of(e))
        return counts[self.goal]

    def expectation(self, scores: npt.ArrayLike, values: npt.ArrayLike) -> float:
        """Compute the expectation over derivations of the sum of the values of their edges.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.
        values
            [n_edges] value of each edge.

        Returns
        -------
        float
            The expectation.
        """
        return _core.dot(self.marginals(scores).edges, _numbers("values", values, self.n_edges))

    def entropy(self, scores: npt.ArrayLike) -> float:
        """Compute the entropy of the distribution over derivations, in nats.

        Parameters
        ----------
        scores
            [n_edges] score of each edge; minus infinity forbids an edge.

        Returns
        -------
        float
            The entropy.
        """
        numbers = _numbers("scores", scores, self.n_edges)
        mean = self.expectation(scores, np.where(numbers == -np.inf, 0.0, numbers))
        return max(0.0, self.log_z(scores) - mean)

    def draw(
        self,
        scores: npt.ArrayLike | None = None,
        *,
        node_names: Sequence[str] | None = None,
        edge_names: Sequence[str] | None = None,
    ) -> Picture:
        """Draw a small hypergraph.

        Parameters
        ----------
        scores
            Scores by which the best derivation is marked (default: none).
        node_names
            Name of each node (default: empty).
        edge_names
            Name of each edge (default: empty).

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        from trellis.display.hypergraphs import MOST_EDGES, MOST_NODES, draw_hypergraph

        if self.n_nodes > MOST_NODES or self.n_edges > MOST_EDGES:
            raise ArgumentError(
                f"a picture has at most {MOST_NODES} nodes and {MOST_EDGES} edges; this graph has {self.n_nodes:,} and "
                f"{self.n_edges:,}; draw a smaller graph"
            )
        nodes = _names("node_names", node_names, self.n_nodes)
        edges = _names("edge_names", edge_names, self.n_edges)
        marked = () if scores is None else self.best(scores).edges
        tails = [self.tails_of(e) for e in range(self.n_edges)]
        return draw_hypergraph(self.heads.tolist(), tails, nodes, edges, set(marked))

    def _repr_svg_(self) -> str | None:
        try:
            return self.draw().svg
        except ArgumentError:  # too large
            return None


class Hypergraphs:
    """Many hypergraphs, processed in parallel; results do not depend on the number of threads.

    Parameters
    ----------
    graphs
        The hypergraphs.
    """

    def __init__(self, graphs: Sequence[Hypergraph]) -> None:
        elements = items(graphs)
        if elements is None or not all(isinstance(graph, Hypergraph) for graph in elements):
            raise ArgumentError(f"graphs must be a list of hypergraphs, not {reprlib.repr(graphs)}")
        self.graphs: list[Hypergraph] = elements
        self.edge_starts: Longs = starts_of([graph.n_edges for graph in self.graphs])
        self.node_starts: Longs = starts_of([graph.n_nodes for graph in self.graphs])
        sizes = _joined([np.diff(graph.tail_starts) for graph in self.graphs], np.int64)
        heads, tails = (
            _joined([getattr(graph, name) for graph in self.graphs], np.int32) for name in ("heads", "tails")
        )
        # The core sorts edges by head.
        self._order: Longs = np.lexsort((heads, np.repeat(np.arange(len(self)), np.diff(self.edge_starts))))
        tail_starts, places = runs_of(starts_of(sizes), self._order)
        goals = np.array([graph.goal for graph in self.graphs], np.int32)
        self.native = _core.Hypergraphs(
            np.diff(self.node_starts), self.edge_starts, heads[self._order], tail_starts, tails[places], goals
        )

    def __len__(self) -> int:
        return len(self.graphs)

    def best(self, scores: Sequence[npt.ArrayLike], n_threads: int | None = None) -> list[Derivation | None]:
        """Find the best derivation of each.

        Parameters
        ----------
        scores
            Scores of the edges of each hypergraph.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[Derivation | None]
            One derivation per hypergraph; None if every derivation is forbidden.
        """
        starts, scored, runs, edges = self.native.best(*self.flat(scores), 1, thread_count(n_threads))
        sizes = np.diff(starts)
        derivations = iter(self._derivations(np.flatnonzero(sizes), scored, runs, edges))
        return [next(derivations) if n else None for n in sizes.tolist()]

    def kbest(self, scores: Sequence[npt.ArrayLike], k: int, n_threads: int | None = None) -> list[list[Derivation]]:
        """Find the k best derivations of each.

        Parameters
        ----------
        scores
            Scores of the edges of each hypergraph.
        k
            Number of derivations.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[Derivation]]
            For each hypergraph derivations, best first.
        """
        k = whole_number("k", k, 1, 2**31 - 1)
        starts, scored, runs, edges = self.native.best(*self.flat(scores), k, thread_count(n_threads))
        derivations = self._derivations(np.repeat(np.arange(len(self)), np.diff(starts)), scored, runs, edges)
        return [derivations[begin:end] for begin, end in itertools.pairwise(starts.tolist())]

    def log_z(self, scores: Sequence[npt.ArrayLike], n_threads: int | None = None) -> Doubles:
        """Compute the log partition function of each.

        Parameters
        ----------
        scores
            Scores of the edges of each hypergraph.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Doubles
            [n_graphs].
        """
        return self.native.sums(*self.flat(scores), False, thread_count(n_threads))[0]

    def marginals(self, scores: Sequence[npt.ArrayLike], n_threads: int | None = None) -> list[DerivationMarginals]:
        """Compute the marginals of each.

        Parameters
        ----------
        scores
            Scores of the edges of each hypergraph.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[DerivationMarginals]
            One result per hypergraph.
        """
        log_z, _, sorted_edges, nodes = self.native.sums(*self.flat(scores), True, thread_count(n_threads))
        edges = np.empty_like(sorted_edges)
        edges[self._order] = sorted_edges
        by_edge, by_node = np.split(edges, self.edge_starts[1:-1]), np.split(nodes, self.node_starts[1:-1])
        return [DerivationMarginals(*sums) for sums in zip(by_edge, by_node, log_z.tolist(), strict=True)]

    def flat(self, scores: Sequence[npt.ArrayLike], name: str = "scores") -> tuple[Doubles]:
        """Concatenate arrays over the edges of each hypergraph, for native code.

        Parameters
        ----------
        scores
            One array per hypergraph.
        name
            Name of the argument, for messages.

        Returns
        -------
        tuple[Doubles]
            One array.

        Raises
        ------
        ArgumentError
            If sizes do not fit.
        """
        lists = items(scores)
        if lists is None or len(lists) != len(self.graphs):
            raise ArgumentError(f"{name} must have one list of numbers per hypergraph, {len(self.graphs)}")
        arrays = [_numbers(name, values, graph.n_edges) for values, graph in zip(lists, self.graphs, strict=True)]
        return (_joined(arrays, np.float64)[self._order],)

    def _derivations(self, graphs: Longs, totals: Doubles, starts: Longs, edges: Longs) -> list[Derivation]:
        first = np.repeat(self.edge_starts[graphs], np.diff(starts))
        numbers, runs = (self._order[first + edges] - first).tolist(), itertools.pairwise(starts.tolist())
        return [Derivation(score, tuple(numbers[a:b])) for score, (a, b) in zip(totals.tolist(), runs, strict=True)]


def _joined(arrays: list[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    if len(arrays) == 1:
        return np.ascontiguousarray(arrays[0], kind)
    return np.concatenate([np.empty(0, kind), *arrays]).astype(kind)


def _numbers(name: str, values: npt.ArrayLike, n: int) -> Doubles:
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} must be a list of numbers, one per edge") from None
    if numbers.shape != (n,):
        raise ArgumentError(f"{name} must have one number per edge, {n}; its shape is {list(numbers.shape)}")
    forbids = name == "scores"  # minus infinity
    if n == 0 or (numbers.max() < np.inf and (forbids or numbers.min() > -np.inf)):  # false where there is a NaN
        return numbers
    (bad, *_) = np.flatnonzero(~(numbers < np.inf) if forbids else ~np.isfinite(numbers))
    expected = "a number below infinity" if forbids else "a finite number"
    raise ArgumentError(f"{name}: of edge {bad} it must be {expected}, not {numbers[bad]}")


def _names(name: str, names: Sequence[str] | None, n: int) -> list[str]:
    values = [""] * n if names is None else items(names)
    if values is None or len(values) != n:
        raise ArgumentError(f"{name} must be {n} strings, one for each")
    return [str(text) for text in values]


def _nodes(name: str, values: npt.ArrayLike) -> Ints:
    expected = f"{name} must be node indices from 0 to 2147483646"
    try:
        nodes = np.asarray(values)
    except ValueError:
        nodes = np.zeros(1)
    if nodes.size == 0:
        return np.empty(0, np.int32)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise ArgumentError(expected)
    bad = np.flatnonzero((nodes < 0) | (nodes >= 2**31 - 1))
    if len(bad):
        raise ArgumentError(f"{expected}, not {nodes[bad[0]]}")
    return np.ascontiguousarray(nodes, np.int32)


def _starts(values: npt.ArrayLike, n_edges: int, n_tails: int) -> Longs:
    try:
        starts = np.asarray(values)
    except ValueError:
        starts = np.empty(0)
    fits = starts.shape == (n_edges + 1,) and starts.dtype.kind in "iu"
    if not fits or starts[0] != 0 or starts[-1] != n_tails or (np.diff(starts.astype(np.int64)) < 0).any():
        expected = f"{n_edges + 1} whole numbers from 0 to {n_tails} in ascending order"
        raise ArgumentError(f"tail_starts must be {expected}")
    return np.ascontiguousarray(starts, np.int64)


def _tail_arrays(tails: Any, n_edges: int) -> tuple[Longs, Ints]:
    """Offsets of the tails of each edge, and all tails."""
    lists = None if isinstance(tails, np.ndarray) else items(tails)
    if isinstance(tails, np.ndarray) and tails.ndim == 2:
        sizes, flat = np.full(len(tails), tails.shape[1]), _nodes("tails", tails.reshape(-1))
    elif lists is not None and not any(np.ndim(nodes) == 0 for nodes in lists):
        sizes, flat = np.array(list(map(len, lists)), np.int64), _nodes("tails", [u for nodes in lists for u in nodes])
    else:
        flat = _nodes("tails", tails)
        sizes = np.ones(len(flat), np.int64)
    if len(sizes) != n_edges:
        raise ArgumentError(f"tails must have one entry per edge, {n_edges}, not {len(sizes)}")
    return starts_of(sizes), flat
