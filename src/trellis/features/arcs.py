"""Templates of arcs bound to a corpus: layout of places and measures in keys (core/text/places.hpp)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from trellis import _core
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Corpus
from trellis.features.extraction import Coded
from trellis.features.places import Keys, PlaceVocabulary, known_columns, unpacked
from trellis.features.templates import ARC_MEASURES, Look, Template, parse_template
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


N_VALUES = 1, 2, 14  # of a measure: none, direction, distance


class Block(NamedTuple):
    """The columns of a template in the rows of its group: per value of its measure one, or one per label."""

    group: int
    first: int
    measure: int  # an index of N_VALUES
    width: int

    @property
    def end(self) -> int:
        """The first column behind them."""
        return self.first + N_VALUES[self.measure] * self.width


def _unmeasured(template: Template) -> tuple[Look, ...]:
    return tuple(look for look in template.looks if look.place not in ARC_MEASURES)


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
    def groups(self) -> list[list[tuple[Look, ...]]]:
        """The looks of the keys of templates: of arcs and labels, of siblings, of the filter.

        Templates that differ in measures and labels alone are a group, with one key.
        """
        kinds = (*self.arcs, *self.labelled), self.siblings, self.filter
        return [list(dict.fromkeys(_unmeasured(template) for template in kind)) for kind in kinds]

    def blocks(self, n_labels: int) -> list[Block]:
        """Where the weights of each template are in the rows of its group."""
        arcs, siblings, filters = self.groups
        kinds = [(arcs, 0, (*self.arcs, *self.labelled)), (siblings, len(arcs), self.siblings)]
        kinds.append((filters, len(arcs) + len(siblings), self.filter))
        ends, out = dict[int, int](), list[Block]()
        for groups, before, template in ((groups, n, one) for groups, n, kind in kinds for one in kind):
            group = before + groups.index(_unmeasured(template))
            places = [look.place for look in template.looks]
            measure = 2 if "distance" in places else int("direction" in places)
            width = max(1, n_labels) if template.labelled else 1
            block = Block(group, ends.get(group, 0), measure, width)
            ends[group] = block.end
            out.append(block)
        return out

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
    MEASURE_BITS: ClassVar = {}  # measures are columns, not in keys
    MEASURES: ClassVar = {
        "direction": ("left", "right"),
        "distance": (*range(-1, -6, -1), "-6..10", "-11..", *range(1, 6), "+6..10", "+11.."),
    }  # by their values
    BEFORE: ClassVar = "_ROOT"

    @property
    def all(self) -> tuple[Template, ...]:
        """The templates one after the other."""
        return self.templates.all

    @property
    def keyed(self) -> list[Template]:
        """The groups of templates."""
        return [Template(looks) for kind in self.templates.groups for looks in kind]

    def plan(self, n_labels: int) -> _core.ArcPlan:
        """The templates as arrays for native code."""
        groups, blocks = self.templates.groups, self.templates.blocks(n_labels)
        parts = [
            (block.group, block.measure, int(template.labelled))
            for block, template in zip(blocks, self.all, strict=True)
        ]
        arrays = np.array(parts, np.int32).reshape(-1, 3)
        return _core.ArcPlan(self.layout(), arrays, tuple(map(len, groups)), n_labels)

    def names_of(self, t: int, block: Block, keys: Keys, values: Sequence[int], folds: Sequence[Keys]) -> list[str]:
        """Attributes of a template as a person reads them, by keys and values of its measure."""
        ids = iter(unpacked(keys, self.layout().atoms_of(block.group), folds))
        texts = [
            self.measured(look.place, block.measure, values)
            if look.place in ARC_MEASURES
            else self.texts(look, next(ids).tolist(), self.MEASURES)
            for look in self.all[t].looks
        ]
        return [" & ".join(row) for row in zip(*texts, strict=True)] if texts else ["bias"] * len(keys)

    def measured(self, name: str, measure: int, values: Sequence[int]) -> list[str]:
        """Texts of the values of a template's measure; a distance includes the direction."""
        shown = [value // 7 if name == "direction" and measure == 2 else value for value in values]
        return [f"{name}={self.MEASURES[name][value]}" for value in shown]


def arc_vocabulary(
    templates: ArcTemplates, corpus: Corpus, older: Sequence[ColumnVocabulary] = ()
) -> tuple[ArcVocabulary, list[Coded]]:
    """The vocabulary of a training corpus, and its columns as codes with views; older values are included."""
    columns, lookups, coded = known_columns(templates.all, corpus, older)
    return ArcVocabulary(templates, columns, lookups), coded
