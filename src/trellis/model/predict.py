"""The best paths of an encoded corpus by the weights of a chain."""

from __future__ import annotations

import numpy as np

from trellis import _core
from trellis.arrays import Ints, LabelSets
from trellis.model.model import ChainWeights


def decode(corpus: _core.Encoded, weights: ChainWeights, n_threads: int, *, local: bool = False) -> Ints:
    """One label per token: of the path with the best score, or with the most votes where weights vote.

    ``local``: scores are normalised label by label first.
    """
    if weights.votes is not None:
        order = 1 if weights.tri is None else 2
        votes = weights.votes.native(corpus.n_attributes, corpus.n_edge_attributes, weights.n_labels, order)
        return vote(corpus, votes, weights, n_threads)
    if weights.expansion is not None:
        return decode_expanded(corpus, weights, n_threads)
    return corpus.decode(weights.native(local=local), n_threads)


def vote(corpus: _core.Encoded, votes: _core.Votes, weights: ChainWeights, n_threads: int) -> Ints:
    """The path with the most votes of every sentence; of the weights only what forbids label pairs and ends matters."""
    forbidden = np.where(np.isneginf(weights.edge), weights.edge, np.float32(0))
    return votes.decode(corpus, forbidden, weights.end_rows, n_threads)


def decode_expanded(corpus: _core.Encoded, weights: ChainWeights, n_threads: int) -> Ints:
    """The best paths of a kernel model."""
    from trellis.engine.chain import Potentials, best_path_batch

    assert weights.expansion is not None
    n, expansion = weights.n_labels, weights.expansion
    emit = expansion.emit(expansion.native(corpus.n_attributes, n), corpus.lists, n_threads)
    end = None if weights.end_rows is None else weights.end_rows[:, :n]
    potentials = Potentials(
        emit.astype(np.float32),
        weights.edge[:, :n],
        None if weights.tri is None else weights.tri[:, :, :n],
        end[0] if end is not None and weights.tri is None else end,
    )
    sets = None if corpus.sets is None else LabelSets(*corpus.sets)
    return best_path_batch(potentials, corpus.starts, sets, n_threads)[0]
