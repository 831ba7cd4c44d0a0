"""Cross-validation inside a training problem: what is held out counts for nothing in training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.arrays import Ragged
from trellis.errors import LearnerError
from trellis.learning.problem import Problem
from trellis.model.model import ChainWeights
from trellis.model.predict import decode

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fold:
    """One part held out."""

    sentence_weights: npt.NDArray[np.float64]  # [n_sentences] of the whole corpus, 0 where held out
    corpus: _core.Encoded  # the held-out sentences
    gold: npt.NDArray[np.int32]  # [n_tokens] their labels

    def n_right(self, weights: ChainWeights, n_threads: int) -> int:
        """How many held-out tokens get their label."""
        return int((decode(self.corpus, weights, n_threads, local=False) == self.gold).sum())


def folds_of(problem: Problem, n: int, seed: int) -> Iterator[Fold]:
    """The sentences dealt into n parts like cards, after shuffling; each is held out once."""
    if problem.n_sentences < n:
        raise LearnerError(f"{n} folds need {n} sentences at least, but there are {problem.n_sentences}")
    order = _core.shuffled(problem.n_sentences, seed % 2**64)
    whole = np.ones(problem.n_sentences) if problem.sentence_weights is None else problem.sentence_weights
    for part in range(n):
        held_out = np.sort(order[part::n])
        weights = whole.copy()
        weights[held_out] = 0
        tokens = _tokens_of(problem.starts, held_out)
        yield Fold(weights, _taken(problem, held_out, tokens), problem.gold[tokens])


def _tokens_of(starts: Longs, sentences: Longs) -> Longs:
    parts = [np.arange(starts[s], starts[s + 1]) for s in sentences.tolist()]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _taken(problem: Problem, sentences: Longs, tokens: Longs) -> _core.Encoded:
    """Some sentences of an encoded corpus as a corpus of their own."""
    corpus = problem.corpus
    starts = np.concatenate([[0], np.cumsum(np.diff(problem.starts)[sentences])]).astype(np.int64)
    edge_lists = None if corpus.edge_lists is None else Ragged(*corpus.edge_lists).take(tokens).arrays
    sets = None
    if corpus.sets is not None:
        set_of_token, set_starts, set_labels = corpus.sets
        sets = (np.ascontiguousarray(set_of_token[tokens]), set_starts, set_labels)
    return _core.Encoded(
        starts,
        Ragged(*corpus.lists).take(tokens).arrays,
        edge_lists,
        sets,
        corpus.n_attributes,
        corpus.n_edge_attributes,
        problem.n_labels,
    )
