"""The oracle of all chain tests: every label sequence, scored by the formula and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.reference import Doubles, Potentials


def paths_of(p: Potentials, allowed: Sequence[Sequence[int]] | None = None) -> Iterator[tuple[int, ...]]:
    T, L = p.emit.shape
    return itertools.product(*(range(L) if allowed is None else allowed[t] for t in range(T)))


def score_of(p: Potentials, path: Sequence[int]) -> float:
    T, L = p.emit.shape
    n = 1 if p.tri is None else p.tri.ndim - 1  # labels back
    full = (*(L,) * n, *path)
    score = np.float64(0.0)
    for t in range(T):
        *_, y, z = ngram = full[t : t + n + 1]
        if p.tri is not None:
            score = score + p.tri[tuple(ngram)]
        score = score + (p.edge[t, y, z] if p.edge.ndim == 3 else p.edge[y, z])
        score = score + p.emit[t, z]
    if T and p.end is not None:
        score = score + p.end[full[-1]]
    return float(score)


def ranked(p: Potentials, allowed: Sequence[Sequence[int]] | None = None) -> list[tuple[list[int], float]]:
    """All paths, best first, equal scores by the reversed path."""
    scored = [(list(path), score_of(p, path)) for path in paths_of(p, allowed)]
    return sorted(scored, key=lambda one: (-one[1], one[0][::-1]))


def sums(p: Potentials) -> tuple[float, Doubles, Doubles]:
    """log Z, node and edge marginals."""
    T, L = p.emit.shape
    scored = ranked(p)
    top = scored[0][1]
    node, edge = np.zeros((T, L)), np.zeros((T, L + 1, L))
    if top == -np.inf:
        return -np.inf, node, edge
    total = 0.0
    for path, score in scored:
        weight = np.exp(score - top)
        total += weight
        for t, (y, z) in enumerate(itertools.pairwise([L, *path])):
            node[t, z] += weight
            edge[t, y, z] += weight
    return float(top + np.log(total)), node / total, edge / total
