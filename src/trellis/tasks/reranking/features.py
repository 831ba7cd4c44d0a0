"""Features of whole label sequences: templates over segments, whole-sentence counts, user-defined functions.

A template looks at segments around each segment of a candidate, ``type[-1..1] & word[0]``:

| look | value at segment [i] |
| --- | --- |
| ``type[i]`` | its type, or its label if labels encode no spans; ``<s>``, ``</s>`` beyond the sentence |
| ``length[i]`` | number of tokens |
| ``word[i]`` | its strings in that column; ``first(word[i])`` and ``last(word[i])``: the first or last of them |
| ``column[i]`` | the same for every column: one template for each |
"""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trellis._support.arguments import items
from trellis._support.arrays import starts_of
from trellis._support.errors import ArgumentError, LearnerError, TemplateError
from trellis.engine.hypergraph import Hypergraph
from trellis.tasks.reranking.lists import Candidate, Segment
from trellis.tasks.structured.problem import Parts, plain_features

Function = Callable[[Candidate], Iterable[str] | Mapping[str, float]]
Feature = str | Function
Strings = Mapping[str, Sequence[str]]

MAX_OFFSET = 20
RENAME = "give one of them another name (its __name__)"  # prefixes of feature names


def counts(candidate: Candidate) -> list[str]:
    """How often each type occurs, and how many segments there are."""
    counter = Counter(segment.type for segment in candidate.segments)
    return [f"segments={len(candidate.segments)}", *(f"{kind}={n}" for kind, n in counter.items())]


def rank(candidate: Candidate) -> list[str]:
    """The rank in the list."""
    return [str(candidate.rank)]


FEATURES: dict[str, tuple[str, ...] | Function | None] = {
    "score": None,  # the tagger's score minus the best score of the list
    "rank": rank,
    "types": ("type[0]", "type[-1..0]", "type[-1..1]", "type[-2..1]", "type[-2..2]"),
    "lengths": ("type[0] & length[0]", "type[-1..0] & length[-1..0]"),
    "contents": (
        "type[0] & column[0]",
        "type[0] & first(column[0])",
        "type[0] & last(column[0])",
        "type[0] & first(column[0]) & last(column[0]) & length[0]",
    ),
    "neighbours": (
        "type[-1..0] & column[0]",
        "type[0..1] & column[0]",
        "type[-1..1] & column[0]",
        "type[-1..0] & last(column[-1]) & first(column[0])",
        "type[-1..0] & last(column[-1]) & last(column[0])",
        "type[0] & last(column[-1]) & column[0] & first(column[1])",
    ),
    "counts": counts,
}
DEFAULT = tuple(FEATURES)


class View(NamedTuple):
    """The part of a segment that a look reads."""

    name: str  # type, length, or a column
    which: str | None  # of a column: first, last, or all strings

    def see(self, segment: Segment, sentence: Strings) -> str:
        """As a string."""
        if self.name == "type":
            return segment.type
        if self.name == "length":
            return str(segment.end - segment.begin)
        strings = sentence[self.name][segment.begin : segment.end]
        if self.which is None:
            return " ".join(strings)
        return strings[0 if self.which == "first" else -1] if strings else ""


Look = tuple[View, int]  # with its offset


class GlobalFeatures:
    """The chosen features, compiled for k-best lists."""

    def __init__(self, features: Sequence[Feature] | None, columns: Sequence[str]) -> None:
        if isinstance(features, str) or callable(features):
            features = (features,)
        self.chosen = DEFAULT if features is None else tuple(features)
        if not self.chosen:
            raise ArgumentError("features must be a list of names, templates or functions, not empty")
        self.has_score = "score" in self.chosen
        templates = list[str]()
        self.functions: dict[str, Function] = {}
        for feature in self.chosen:
            value = FEATURES.get(feature, (feature,)) if isinstance(feature, str) else feature
            if callable(value):
                name = feature if isinstance(feature, str) else function_name(feature)
                if self.functions.setdefault(name, value) is not value:
                    raise ArgumentError(f"two feature functions have the name {name}; {RENAME}")
            elif isinstance(value, tuple):
                templates += value
            elif value is not None:
                raise ArgumentError(f"features must be names, templates or functions, not {value!r}")
        # A template of "column" stands for one template per column, unless a column has this name.
        expanded = list[str]()
        for text in templates:
            needs_column = "column[" in text and "column" not in columns
            expanded += [text.replace("column[", f"{name}[") for name in columns] if needs_column else [text]
        # Templates by the window of segments they look at, first and last offset.
        self._windows: dict[tuple[int, int], list[tuple[str, list[Look]]]] = {}
        for text in dict.fromkeys(expanded):
            looks = _parse(text, columns)
            offsets = [0, *(offset for _, offset in looks)]
            self._windows.setdefault((min(offsets), max(offsets)), []).append((f"{text}=", looks))
        self._views = {view for window in self._windows.values() for _, looks in window for view, _ in looks}

    def parts(self, candidates: Sequence[Candidate], scale: float) -> Parts:
        """A list as a hypergraph, the candidates as its last edges; the tagger's scores are divided by ``scale``.

        A candidate is an edge into the goal. Features that some candidates share are on an edge of their own, to a node
        that those candidates have as a tail: so a list is encoded and scored without repeating them.
        """
        shared, own_features = self._look(candidates), [dict[str, float]() for _ in candidates]
        if self.has_score:
            for features, z in zip(own_features, candidates, strict=True):
                features["score"] = (z.score - candidates[0].score) / scale
        for name, function in self.functions.items():
            outputs = [_said(name, function(z)) for z in candidates]
            same = set(outputs[0].items()).intersection(*(pairs.items() for pairs in outputs[1:]))
            for features, pairs in zip(own_features, outputs, strict=True):
                features.update({f"{name}: {key}": value for key, value in pairs.items() if (key, value) not in same})
        n, members = len(shared), [ranks for ranks, _ in shared]
        tails = [[node for node, ranks in enumerate(members) if ranks >> z.rank & 1] for z in candidates]
        graph = Hypergraph(
            [*range(n), *[n] * len(tails)],
            np.array([node for nodes in tails for node in nodes], np.int32),
            tail_starts=starts_of([*[0] * n, *map(len, tails)]),
            n_nodes=n + 1,
        )
        return Parts(graph, [*(features for _, features in shared), *own_features])

    def _look(self, candidates: Sequence[Candidate]) -> list[tuple[int, dict[str, float]]]:
        """Values of templates with the set of their candidates (bit r: rank r); values of all candidates are dropped.

        Candidates share most of their segments, so every window is processed once.
        """
        if not self._windows:
            return []
        sentence, n = candidates[0].sentence, len(candidates[0].labels)
        numbers = {Segment("<s>", 0, 0): 0, Segment("</s>", n, n): 1}
        lines = [[numbers.setdefault(segment, len(numbers)) for segment in z.segments] for z in candidates]
        texts = {view: [view.see(segment, sentence) for segment in numbers] for view in self._views}
        everyone, shared = (1 << len(candidates)) - 1, dict[int, dict[str, float]]()
        low, high = min(first for first, _ in self._windows), max(last for _, last in self._windows)
        wide = dict[tuple[int, ...], int]()  # for every window the candidates that contain it
        for rank, line in enumerate(lines):
            padded = [0] * -low + line + [1] * high
            for window in zip(*(padded[i:] for i in range(high - low + 1)), strict=False):
                wide[window] = wide.get(window, 0) | 1 << rank
        for (first, last), templates in self._windows.items():
            members = dict[tuple[int, ...], int]()
            for window, ranks_of in wide.items():
                window = window[first - low : last - low + 1]
                members[window] = members.get(window, 0) | ranks_of
            looks = [(text, [(texts[view], offset - first) for view, offset in pairs]) for text, pairs in templates]
            for window, ranks_of in members.items():
                if ranks_of != everyone:
                    features = shared.setdefault(ranks_of, {})
                    for text, pairs in looks:
                        name = text + "|".join([strings[window[place]] for strings, place in pairs])
                        features[name] = features.get(name, 0.0) + 1.0
        return list(shared.items())

    @property
    def names(self) -> list[str]:
        """The features as stored in a model file; functions by name."""
        return [feature if isinstance(feature, str) else f"{function_name(feature)}()" for feature in self.chosen]


def function_name(function: Any) -> str:
    """The name of a user-defined function."""
    return str(getattr(function, "__name__", type(function).__name__))


def _said(name: str, output: Any) -> dict[str, float]:
    """The result of a function as names and values."""
    if isinstance(output, Mapping):
        return plain_features(output, f"feature function {name}")
    names = items(output)
    if names is None or not all(isinstance(feature, str) for feature in names):
        reason = f"feature function {name} must return a list of names or a dict from names to numbers"
        raise LearnerError(f"{reason}, not {reprlib.repr(output)}")
    return {key: float(n) for key, n in Counter(names).items()}


# ------------------------------------------------------------ templates

_LOOK = re.compile(r"(?:(first|last)\()?([^\s()\[\]&]+)\[(-?\d{1,4})(?:\.\.(-?\d{1,4}))?\]\)?")


def _parse(text: str, columns: Sequence[str]) -> list[Look]:
    """The looks of a template, each with its offset."""
    looks = list[Look]()
    for part in text.split("&"):
        match = _LOOK.fullmatch(part.strip())
        if match is None or (match[1] is None) == part.strip().endswith(")"):
            raise TemplateError(
                f"unknown feature {text!r}; use one of {', '.join(FEATURES)}, or write a template such as "
                "'type[-1..1] & length[0]'"
            )
        first, last = int(match[3]), int(match[4] or match[3])
        if last < first or max(-first, last) > MAX_OFFSET:
            raise TemplateError(f"{text!r}: offsets must be from -{MAX_OFFSET} to {MAX_OFFSET}, the lower one first")
        if match[2] not in columns and (match[2] not in ("type", "length") or match[1] is not None):
            raise TemplateError(f"{text!r}: no column {match[2]!r}; the columns are type, length, {', '.join(columns)}")
        looks += [(View(match[2], match[1]), offset) for offset in range(first, last + 1)]
    return looks
