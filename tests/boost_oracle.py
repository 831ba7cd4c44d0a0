"""Every wrong path of every sentence of a problem, as reference/boosting.py wants them."""

from __future__ import annotations

import numpy as np
from gradient_oracle import allowed_of, potentials_of
from oracle import paths_of, score_of

from experiments.reference import Doubles
from experiments.reference.boosting import WrongPaths
from trellis.engine.weights import padded
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.parameters import Parameters


def counts_of(problem: ChainProblem, parameters: Parameters, i: int, path: tuple[int, ...]) -> Doubles:
    """Phi(x_i, path): how often every feature occurs."""
    L, stride = problem.n_labels, padded(problem.n_labels)
    phi = np.zeros(parameters.size)
    rows, edge_rows = parameters.rows, parameters.edge_rows
    first_pair = len(rows.labels) + (0 if edge_rows is None else len(edge_rows.labels))
    pairs = {int(place): first_pair + j for j, place in enumerate(parameters.edge_places)}
    triples = {int(place): first_pair + len(pairs) + j for j, place in enumerate(parameters.tri_places)}
    starts, ids, values = problem.corpus.lists
    full = (L, L, *path)
    for t in range(len(path)):
        x, y, z = full[t : t + 3]
        token, pair = int(problem.starts[i]) + t, y * stride + z
        for item in range(starts[token], starts[token + 1]):
            for slot in range(rows.starts[ids[item]], rows.starts[ids[item] + 1]):
                if rows.labels[slot] == z:
                    phi[slot] += values[item] if len(values) else 1.0
        if edge_rows is not None and problem.corpus.edge_lists is not None:
            edge_starts, edge_ids, _ = problem.corpus.edge_lists
            for item in range(edge_starts[token], edge_starts[token + 1]):
                for slot in range(edge_rows.starts[edge_ids[item]], edge_rows.starts[edge_ids[item] + 1]):
                    phi[len(rows.labels) + slot] += edge_rows.labels[slot] == pair
        for place, table in ((pair, pairs), ((x * (L + 1) + y) * stride + z, triples)):
            if place in table:
                phi[table[place]] += 1
    return phi


def sentences_of(problem: ChainProblem, parameters: Parameters, x: Doubles) -> list[WrongPaths]:
    out = []
    for i, p in enumerate(potentials_of(problem, parameters, x)):
        begin, end = int(problem.starts[i]), int(problem.starts[i + 1])
        gold = tuple(problem.gold[begin:end].tolist())
        weight = 1.0 if problem.sentence_weights is None else problem.sentence_weights[i]
        may = None if problem.corpus.sets is None else allowed_of(problem.corpus.sets, begin, end)
        paths = list(paths_of(p, may))
        of_gold = counts_of(problem, parameters, i, gold)
        u = np.array([counts_of(problem, parameters, i, path) - of_gold for path in paths])
        wrong = np.array([path != gold for path in paths])
        risk = weight * np.exp([score_of(p, path) - score_of(p, gold) for path in paths])
        out.append(WrongPaths(u[wrong], risk[wrong], u.min(axis=0), u.max(axis=0)))
    return out
