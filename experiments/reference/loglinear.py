"""Log-linear models: losses of one sentence, and their gradients.

A conditional random field gives a path the probability p(y | x) = exp(score(y)) / Z; a maximum entropy tagger gives
each label one, given the labels before it. Training minimises a sum of the losses below over all sentences, plus a
penalty c2 |w|^2 + c1 |w|_1. The gradient is always what the model expects of each feature less what is observed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from experiments.reference.chains import (
    DenseWeights,
    Doubles,
    Potentials,
    Tokens,
    add_features_of,
    joints,
    log_partition,
    log_sum_exp,
    potentials,
    restrict,
)


def crf_loss(p: Potentials, consistent: Sequence[Sequence[int]]) -> float:
    """-log p(gold | x) = log Z - log Z', Z' the sum over the paths consistent with the (partial) gold labels.

    ``consistent`` has the labels that each token may have: one where the label is known.
    """
    return log_partition(p) - log_partition(replace(p, emit=restrict(p.emit, consistent)))


def crf_gradient(weights: DenseWeights, tokens: Tokens, gold: Sequence[int]) -> DenseWeights:
    """d/dw -log p(gold | x) = E[Phi(x, y)] - Phi(x, gold), the expectation over all paths y."""
    gradient = _like(weights)
    for t, joint in joints(potentials(weights, tokens)):  # [.., y, z]
        L = joint.shape[-1]
        edge = joint.reshape(-1, L + 1, L).sum(axis=0)
        for f in tokens[t]:
            gradient.emit[f] += edge.sum(axis=0)
        gradient.edge[...] += edge
        if gradient.tri is not None:
            gradient.tri[...] += joint
    add_features_of(tokens, gold, gradient, -1.0)
    return gradient


def exponential_gradient(
    weights: DenseWeights, sentences: Sequence[Tokens], golds: Sequence[Sequence[int]]
) -> tuple[float, DenseWeights]:
    """R(w) = sum_i (1 / p(gold_i | x_i) - 1), and its gradient sum_i 1 / p(gold_i | x_i) times that of the CRF."""
    risk, gradient = 0.0, _like(weights)
    for tokens, gold in zip(sentences, golds, strict=True):
        inverse = np.exp(crf_loss(potentials(weights, tokens), [[z] for z in gold]))
        risk += inverse - 1
        for total, table in zip(gradient.tables(), crf_gradient(weights, tokens, gold).tables(), strict=True):
            total += inverse * table
    return float(risk), gradient


# ------------------------------------------------------------ maximum entropy


def local_scores(p: Potentials, path: Sequence[int]) -> Iterator[Doubles]:
    """The scores [L] of the labels of each token, given the labels of the path before it."""
    history = (p.emit.shape[1],) * p.order
    for t, z in enumerate(path):
        yield p.emit[t] + p.edge_at(t)[history[-1]] + (0.0 if p.tri is None else p.tri[history])
        history = (*history[1:], z)


def local_loss(p: Potentials, gold: Sequence[int]) -> float:
    """-sum_t log p(z_t | z_{t-2}, z_{t-1}, x): each label has a normaliser of its own, where the CRF has one Z."""
    steps = zip(local_scores(p, gold), gold, strict=True)
    return float(sum(log_sum_exp(scores, 0) - scores[z] for scores, z in steps))


def local_gradient(weights: DenseWeights, tokens: Tokens, gold: Sequence[int]) -> DenseWeights:
    """Expected less observed features, given the gold labels before each token."""
    gradient = _like(weights)
    x = y = weights.emit.shape[1]
    for features, scores, z in zip(tokens, local_scores(potentials(weights, tokens), gold), gold, strict=True):
        expected = np.exp(scores - log_sum_exp(scores, 0))  # [L]
        for f in features:
            gradient.emit[f] += expected
        gradient.edge[y] += expected
        if gradient.tri is not None:
            gradient.tri[x, y] += expected
        x, y = y, z
    add_features_of(tokens, gold, gradient, -1.0)
    return gradient


def _like(weights: DenseWeights) -> DenseWeights:
    n_features, n_labels = weights.emit.shape
    return DenseWeights.zeros(n_features, n_labels, 1 if weights.tri is None else 2)
