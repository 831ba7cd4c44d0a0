"""Shared code of templates of arcs and of phrases: keys of looks at places, and the columns they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Longs
from trellis.corpus.corpus import Corpus
from trellis.features.extraction import Coded, column_vocabulary, compact, frequent_words, view_table
from trellis.features.functions import Lookups
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import ColumnVocabulary, Plan, bits_of, pack_keys, reach_of, read_lookups, views_of

MEASURE = -1
Keys = npt.NDArray[np.uint64]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlaceVocabulary(Generic[T]):
    """Templates at places with the vocabularies of their columns."""

    # Places have their numbers, measures the bits that their ids take, in the order of their numbers.
    PLACES: ClassVar[Mapping[str, int]]
    MEASURE_BITS: ClassVar[Mapping[str, int]]
    BEFORE: ClassVar[str] = "_B-1"  # the value before the first word

    templates: T
    columns: tuple[ColumnVocabulary, ...]
    lookups: Lookups
    reach: int = field(init=False)  # maximum distance of looks beyond a sentence: the root is the first place before it

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", 1 + reach_of(self.all))

    @property
    def all(self) -> Sequence[Template]:
        """The templates one after the other."""
        raise NotImplementedError

    @property
    def keyed(self) -> Sequence[Template]:
        """Templates as their keys are: each has a table."""
        return self.all

    def read(self, corpus: Corpus) -> list[Coded]:
        """Columns of sentences as codes with views; views of values unseen in training are computed."""
        coded = list[Coded]()
        for vocabulary in self.columns:
            column = compact(corpus.column(vocabulary.name))
            numbers = vocabulary.values.find(column.values)
            ids = np.full((len(numbers), len(vocabulary.views)), -1, np.int32)
            ids[numbers >= 0] = vocabulary.view_ids[numbers[numbers >= 0]]
            unseen = np.flatnonzero(numbers < 0)
            values = column.values.take(unseen)
            for j, strings in enumerate(vocabulary.strings):
                if strings is not None and len(unseen):
                    view_ids, distinct = view_table(vocabulary.views[j], values, self.lookups, vocabulary.name)
                    number_of = np.append(strings.find(distinct), -1)[view_ids]
                    ids[unseen, j] = np.where(number_of < 0, -1, number_of + 2 * self.reach)
            coded.append(Coded(column.codes, ids))
        return coded

    def layout(self) -> Plan:
        """Templates as arrays for native code; each has its own table."""
        slots = [(c, j) for c, column in enumerate(self.columns) for j in range(len(column.views))]
        names, measures = [column.name for column in self.columns], list(self.MEASURE_BITS)

        def atom_of(look: Look) -> tuple[int, int, int]:
            if look.place in measures:
                return measures.index(look.place), MEASURE, self.MEASURE_BITS[look.place]
            c = names.index(look.column)
            j = self.columns[c].views.index(look.calls)
            n_ids = 2 * self.reach + len(self.columns[c].strings_of(j))
            return slots.index((c, j)), self.PLACES[look.place], bits_of(n_ids)

        atoms, shapes, _, n_folds = pack_keys(self.keyed, atom_of)
        shapes[:, 2] = np.arange(len(shapes))
        return Plan(atoms, shapes, len(shapes), n_folds, self.reach, np.array(slots, np.int32).reshape(-1, 2))

    def names(self, t: int, keys: Keys, folds: Sequence[Keys], measures: Mapping[str, Sequence[str]]) -> list[str]:
        """Attributes of a template as a person reads them, ``pos[head]=VB & distance=1``; ``measures`` by their ids."""
        ids = unpacked(keys, self.layout().atoms_of(t), folds)
        texts = [self.texts(look, col.tolist(), measures) for look, col in zip(self.all[t].looks, ids, strict=True)]
        return [" & ".join(row) for row in zip(*texts, strict=True)] if texts else ["bias"] * len(keys)

    def texts(self, look: Look, ids: Sequence[int], measures: Mapping[str, Sequence[str]]) -> list[str]:
        """Texts of the values of a look, by id."""
        if look.place in measures:
            return [f"{look}={measures[look.place][i]}" for i in ids]
        column, reach = next(column for column in self.columns if column.name == look.column), self.reach
        strings, padding = column.strings_of(column.views.index(look.calls)), [f"_B+{i}" for i in range(1, reach + 1)]
        outside = [self.BEFORE, *(f"_B-{i}" for i in range(2, reach + 1)), *padding]  # the name used by taggers
        return [f"{look}={strings[i - 2 * reach] if i >= 2 * reach else outside[i]}" for i in ids]


def unpacked(keys: Keys, atoms: Sequence[Sequence[int]], folds: Sequence[Keys]) -> list[Longs]:
    """Unpack the ids in keys, look by look (core/text/extract.hpp)."""
    ids = list[Longs]()
    for *_, bits, fold in reversed(atoms):
        ids.append((keys & np.uint64((1 << bits) - 1)).astype(np.int64))
        keys = keys >> np.uint64(bits)
        keys = folds[fold][keys.astype(np.int64)] if fold >= 0 else keys
    return ids[::-1]


def known_columns(
    templates: Sequence[Template], corpus: Corpus, older: Sequence[ColumnVocabulary] = ()
) -> tuple[tuple[ColumnVocabulary, ...], Lookups, list[Coded]]:
    """Vocabularies of the columns that templates read in a training corpus, and these columns as codes with views.

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
    return columns, lookups, [Coded(compacted[vocabulary.name].codes, vocabulary.view_ids) for vocabulary in columns]
