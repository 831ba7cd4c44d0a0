"""What templates of arcs and of phrases share: keys of looks at places, and the columns that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from trellis.corpus.corpus import Column, Corpus
from trellis.features.extraction import Coded, column_vocabulary, compact, frequent_words, view_table
from trellis.features.functions import Lookups
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import (
    ColumnVocabulary,
    Plan,
    bits_of,
    function_of,
    pack_keys,
    reach_of,
    read_lookups,
    views_of,
)

MEASURE = -1


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlaceVocabulary(Generic[T]):
    """Templates at places with what is known of the columns they read."""

    # Places have their numbers, measures the bits that their ids take, in the order of their numbers.
    PLACES: ClassVar[Mapping[str, int]]
    MEASURE_BITS: ClassVar[Mapping[str, int]]

    templates: T
    columns: tuple[ColumnVocabulary, ...]
    lookups: Lookups

    @property
    def all(self) -> Sequence[Template]:
        """The templates one after the other."""
        raise NotImplementedError

    @property
    def reach(self) -> int:
        """How far beyond a sentence templates look: the root of a tree is the first place before it."""
        return 1 + reach_of(self.all)

    @property
    def reader(self) -> ColumnReader:
        """Encodes sentences."""
        return ColumnReader(self.columns, self.lookups, self.reach)

    def layout(self) -> Plan:
        """The templates for native code; each has a table of its own."""
        slots = [(c, j) for c, column in enumerate(self.columns) for j in range(len(column.views))]
        names, measures = [column.name for column in self.columns], list(self.MEASURE_BITS)

        def atom_of(look: Look) -> tuple[int, int, int]:
            if look.place in measures:
                return measures.index(look.place), MEASURE, self.MEASURE_BITS[look.place]
            c = names.index(look.column)
            j = self.columns[c].views.index(look.calls)
            n_ids = 2 * self.reach + len(self.columns[c].said(j))
            return slots.index((c, j)), self.PLACES[look.place], bits_of(n_ids)

        atoms, shapes, _, n_folds = pack_keys(self.all, atom_of)
        shapes[:, 2] = np.arange(len(shapes))
        return Plan(atoms, shapes, len(shapes), n_folds, self.reach, np.array(slots, np.int32).reshape(-1, 2))


def known_columns(
    templates: Sequence[Template], corpus: Corpus, older: Sequence[ColumnVocabulary] = ()
) -> tuple[tuple[ColumnVocabulary, ...], Lookups, list[Coded]]:
    """What a training corpus makes of the columns that templates read, and these as codes with views.

    The values of ``older`` columns come after those of the corpus.
    """
    names = list(dict.fromkeys(look.column for template in templates for look in template.looks if look.column))
    compacted = {name: compact(corpus.column(name)) for name in names}
    views, lookups = views_of(templates, names), read_lookups(templates)
    values = {name: column.values for name, column in compacted.items()}
    lookups |= frequent_words(values, lambda name: compacted[name].counts(), views)
    values |= {column.name: values[column.name].united(column.values)[0] for column in older}
    columns = tuple(
        column_vocabulary(name, values[name], v, 1 + reach_of(templates), lookups)
        for name, v in zip(names, views, strict=True)
    )
    return columns, lookups, [Coded(compacted[known.name].codes, known.view_ids) for known in columns]


class ColumnReader(NamedTuple):
    """Encodes sentences by what is known of columns: values that training did not see get what their views say."""

    columns: Sequence[ColumnVocabulary]
    lookups: Lookups
    reach: int

    def read(self, corpus: Corpus) -> list[Coded]:
        """Its columns as codes with views."""
        return [self._coded(column, compact(corpus.column(column.name))) for column in self.columns]

    def _coded(self, known: ColumnVocabulary, column: Column) -> Coded:
        numbers = known.values.find(column.values)
        ids = np.full((len(numbers), len(known.views)), -1, np.int32)
        ids[numbers >= 0] = known.view_ids[numbers[numbers >= 0]]
        unseen = np.flatnonzero(numbers < 0)
        values = column.values.take(unseen)
        for j, strings in enumerate(known.strings):
            if strings is not None and len(unseen):
                said, distinct = view_table(known.views[j], values, self.lookups, known.name)
                found = np.append(strings.find(distinct), -1)[said]
                ids[unseen, j] = np.where(found < 0, -1, found + 2 * self.reach)
        return Coded(column.codes, ids)

    def said(self, look: Look, value: str) -> str:
        """What a look gives of a value, as text."""
        return function_of(look.calls, self.lookups, look.column)(value) or "" if look.calls else value
