"""Weights of label triples as a table and as sparse n-grams: one from the other, for warm starts."""

from __future__ import annotations

import numpy as np

from trellis._support.arrays import Floats
from trellis.engine.weights import Ngrams, padded


def more_labels(ngrams: Ngrams, n_old: int, n_labels: int) -> Ngrams:
    """The same n-grams where there are more labels: START and all n-grams of two labels and more move up."""
    parents = ngrams.parents.astype(np.int64)
    parents[parents > n_old] += n_labels - n_old
    return Ngrams(parents.astype(np.uint32), ngrams.labels, ngrams.weights)


def table_to_ngrams(tri: Floats, n_labels: int) -> tuple[Ngrams, Floats]:
    """The triples that have a weight, and what a first label has in the table after START and START: [n_labels]."""
    n = n_labels
    x, y, z = np.nonzero(tri[:, :n, :n])  # START as the middle label stands for the first token alone
    pairs = np.unique(np.concatenate([x * n + y, y * n + z]))
    first, second = np.divmod(pairs, n)
    number = np.zeros((n + 1) * n, np.int64)
    number[pairs] = n + 2 + np.arange(len(pairs))
    parents = np.concatenate([first + 1, number[x * n + y]]).astype(np.uint32)
    labels = np.concatenate([second, z]).astype(np.uint16)
    weights = np.concatenate([np.zeros(len(pairs)), tri[x, y, z]]).astype(np.float32)
    return Ngrams(parents, labels, weights), tri[n, n, :n]


def ngrams_to_table(ngrams: Ngrams, n_labels: int) -> Floats:
    """[L + 1, L + 1, stride] with the weights of all n-grams of three labels; there are no longer ones."""
    n = n_labels
    tri = np.zeros((n + 1, n + 1, padded(n)), np.float32)
    long = np.flatnonzero(ngrams.lengths(n) == 3)
    pairs = ngrams.parents[long].astype(np.int64) - (n + 2)
    tri[ngrams.parents[pairs].astype(np.int64) - 1, ngrams.labels[pairs], ngrams.labels[long]] = ngrams.weights[long]
    return tri
