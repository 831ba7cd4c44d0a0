"""Edge attributes of a training corpus (attributes with label n-grams), and the label n-grams seen with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arrays import Bytes, Ints, Longs, Ragged
from trellis.engine.weights import Ngrams, Rows, padded
from trellis.features.templates import FAR, FAR_KINDS
from trellis.features.vocabulary import Vocabulary
from trellis.tasks.tagging.constraints import neighbours


class Seen(NamedTuple):
    """Occurrences of attributes: tokens, and the label or the column of edge rows at each."""

    lists: Ragged  # attributes of all tokens of a chunk
    tokens: Longs
    labels: Ints  # [n] of these tokens


@dataclass(frozen=True, slots=True)
class Edges:
    """The edge attributes that get weights."""

    rank: Ints  # [n attributes of the extraction] new numbers, -1 if dropped
    lists: Ragged | None = None  # attributes of every token; None without such templates
    seen_rows: Rows | None = None  # label n-grams seen with them
    histories: Bytes | None = None  # [n] number of preceding labels, or code of labels further back; None: all have one
    ngrams: Ngrams | None = None  # n-grams with columns in ``seen``
    same: Ints | None = None  # [n_tokens] previous token with the same word, if labels further back are used


def runs_seen(
    lists: Ragged, histories: Bytes, gold: Ints, starts: Longs, n_labels: int, ngrams: Ngrams | None
) -> list[Seen]:
    """Label pairs or n-grams seen with edge attributes."""
    if ngrams is None:  # all have one preceding label
        previous, _ = neighbours(gold, starts, n_labels)
        tokens_of = np.flatnonzero((previous >= 0) & (gold >= 0))
        return [Seen(lists, tokens_of, (previous[tokens_of] * padded(n_labels) + gold[tokens_of]).astype(np.int32))]
    runs = list[Seen]()
    for history in np.unique(histories[histories < FAR]).tolist():
        selected = lists.renumber(np.where(histories == history, np.arange(len(histories)), -1).astype(np.int32))
        columns = label_columns(ngrams, gold, starts, n_labels, history)
        tokens = np.flatnonzero(columns >= 0)
        runs.append(Seen(selected, tokens, columns[tokens]))
    return runs


def ngrams_of(gold: Ints, starts: Longs, n_labels: int, order: int, first: Ngrams | None) -> Ngrams:
    """The n-grams of the gold labels, numbered after the ``first`` ones."""
    ngrams, _ = _core.seen_ngrams(n_labels, order, gold, starts, null=True, weights=None, first=first)
    return Ngrams(**ngrams, weights=np.zeros(len(ngrams["labels"]), np.float32))


def label_columns(ngrams: Ngrams, gold: Ints, starts: Longs, n: int, history: int) -> Ints:
    """For each token the column of the weights of its label and the ``history`` labels before it, or -1."""
    keys = np.append(ngrams.parents.astype(np.int64) << 16 | ngrams.labels, 1 << 62)  # sentinel
    order, tokens, pairs = np.argsort(keys), np.arange(len(gold)), (n + 1) * padded(n)
    since = tokens - np.repeat(starts[:-1], np.diff(starts))
    node = np.where(since < history, n + 1, 0)  # START before the sentence, else no label
    for distance in range(min(history, int(since.max(initial=0))), -1, -1):
        label = gold[np.maximum(tokens - distance, 0)].astype(np.int64)
        at = order[np.searchsorted(keys, node << 16 | label, sorter=order)]
        longer = np.where(keys[at] == node << 16 | label, at + n + 2, -1)
        longer = np.where(label < 0, -1, np.where(node == 0, label + 1, longer))
        node = np.where(distance > since, node, longer)
    pair = neighbours(gold, starts, n)[0] * padded(n) + gold
    return np.where(node < 0, -1, np.where((since == 0) | (history == 1), pair, pairs + node)).astype(np.int32)


def far_seen(lists: Ragged, about: Bytes, gold: Ints, starts: Longs, same: Ints | None, n_labels: int) -> list[Seen]:
    """Label pairs seen with attributes of labels further back: that label and the token's label."""
    tokens, runs = np.arange(len(gold)), list[Seen]()
    first = np.repeat(starts[:-1], np.diff(starts))
    for kind in np.unique(about[about >= FAR]).tolist():
        selected = lists.renumber(np.where(about == kind, np.arange(len(about)), -1).astype(np.int32))
        at = tokens
        if kind == FAR_KINDS["any"]:
            # Each label of a sentence is seen from its first token on.
            sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            _, uses = np.unique(sentence * n_labels + gold, return_index=True)
            sizes = starts[sentence[uses] + 1] - uses - 1
            previous = np.repeat(gold[uses], sizes)
            at = np.repeat(uses + 1 - np.cumsum(sizes) + sizes, sizes) + np.arange(len(previous))
            selected = selected.take(at)
        else:
            if kind == FAR_KINDS["same"]:
                assert same is not None
                source = np.where(same >= 0, first + same, -1)
            else:
                source = np.where(tokens - first >= kind - FAR, tokens - (kind - FAR), -1)
            previous = np.where(source >= 0, gold[source], n_labels)
        runs.append(Seen(selected, np.arange(len(at)), (previous * padded(n_labels) + gold[at]).astype(np.int32)))
    return runs


def edge_histories(vocabulary: Vocabulary, growing: _core.GrowingVocabulary | None, rank: Ints | None = None) -> Bytes:
    """Code of the preceding labels of each edge attribute, by its original number or by its ``rank``."""
    first, of_table = vocabulary.n_emission, np.ones(vocabulary.plan.n_tables, np.uint8)
    of_table[vocabulary.plan.templates[first:, 2]] = [t.history_code for t in vocabulary.templates[first:]]
    n_given = 0 if vocabulary.bag is None or vocabulary.bag.pairs is None else int((vocabulary.bag.pairs >= 0).sum())
    of_templates = np.empty(0, np.uint8) if growing is None else np.repeat(of_table, growing.table_sizes)
    histories = np.concatenate([of_templates, np.ones(n_given, np.uint8)])  # free-form ones have one preceding label
    if rank is None:
        return histories
    out = np.empty(int(rank.max(initial=-1)) + 1, np.uint8)
    out[rank[rank >= 0]] = histories[rank >= 0]
    return out
