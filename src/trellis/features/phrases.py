"""Templates of phrases and split points made definite for a treebank (core/text/span_attributes.hpp)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from trellis._support.arrays import Ints
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Corpus
from trellis.features.phrase_presets import PHRASE_PRESETS
from trellis.features.places import Coded, PlaceVocabulary, known_columns
from trellis.features.templates import Call, Look, Template
from trellis.features.vocabulary import NO_TEMPLATES, TemplateSource, bind, templates_of

OUTLINE = (Call("kind"),)  # what an outline says of each word
Plan = tuple[Ints, Ints, Ints, int, int, int]  # as native code takes it


def phrase_templates(features: TemplateSource, columns: Sequence[str]) -> tuple[Template, ...]:
    """The templates of a preset, a file or a list, bound to the columns of a treebank."""
    templates, _ = templates_of(features, columns, PHRASE_PRESETS, of_phrases=True)
    if not templates:
        raise TemplateError(NO_TEMPLATES)
    return tuple(dict.fromkeys(bind(template, columns) for template in templates))


class PhraseVocabulary(PlaceVocabulary[tuple[Template, ...]]):
    """Templates of phrases with what is known of the columns they read."""

    __slots__ = ()
    PLACES: ClassVar = {"first": 0, "last": 1, "split": 2}
    MEASURE_BITS: ClassVar = {"length": 4, "outline": 31}

    @property
    def all(self) -> tuple[Template, ...]:
        """The templates."""
        return self.templates

    def plan(self) -> Plan:
        """Laid out for native code."""
        outline = -1
        if any(look.place == "outline" for t in self.templates for look in t.looks):
            outline = [view for column in self.columns for view in column.views].index(OUTLINE)
        return *self.layout(), self.reach, outline


def phrase_vocabulary(templates: tuple[Template, ...], corpus: Corpus) -> tuple[PhraseVocabulary, list[Coded]]:
    """What a treebank makes of templates, and its columns as codes with views."""
    wanted = list(templates)
    if any(look.place == "outline" for t in templates for look in t.looks):
        # An outline looks at the first column of the treebank, its words.
        wanted.append(Template((Look(next(iter(corpus.columns)), 0, OUTLINE),)))
    columns, lookups, coded = known_columns(wanted, corpus)
    return PhraseVocabulary(templates, columns, lookups), coded
