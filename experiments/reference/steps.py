"""Online learners: decode one sentence, make one step.

The perceptron is written out; of the others the step alone. There w and Phi(x, y) are one long vector, y is the path
that was decoded and d = Phi(x, gold) - Phi(x, y). A step is what is added to w.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.reference.chains import DenseWeights, Doubles, Potentials, Tokens, add_features_of, potentials, viterbi
from experiments.reference.margin import sizes_in_the_dual


def perceptron_step(weights: DenseWeights, tokens: Tokens, gold: Sequence[int]) -> bool:
    """Figure 1 of Collins (2002): alpha += Phi(x, gold) - Phi(x, best) if best != gold; True if so."""
    best, _ = viterbi(potentials(weights, tokens))
    if best == list(gold):
        return False
    add_features_of(tokens, gold, weights, 1.0)
    add_features_of(tokens, best, weights, -1.0)
    return True


def perceptron(
    sentences: Sequence[Tokens],
    golds: Sequence[Sequence[int]],
    n_features: int,
    n_labels: int,
    order: int,
    epochs: int,
) -> tuple[DenseWeights, DenseWeights]:
    """The final parameters alpha, and the averaged ones by their definition (section 2.5).

    gamma = sum over t, i of alpha^{t,i} / (n T), alpha^{t,i} being alpha after sentence i in pass t.
    """
    alpha = DenseWeights.zeros(n_features, n_labels, order)
    gamma = DenseWeights.zeros(n_features, n_labels, order)
    for _ in range(epochs):
        for tokens, gold in zip(sentences, golds, strict=True):
            perceptron_step(alpha, tokens, gold)
            for total, table in zip(gamma.tables(), alpha.tables(), strict=True):
                total += table
    for total in gamma.tables():
        total /= max(1, epochs * len(sentences))
    return alpha, gamma


def elected(moments: Sequence[Potentials]) -> list[int]:
    """The voted perceptron (section 3.2): every moment's weights vote for a path; of equals the first voted for."""
    votes: dict[tuple[int, ...], int] = {}
    for p in moments:
        path = tuple(viterbi(p)[0])
        votes[path] = votes.get(path, 0) + 1
    winner, _ = max(votes.items(), key=lambda one: one[1])
    return list(winner)


def mira_step(w: Doubles, d: Doubles, costs: Doubles, C: float) -> Doubles:
    """argmin ½ |step|² + C xi with (w + step) · d_j >= cost_j - xi for the k best paths by score + cost, d [k, F]."""
    return sizes_in_the_dual(w, d, costs, C) @ d


def passive_aggressive_step(w: Doubles, d: Doubles, cost: float, variant: str, C: float) -> Doubles:
    """loss / |d|² · d (PA), C · d at most (PA-I), softened (PA-II); loss = sqrt(cost) - w · d (Crammer et al. 2006)."""
    loss, norm = np.sqrt(cost) - w @ d, d @ d
    if loss <= 0 or norm == 0:
        return np.zeros(len(d))
    sizes = {"PA": loss / norm, "PA-I": min(C, loss / norm), "PA-II": loss / (norm + 1 / (2 * C))}
    return np.asarray(sizes[variant] * d)


def arow_step(w: Doubles, variance: Doubles, d: Doubles, cost: float, r: float) -> tuple[Doubles, Doubles]:
    """loss / (d · V d + r) · V d, and the new variances: 1 / V += d² / r (Crammer, Kulesza and Dredze 2009)."""
    loss, norm = cost - w @ d, d @ (variance * d)
    if loss <= 0 or norm == 0:
        return np.zeros(len(d)), variance
    return loss / (norm + r) * variance * d, 1 / (1 / variance + d**2 / r)
