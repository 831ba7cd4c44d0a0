"""Templates of phrases and split points made definite for a treebank (core/text/span_attributes.hpp)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trellis._support.arguments import items
from trellis._support.arrays import Ints
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Corpus
from trellis.features.arcs import Coded, lay_out
from trellis.features.extraction import column_vocabulary, compact, frequent_words
from trellis.features.phrase_presets import PHRASE_PRESETS
from trellis.features.templates import PHRASE_MEASURES, Call, Look, Template, beside, parse_template, parse_templates
from trellis.features.vocabulary import ColumnVocabulary, Features, Lookups, bind_look, read_lookups, views_of

PLACES = {"first": 0, "last": 1, "split": 2}
MEASURE_BITS = {"length": 4, "outline": 31}
OUTLINE = (Call("kind"),)  # what an outline says of each word
Plan = tuple[Ints, Ints, Ints, int, int, int]  # as native code takes it


def phrase_templates(features: Features, columns: Sequence[str]) -> tuple[Template, ...]:
    """The templates of a preset, a file or a list, bound to the columns of a treebank."""
    folder = Path()
    if isinstance(features, str) and features in PHRASE_PRESETS:
        lines = PHRASE_PRESETS[features]
    elif isinstance(features, str | Path):
        path = Path(features)
        folder = path.parent
        if not path.is_file():
            known = ", ".join(PHRASE_PRESETS)
            raise TemplateError(
                f"no preset and no file {str(features)!r}; the presets are {known}, templates themselves go in a list"
            )
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise TemplateError(f"{path}: not UTF-8 text: {error.reason}") from error
    else:
        given = items(features)
        if given is None:
            raise TemplateError(f"features must be a preset's name, a file or a list of templates, not {features!r}")
        lines = [str(one) for one in given]
    found = [
        replace(t, looks=tuple(_bound(look, t, columns) for look in t.looks))
        for t in (beside(t, folder) for t in parse_templates(lines, of_phrases=True))
    ]
    if not found:
        raise TemplateError("no templates given: name a preset, a file or a list of templates")
    return tuple(dict.fromkeys(found))


def _bound(look: Look, template: Template, columns: Sequence[str]) -> Look:
    return look if look.place in PHRASE_MEASURES else bind_look(look, template, columns)


@dataclass(frozen=True, slots=True)
class PhraseVocabulary:
    """Templates of phrases with what is known of the columns they read."""

    templates: tuple[Template, ...]
    columns: tuple[ColumnVocabulary, ...]
    lookups: Lookups

    @property
    def reach(self) -> int:
        """How far beyond a sentence a template looks."""
        return 1 + max((abs(look.offset) for t in self.templates for look in t.looks), default=0)

    def layout(self) -> tuple[Ints, Ints, Ints, int]:
        """How keys are packed: see ``lay_out``."""
        return lay_out(self.templates, self.columns, self.reach, PLACES, MEASURE_BITS)

    def plan(self) -> Plan:
        """Laid out for native code."""
        atoms, shapes, slots, n_folds = self.layout()
        outline = -1
        if any(look.place == "outline" for t in self.templates for look in t.looks):
            views = [[column.name, view] for column in self.columns for view in column.views]
            outline = next(i for i, (_, view) in enumerate(views) if view == OUTLINE)
        return atoms, shapes, slots, n_folds, self.reach, outline


def phrase_vocabulary(templates: tuple[Template, ...], corpus: Corpus) -> tuple[PhraseVocabulary, list[Coded]]:
    """What a treebank makes of templates, and its columns as codes with views."""
    looks = [t for t in templates if any(look.place == "outline" for look in t.looks)]
    # An outline looks at the first column of the treebank, its words.
    views_wanted = [*templates, *([Template((Look(next(iter(corpus.columns)), 0, OUTLINE),))] if looks else [])]
    names = list(dict.fromkeys(look.column for t in views_wanted for look in t.looks if look.column))
    compacted = {name: compact(corpus.column(name)) for name in names}
    views, lookups = views_of(views_wanted, names), dict(read_lookups(templates))
    lookups |= frequent_words(
        {name: column.values for name, column in compacted.items()},
        lambda name: np.bincount(compacted[name].codes, minlength=len(compacted[name].values)),
        views,
    )
    empty = PhraseVocabulary(templates, (), lookups)
    columns = tuple(
        column_vocabulary(name, column.values, v.views, empty.reach, lookups)
        for (name, column), v in zip(compacted.items(), views, strict=True)
    )
    coded = [(column.codes, known.view_ids) for column, known in zip(compacted.values(), columns, strict=True)]
    return replace(empty, columns=columns), coded


def parse_phrase_template(text: str) -> Template:
    """One template of phrases from its text."""
    return parse_template(text, of_phrases=True)
