"""Which attributes get weights, and corpora encoded for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trellis import _core
from trellis.arrays import Bools, Ints, LabelSets, Longs, Ragged, starts_of
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.strings import Strings
from trellis.evaluation.report import METRICS, evaluate_columns
from trellis.features.extraction import encode
from trellis.features.vocabulary import Vocabulary
from trellis.model.predict import decode
from trellis.model.weights import ChainWeights, Rows
from trellis.training.labels import target_column

Pairs = Literal["seen", "all"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a corpus is encoded for."""

    n_attributes: int
    n_edge_attributes: int
    n_labels: int

    def bind(
        self, starts: Longs, lists: Ragged, edge_lists: Ragged | None, sets: LabelSets | None
    ) -> _core.Encoded:
        """An encoded corpus, checked once and ready for native code."""
        return _core.Encoded(
            starts,
            lists.arrays,
            None if edge_lists is None else edge_lists.arrays,
            sets,
            self.n_attributes,
            self.n_edge_attributes,
            self.n_labels,
        )


def select(
    lists: Ragged,
    seen: tuple[Longs, Ints],
    n_attributes: int,
    cutoff: int,
    pairs: Pairs,
    known: Ints,
) -> tuple[Ints, Rows | None]:
    """The new number of every attribute, most frequent first and -1 for those cut; with "seen", their labels.

    A feature is an attribute with a label; ``seen`` are the tokens and labels of training. With pairs "seen" the
    cut-off is on how often the two were seen together, with "all" it is on the attribute. Attributes that were
    ``known`` before are kept whatever they count.
    """
    frequency = np.bincount(lists.ids, minlength=n_attributes)
    alive = np.zeros(n_attributes, bool)
    alive[known] = True
    if pairs == "all":
        alive |= frequency >= max(1, cutoff)
        return _by_frequency(frequency, alive), None
    tokens, labels_of_tokens = seen
    kept_lists = lists if len(tokens) == len(lists.starts) - 1 else lists.take(tokens)
    starts, labels, counts = _core.count_pairs(
        kept_lists.starts, kept_lists.ids, labels_of_tokens, n_attributes
    )
    attribute = np.repeat(np.arange(n_attributes), np.diff(starts))
    kept = counts >= max(1, cutoff)
    attribute, labels = attribute[kept], labels[kept]
    sizes = np.bincount(attribute, minlength=n_attributes)
    rank = _by_frequency(frequency, alive | (sizes > 0))
    by_rank = np.argsort(np.where(rank < 0, n_attributes, rank), kind="stable")[
        : int(rank.max(initial=-1)) + 1
    ]
    row_starts = starts_of(sizes[by_rank]).astype(np.uint32)
    row_labels = labels[np.argsort(rank[attribute], kind="stable")]
    return rank, Rows(row_starts, row_labels, np.zeros(len(row_labels), np.float32))


def _by_frequency(frequency: Longs, alive: Bools) -> Ints:
    order = np.argsort(-np.where(alive, frequency, -1), kind="stable")[: int(alive.sum())]
    rank = np.full(len(frequency), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank


def previous_labels(gold: Ints, starts: Longs, null: int) -> Longs:
    """The label before each token, NULL at the beginning of a sentence, -1 where it is not known."""
    before = np.concatenate([[null], gold[:-1]]).astype(np.int64)
    firsts = starts[:-1]
    before[firsts[firsts < len(gold)]] = null
    return before


def chained(first: Ints, second: Ints) -> Ints:
    """One renumbering after another; -1 stays dropped."""
    out = np.full(len(first), -1, np.int32)
    out[first >= 0] = second[first[first >= 0]]
    return out


def dev_scorer(
    dev: Corpus,
    target: str,
    labels: tuple[str, ...],
    vocabulary: Vocabulary,
    dictionary: LabelSets | None,
    sizes: Sizes,
    metric: str,
    n_threads: int,
    *,
    local: bool,
) -> Callable[[ChainWeights], float]:
    """A function from weights to their score on the dev corpus."""
    gold, label_strings = target_column(dev, target), Strings.of(labels)
    lists, edge_lists = encode(vocabulary, dev, n_threads)
    sets: LabelSets | None = None
    if dictionary is not None:
        known = {value: i for i, value in enumerate(vocabulary.columns[0].values)}
        words = dev.column(vocabulary.columns[0].name)
        of_value = [dictionary.set_of[known[value]] if value in known else 0 for value in words.values]
        sets = dictionary._replace(set_of=np.array(of_value, np.int32)[words.codes])
    encoded = sizes.bind(dev.starts, lists, edge_lists, sets)

    def score(weights: ChainWeights) -> float:
        guessed = decode(encoded, weights, n_threads, local=local)
        return METRICS[metric](evaluate_columns(gold, Column(guessed, label_strings), dev.starts))

    return score
