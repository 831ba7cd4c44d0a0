"""A smaller tagger: without its smallest weights, and the features and strings that then have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trellis._support.arrays import Ints, starts_of
from trellis._support.compact import hashed
from trellis.engine.weights import Rows
from trellis.features.idle_strings import without_idle_strings
from trellis.features.vocabulary import KeyTables, Vocabulary
from trellis.tasks.tagging.model import Tagger


def without_small_weights(tagger: Tagger, share: float) -> Tagger:
    """Copy of a tagger without the given share of the weights of its features, the smallest ones.

    Weights of label pairs stay. A tagger with segments, votes, word vectors or a dual, whose other parts refer to its
    features, stays as it is.
    """
    model, weights = tagger.model, tagger.model.weights
    others = (model.segments, model.first, weights.votes, weights.dual, weights.parts)
    if any(part is not None for part in others) or model.vocabulary.vectors or model.vocabulary.bag is not None:
        return tagger
    rows, label_filter = _largest(weights.rows, share), model.filter
    if label_filter is not None:
        label_filter = replace(label_filter, rows=_largest(label_filter.rows, share))
    rows, rank = rows.without_empty(None if label_filter is None else label_filter.rows)
    if label_filter is not None:
        label_filter = replace(label_filter, rows=label_filter.rows.only(rank >= 0))
    vocabulary = _renumbered(model.vocabulary, rank)
    if model.dictionary is None and not vocabulary.dictionaries:
        vocabulary = without_idle_strings(vocabulary)
    return Tagger(replace(model, weights=replace(weights, rows=rows), vocabulary=vocabulary, filter=label_filter))


def _largest(rows: Rows, share: float) -> Rows:
    """The rows without the given share of their weights, the smallest ones."""
    if not len(rows.weights):
        return rows
    sizes = np.abs(rows.weights)
    kept = sizes > np.quantile(sizes, share)
    before = np.concatenate([[0], np.cumsum(kept)])
    return Rows(before[rows.starts].astype(np.uint32), rows.labels[kept], rows.weights[kept])


def _renumbered(vocabulary: Vocabulary, rank: Ints) -> Vocabulary:
    """The vocabulary with other numbers of the attributes of labels; those of rank -1 are dropped."""
    of_labels = set(vocabulary.plan.templates[: vocabulary.n_emission, 2].tolist())
    keys, ids, starts = vocabulary.tables
    chosen = [np.empty(0, np.int64)]
    for table, (begin, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        places = begin + np.flatnonzero(ids[begin:end] >= 0)
        chosen.append(places[rank[ids[places]] >= 0] if table in of_labels else places)
    places = np.concatenate(chosen)
    table_of = np.searchsorted(starts, places, "right") - 1
    numbers = np.where(
        np.isin(table_of, list(of_labels)), rank[ids[places] * np.isin(table_of, list(of_labels))], ids[places]
    )
    sizes = np.bincount(table_of, minlength=len(starts) - 1)
    slots = starts_of(2 * sizes + 1)
    arrays = hashed("tables", keys[places], numbers.astype(np.int32), slots)
    return replace(vocabulary, tables=KeyTables(arrays["tables.keys"], arrays["tables.ids"], slots))
