"""The best paths of an encoded corpus by the weights of a chain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.engine.weights import ChainWeights


def decode(
    corpus: _core.Encoded, weights: ChainWeights, n_threads: int, *, local: bool = False
) -> npt.NDArray[np.int32]:
    """One label a token: of the path with the best score, or with the most votes where weights vote.

    ``local``: scores are normalised label by label first.
    """
    if weights.votes is not None:
        order = 1 if weights.tri is None else 2
        votes = weights.votes.native(corpus.n_attributes, corpus.n_edge_attributes, weights.n_labels, order)
        return vote(corpus, votes, weights, n_threads)
    edge_rows = None if weights.edge_rows is None else weights.edge_rows.arrays
    return corpus.decode(
        weights.rows.arrays, edge_rows, weights.edge, weights.tri, weights.end_rows, n_threads, local
    )


def vote(
    corpus: _core.Encoded, votes: _core.Votes, weights: ChainWeights, n_threads: int
) -> npt.NDArray[np.int32]:
    """The path with the most votes of every sentence; of the weights only what forbids label pairs and ends matters."""
    forbidden = np.where(np.isneginf(weights.edge), weights.edge, np.float32(0))
    return votes.decode(corpus, forbidden, weights.end_rows, n_threads)
