"""Best derivations of random hypergraphs beside a plain Python loop, of a chain's lattice beside the chain's kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import trellis
from benchmarks.clock import best
from benchmarks.common import Result, Setting
from trellis.engine import chain

N_EDGES, N_LABELS = 1_000_000, 23


def run(setting: Setting) -> Result:
    """In turns; the best of some rounds counts."""
    n_edges = N_EDGES // 100 if setting.quick else N_EDGES
    rng = np.random.default_rng(0)
    heads = np.sort(rng.integers(1, n_edges // 5, n_edges)).astype(np.int32)
    rows = []
    for name, n_tails in (("hypergraph, two tails", 2), ("lattice", 1)):
        tails = (rng.random((n_edges, n_tails)) * heads[:, None]).astype(np.int32)
        scores = -1 - rng.random(n_edges)
        graph = trellis.Hypergraph(heads, tails if n_tails > 1 else tails[:, 0])
        plain = (heads.tolist(), tails.tolist(), scores.tolist(), graph.n_nodes)
        works: dict[str, Callable[[], Any]] = {
            "plain Python": lambda plain=plain: plain_best(*plain),
            "trellis": lambda graph=graph, scores=scores: graph.best(scores),
        }
        rows += _rows(f"best of a random {name}", setting, works)
    lattice, scores, potentials, tables = chain_lattice(rng, n_edges, N_LABELS)
    works = {
        "chain kernel, a table of pairs per token": lambda: chain.Chains.of(tables).best(),
        "chain kernel, one table of pairs": lambda: chain.Chains.of(potentials).best(),
        "trellis": lambda: lattice.best(scores),
    }
    rows += _rows(f"best of a chain's lattice, {N_LABELS} labels", setting, works)
    return Result(
        f"{n_edges:,} edges; seconds; a lattice reads one score per edge from memory, as tables per token do", rows
    )


def _rows(work: str, setting: Setting, works: dict[str, Callable[[], Any]]) -> list[dict[str, Any]]:
    seconds = dict.fromkeys(works, float("inf"))
    for _ in range(setting.rounds):
        for name, call in works.items():
            seconds[name] = min(seconds[name], best(call, 3)[0]["seconds"])
    return [{"work": work, "by": name, "s": s, "times": s / seconds["trellis"]} for name, s in seconds.items()]


def plain_best(
    heads: Sequence[int], tails: Sequence[Sequence[int]], scores: Sequence[float], n_nodes: int
) -> list[float]:
    """The best score of every node, as one would write it."""
    best = [0.0] * n_nodes
    reached = [False] * n_nodes
    for head, those, score in zip(heads, tails, scores, strict=True):
        for tail in those:
            score += best[tail]
        if not reached[head] or score > best[head]:
            best[head], reached[head] = score, True
    return best


def chain_lattice(rng: np.random.Generator, n_edges: int, L: int) -> tuple[trellis.Hypergraph, Any, Any, Any]:
    """A chain of order 1 as a lattice, and its potentials with one table of label pairs and with one per token."""
    T = n_edges // (L * L)
    emit, edge = rng.normal(size=(T, L)), rng.normal(size=(L + 1, L))
    node = np.arange(T * L).reshape(T, L) + 1
    heads = [node[0], np.repeat(node[1:].reshape(-1), L), np.full(L, T * L + 1)]
    tails = [np.zeros(L, int), np.repeat(node[:-1], L, axis=0).reshape(-1), node[-1]]
    scores = [emit[0] + edge[L], (edge[:L].T[None] + emit[1:, :, None]).reshape(-1), np.zeros(L)]
    graph = trellis.Hypergraph(np.concatenate(heads), np.concatenate(tails))
    per_token = np.broadcast_to(edge, (T, L + 1, L)).copy()
    return graph, np.concatenate(scores), chain.Potentials(emit, edge), chain.Potentials(emit, per_token)
