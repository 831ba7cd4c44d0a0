"""Models of CRF++ (binary and text) and of Wapiti (text), whose observations are texts made by patterns.

A pattern such as ``U05:%x[-1,0]/%x[0,0]`` is one of our templates. An observation, ``U05:the/dog``, is taken apart into
the values that make it; where it can be cut in several ways, all of them lead to its weights, as they do there.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

import numpy as np

from trellis._support.arrays import Ints, Longs
from trellis._support.errors import ModelError, TemplateError
from trellis.corpus.corpus import Strings
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.features.crfpp import MACRO, parse_crfpp
from trellis.features.extraction import Extractor
from trellis.features.regex import text_of
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import View, function_of
from trellis.interfaces.compat.models import frozen_vocabulary
from trellis.interfaces.compat.pattern_files import PatternFile, parse_pattern_model
from trellis.tasks.tagging.chain_model import ChainModel

MOST_COLUMNS, MOST_PATTERNS = 1000, 2000  # of a file
MOST_WAYS, MOST_ALIKE = 200, 256  # of an observation to be cut; patterns that it may be of
MOST_WEIGHTS = 1 << 26  # of a model, after observations that can be cut in several ways were given theirs


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern: the text before, between and after its macros."""

    text: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Pattern:
        return cls(text, tuple(MACRO.split(text)[:: 1 + MACRO.groups]))

    def values(self, observation: str) -> Iterator[tuple[str, ...]]:
        """All values of the macros that make this observation."""
        first, *rest = self.parts
        if not observation.startswith(first):
            return
        if not rest:
            if observation == first:
                yield ()
            return
        # The last place where each part can stand, so that no cut is begun that cannot be finished.
        last, end = list[int](), len(observation)
        if not observation.endswith(rest[-1]):
            return
        for part in reversed(rest):
            end = observation.rfind(part, len(first), end)
            if end < 0:
                return
            last.append(end)
        yield from self._cut(observation, len(first), rest, last[::-1])

    def _cut(self, text: str, begin: int, rest: list[str], last: list[int]) -> Iterator[tuple[str, ...]]:
        """The values from ``begin`` on, before each part of the rest; the last part ends the text."""
        if len(rest) == 1:
            yield (text[begin : last[0]],)
            return
        at = text.find(rest[0], begin)
        while 0 <= at <= last[0]:
            for others in self._cut(text, at + len(rest[0]), rest[1:], last[1:]):
                yield (text[begin:at], *others)
            at = text.find(rest[0], at + 1)


def read_pattern_model(data: bytes) -> ChainModel:
    """The model in such a file; ModelError if it is damaged, or has patterns that are not read."""
    tool = "Wapiti" if data.startswith(b"#mdl#") else "CRF++"
    try:
        return _model(parse_pattern_model(data), tool)
    except UnicodeDecodeError as error:
        why = "convert its text model (crf_learn -t) with iconv, or train it again"
        raise ModelError(f"the model has text that is not UTF-8; {why}") from error
    except MemoryError as error:
        raise ModelError("cannot read the model: not enough memory") from error
    except (ValueError, IndexError, KeyError, OverflowError, struct.error, RecursionError) as error:
        why = str(error) or type(error).__name__
        why = why if len(why) <= 200 else f"{why[:200]}..."
        raise ModelError(f"the model is damaged: {why}; copy it again") from error
    except TemplateError as error:
        raise ModelError(f"the model has a pattern that is not read: {error}") from error


def _model(parsed: PatternFile, tool: str) -> ChainModel:
    n = len(parsed.labels)
    if not 0 < parsed.n_columns <= MOST_COLUMNS:
        raise ModelError(f"the model has {parsed.n_columns:,} columns; 1 to {MOST_COLUMNS:,} are read")
    if not np.isfinite(parsed.weights).all() or np.abs(parsed.weights).max(initial=0) > 1e30:
        raise ValueError("a weight is no number")
    columns = [("word", "pos")[i] if i < 2 else f"column{i + 1}" for i in range(parsed.n_columns)]
    # Wapiti appends its patterns to those of the model that training started from: an observation counts as often as
    # the pattern that makes it occurs.
    counts = {on_edge: Counter(text for text, *about in parsed.patterns if about[on_edge]) for on_edge in (False, True)}
    if len(counts[False]) + len(counts[True]) > MOST_PATTERNS:
        raise ModelError(
            f"the model has {len(parsed.patterns):,} patterns; at most {MOST_PATTERNS:,} different ones are read"
        )
    plain = [text for text in counts[True] if not MACRO.search(text)]
    both = [
        *((text, False) for text in counts[False]),
        *((text, True) for text in counts[True] if text not in plain),
    ]
    lines = [("B" if on_edge else "U") + text for text, on_edge in both]  # CRF++'s letters; the rest stays as it is
    templates, _ = parse_crfpp(lines, columns, tool) if lines else ([], False)
    times = [counts[on_edge][text] for text, on_edge in both]
    # Patterns that differ in offsets only share their weights, which are multiplied once: those of other counts do not.
    templates = [
        replace(template, name=f"{template.name}_{count}") if template.name and count > 1 else template
        for template, count in zip(templates, times, strict=True)
    ]
    observed = [_Observed.of(parsed, on_edge=on_edge) for on_edge in (False, True)]
    for on_edge in (False, True):
        observed[on_edge].check(map(_Pattern.of, counts[on_edge]))
    cut = [
        _outside_named(template, observed[on_edge].cut_up(_Pattern.of(text)), parsed.outside)
        for template, (text, on_edge) in zip(templates, both, strict=True)
    ]
    vocabulary, numbers = _vocabulary(templates, columns, cut)
    table = np.zeros((n + 1, padded(n)), np.float32)
    for text in plain:
        for _, i in observed[True].cut_up(_Pattern.of(text)):
            begin, end = observed[True].begins[i], observed[True].ends[i]
            first = parsed.of_pairs[observed[True].numbers[i]]
            before, label = np.divmod(parsed.places[begin:end] - first, n)
            table[before, label] += counts[True][text] * parsed.weights[begin:end]
    n_edges = sum(t.history > 0 for t in templates)
    rows = [_rows(parsed, observed[on_edge], cut, numbers, times, templates) for on_edge in (False, True)]
    order = 1 if n_edges or plain else 0
    weights = ChainWeights(n, rows[0], rows[1] if n_edges else None, table, None)
    info: dict[str, Any] = {"learner": {"name": tool}, "imported": tool}
    if len(set(parsed.patterns)) < len(parsed.patterns):
        info["note"] = (
            f"the file has {len(parsed.patterns)} patterns, {len(set(parsed.patterns))} of them different, "
            "as training from a model leaves them; weights are multiplied by how often a pattern occurs"
        )
    family = "local" if parsed.local else "log-linear"
    return ChainModel(tuple(parsed.labels), "label", order, vocabulary, weights, training=info, family=family)


# Of a pattern: the values of each observation that it makes, and the number of that observation.
_Cut = list[tuple[tuple[str, ...], int]]


@dataclass(frozen=True, slots=True)
class _Observed:
    """The observations that have weights of labels, or of label pairs, in the order of their texts."""

    on_edge: bool
    texts: list[str]
    numbers: Longs  # of each among all observations
    begins: Longs  # its weights among all weights
    ends: Longs
    _cuts: dict[tuple[str, ...], _Cut] = field(default_factory=dict)  # by the parts of patterns

    @classmethod
    def of(cls, parsed: PatternFile, *, on_edge: bool) -> _Observed:
        here, begins, ends = parsed.weighted(on_edge=on_edge)
        texts = [text_of(parsed.observations[i]) for i in here.tolist()]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        places = np.array(order, np.int64)
        return cls(on_edge, [texts[i] for i in order], here[places], begins[places], ends[places])

    def cut_up(self, pattern: _Pattern) -> _Cut:
        """The observations that begin as the pattern does, taken apart by it."""
        if pattern.parts in self._cuts:
            return self._cuts[pattern.parts]
        cut = _Cut()
        left, right = self._like(pattern)
        for i in range(left, right):
            ways = list(islice(pattern.values(self.texts[i]), MOST_WAYS + 1))
            cut += [(values, i) for values in ways]
            if len(ways) > MOST_WAYS or len(cut) > _most_cuts(right - left):
                raise ModelError(
                    f"the model has an observation, {self.texts[i][:40]!r}, that can be cut in too many ways"
                )
        self._cuts[pattern.parts] = cut
        return cut

    def _like(self, pattern: _Pattern) -> tuple[int, int]:
        """From where to where observations begin as the pattern does."""
        first = pattern.parts[0]
        left = bisect_left(self.texts, first)
        return left, bisect_right(self.texts, first, left, key=lambda text: text[: len(first)])

    def check(self, patterns: Iterable[_Pattern]) -> None:
        """ModelError where so many patterns begin alike that cutting takes minutes."""
        distinct = {pattern.parts: pattern for pattern in patterns}
        places = (self._like(pattern) for pattern in distinct.values())
        if sum(right - left for left, right in places) > (1 << 20) + MOST_ALIKE * len(self.texts):
            raise ModelError(f"the model has more than {MOST_ALIKE} patterns that begin alike")


def _most_cuts(n_observations: int) -> int:
    return (1 << 18) + 8 * n_observations


def _vocabulary(
    templates: Sequence[Template], columns: Sequence[str], cut: Sequence[_Cut]
) -> tuple[Any, dict[tuple[int, int], Ints]]:
    """The vocabulary that has these observations, over all columns; the numbers of each template's."""
    words: dict[str, dict[str, int]] = {column: {} for column in columns}
    said: dict[str, dict[View, list[str]]] = {column: defaultdict(list) for column in columns}
    for template, observed in zip(templates, cut, strict=True):
        for values, _ in observed:
            for look, value in zip(template.looks, values, strict=True):
                if value.startswith(_OUT):
                    continue
                if look.calls:
                    said[look.column][look.calls].append(value)
                else:
                    words[look.column].setdefault(value, len(words[look.column]))
    strings = {name: Strings.of(list(words[name])) for name in columns}
    extractor = Extractor(templates, strings, lambda name: np.ones(len(strings[name]), np.int64), more=said)
    reach = extractor.plan.reach
    ids = {
        (column.name, view): {value: 2 * reach + i for i, value in enumerate(column.values if said is None else said)}
        for column in extractor.columns
        for view, said in zip(column.views, column.strings, strict=True)
    }

    def view_id(look: Look, value: str) -> int:
        if not value.startswith(_OUT):
            return ids[look.column, look.calls][value]
        distance = int(value[1:])
        return -distance - 1 if distance < 0 else distance - 1 + reach

    return frozen_vocabulary(extractor, templates, [[values for values, _ in observed] for observed in cut], view_id)


_OUT = "\0"  # before the distance of a place outside the sentence: negative before it, positive after it


def _outside_named(template: Template, observed: _Cut, name: Callable[[int], str]) -> _Cut:
    """The same with the places outside the sentence that have, or whose names are said to have, these values.

    What a function says of such a name it may also say of a word; the names themselves are no words.
    """
    places: list[dict[str | None, list[str]]] = []
    for look in template.looks:
        step, function = -1 if look.offset < 0 else 1, function_of(look.calls, {}) if look.calls else None
        places.append(defaultdict(list))
        for distance in range(step, look.offset + step, step) if look.offset else ():
            text = name(distance)
            places[-1][text if function is None else function(text)].append(f"{_OUT}{distance}")
    if not any(places):
        return observed
    out = _Cut()
    for values, i in observed:
        ways = [
            outside.get(value, [value]) if not look.calls else [value, *outside.get(value, ())]
            for look, outside, value in zip(template.looks, places, values, strict=True)
        ]
        if len(out) + math.prod(map(len, ways)) > _most_cuts(len(observed)):
            raise ModelError(
                f"the model's {str(template)!r} has the same value at too many offsets outside the sentence"
            )
        out += [(way, i) for way in product(*ways)]
    return out


def _rows(
    parsed: PatternFile,
    observed: _Observed,
    cut: Sequence[_Cut],
    numbers: dict[tuple[int, int], Ints],
    times: Sequence[int],
    templates: Sequence[Template],
) -> Rows:
    """The weights of all attributes of labels, or of label pairs, without those that are 0."""
    n, stride = len(parsed.labels), padded(len(parsed.labels))
    some = [k for k, template in enumerate(templates) if (template.history > 0) == observed.on_edge]
    attribute = np.concatenate([*(numbers[int(observed.on_edge), k] for k in some), np.empty(0, np.int32)])
    of = np.array([i for k in some for _, i in cut[k]], np.int64)
    factor = np.array([times[k] for k in some for _ in cut[k]], np.float64)
    # Patterns that differ in offsets only share attributes: each is taken once.
    distinct, first = np.unique(attribute, return_index=True)
    first = first[distinct >= 0]
    n_attributes = int(attribute.max(initial=-1)) + 1
    of, factor = of[first], factor[first]
    widths = observed.ends[of] - observed.begins[of]
    if widths.sum() > MOST_WEIGHTS:
        raise ModelError(f"the model has {widths.sum():,} weights, since observations can be cut in many ways")
    starts = np.zeros(n_attributes + 1, np.int64)
    starts[1:][distinct[distinct >= 0]] = widths
    starts = np.cumsum(starts)
    source = np.arange(starts[-1]) + np.repeat(observed.begins[of] - starts[:-1][distinct[distinct >= 0]], widths)
    firsts = (parsed.of_pairs if observed.on_edge else parsed.of_labels)[observed.numbers[of]]
    column = parsed.places[source] - np.repeat(firsts, widths)
    weights = parsed.weights[source] * np.repeat(factor, widths)
    kind: Callable[[Any], Any] = np.uint16
    if observed.on_edge:
        column, kind = column // n * stride + column % n, np.uint32
    return Rows(starts.astype(np.uint32), kind(column), weights.astype(np.float32))
