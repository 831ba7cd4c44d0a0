"""What chains answer, of one sentence: as Python objects, to compare with oracles."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from trellis.engine.chain import Chains, Potentials


class Marginals(NamedTuple):
    log_z: float
    node: np.ndarray  # [T, L]
    edge: np.ndarray  # [T, L+1, L]


def best_path(p: Potentials, allowed: Any = None) -> tuple[list[int], float]:
    paths, scores = Chains.of(p, None, allowed).best()
    return paths.tolist(), scores[0]


def kbest(p: Potentials, k: int, allowed: Any = None) -> list[tuple[list[int], float]]:
    return kbest_lists(Chains.of(p, None, allowed), k)[0]


def kbest_lists(chains: Chains, k: int, n_threads: int = 1) -> list[list[tuple[list[int], float]]]:
    """The k best of every sentence."""
    paths, scores, counts = chains.kbest(k, n_threads)
    ends = (k * chains.starts).tolist()
    tables = [paths[a:b].reshape(k, (b - a) // k).tolist() for a, b in itertools.pairwise(ends)]
    return [list(zip(tables[i][:n], scores[i, :n].tolist(), strict=True)) for i, n in enumerate(counts)]


def log_partition(p: Potentials, allowed: Any = None) -> float:
    return float(Chains.of(p, None, allowed).log_partition()[0])


def marginals(p: Potentials, allowed: Any = None) -> Marginals:
    log_z, node, edge = Chains.of(p, None, allowed).pair_marginals()
    return Marginals(float(log_z[0]), node, edge)


def path_score(p: Potentials, path: Any) -> float:
    return float(Chains.of(p).path_scores(path)[0])
