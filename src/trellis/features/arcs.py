"""Templates of arcs bound to a corpus: layout of places and measures in keys (core/text/places.hpp)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from trellis import _core
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Corpus
from trellis.features.extraction import Coded
from trellis.features.places import PlaceVocabulary, known_columns
from trellis.features.templates import Template, parse_template
from trellis.features.vocabulary import ColumnVocabulary, TemplateSource, bind, templates_of

UD_COLUMNS = ("lemma", "xpos", "feats")  # further columns of CoNLL-U, besides words and coarse tags


def _measured(looks: Iterable[str]) -> list[str]:
    """Each template with the direction of the arc, and with its distance (which includes the direction)."""
    return [f"{look} & {measure}" for look in looks for measure in ("direction", "distance")]


def _tags(*places: str) -> list[str]:
    """The tags at places, such as "head dep-1 dep"."""
    return [" & ".join(f"pos[{place}]" for place in tokens.split()) for tokens in places]


# McDonald, Crammer and Pereira 2005, table 1: (a) single words, (b) pairs, (c) words between and around.
MST_SINGLE = [look for x in ("head", "dep") for look in (f"word[{x}] & pos[{x}]", f"word[{x}]", f"pos[{x}]")]
MST_PAIRS = [
    "word[head] & pos[head] & word[dep] & pos[dep]",
    *("pos[head] & word[dep] & pos[dep]", "word[head] & word[dep] & pos[dep]"),
    *("word[head] & pos[head] & pos[dep]", "word[head] & pos[head] & word[dep]"),
    *("word[head] & word[dep]", "pos[head] & pos[dep]"),
]
MST_CONTEXT = [
    *_tags("head between dep", "head head+1 dep-1 dep", "head-1 head dep-1 dep"),
    *_tags("head head+1 dep dep+1", "head-1 head dep dep+1"),
    # the same with one neighbour, as in their program
    *_tags("head head+1 dep", "head-1 head dep", "head dep-1 dep", "head dep dep+1"),
]
# McDonald and Pereira 2006: a dependent with the one before it on the same side.
MST_SIBLINGS = [
    *_tags("head sibling dep", "sibling dep"),
    *("word[sibling] & word[dep]", "word[sibling] & pos[dep]", "pos[sibling] & word[dep]"),
    # the same with the head, and with neighbours
    *("word[head] & pos[sibling] & pos[dep]", "pos[head] & word[sibling] & pos[dep]"),
    "pos[head] & pos[sibling] & word[dep]",
    *_tags("head sibling dep dep+1", "head sibling dep-1 dep"),
    *("word[head] & word[sibling] & pos[dep]", "word[head] & pos[sibling] & word[dep]"),
]
MST_LABELS = [
    "label",
    *(f"label & {look}" for look in MST_SINGLE),
    *(f"label & {a}[head] & {b}[dep] & direction" for a, b in (("pos", "pos"), ("word", "pos"), ("pos", "word"))),
]

# Further columns of CoNLL-U: fine tags, lemmas, morphology.
UD_PAIRS = [
    *(look.replace("pos[", "xpos[") for look in (*MST_PAIRS, *MST_CONTEXT) if "pos[" in look),
    *("lemma[head] & lemma[dep]", "lemma[head] & pos[dep]", "pos[head] & lemma[dep]"),
    "lemma[head] & pos[head] & lemma[dep] & pos[dep]",
    "pos[head] & feats[head] & pos[dep] & feats[dep]",
    *("pos[head] & pos[dep] & feats[dep]", "pos[head] & feats[head] & pos[dep]"),
    "lemma[head] & pos[dep] & feats[dep]",
]
UD_LABELS = [
    *(f"label & {a}[head] & {a}[dep] & direction" for a in ("word", "lemma", "xpos", "feats")),
    "label & pos[head] & pos[dep] & distance",
    "label & pos[head] & pos[dep] & feats[dep] & direction",
    "label & pos[head] & pos[dep-1] & pos[dep] & pos[dep+1] & direction",
    "label & pos[head-1] & pos[head] & pos[head+1] & pos[dep] & direction",
    *("label & pos[head] & lemma[dep] & direction", "label & lemma[head] & pos[dep] & direction"),
    "label & pos[head] & suffix(word[dep], 3)",
    *("label & pos[head] & word[dep-1] & pos[dep]", "label & pos[head] & pos[dep] & word[dep+1]"),
    "label & pos[head] & pos[between] & pos[dep]",
]


MST = [
    *_measured([*MST_SINGLE, *MST_PAIRS, *MST_CONTEXT]),
    *MST_LABELS,
    *(f"{look} & direction" for look in MST_SIBLINGS),
]
ARC_PRESETS: dict[str, list[str]] = {"mst": MST, "ud": [*MST, *_measured(UD_PAIRS), *UD_LABELS]}


def default_templates(informative: Container[str]) -> list[str]:
    """The templates of ``ud`` that read words, coarse tags and these columns alone.

    For trees without labels over words and tags they are those of ``mst``.
    """
    missing = [f"{name}[" for name in UD_COLUMNS if name not in informative]
    # "xpos[" ends with "pos[", so columns are searched at the beginning of a look only.
    return [text for text in ARC_PRESETS["ud"] if not any(re.search(rf"\b{re.escape(name)}", text) for name in missing)]


@dataclass(frozen=True, slots=True)
class ArcTemplates:
    """Templates bound to columns, in the order native code has them."""

    arcs: tuple[Template, ...]
    labelled: tuple[Template, ...]
    siblings: tuple[Template, ...]
    filter: tuple[Template, ...]  # none or one

    @property
    def all(self) -> tuple[Template, ...]:
        """All templates, concatenated."""
        return (*self.arcs, *self.labelled, *self.siblings, *self.filter)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Number of templates of each kind."""
        return len(self.arcs), len(self.labelled), len(self.siblings), len(self.filter)

    @property
    def columns(self) -> list[str]:
        """The columns read by templates, in order of first use."""
        names = (look.column for template in self.all for look in template.looks if look.column)
        return list(dict.fromkeys(names))


def arc_templates(features: TemplateSource, filter: str | None, columns: Sequence[str], order: int) -> ArcTemplates:
    """The templates of a preset, a file or a list, bound to the columns of a corpus."""
    bound = [_bound(template, columns) for template in templates_of(features, columns, ARC_PRESETS)[0]]
    siblings = [t for t in bound if any(look.place == "sibling" for look in t.looks)]
    others = [t for t in bound if t not in siblings]
    arcs = [t for t in others if not t.labelled]
    if not arcs:
        raise TemplateError("no template reads an arc; add one, such as pos[head] & pos[dep]")
    if order > 1 and not siblings:
        reason = "order 2 needs templates of siblings, such as pos[sibling] & pos[dep]"
        raise TemplateError(f"{reason}; add one or use order=1")
    filters = [] if filter is None else [_bound(parse_template(filter), columns)]
    if any(t.labelled or {look.place for look in t.looks} & {"sibling", "between"} for t in filters):
        reason = "a filter template may read the head and the dependent of an arc"
        raise TemplateError(f"{reason}, not siblings, labels or [between]")
    labelled = [t for t in others if t.labelled]
    return ArcTemplates(tuple(arcs), tuple(labelled), tuple(siblings) if order > 1 else (), tuple(filters))


def _bound(template: Template, columns: Sequence[str]) -> Template:
    if not template.of_arc and template.looks:
        reason = "reads tokens; templates of a parser read arcs, such as word[head]"
        raise TemplateError(f"template {str(template)!r} {reason}")
    return bind(template, columns)


class ArcVocabulary(PlaceVocabulary[ArcTemplates]):
    """Templates of arcs with the vocabularies of their columns."""

    __slots__ = ()
    PLACES: ClassVar = {"head": 0, "dep": 1, "sibling": 2, "between": -2}  # as in core/weights/arcs.hpp
    MEASURE_BITS: ClassVar = {"direction": 1, "distance": 4}
    MEASURES: ClassVar = {
        "direction": ("left", "right"),
        "distance": (*range(-1, -6, -1), "-6..10", "-11..", *range(1, 6), "+6..10", "+11.."),
    }  # by their ids
    BEFORE: ClassVar = "_ROOT"

    @property
    def all(self) -> tuple[Template, ...]:
        """The templates one after the other."""
        return self.templates.all

    def plan(self, n_labels: int) -> _core.ArcPlan:
        """The templates as arrays for native code."""
        return _core.ArcPlan(self.layout(), self.templates.counts, n_labels)


def arc_vocabulary(
    templates: ArcTemplates, corpus: Corpus, older: Sequence[ColumnVocabulary] = ()
) -> tuple[ArcVocabulary, list[Coded]]:
    """The vocabulary of a training corpus, and its columns as codes with views; older values are included."""
    columns, lookups, coded = known_columns(templates.all, corpus, older)
    return ArcVocabulary(templates, columns, lookups), coded
