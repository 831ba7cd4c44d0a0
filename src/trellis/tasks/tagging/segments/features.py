"""Attributes of whole segments, numbered over the segments of training (core/text/segment_attributes.hpp)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arrays import Ints, Longs, Ragged, starts_of
from trellis.corpus.corpus import Column, Strings
from trellis.features.functions import read_lookup
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import View, function_of

LENGTH, FIRST, LAST, TEXT, LISTED = range(5)  # kinds of looks
KINDS = {"length": LENGTH, "first": FIRST, "last": LAST, "segment": TEXT}


class Nodes(NamedTuple):
    """The tree of attributes."""

    parents: Ints
    symbols: Ints
    attributes: Ints


OUTSIDE = -2  # the symbol of a place outside the sentence

SegmentView = tuple[str, View]  # a column and the function of each word


def _is_listed(look: Look) -> bool:
    return bool(look.calls) and look.calls[-1].name == "listed"


def _view(look: Look) -> SegmentView:
    return look.column, look.calls[:-1] if _is_listed(look) else look.calls


def _in_order(template: Template) -> list[Look]:
    """The looks in the order of the tree: texts first."""
    return sorted(template.looks, key=lambda look: look.place != "segment")


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """Templates as arrays for native code."""

    templates: tuple[Template, ...]
    views: tuple[SegmentView, ...] = field(init=False)
    looks: Ints = field(init=False)  # [n, 3] kind, view, offset
    starts: Longs = field(init=False)  # [n_templates + 1]

    def __post_init__(self) -> None:
        looks, rows = [look for template in self.templates for look in _in_order(template)], list[list[int]]()
        views = tuple(dict.fromkeys(_view(look) for look in looks if look.place != "length"))
        for look in looks:
            kind = LISTED if _is_listed(look) else KINDS[look.place]
            rows.append([kind, 0 if look.place == "length" else views.index(_view(look)), look.offset])
        object.__setattr__(self, "views", views)
        object.__setattr__(self, "looks", np.array(rows, np.int32).reshape(-1, 3))
        object.__setattr__(self, "starts", starts_of([len(template.looks) for template in self.templates]))


@dataclass(frozen=True, slots=True)
class SegmentVocabulary:
    """Frozen mapping from segments to attribute numbers."""

    plan: SegmentPlan
    strings: tuple[Strings, ...]  # the symbols of each view
    nodes: Nodes

    def native(self) -> _core.SegmentVocabulary:
        """Checked native vocabulary; ValueError if it is inconsistent."""
        n_symbols = np.array([len(strings) for strings in self.strings], np.int32)
        nodes = {**self.nodes._asdict(), "n_symbols": n_symbols}
        return _core.SegmentVocabulary(self.plan.looks, self.plan.starts, nodes)

    def names(self, numbers_wanted: Sequence[int]) -> dict[int, str]:
        """Readable names of attributes: ``word[segment]=New York``, ``length=2``."""
        parents, symbols, attributes = (array.tolist() for array in self.nodes)
        n_templates, numbers, out = len(self.plan.templates), set(numbers_wanted), dict[int, str]()
        for node, attribute in enumerate(attributes):
            if attribute not in numbers or attribute in out:
                continue
            path, at = list[int](), node
            while parents[at] >= 0:
                path.append(symbols[at])
                at = parents[at]
            if at < n_templates:
                out[attribute] = self._name(self.plan.templates[at], path[::-1])
        return out

    def _name(self, template: Template, path: list[int]) -> str:
        strings_of, end = list[str](), len(path)
        for look in reversed(_in_order(template)):
            begin = 0 if look.place == "segment" else end - 1
            if look.place == "length":
                words = [str(path[begin])]
            elif _is_listed(look):
                words = ["yes"]
            else:
                strings = self.strings[self.plan.views.index(_view(look))]
                words = ["_B" if symbol == OUTSIDE else strings[symbol] for symbol in path[begin:end]]
            strings_of.append(f"{look}={' '.join(words)}")
            end = begin
        return " & ".join(reversed(strings_of))


class SegmentSymbols:
    """Views of words, as numbers."""

    def __init__(self, plan: SegmentPlan, strings: Sequence[Strings]) -> None:
        self.views = plan.views
        self.functions = [function_of(view, {}, column) if view else None for column, view in plan.views]
        self.numbers = [{string: i for i, string in enumerate(values)} for values in strings]

    def _number(self, view: int, word: str) -> int:
        function = self.functions[view]
        string = word if function is None else function(word)
        return -1 if string is None else self.numbers[view].get(string, -1)

    def of(self, columns: Mapping[str, tuple[Iterable[str], Ints]]) -> list[Ints]:
        """[n_tokens] symbols of each view, -1 if unknown or missing; columns are words and their numbers."""
        out = list[Ints]()
        for v, (name, _) in enumerate(self.views):
            words, codes = columns[name]
            out.append(np.array([self._number(v, word) for word in words] or [-1], np.int32)[codes])
        return out


@dataclass(frozen=True, slots=True)
class SegmentExtraction:
    """Numbered attributes of the training segments, and their occurrences in all other segments."""

    plan: SegmentPlan
    strings: tuple[Strings, ...]
    growing: _core.SegmentVocabulary
    seen: Ragged  # a list per segment of training
    lists: Ragged  # of all segments: site token * longest + length - 1


def extract_segments(
    templates: Sequence[Template],
    columns: Mapping[str, Column],
    starts: Longs,
    segments: tuple[Longs, Longs],
    longest: int,
    n_threads: int,
) -> SegmentExtraction:
    """Number the attributes of the given segments, (first tokens, lengths), and find them in all others."""
    plan = SegmentPlan(tuple(templates))
    looks = [look for template in plan.templates for look in _in_order(template)]
    entries = [
        (i, int(view), [text.split() for text in read_lookup("listed", str(look.calls[-1].arguments[0]))])
        for i, (look, (kind, view, _)) in enumerate(zip(looks, plan.looks, strict=True))
        if kind == LISTED
    ]
    strings = list[Strings]()
    for v, (column, view) in enumerate(plan.views):
        function = function_of(view, {}, column) if view else None
        words = columns[column].values.tolist()
        values = words if function is None else [s for s in map(function, words) if s is not None]
        words_of = [word for _, entry_view, texts in entries if entry_view == v for text in texts for word in text]
        strings.append(Strings.of(dict.fromkeys([*values, *words_of])))
    symbols = SegmentSymbols(plan, strings)
    growing = _core.SegmentVocabulary(plan.looks, plan.starts)
    for look, v, texts in entries:
        for text in texts:
            growing.add_entry(look, np.array([symbols.numbers[v][word] for word in text], np.int32))
    views = symbols.of({name: (column.values, column.codes) for name, column in columns.items()})
    ids = growing.learn(views, starts, *segments)
    lists = growing.extract(views, starts, longest, n_threads)
    return SegmentExtraction(plan, tuple(strings), growing, Ragged(**ids), Ragged(**lists))


def segment_templates(columns: Sequence[str]) -> list[Template]:
    """Default templates of segments for these columns."""
    from trellis.features.presets import SEGMENTS
    from trellis.features.templates import parse_template

    quoted = [str(Look(column, 0)).removesuffix("[0]") for column in columns]
    texts = dict.fromkeys(["length", *(text.format(column) for text in SEGMENTS for column in quoted)])
    return [parse_template(text) for text in texts]
