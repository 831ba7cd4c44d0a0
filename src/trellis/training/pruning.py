"""Pruning labels: a filter of order 0 is trained first and leaves each token few candidate labels.

Müller, Schmid and Schütze 2013. The filter is a log-linear model of single labels over the same attributes. Its margin,
by how much a candidate may score less than the best label, is the smallest with which so many gold labels survive on
sentences that the filter has not been trained on. Of more than MOST candidates the best are taken: the few tokens of
which a filter knows little would else cost more than all others.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from trellis import _core
from trellis.arrays import Ints, LabelSets, Longs, runs_of
from trellis.model.model import LabelFilter, Rows

SURVIVAL = 0.997  # the share of gold labels that survive, unless one is given
FOLDS = 2  # what is held out of a filter is one of so many parts
MOST = 16  # candidates of a token at most
PASSES = 2
RATE = 0.5
LEAST = 0.01  # a residual below it makes no step
FREQUENT = 2  # attributes seen less often have no weights in the filter of a corpus of more tokens than LARGE
LARGE = 100_000


def learn_filter(corpus: _core.Encoded, gold: Ints, share: float, n_threads: int) -> tuple[LabelFilter, LabelSets]:
    """The filter with which that share of gold labels survives, and the candidates of every token.

    The candidates of a sentence are by a filter of the other folds: one that was trained on the sentence would leave
    little but its gold labels, and a learner would see no labels that compete with them.
    """
    counts, starts = _core.count_attributes(corpus.lists[1], corpus.n_attributes), corpus.starts
    n_used = int((counts >= FREQUENT).sum()) if len(gold) > LARGE else corpus.n_attributes
    everything = np.arange(len(starts) - 1, dtype=np.int64)

    def trained(sentences: Longs) -> _core.Filter:
        native = _core.Filter(corpus, gold, n_used=n_used)
        for number in range(PASSES):
            native.one_pass(sentences[_core.shuffled(len(sentences), number)], rate=RATE, least=LEAST)
        return native

    folds = [everything[everything % FOLDS == k] for k in range(FOLDS)]
    others = [everything[everything % FOLDS != k] for k in range(FOLDS)]
    with ThreadPoolExecutor(n_threads) as threads:  # native code lets go of the GIL
        whole, *of_others = threads.map(trained, [everything, *others])
    margins = [native.gold_margins(fold, n_threads) for native, fold in zip(of_others, folds, strict=True)]
    ascending = np.sort(np.concatenate(margins))
    margin = float(ascending[math.ceil(share * len(ascending)) - 1]) if len(ascending) else math.inf
    sets = LabelSets(np.empty(len(gold), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))
    n_lost = 0
    for native, fold, gaps in zip(of_others, folds, margins, strict=True):
        _, tokens = runs_of(starts, fold)
        found = LabelSets(*native.candidates(fold, margin, MOST, n_threads))
        beyond = np.diff(found.starts)[gold[tokens] >= 0] > MOST  # the gold label is one too many
        n_lost += int((beyond | (gaps > margin)).sum())
        sets = sets.replaced(tokens, found)
    row_starts, labels, weights = whole.rows
    rows = Rows(row_starts, labels.astype(np.uint16), weights)
    n_kept = float(np.diff(sets.starts)[sets.set_of].mean())
    return LabelFilter(rows, margin, MOST, 1 - n_lost / max(1, len(ascending)), n_kept), sets
