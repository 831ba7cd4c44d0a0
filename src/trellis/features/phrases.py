"""Templates of phrases and split points bound to a treebank (core/text/span_attributes.hpp)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Corpus
from trellis.features.extraction import Coded
from trellis.features.places import PlaceVocabulary, known_columns
from trellis.features.templates import Call, Look, Template
from trellis.features.vocabulary import NO_TEMPLATES, Plan, TemplateSource, bind, templates_of

_ENDS = ("first", "last", "first-1", "last+1")

# After Hall, Durrett and Klein (2014): the words at both ends of a phrase and around it, its length and its outline,
# the words around a split point; here with tags beside the words, and pairs of them.
PHRASE_PRESETS: dict[str, list[str]] = {
    "rules": ["bias"],
    "spans": [
        "bias",
        *(f"word[{place}]" for place in _ENDS),
        *(f"rare_suffix(word[{place}], 3)" for place in _ENDS),
        *(f"pos[{place}]" for place in _ENDS),
        *("length", "outline"),
        *("pos[first-1] & pos[last+1]", "pos[first] & pos[last]"),
        *("pos[first-1] & pos[first]", "pos[last] & pos[last+1]"),
        *("pos[first] & pos[first+1]", "pos[last-1] & pos[last]"),
        *("pos[first-2] & pos[first-1]", "pos[last+1] & pos[last+2]"),
        "pos[first-1] & pos[first] & pos[last] & pos[last+1]",
        *("word[first+1]", "word[last-1]"),
        *("word[first] & word[last]", "word[first] & pos[last]", "pos[first] & word[last]"),
        *("pos[first] & length", "pos[last] & length"),
        *("word[split]", "word[split-1]"),
        *("rare_suffix(word[split], 3)", "rare_suffix(word[split-1], 3)"),
        *("pos[split]", "pos[split-1]"),
        *("pos[split-1] & pos[split]", "pos[split] & pos[split+1]", "pos[split-2] & pos[split-1]"),
        *("word[split-1] & pos[split]", "pos[split-1] & word[split]"),
    ],
}

OUTLINE = (Call("kind"),)  # the view that an outline applies to each word


class SpanPlan(NamedTuple):
    """Templates of phrases as native code takes them."""

    plan: Plan
    outline: int  # the slot with the ids of the outline, or -1


def phrase_templates(features: TemplateSource, columns: Sequence[str]) -> tuple[Template, ...]:
    """The templates of a preset, a file or a list, bound to the columns of a treebank."""
    templates, _ = templates_of(features, columns, PHRASE_PRESETS, of_phrases=True)
    if not templates:
        raise TemplateError(NO_TEMPLATES)
    return tuple(dict.fromkeys(bind(template, columns) for template in templates))


class PhraseVocabulary(PlaceVocabulary[tuple[Template, ...]]):
    """Templates of phrases with the vocabularies of their columns."""

    __slots__ = ()
    PLACES: ClassVar = {"first": 0, "last": 1, "split": 2}
    MEASURE_BITS: ClassVar = {"length": 4, "outline": 31}
    LENGTHS: ClassVar = (*range(6), "6..7", "8..10", "11..15", "16..20", "21..30", "31..")  # by their ids

    @property
    def all(self) -> tuple[Template, ...]:
        """The templates."""
        return self.templates

    def plan(self) -> SpanPlan:
        """The templates as arrays for native code."""
        outline = -1
        if any(look.place == "outline" for t in self.templates for look in t.looks):
            outline = [view for column in self.columns for view in column.views].index(OUTLINE)
        return SpanPlan(self.layout(), outline)


def phrase_vocabulary(templates: tuple[Template, ...], corpus: Corpus) -> tuple[PhraseVocabulary, list[Coded]]:
    """The vocabulary of a treebank, and its columns as codes with views."""
    lines = list(templates)
    if any(look.place == "outline" for t in templates for look in t.looks):
        # Outlines read the first column of the treebank: the words.
        lines.append(Template((Look(next(iter(corpus.columns)), 0, OUTLINE),)))
    columns, lookups, coded = known_columns(lines, corpus)
    return PhraseVocabulary(templates, columns, lookups), coded
