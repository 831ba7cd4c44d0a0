"""Hypergraphs and lattices against all their derivations, against chains, and against closed forms."""

from __future__ import annotations

import doctest
import itertools
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from chain_answers import best_path, kbest, marginals
from test_chain import random_potentials, random_scores

import trellis
from trellis.engine import hypergraph
from trellis.engine.chain import Potentials
from trellis.engine.hypergraph import Hypergraph, Hypergraphs

KINDS = ("floats", "ties", "forbidden", "mixed", "far apart")
SHAPES = ("lattice", "binary", "any")


def random_hypergraph(rng: np.random.Generator, shape: str) -> Hypergraph:
    """Small enough to list what it derives; edges in any order, the goal not always the last node."""
    n_nodes = int(rng.integers(2, 7))
    heads, tails = [], []
    for head in range(1, n_nodes):
        for _ in range(int(rng.integers(0, 4))):
            n_tails = {"lattice": 1, "binary": 2}.get(shape, int(rng.integers(0, 4)))
            heads.append(head)
            tails.append(rng.integers(0, head, n_tails).tolist())
    order = rng.permutation(len(heads)).tolist()
    goal = int(rng.integers(max(0, n_nodes - 3), n_nodes))
    return Hypergraph([heads[i] for i in order], [tails[i] for i in order], n_nodes=n_nodes, goal=goal)


def derivations(graph: Hypergraph, node: int) -> list[tuple[int, ...]]:
    """All derivations of a node as edges from the node down, in the order in which ties are decided."""
    edges = [e for e in range(graph.n_edges) if graph.heads[e] == node]
    if not edges:
        return [()]
    below = [[derivations(graph, tail) for tail in graph.tails_of(e)] for e in edges]
    return [
        (e, *itertools.chain.from_iterable(parts))
        for e, lists in zip(edges, below, strict=True)
        for parts in itertools.product(*lists)
    ]


@pytest.fixture(params=itertools.product(SHAPES, KINDS), ids="-".join)
def cases(request: pytest.FixtureRequest) -> list[tuple[Hypergraph, np.ndarray, dict[tuple[int, ...], float]]]:
    """Hypergraphs with scores and all their derivations that are not forbidden, with what those score."""
    shape, kind = request.param
    out: list[Any] = []
    rng = np.random.default_rng(7)
    while len(out) < 40:
        graph = random_hypergraph(rng, shape)
        if graph.count() > 400:
            continue
        far = 400 * rng.normal(size=graph.n_edges) if kind == "far apart" else None
        scores = random_scores(rng, kind, graph.n_edges) if far is None else far
        every = {d: sum(scores[e] for e in d) for d in derivations(graph, graph.goal)}
        out.append((graph, scores, {d: s for d, s in every.items() if s > -np.inf}))
    return out


# ---------------------------------------------------------------------------- against enumeration


def test_the_best_derivation(cases: Any) -> None:
    for graph, scores, every in cases:
        if not every:
            with pytest.raises(
                trellis.ArgumentError,
                match="all derivations have score minus infinity; use finite scores for some edges",
            ):
                graph.best(scores)
            continue
        found = graph.best(scores)
        assert found.score == pytest.approx(max(every.values()), abs=1e-9)
        assert every[found.edges] == pytest.approx(found.score, abs=1e-9)


def test_ties_go_to_the_first_edges() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        graph = random_hypergraph(rng, "any")
        if graph.count() > 400:
            continue
        scores = random_scores(rng, "ties", graph.n_edges)
        every = [(d, sum(scores[e] for e in d)) for d in derivations(graph, graph.goal)]
        assert graph.best(scores).edges == max(every, key=lambda one: one[1])[0]  # the first of the best


def test_the_k_best_derivations(cases: Any) -> None:
    for graph, scores, every in cases:
        wanted = sorted(every.values(), reverse=True)
        for k in (1, 2, 5, 1000):
            found = graph.kbest(scores, k)
            assert len(found) == min(k, len(every))
            assert [one.score for one in found] == pytest.approx(wanted[:k], abs=1e-9)
            assert len({one.edges for one in found}) == len(found)
            assert all(every[one.edges] == pytest.approx(one.score, abs=1e-9) for one in found)
            if found:
                assert found[0] == graph.best(scores)


def test_sums_and_marginals(cases: Any) -> None:
    for graph, scores, every in cases:
        found = graph.marginals(scores)
        if not every:
            assert found.log_z == -np.inf
            assert not found.edges.any()
            assert graph.count(scores) == 0
            continue
        log_z = float(np.logaddexp.reduce(list(every.values())))
        shares = {d: math.exp(score - log_z) for d, score in every.items()}
        assert found.log_z == pytest.approx(log_z, abs=1e-9)
        assert graph.log_z(scores) == found.log_z
        edges, nodes = np.zeros(graph.n_edges), np.zeros(graph.n_nodes)
        for d, share in shares.items():
            nodes[graph.goal] += share
            for e in d:
                edges[e] += share
                for tail in graph.tails_of(e):
                    nodes[tail] += share
        np.testing.assert_allclose(found.edges, edges, atol=1e-9)
        np.testing.assert_allclose(found.nodes, nodes, atol=1e-9)
        assert graph.count(scores) == len(every)
        values = np.random.default_rng(1).normal(size=graph.n_edges)
        mean = sum(share * sum(values[e] for e in d) for d, share in shares.items())
        assert graph.expectation(scores, values) == pytest.approx(mean, abs=1e-9)
        entropy = -sum(share * math.log(share) for share in shares.values() if share)
        assert graph.entropy(scores) == pytest.approx(entropy, abs=1e-9)


def test_inside_and_outside(cases: Any) -> None:
    for graph, scores, every in cases:
        inside = graph.inside(scores)
        for node in range(graph.n_nodes):
            below = [sum(scores[e] for e in d) for d in derivations(graph, node)]
            assert inside[node] == pytest.approx(np.logaddexp.reduce(below), abs=1e-9)
        if every:
            product = np.exp(inside + graph.outside(scores) - graph.log_z(scores))
            np.testing.assert_allclose(np.nan_to_num(product), graph.marginals(scores).nodes, atol=1e-9)


def test_batches_are_what_each_is_alone_on_any_number_of_threads(cases: Any) -> None:
    graphs, scores = [graph for graph, _, _ in cases], [given for _, given, _ in cases]
    batch = Hypergraphs(graphs)
    for n_threads in (1, 2, 7):
        assert [one and one.edges for one in batch.best(scores, n_threads)] == [
            graph.best(given).edges if every else None for graph, given, every in cases
        ]
        assert batch.kbest(scores, 3, n_threads) == [graph.kbest(given, 3) for graph, given, _ in cases]
        assert batch.log_z(scores, n_threads).tolist() == [graph.log_z(given) for graph, given, _ in cases]
        for found, (graph, given, _) in zip(batch.marginals(scores, n_threads), cases, strict=True):
            assert found.edges.tolist() == graph.marginals(given).edges.tolist()


# ---------------------------------------------------------------------------- chains


def chain_lattice(p: Any, binary: bool) -> tuple[Hypergraph, np.ndarray, np.ndarray]:
    """A chain of order 1: node 0, then label z of token t at 1 + t · L + z, then the goal; the label of each edge.

    As a hypergraph an edge has the label's own leaf as a second tail.
    """
    T, L = p.emit.shape
    edge = p.edge if p.edge.ndim == 3 else np.broadcast_to(p.edge, (T, *p.edge.shape))
    end = np.zeros(L) if p.end is None else p.end
    shift = L if binary else 0  # leaves of labels stand first
    heads, tails, scores, labels = [], [], [], []
    for t, z in itertools.product(range(T), range(L)):
        for y in range(L) if t else [L]:
            heads.append(shift + 1 + t * L + z)
            tails.append([shift + 1 + (t - 1) * L + y if t else shift, *([z] if binary else [])])
            scores.append(edge[t, y, z] + p.emit[t, z])
            labels.append(z)
    for z in range(L):
        heads.append(shift + 1 + T * L)
        tails.append([shift + 1 + (T - 1) * L + z])
        scores.append(end[z])
        labels.append(-1)
    return Hypergraph(heads, tails), np.array(scores), np.array(labels)


@pytest.mark.parametrize("binary", [False, True], ids=["lattice", "hypergraph"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_gives_what_the_chain_kernels_give(kind: str, binary: bool) -> None:
    for seed in range(8):
        p = random_potentials(seed, 5, 3, 1, bool(seed % 2), True, kind)
        q = Potentials(p.emit, p.edge, None, p.end)
        graph, scores, labels = chain_lattice(p, binary)
        assert graph.is_lattice == (not binary)
        path, score = best_path(q)
        if score == -np.inf:
            assert graph.count(scores) == 0
            continue
        found = graph.best(scores)
        assert labels[list(found.edges)][::-1].tolist()[:-1] == path
        assert found.score == pytest.approx(score, abs=1e-9)
        assert [one.score for one in graph.kbest(scores, 6)] == pytest.approx(
            [score for _, score in kbest(q, 6)], abs=1e-9
        )
        expected = marginals(q)
        assert graph.log_z(scores) == pytest.approx(expected.log_z, abs=1e-9)
        node = np.zeros_like(p.emit)
        token = (graph.heads - (3 if binary else 0) - 1) // 3
        np.add.at(node, (token[labels >= 0], labels[labels >= 0]), graph.marginals(scores).edges[labels >= 0])
        np.testing.assert_allclose(node, expected.node, atol=1e-9)


# ---------------------------------------------------------------------------- closed forms


def bracketings(n: int) -> Hypergraph:
    """All binary trees over n leaves: a node for each span, an edge for each way to split it."""
    number = {
        span: i for i, span in enumerate(sorted(itertools.combinations(range(n + 1), 2), key=lambda s: s[1] - s[0]))
    }
    splits = [((i, j), m) for i, j in number for m in range(i + 1, j)]
    return Hypergraph([number[span] for span, _ in splits], [[number[i, m], number[m, j]] for (i, j), m in splits])


@pytest.mark.parametrize("n", [2, 3, 10, 36, 60])
def test_counts_are_catalan_numbers(n: int) -> None:
    catalan = math.comb(2 * (n - 1), n - 1) // n
    graph = bracketings(n)
    assert graph.count() == catalan
    assert graph.log_z(np.zeros(graph.n_edges)) == pytest.approx(math.log(catalan))
    assert graph.entropy(np.zeros(graph.n_edges)) == pytest.approx(math.log(catalan))


def test_a_lattice_deeper_than_the_stack() -> None:
    n = 200_000
    graph = Hypergraph(np.repeat(np.arange(1, n + 1), 2), np.repeat(np.arange(n), 2))
    scores = np.tile([0.0, -1.0], n)
    assert [one.score for one in graph.kbest(scores, 3)] == [0.0, -1.0, -1.0]
    assert Hypergraph(graph.heads[:4000], graph.tails[:4000]).count() == 2**2000


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hypergraph([1, 1], [[0], [1]]), "edge 1 leads from node 1 to node 1; number the nodes so that tails"),
        (lambda: Hypergraph([1, 2], [[2], [1]]), "edge 0 leads from node 2 to node 1.*a cycle"),
        (lambda: Hypergraph([1], [[0]], goal=5), "the goal is node 5, and there are 2 nodes"),
        (lambda: Hypergraph([1], [[3]], n_nodes=2), "edge 0: a tail is node 3, and there are 2 nodes"),
        (lambda: Hypergraph([4], [[0]], n_nodes=2), "edge 0: the head is node 4, and there are 2 nodes"),
        (lambda: Hypergraph([-1], [[0]]), "heads must be node indices from 0 to 2147483646, not -1"),
        (lambda: Hypergraph([2147483647], [0]), "from 0 to 2147483646, not 2147483647"),
        (lambda: Hypergraph([1.0], [[0]]), "heads must be node indices"),
        (lambda: Hypergraph([1], [0.5]), "tails must be node indices"),
        (lambda: Hypergraph([1], ["ab"]), "tails must be node indices"),
        (lambda: Hypergraph([1], [[0], [0]]), "tails must have one entry per edge, 1, not 2"),
        (
            lambda: Hypergraph([1], [0], tail_starts=[0, 2]),
            "tail_starts must be 2 whole numbers from 0 to 1 in ascending",
        ),
        (lambda: Hypergraph([1], [0], tail_starts=[0, 1.0]), "tail_starts must be 2 whole numbers"),
        (lambda: Hypergraph([1, 1], [0], tail_starts=[0, 2, 1]), "tail_starts must be 3 whole numbers"),
        (lambda: Hypergraph([1], [[0]], n_nodes=0), "n_nodes must be a whole number from 1"),
        (lambda: Hypergraph([1], [[0]]).best([1, 2]), "one number per edge, 1"),
        (lambda: Hypergraph([1], [[0]]).best(["x"]), "scores must be a list of numbers"),
        (
            lambda: Hypergraph([1], [[0]]).best([np.nan]),
            "scores: of edge 0 it must be a number below infinity, not nan",
        ),
        (lambda: Hypergraph([1], [[0]]).expectation([1], [np.inf]), "values: of edge 0 it must be a finite number"),
        (lambda: Hypergraph([1], [[0]]).kbest([1], 0), "k must be a whole number from 1"),
        (lambda: Hypergraphs([1]), "graphs must be a list of hypergraphs, not \\[1\\]"),  # type: ignore[list-item]
    ],
)
def test_what_makes_no_sense_is_one_clear_line(make: Any, message: str) -> None:
    with pytest.raises(trellis.ArgumentError, match=message):
        make()


def test_a_derivation_without_end_is_an_error() -> None:
    n = 60
    graph = Hypergraph(np.arange(1, n + 1), np.stack([np.arange(n)] * 2, 1))
    assert graph.count() == 1
    with pytest.raises(ValueError, match="a derivation has more than 2\\^24 edges"):
        graph.best(np.zeros(n))


def test_flat_arrays_are_the_same() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        graph = random_hypergraph(rng, "any")
        sizes = {"n_nodes": graph.n_nodes, "goal": graph.goal}
        flat = Hypergraph(graph.heads, graph.tails, tail_starts=graph.tail_starts, **sizes)
        scores = rng.normal(size=graph.n_edges)
        assert flat.best(scores) == graph.best(scores)


def test_small_ones() -> None:
    leaf = Hypergraph([], [])
    assert leaf.n_nodes == 1
    assert leaf.best([]).edges == ()
    assert leaf.count() == 1
    assert leaf.log_z([]) == 0
    nullary = Hypergraph([0, 0], [[], []])
    assert nullary.best([1, 2]).edges == (1,)
    assert nullary.count() == 2


def test_examples() -> None:
    assert doctest.testmod(hypergraph).failed == 0


# ---------------------------------------------------------------------------- pictures


def test_the_picture_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = Path(__file__).parent.parent / "docs"
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", (docs / "hypergraphs.md").read_text(), re.S)[0], {})
    assert Path("forest.svg").read_text() == (docs / "img" / "forest.svg").read_text()


def test_pictures_have_all_nodes_edges_and_names_and_mark_the_best() -> None:
    rng = np.random.default_rng(5)
    for shape in SHAPES * 10:
        graph = random_hypergraph(rng, shape)
        scores = rng.normal(size=graph.n_edges)
        names = [f"<{v}>" for v in range(graph.n_nodes)]
        picture = ElementTree.fromstring(
            graph.draw(scores, node_names=names, edge_names=[str(e) for e in range(graph.n_edges)]).svg
        )
        marks = [thing.get("class") for thing in picture]
        best = set(graph.best(scores).edges)
        lines = sum(1 if graph.is_lattice else 1 + len(graph.tails_of(e)) for e in best)
        assert marks.count("n") == graph.n_nodes
        assert marks.count("b") == lines
        assert marks.count("l") == graph.n_edges
        assert {thing.text for thing in picture} >= set(names)


def test_a_picture_too_large_is_an_error() -> None:
    with pytest.raises(trellis.ArgumentError, match="a picture has at most 400 nodes"):
        Hypergraph(np.arange(1, 500), np.arange(499)).draw()
