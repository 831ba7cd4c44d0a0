"""Remove the strings without weights from a vocabulary: most of them, after training with L1.

Views of words that are not among a column's values are computed on demand, so such words get the same attributes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trellis._support.arrays import Ints
from trellis.corpus.corpus import Strings
from trellis.features.extraction import Extraction, Extractor, freeze, known_numbers
from trellis.features.known import entries
from trellis.features.vocabulary import View, Vocabulary


def without_idle_strings(vocabulary: Vocabulary) -> Vocabulary:
    """Copy of the vocabulary with fewer strings; attributes and their numbers are unchanged."""
    keys = [entry for on_edge in (False, True) for entry in entries(vocabulary, on_edge=on_edge)]
    ids_used = _used(vocabulary, keys)
    values, more = dict[str, Strings](), dict[str, dict[View, list[str]]]()
    for c, column in enumerate(vocabulary.columns):
        in_use = {view: column.strings_of(j).take(ids_used[c, j]) for j, view in enumerate(column.views)}
        values[column.name] = in_use.pop((), Strings.of([]))
        more[column.name] = {view: strings.tolist() for view, strings in in_use.items()}
    extractor = Extractor(vocabulary.templates, values, lambda name: np.empty(0, np.int64), vocabulary, more=more)
    numbers_now = {place: _numbers(vocabulary, extractor, place, in_use) for place, in_use in ids_used.items()}

    def renamed(k: int, ids: Ints) -> Ints:
        """The view ids of template k's attributes among fewer strings."""
        out, first = ids.copy(), 2 * vocabulary.plan.reach
        for a, place in _atoms(vocabulary, k):
            inside = ids[:, a] >= first
            out[inside, a] = numbers_now[place][ids[inside, a] - first]
        return out

    growing, ranks = (extractor.growing, extractor.growing_edges), list[Ints]()
    for kind, tables in enumerate(growing):
        numbers = known_numbers(vocabulary, kind, tables, extractor.parts, renamed)()
        ranks.append(np.full(0 if tables is None else tables.n_attributes, -1, np.int32))
        ranks[kind][numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
    return replace(freeze(Extraction(extractor.vocabulary(), *growing), *ranks), bag=vocabulary.bag)


def _atoms(vocabulary: Vocabulary, k: int) -> list[tuple[int, tuple[int, int]]]:
    """Indices of a template's looks with column and view of each; empty for word vectors, which need all words."""
    first, last, _ = vocabulary.plan.templates[k].tolist()
    if vocabulary.templates[k].of_vectors:
        return []
    return [(a - first, (int(c), int(j))) for a in range(first, last) for c, j in [vocabulary.plan.atoms[a, :2]]]


def _used(vocabulary: Vocabulary, keys: list[tuple[int, Ints, Ints]]) -> dict[tuple[int, int], Ints]:
    """For each column and view, the numbers of the strings used by attributes."""
    lists_of = {
        (c, j): [np.empty(0, np.int32)] for c, column in enumerate(vocabulary.columns) for j in range(len(column.views))
    }
    for k, _, ids in keys:
        for a, place in _atoms(vocabulary, k):
            lists_of[place].append(ids[:, a] - np.int32(2 * vocabulary.plan.reach))
    return {place: np.unique(x[x >= 0]) for place, lists in lists_of.items() for x in [np.concatenate(lists)]}


def _numbers(vocabulary: Vocabulary, extractor: Extractor, place: tuple[int, int], numbers: Ints) -> Ints:
    """Map old string numbers of a view to new ids; -1 for unused strings."""
    c, j = place
    old, new = vocabulary.columns[c].strings_of(j), extractor.columns[c].strings_of(j)
    number = {string: i for i, string in enumerate(new)}
    out = np.full(len(old), -1, np.int32)
    out[numbers] = [2 * vocabulary.plan.reach + number[string] for string in old.take(numbers)]
    return out
