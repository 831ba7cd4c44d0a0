"""Features compiled for a corpus: templates bound to its columns, and the resulting vocabulary.

A plan defines the views of each column and how their ids are packed into a key (core/text/extract.hpp). A vocabulary is
the plan with its strings, views and conjunctions, frozen into flat arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arguments import items
from trellis._support.arrays import Bytes, Floats, Ints, Longs
from trellis._support.errors import TemplateError
from trellis.corpus.corpus import Strings
from trellis.features.dictionaries import VALUES, Dictionary
from trellis.features.functions import (
    COUNTED,
    FILED,
    PLAIN,
    SIZED,
    Function,
    Lookups,
    function_named,
    read_lines,
    read_lookup,
)
from trellis.features.templates import (
    MEASURES,
    Call,
    Look,
    Template,
    beside,
    derived_name,
    derived_names,
    dictionary_views,
    is_matched,
    parse_template,
    vector_file,
)
from trellis.features.vectors import Files

# ------------------------------------------------------------ features passed by the user

TemplateSource = str | Path | Iterable[str | Template]
NO_TEMPLATES = "no templates; give a preset, a file or a list of templates"


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """Templates bound to columns of the corpus, and the label n-grams they request."""

    templates: tuple[Template, ...]
    bigrams: bool = True  # False for a CRF++ file without a B line
    history: int = 0  # maximum number of preceding labels in a template, with looks or alone
    of_segments: tuple[Template, ...] = ()  # templates of whole segments

    @property
    def order(self) -> int:
        """The default Markov order of a model."""
        return max(int(self.bigrams), self.history)

    @property
    def far(self) -> Template | None:
        """A template with labels further back, if there is one."""
        return next((template for template in self.templates if template.far), None)

    @property
    def longest(self) -> Template:
        """A template that combines looks with the most labels."""
        return max(self.templates, key=lambda template: template.history)

    @property
    def learned(self) -> Template | None:
        """A template with a dictionary that is learned from the corpus, if there is one."""
        matched = ((t, look) for t in self.templates for look in t.looks if is_matched(look))
        return next((template for template, look in matched if not look.calls[-1].arguments), None)

    @property
    def columns(self) -> list[str]:
        """The input columns, in order of first use by templates."""
        return list(dict.fromkeys(look.column for template in self.templates for look in template.looks))


def feature_set(features: TemplateSource, columns: Sequence[str]) -> FeatureSet:
    """Resolve features against the input columns of a corpus (the target is not among them)."""
    templates, bigrams = templates_of(features, columns)
    if arc := next((t for t in templates if t.of_arc), None):
        reason = "reads arcs of trees; templates of a tagger read tokens, such as word[0]"
        raise TemplateError(f"template {str(arc)!r} {reason}")
    history = max((t.history for t in templates), default=0)
    of_segments = [t for t in templates if t.of_segment]
    # Weights of label n-grams without looks follow from the order.
    templates = [t for t in templates if (t.looks or not t.history) and not t.of_segment]
    if not templates:
        if history:
            raise TemplateError("all templates read only labels; add one that reads a column, or bias")
        if of_segments:
            raise TemplateError("all templates read whole segments; add one that reads a token, such as word[0]")
        raise TemplateError(NO_TEMPLATES)
    column_look = next((bind_look(look, t, columns) for t in templates for look in t.looks if look.column), None)
    first = column_look.column if column_look else columns[0] if columns else ""
    bound = [bind(template, columns, first) for template in templates]
    _check_shared(bound)
    result = FeatureSet(tuple(bound), bigrams, history)
    for i, template in enumerate(of_segments):
        try:
            of_segments[i] = bind(template, result.columns)
        except TemplateError:
            reason = f"template {str(template)!r} reads a column that no template of tokens reads; those read"
            raise TemplateError(f"{reason} {', '.join(result.columns)}; add one, such as word[0]") from None
    return replace(result, of_segments=tuple(of_segments))


def templates_of(
    features: TemplateSource,
    columns: Sequence[str],
    presets: Mapping[str, Sequence[str]] | None = None,
    *,
    of_phrases: bool = False,
) -> tuple[list[Template], bool]:
    """The templates of a preset, a file or a list, and whether label pairs have weights.

    ``presets`` are those of taggers unless others are given; files of CRF++ are of taggers alone.
    """
    from trellis.features.crfpp import looks_like_crfpp, parse_crfpp
    from trellis.features.presets import PRESETS

    names: Mapping[str, Sequence[str]] = PRESETS if presets is None else presets

    def parsed(item: Any) -> list[Template]:
        """The templates of an entry: a preset or a template."""
        if isinstance(item, str) and item.strip() in names:
            return [parse_template(text, of_phrases=of_phrases) for text in names[item.strip()]]
        return [_template(item, names, of_phrases)]

    if isinstance(features, str) and features in names:
        return parsed(features), True
    entries: list[Any] | None
    if isinstance(features, str | Path):
        path = Path(features)
        if not path.is_file():
            reason = f"the presets are {', '.join(names)}; give templates as a list"
            raise TemplateError(f"no preset or file {str(features)[:100]!r}; {reason}")
        entries = lines = read_lines("features", str(path))
        if presets is None and looks_like_crfpp(lines):
            return parse_crfpp(lines, columns, str(path))
        templates = list[Template]()
        for number, line in enumerate(lines, 1):
            try:
                result = parsed(line) if line.strip() and not line.lstrip().startswith("#") else []
                templates += (beside(template, path.parent) for template in result)
            except TemplateError as error:
                raise TemplateError(f"{path}:{number}: {error}") from error
    else:
        entries = items(features)
        if entries is None:
            raise TemplateError(f"features must be a preset's name, a file or a list of templates, not {features!r}")
        templates = [template for item in entries for template in parsed(item)]
    # Presets may have templates in common.
    has_presets = any(isinstance(entry, str) and entry.strip() in names for entry in entries)
    return list(dict.fromkeys(templates)) if has_presets else templates, True


def _template(source: str | Template, presets: Mapping[str, Sequence[str]], of_phrases: bool) -> Template:
    if isinstance(source, str):
        try:
            return parse_template(source, of_phrases=of_phrases)
        except TemplateError as error:
            if not re.fullmatch(r"[\w-]+", source.strip()):
                raise
            reason = f"is neither a template, such as word[0], nor a preset; the presets are {', '.join(presets)}"
            raise TemplateError(f"{source.strip()!r} {reason}") from error
    if not isinstance(source, Template):
        raise TemplateError(f"a template must be a string such as word[0], not {source!r}")
    # A model stores templates as text, so each must be writable and readable.
    if parse_template(str(source), of_phrases=of_phrases) != source:
        raise TemplateError(f"template {str(source)!r} means something else when it is written out")
    return source


def bind(template: Template, columns: Sequence[str], first: str = "") -> Template:
    """Bind a template to the columns of a corpus; TemplateError if one is missing."""
    return replace(template, looks=tuple(bind_look(look, template, columns, first) for look in template.looks))


def bind_look(look: Look, template: Template, columns: Sequence[str], first: str = "") -> Look:
    """Bind a look to a column of a corpus; TemplateError if it is missing."""
    if look.place in MEASURES:
        return look
    if look.column == "" and first:  # is_first and is_last read the first column used by other templates
        return replace(look, column=first)
    if look.column in columns:
        return look
    from trellis.features.presets import ALIASES

    for alias in ALIASES.get(look.column, ()):
        if alias in columns:
            return replace(look, column=alias)
    similar = [name for name in columns if name.lower() == look.column.lower()]
    if len(similar) == 1:  # Word, as in Kaggle's tables
        return replace(look, column=similar[0])
    raise TemplateError(
        f"template {str(template)!r} reads column {look.column!r}; the corpus has {', '.join(columns) or 'none'}"
    )


def _check_shared(templates: Sequence[Template]) -> None:
    first = dict[str, Template]()
    for template in templates:
        prior = first.setdefault(template.name, template) if template.name else template
        reads = [[(look.column, look.calls) for look in t.looks] for t in (template, prior)]
        if reads[0] != reads[1] or template.history_code != prior.history_code:
            raise TemplateError(
                f"templates {str(prior)!r} and {str(template)!r} have the same name, so they may differ only in offsets"
            )


# ------------------------------------------------------------ the plan

KEY_BITS = 63  # one bit is reserved, so that native code has a key for "no feature"
FOLD_BITS = 32

# "calls" of a look on one column; the empty tuple is the value itself.
View = tuple[Call, ...]


def seen_as(look: Look) -> tuple[str, View]:
    """The column and view of a look; the results of a dictionary are a column of their own."""
    return (derived_name(look), ()) if is_matched(look) else (look.column, look.calls)


def views_of(templates: Sequence[Template], columns: Sequence[str]) -> list[list[View]]:
    """The views of each column, including those read by dictionaries."""
    views_in = [dict[View, None]() for _ in columns]  # in order of first use by templates
    looks = (seen_as(look) for template in templates for look in template.looks)
    dictionary_looks = ((view.column, view.calls) for view in dictionary_views(templates))
    for column, view in (*looks, *dictionary_looks):
        if column in columns:
            views_in[columns.index(column)][view] = None
    return [list(views) for views in views_in]


def reach_of(templates: Sequence[Template]) -> int:
    """The largest absolute offset."""
    return max((abs(look.offset) for template in templates for look in template.looks), default=0)


def read_lookups(templates: Sequence[Template]) -> dict[tuple[str, str], dict[str, str]]:
    """Read the files named in templates, each once."""
    files = {
        (call.name, str(call.arguments[0]))
        for template in templates
        for look in template.looks
        for call in look.calls
        if call.name in FILED
    }
    return {file: read_lookup(*file) for file in sorted(files)}


def is_counted(template: Template) -> bool:
    """Whether the template applies only to rare words."""
    return any(call.name in COUNTED for look in template.looks for call in look.calls)


def function_of(view: View, lookups: Lookups, column: str = "") -> Function:
    """The view of a column as one Python function of a string."""
    steps = [function_named(call.name, call.arguments, lookups, column) for call in view]
    if len(steps) == 1:
        return steps[0]

    def composed(value: str) -> str | None:
        result: str | None = value
        for step in steps:
            if result is None:
                return None
            result = step(result)
        return result

    return composed


def native_calls(view: View) -> list[tuple[str, int]] | None:
    """The view as native code computes it for ASCII (core/text/views.hpp), None if it needs more than the string."""
    if not all(call.name in PLAIN or call.name in SIZED or call.name == "outside" for call in view):
        return None
    return [(call.name, min(int(call.arguments[0]), 1 << 62) if call.arguments else 0) for call in view]


@dataclass(frozen=True, slots=True)
class Plan:
    """The templates as arrays for native code, sorted by the length of their history: single labels first."""

    atoms: Ints  # [n_atoms, 5]: column, view, offset, bits, fold or -1; with slots: slot, place, offset, ...
    templates: Ints  # [n_templates, 3]: first atom, last atom, table
    n_tables: int
    n_folds: int
    reach: int
    slots: Ints | None = None  # [n, 2]: column, view; for templates with several places

    def atoms_of(self, t: int) -> list[list[int]]:
        """The atoms of a template."""
        first, last, _ = self.templates[t].tolist()
        atoms: list[list[int]] = self.atoms[first:last].tolist()
        return atoms

    def view_of(self, slot: int) -> list[int]:
        """The column and the view of a slot."""
        assert self.slots is not None
        view: list[int] = self.slots[slot].tolist()
        return view


def bits_of(n_ids: int) -> int:
    """Number of bits of an id in a key."""
    return max(1, (n_ids - 1).bit_length())


def pack_keys(
    templates: Sequence[Template], atom_of: Callable[[Look], tuple[int, int, int]]
) -> tuple[Ints, Ints, int, int]:
    """Lay out keys: atoms [n, 5], templates [n, 3] as in a plan, and how many tables and folds there are.

    ``atom_of`` gives the first two numbers of an atom, and the bits of its ids.
    """
    atoms, shapes = list[list[int]](), list[list[int]]()
    tables, folds = dict[str, int](), dict[tuple[int, int], int]()
    for number, template in enumerate(templates):
        # Templates with the same name share a table and its folds, as their keys have the same layout.
        table = tables.setdefault(template.name or f" {number}", len(tables))
        first, n_bits = len(atoms), 0
        for place, look in enumerate(template.looks):
            *atom, bits = atom_of(look)
            fold = -1
            if n_bits + bits > KEY_BITS:
                fold, n_bits = folds.setdefault((table, place), len(folds)), FOLD_BITS
            n_bits += bits
            atoms.append([*atom, look.offset, bits, fold])
        shapes.append([first, len(atoms), table])
    arrays = np.array(atoms, np.int32).reshape(-1, 5), np.array(shapes, np.int32).reshape(-1, 3)
    return *arrays, len(tables), len(folds)


# ------------------------------------------------------------ the vocabulary


class KeyTables(NamedTuple):
    """Open-addressing hash tables, concatenated.

    Attributes
    ----------
    keys
        Keys.
    ids
        Id of each key.
    starts
        [n_tables + 1] first slot of each table.
    """

    keys: npt.NDArray[np.uint64]
    ids: Ints
    starts: Longs


NO_TABLES = KeyTables(np.empty(0, np.uint64), np.empty(0, np.int32), np.zeros(1, np.int64))
NO_PLAN = Plan(np.empty((0, 5), np.int32), np.empty((0, 3), np.int32), 0, 0, 0)


def tables_in(arrays: Mapping[str, Any], name: str) -> KeyTables:
    """Tables among named arrays."""
    return KeyTables(*(arrays[f"{name}.{part}"] for part in KeyTables._fields))


@dataclass(frozen=True, slots=True)
class ColumnVocabulary:
    """Vocabulary of one input column: its strings in training and their views."""

    name: str
    views: tuple[View, ...]
    values: Strings
    view_ids: Ints  # [n_values, n_views], -1 if a view has no value
    strings: tuple[Strings | None, ...]  # [n_views] the distinct strings of each; None: the values themselves

    def strings_of(self, j: int) -> Strings:
        """The strings of view j."""
        strings = self.strings[j]
        return self.values if strings is None else strings


def derived_columns(derived: Iterable[str], reach: int) -> tuple[ColumnVocabulary, ...]:
    """The columns computed by dictionaries; one of their values gives no feature."""
    ids = np.arange(len(VALUES), dtype=np.int32)[:, None] + np.int32(2 * reach)
    ids[_core.DICTIONARY_SILENT] = -1
    return tuple(ColumnVocabulary(name, ((),), VALUES, ids, (None,)) for name in derived)


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of attributes: templates with the same name are one source; free-form attributes are the last one."""

    source_of: Ints  # [n_attributes]
    templates: tuple[tuple[Template, ...], ...]  # [n_sources], none for free-form attributes


PAIR = "label[-1] & "  # prefix of names of free-form edge attributes


class Bag(NamedTuple):
    """Free-form attributes."""

    column: str  # the column
    strings: Strings
    attributes: Ints  # [n strings] the attribute of each with labels, or -1
    pairs: Ints | None = None  # [n strings] the same with label pairs; None: there are none

    @property
    def native(self) -> dict[str, Any]:
        """Native arguments; strings of another tool's file are looked up there."""
        file = getattr(self.strings, "file", None)
        strings = self.strings if file is None else None
        return {"strings": strings, "file": file, "attributes": self.attributes, "pairs": self.pairs}

    @property
    def templates(self) -> list[str]:
        """The templates that read it."""
        texts = [f"{self.column}[0]"] if len(self.attributes) == 0 or (self.attributes >= 0).any() else []
        labels = () if self.pairs is None else np.flatnonzero(self.pairs >= 0).tolist()
        if any(not self.strings[i].startswith(PAIR) for i in labels):
            texts.append(f"{PAIR}{self.column}[0]")
        return texts or [f"{self.column}[0]"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Frozen mapping from strings to attribute numbers."""

    # Sorted by the length of their history, those with labels further back last; none reads a column of attributes.
    templates: tuple[Template, ...]
    n_emission: int  # templates of single labels
    columns: tuple[ColumnVocabulary, ...]  # columns of the corpus, then derived columns
    plan: Plan
    tables: KeyTables
    folds: KeyTables
    bag: Bag | None
    lookups: Lookups
    dictionaries: tuple[Dictionary, ...] = ()  # in order of first use by templates
    vectors: Files = field(default_factory=dict)

    @classmethod
    def of_bag(cls, bag: Bag) -> Vocabulary:
        """Of free-form attributes alone."""
        return cls((), 0, (), NO_PLAN, NO_TABLES, NO_TABLES, bag, {})

    @property
    def inputs(self) -> tuple[ColumnVocabulary, ...]:
        """The input columns of a sentence; derived columns follow them."""
        return self.columns[: len(self.columns) - len(derived_names(self.templates))]

    @property
    def matchers(self) -> list[tuple[_core.Dictionary, int, int]]:
        """The native dictionaries, each with the numbers of its column and view."""
        names = [column.name for column in self.inputs]
        places = [(names.index(view.column), view.calls) for view in dictionary_views(self.templates)]
        return [
            (dictionary.native, c, self.columns[c].views.index(calls))
            for dictionary, (c, calls) in zip(self.dictionaries, places, strict=True)
        ]

    @property
    def derived(self) -> list[tuple[int, int]]:
        """For each derived column the number of its matcher and of the result."""
        views = dictionary_views(self.templates)
        return [(views.index(view), where) for view, where in derived_names(self.templates).values()]

    def matrix_of(self, view: View) -> Floats | None:
        """The vectors of a view; None for a view of strings."""
        file = vector_file(view)
        return None if file is None else self.vectors[file].matrix

    @property
    def n_strings(self) -> int:
        """Number of strings of all columns and views."""
        return sum(len(strings or column.values) for column in self.columns for strings in column.strings)

    @property
    def longest_history(self) -> int:
        """Maximum number of preceding labels in a template."""
        return max((template.history for template in self.templates), default=0) or int(self.has_label_pairs)

    @property
    def has_label_pairs(self) -> bool:
        """Whether a template uses the directly preceding label."""
        has_pairs = self.bag is not None and self.bag.pairs is not None
        return has_pairs or any(template.history == 1 for template in self.templates)

    def history_codes(self, n_edge_attributes: int) -> Bytes | None:
        """The labels of each edge attribute (core/engine/beam.hpp); None if none uses labels further back."""
        if not self.templates or not self.templates[-1].far:
            return None
        _, ids, starts = self.tables
        out = np.ones(n_edge_attributes, np.uint8)
        for template, table in zip(self.templates, self.plan.templates[:, 2].tolist(), strict=True):
            attributes = ids[starts[table] : starts[table + 1]]
            if template.history_code:
                out[attributes[attributes >= 0]] = template.history_code
        return out
