"""Templates of arcs made definite for a corpus: places and measures laid out for keys (core/text/places.hpp)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from trellis import _core
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Corpus
from trellis.features.arc_presets import ARC_PRESETS
from trellis.features.extraction import Coded
from trellis.features.places import PlaceVocabulary, known_columns
from trellis.features.templates import Template, parse_template
from trellis.features.vocabulary import ColumnVocabulary, TemplateSource, bind, templates_of


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


def arc_templates(features: TemplateSource, filter: str | None, columns: Sequence[str], order: int) -> ArcTemplates:
    """The templates of a preset, a file or a list, bound to the columns of a corpus."""
    bound = [_bound(template, columns) for template in templates_of(features, columns, ARC_PRESETS)[0]]
    siblings = [t for t in bound if any(look.place == "sibling" for look in t.looks)]
    others = [t for t in bound if t not in siblings]
    arcs = [t for t in others if not t.labelled]
    if not arcs:
        raise TemplateError("no template looks at an arc; add one, such as pos[head] & pos[dep]")
    if order > 1 and not siblings:
        why = "order 2 needs templates of siblings, such as pos[sibling] & pos[dep]"
        raise TemplateError(f"{why}; add one or take order 1")
    filters = [] if filter is None else [_bound(parse_template(filter), columns)]
    if any(t.labelled or {look.place for look in t.looks} & {"sibling", "between"} for t in filters):
        why = "a filter looks at the head and the dependent of an arc"
        raise TemplateError(f"{why}, not at siblings, labels or between")
    labelled = [t for t in others if t.labelled]
    return ArcTemplates(tuple(arcs), tuple(labelled), tuple(siblings) if order > 1 else (), tuple(filters))


def _bound(template: Template, columns: Sequence[str]) -> Template:
    if not template.of_arc and template.looks:
        why = "looks at tokens; a parser's templates look at arcs, as word[head]"
        raise TemplateError(f"template {str(template)!r} {why}")
    return bind(template, columns)


class ArcVocabulary(PlaceVocabulary[ArcTemplates]):
    """Templates of arcs with what is known of the columns they read."""

    __slots__ = ()
    PLACES: ClassVar = {"head": 0, "dep": 1, "sibling": 2, "between": -2}  # as in core/weights/arcs.hpp
    MEASURE_BITS: ClassVar = {"direction": 1, "distance": 4}

    @property
    def all(self) -> tuple[Template, ...]:
        """The templates one after the other."""
        return self.templates.all

    def plan(self, n_labels: int) -> _core.ArcPlan:
        """Laid out for native code."""
        return _core.ArcPlan(self.layout(), self.templates.counts, n_labels)


def arc_vocabulary(
    templates: ArcTemplates, corpus: Corpus, older: Sequence[ColumnVocabulary] = ()
) -> tuple[ArcVocabulary, list[Coded]]:
    """What a training corpus makes of templates, and its columns as codes with views; values of older ones stay."""
    columns, lookups, coded = known_columns(templates.all, corpus, older)
    return ArcVocabulary(templates, columns, lookups), coded
