"""What templates of arcs and of phrases share: keys of looks at places, and the columns that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trellis._support.arrays import Ints
from trellis.corpus.corpus import Corpus
from trellis.features.extraction import column_vocabulary, compact, frequent_words
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import (
    FOLD_BITS,
    KEY_BITS,
    ColumnVocabulary,
    Lookups,
    function_of,
    reach_of,
    read_lookups,
    views_of,
)

MEASURE = -1
Layout = tuple[Ints, Ints, Ints, int]  # atoms [n, 5], templates [n, 2], slots [n, 2], number of folds
Coded = tuple[Ints, Ints]  # codes [n_tokens], view ids [n_values, n_views]


def reach_of_places(templates: Sequence[Template]) -> int:
    """How far beyond a sentence templates look: the root of a tree is the first place before it."""
    return 1 + reach_of(templates)


def lay_out(
    templates: Sequence[Template],
    columns: Sequence[ColumnVocabulary],
    reach: int,
    places: Mapping[str, int],
    measures: Mapping[str, int],
) -> Layout:
    """Atoms [n, 5], templates [n, 2] and slots [n, 2] for keys, and how many folds there are.

    ``places`` have their numbers, ``measures`` the bits that their ids take, in the order of their numbers.
    """
    slots = {(c, view): None for c, column in enumerate(columns) for view in range(len(column.views))}
    numbers = {slot: i for i, slot in enumerate(slots)}
    names, order = [column.name for column in columns], list(measures)
    atoms, shapes, folds = list[list[int]](), list[list[int]](), 0
    for template in templates:
        first, used = len(atoms), 0
        for look in template.looks:
            if look.place in measures:
                slot, place, bits = order.index(look.place), MEASURE, measures[look.place]
            else:
                c = names.index(look.column)
                column, j = columns[c], columns[c].views.index(look.calls)
                strings = column.strings[j]
                n_ids = 2 * reach + len(column.values if strings is None else strings)
                slot, place, bits = numbers[c, j], places[look.place], max(1, (n_ids - 1).bit_length())
            fold = -1
            if used + bits > KEY_BITS:
                fold, used, folds = folds, FOLD_BITS, folds + 1
            used += bits
            atoms.append([slot, place, look.offset, bits, fold])
        shapes.append([first, len(atoms)])
    arrays = [np.array(rows, np.int32).reshape(-1, n) for rows, n in ((atoms, 5), (shapes, 2), (list(slots), 2))]
    return arrays[0], arrays[1], arrays[2], folds


def known_columns(
    templates: Sequence[Template], corpus: Corpus, older: Sequence[ColumnVocabulary] = ()
) -> tuple[tuple[ColumnVocabulary, ...], Lookups, list[Coded]]:
    """What a training corpus makes of the columns that templates read, and these as codes with views.

    The values of ``older`` columns come after those of the corpus.
    """
    names = list(dict.fromkeys(look.column for template in templates for look in template.looks if look.column))
    compacted = {name: compact(corpus.column(name)) for name in names}
    views, lookups = views_of(templates, names), read_lookups(templates)
    lookups |= frequent_words(
        {name: column.values for name, column in compacted.items()},
        lambda name: np.bincount(compacted[name].codes, minlength=len(compacted[name].values)),
        views,
    )
    values = {name: column.values for name, column in compacted.items()}
    values |= {column.name: values[column.name].united(column.values)[0] for column in older}
    columns = tuple(
        column_vocabulary(name, values[name], v, reach_of_places(templates), lookups)
        for name, v in zip(names, views, strict=True)
    )
    return columns, lookups, [(compacted[known.name].codes, known.view_ids) for known in columns]


class ColumnReader:
    """Encodes sentences by what is known of columns: values that training did not see get what their views say."""

    def __init__(self, columns: Sequence[ColumnVocabulary], lookups: Lookups, reach: int) -> None:
        self.columns, self.lookups, self.reach = columns, lookups, reach
        self._rows: list[dict[str, Ints]] = [
            dict(zip(column.values, column.view_ids, strict=True)) for column in columns
        ]
        self._functions = [
            [function_of(view, lookups, column.name) if view else None for view in column.views] for column in columns
        ]
        self._ids: list[list[Mapping[str, int]]] = [
            [{} if strings is None else {string: i for i, string in enumerate(strings)} for strings in column.strings]
            for column in columns
        ]

    def read(self, corpus: Corpus) -> list[Coded]:
        """Its columns as codes with views."""
        coded = list[Coded]()
        for c, column in enumerate(self.columns):
            found = compact(corpus.column(column.name))
            rows = [self._row(c, value) for value in found.values]
            coded.append((found.codes, np.array(rows, np.int32).reshape(len(rows), len(column.views))))
        return coded

    def _row(self, c: int, value: str) -> Ints:
        known = self._rows[c].get(value)
        if known is not None:
            return known
        row: Ints = np.full(len(self._functions[c]), -1, np.int32)
        for j, function in enumerate(self._functions[c]):
            said = None if function is None else function(value)
            number = -1 if said is None else self._ids[c][j].get(said, -1)
            row[j] = -1 if number < 0 else number + 2 * self.reach
        return row

    def said(self, look: Look, value: str) -> str:
        """What a look gives of a value, as text."""
        return function_of(look.calls, self.lookups, look.column)(value) or "" if look.calls else value
