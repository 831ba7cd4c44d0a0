"""Label pruning: a filter of order 0 is trained first and selects a few candidate labels per token.

Müller, Schmid and Schütze 2013. The filter is a log-linear model of single labels over the same attributes. Its margin
is the maximum difference between the scores of the best label and of a candidate. It is the smallest margin with which
the given share of gold labels survives on sentences that the filter was not trained on. A token has at most MOST
candidates; otherwise the few tokens with an uncertain filter would take more time than all others.

Levels above it prune label n-grams in the same way: level k is a chain of order k over the remaining candidates. It
uses the filter's scores of labels and learns weights of (k + 1)-grams of labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from trellis import _core
from trellis._support.arrays import Bools, Floats, Ints, LabelSets, Longs, runs_of
from trellis.corpus.stream import submit
from trellis.engine.weights import Ngrams, Rows
from trellis.tasks.tagging.chain_model import FilterLevel, LabelFilter

T = TypeVar("T")
Rules = tuple[Floats, Floats]  # of label pairs [n_labels + 1, stride], of last labels [stride]

FOLDS = 2  # number of cross-validation folds
MOST = 16  # maximum number of candidates of a token
PASSES = 2
RATE = 0.5
LEAST = 0.01  # smaller residuals cause no update
FREQUENT = 2  # attributes seen less often have no weights in the filter of a corpus of more tokens than LARGE
LARGE = 100_000
LEVEL_PASSES = 1  # of levels above order 0
LEVEL_RATE = 0.5


@dataclass(frozen=True, slots=True)
class Folds:
    """Cross-validation folds: each part is pruned by a filter trained on the other parts.

    A filter that was trained on a sentence would keep little more than its gold labels, so that the learner would see
    no competing labels.
    """

    starts: Longs  # [n_sentences + 1]
    n_threads: int

    @property
    def parts(self) -> list[Longs]:
        """The sentences of each part."""
        return [np.arange(k, len(self.starts) - 1, FOLDS, dtype=np.int64) for k in range(FOLDS)]

    def trained(self, train: Callable[[int, Longs], T]) -> tuple[T, list[T]]:
        """Call ``train(number, sentences)`` for all sentences, and for all but each part."""
        everything = np.arange(len(self.starts) - 1, dtype=np.int64)
        sentences = [everything, *(np.setdiff1d(everything, part) for part in self.parts)]
        with ThreadPoolExecutor(self.n_threads) as pool:  # native code releases the GIL
            tasks = [partial(train, number, numbers) for number, numbers in enumerate(sentences)]
            full, *of_others = [future.result() for future in [submit(pool, task) for task in tasks]]
        return full, of_others

    def sets(self, sets_of: Sequence[LabelSets]) -> LabelSets:
        """Merge the label sets of all parts."""
        sets = LabelSets(np.empty(int(self.starts[-1]), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))
        for part, part_sets in zip(self.parts, sets_of, strict=True):
            sets = sets.replaced(runs_of(self.starts, part)[1], part_sets)
        return sets


def learn_filter(
    corpus: _core.Encoded, gold: Ints, shares: Sequence[float], n_threads: int, rules: Rules | None = None
) -> tuple[LabelFilter, LabelSets]:
    """Learn a filter that keeps the given shares of gold labels per level; return also the labels left for each token.

    ``rules`` are minus infinity for forbidden label pairs and last labels.
    """
    counts, folds = np.bincount(corpus.lists.ids, minlength=corpus.n_attributes), Folds(corpus.starts, n_threads)
    n_used = int((counts >= FREQUENT).sum()) if len(gold) > LARGE else corpus.n_attributes

    def train(_: int, sentences: Longs) -> _core.Filter:
        native = _core.Filter(corpus, gold, n_used=n_used)
        for number in range(PASSES):
            native.one_pass(sentences[_core.shuffled(len(sentences), number)], rate=RATE, least=LEAST)
        return native

    full, of_others = folds.trained(train)
    margins = [native.gold_margins(part, n_threads) for native, part in zip(of_others, folds.parts, strict=True)]
    margin, n_known = _margin(margins, shares[0]), sum(map(len, margins))
    candidates, scores, lost = list[LabelSets](), list[Floats](), np.zeros(len(gold), bool)
    for native, part, gaps in zip(of_others, folds.parts, margins, strict=True):
        candidates_of, scored = native.candidates(part, margin, MOST, n_threads)
        candidates.append(LabelSets.native(candidates_of))
        scores.append(scored)
        tokens = runs_of(corpus.starts, part)[1]
        is_known = gold[tokens] >= 0
        beyond = np.diff(candidates[-1].starts)[is_known] > MOST  # the gold label was added
        lost[tokens[is_known]] = beyond | (gaps > margin)
    sets = folds.sets(candidates)
    rows = Rows.native(full.rows, np.uint16)
    n_kept = float(np.diff(sets.starts)[sets.set_of].mean())
    label_filter = LabelFilter(rows, margin, MOST, 1 - int(lost.sum()) / max(1, n_known), n_kept)
    if len(shares) == 1:
        return label_filter, sets
    base = sets, np.concatenate(scores), lost
    return _with_levels(label_filter, folds, base, gold, shares[1:], corpus.n_labels, rules)


def _with_levels(
    label_filter: LabelFilter,
    folds: Folds,
    base: tuple[LabelSets, Floats, Bools],
    gold: Ints,
    shares: Sequence[float],
    n_labels: int,
    rules: Rules | None,
) -> tuple[LabelFilter, LabelSets]:
    """Add levels above order 0 to the filter, one per share; return also the remaining candidates.

    ``base`` are the candidates, their scores, and a mask of tokens whose gold label was added only because it is gold.
    A share refers to the gold n-grams that survived the lower levels.
    """
    candidates, scores, lost = base
    edge, end = rules or (None, None)
    learners = [_core.FilterLevels(n_labels, len(shares), edge, end) for _ in range(1 + FOLDS)]
    sets, levels, is_first = candidates, list[FilterLevel](), np.zeros(len(gold) + 1, bool)
    is_first[folds.starts] = True
    is_first = is_first[:-1]
    for level, share in enumerate(shares, 1):
        tokens = _core.LevelTokens(candidates, scores, sets, folds.starts, gold, n_labels)

        def train(
            number: int, sentences: Longs, level: int = level, tokens: _core.LevelTokens = tokens
        ) -> _core.FilterLevels:
            native = learners[number]
            native.begin(level, tokens)
            for epoch in range(LEVEL_PASSES):
                order = sentences[_core.shuffled(len(sentences), epoch)]
                native.one_pass(tokens, order, rate=LEVEL_RATE, least=LEAST)
            return native

        _, of_others = folds.trained(train)
        pairs = list(zip(of_others, folds.parts, strict=True))
        gaps = np.zeros(len(gold), np.float32)
        for native, part in pairs:
            gaps[runs_of(folds.starts, part)[1]] = native.gold_margins(tokens, part, folds.n_threads)
        lost[1:] |= lost[:-1] & ~is_first[1:]  # n-gram that ends here, or at the previous token
        margin = _margin([gaps[~lost]], share)
        survival = float((gaps[~lost] <= margin).mean()) if not lost.all() else 1.0
        lost |= gaps > margin
        left = [native.pruned(tokens, part, margin, folds.n_threads) for native, part in pairs]
        sets = folds.sets([LabelSets.native(sets_of) for sets_of in left])
        n_runs = 0 if sets.lattice is None else len(sets.lattice.before)
        levels.append(FilterLevel(margin, survival, n_runs / max(1, len(gold))))
    full = learners[0]
    return replace(label_filter, levels=tuple(levels), edge=full.edge, ngrams=Ngrams(**full.ngrams)), sets


def _margin(margins: Sequence[Floats], share: float) -> float:
    """The smallest margin with which that share survives; ``margins`` are best score minus gold score."""
    ascending = np.sort(np.concatenate(margins))
    return float(ascending[math.ceil(share * len(ascending)) - 1]) if len(ascending) else math.inf
