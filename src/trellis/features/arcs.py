"""Templates of arcs made definite for a corpus: places and measures laid out for keys (core/text/places.hpp)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from trellis import _core
from trellis._support.arrays import Ints
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Column, Corpus
from trellis.features.arc_presets import ARC_PRESETS
from trellis.features.extraction import column_vocabulary, compact
from trellis.features.templates import ARC_MEASURES, Look, Template, parse_templates
from trellis.features.vocabulary import (
    FOLD_BITS,
    KEY_BITS,
    ColumnVocabulary,
    Features,
    Lookups,
    bind_look,
    function_of,
    read_lookups,
    templates_of,
    views_of,
)

PLACES = {"head": 0, "dep": 1, "sibling": 2, "between": -2}  # as in core/weights/arcs.hpp
MEASURE = -1
MEASURE_BITS = {"direction": 1, "distance": 4}
Coded = tuple[Ints, Ints]  # codes [n_tokens], view ids [n_values, n_views]


@dataclass(frozen=True, slots=True)
class ArcTemplates:
    """Templates bound to columns, in the order native code has them."""

    arcs: tuple[Template, ...]
    labelled: tuple[Template, ...]
    siblings: tuple[Template, ...]
    filter: tuple[Template, ...]  # none or one

    @property
    def all(self) -> tuple[Template, ...]:
        """One after the other."""
        return (*self.arcs, *self.labelled, *self.siblings, *self.filter)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """How many there are of each kind."""
        return len(self.arcs), len(self.labelled), len(self.siblings), len(self.filter)

    @property
    def columns(self) -> list[str]:
        """The columns that they read, in the order they name them."""
        found = (look.column for template in self.all for look in template.looks if look.column)
        return list(dict.fromkeys(found))


def arc_templates(features: Features, filter: str | None, columns: Sequence[str], order: int) -> ArcTemplates:
    """The templates of a preset, a file or a list, bound to the columns of a corpus."""
    if isinstance(features, str) and features in ARC_PRESETS:
        given = parse_templates(ARC_PRESETS[features])
    else:
        given, _ = templates_of(features, columns)
    bound = [_bound(template, columns) for template in given]
    siblings = [t for t in bound if any(look.place == "sibling" for look in t.looks)]
    others = [t for t in bound if t not in siblings]
    arcs = [t for t in others if not t.labelled]
    if not arcs:
        raise TemplateError("no template looks at an arc; add one, such as pos[head] & pos[dep]")
    if order > 1 and not siblings:
        raise TemplateError(
            "order 2 needs templates of siblings, such as pos[sibling] & pos[dep]; add one or take order 1"
        )
    filters = [] if filter is None else [_bound(template, columns) for template in parse_templates([filter])]
    if any(look.place in ("sibling", "between") for t in filters for look in t.looks) or any(
        t.labelled for t in filters
    ):
        raise TemplateError(
            "a filter looks at the head and the dependent of an arc, not at siblings, labels or between"
        )
    labelled = [t for t in others if t.labelled]
    return ArcTemplates(tuple(arcs), tuple(labelled), tuple(siblings) if order > 1 else (), tuple(filters))


def _bound(template: Template, columns: Sequence[str]) -> Template:
    if not template.of_arc and template.looks:
        raise TemplateError(
            f"template {str(template)!r} looks at tokens; a parser's templates look at arcs, as word[head]"
        )
    looks = (look if look.place in ARC_MEASURES else bind_look(look, template, columns) for look in template.looks)
    return replace(template, looks=tuple(looks))


@dataclass(frozen=True, slots=True)
class ArcVocabulary:
    """Templates of arcs with what is known of the columns they read."""

    templates: ArcTemplates
    columns: tuple[ColumnVocabulary, ...]
    lookups: Lookups

    @property
    def reach(self) -> int:
        """How far beyond a sentence a template looks: the root is the first place before it."""
        return 1 + max((abs(look.offset) for t in self.templates.all for look in t.looks), default=0)

    def layout(self) -> tuple[Ints, Ints, Ints, int]:
        """How keys are packed: see ``lay_out``."""
        return lay_out(self.templates.all, self.columns, self.reach, PLACES, MEASURE_BITS)

    def plan(self, n_labels: int) -> _core.ArcPlan:
        """Laid out for native code."""
        atoms, shapes, slots, n_folds = self.layout()
        return _core.ArcPlan(atoms, shapes, slots, n_folds, self.reach, self.templates.counts, n_labels)


def lay_out(
    templates: Sequence[Template],
    columns: Sequence[ColumnVocabulary],
    reach: int,
    places: Mapping[str, int],
    measures: Mapping[str, int],
) -> tuple[Ints, Ints, Ints, int]:
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


def arc_vocabulary(
    templates: ArcTemplates, corpus: Corpus, known: ArcVocabulary | None = None
) -> tuple[ArcVocabulary, list[Coded]]:
    """What a training corpus makes of templates, and its columns as codes with views.

    ``known`` is a vocabulary of the same templates, whose values are added.
    """
    names = templates.columns
    views, lookups = views_of(templates.all, names), read_lookups(templates.all)
    empty = ArcVocabulary(templates, (), lookups)
    compacted = [compact(_plain(corpus, name)) for name in names]
    values = [column.values for column in compacted]
    if known is not None:
        values = [own.united(column.values)[0] for own, column in zip(values, known.columns, strict=True)]
    columns = tuple(
        column_vocabulary(name, own, v.views, empty.reach, lookups)
        for name, own, v in zip(names, values, views, strict=True)
    )
    coded = [(column.codes, known.view_ids) for column, known in zip(compacted, columns, strict=True)]
    return replace(empty, columns=columns), coded


def _plain(corpus: Corpus, name: str) -> Column:
    column = corpus.column(name)
    if not isinstance(column, Column):
        raise TemplateError(f"column {name!r} has bags of attributes; a parser's templates read columns of strings")
    return column


class PlacedVocabulary(Protocol):
    """What is known of the columns that templates at places read."""

    @property
    def columns(self) -> tuple[ColumnVocabulary, ...]:
        """By their numbers."""

    @property
    def lookups(self) -> Lookups:
        """What files and training say of values."""

    @property
    def reach(self) -> int:
        """How far beyond a sentence templates look."""


class ArcReader:
    """Encodes sentences by a vocabulary: values that training did not see get what their views say."""

    def __init__(self, vocabulary: PlacedVocabulary) -> None:
        self.vocabulary = vocabulary
        self._rows: list[dict[str, Ints]] = [
            dict(zip(column.values, column.view_ids, strict=True)) for column in vocabulary.columns
        ]
        self._functions = [
            [function_of(view, vocabulary.lookups, column.name) if view else None for view in column.views]
            for column in vocabulary.columns
        ]
        self._ids: list[list[Mapping[str, int]]] = [
            [{} if strings is None else {string: i for i, string in enumerate(strings)} for strings in column.strings]
            for column in vocabulary.columns
        ]

    def read(self, corpus: Corpus) -> list[Coded]:
        """Its columns as codes with views."""
        coded = list[Coded]()
        for c, column in enumerate(self.vocabulary.columns):
            given = compact(_plain(corpus, column.name))
            rows = [self._row(c, value) for value in given.values]
            coded.append((given.codes, np.array(rows, np.int32).reshape(len(rows), len(column.views))))
        return coded

    def _row(self, c: int, value: str) -> Ints:
        known = self._rows[c].get(value)
        if known is not None:
            return known
        row: Ints = np.full(len(self._functions[c]), -1, np.int32)
        for j, function in enumerate(self._functions[c]):
            said = None if function is None else function(value)
            number = -1 if said is None else self._ids[c][j].get(said, -1)
            row[j] = -1 if number < 0 else number + 2 * self.vocabulary.reach
        return row

    def said(self, look: Look, value: str) -> str:
        """What a look gives of a value, as text."""
        if not look.calls:
            return value
        return function_of(look.calls, self.vocabulary.lookups, look.column)(value) or ""
