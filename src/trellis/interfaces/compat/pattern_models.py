"""Models of CRF++ (binary and text) and of Wapiti (text), whose observations are texts made by patterns.

A pattern such as ``U05:%x[-1,0]/%x[0,0]`` is one of our templates. An observation, ``U05:the/dog``, is taken apart into
the values that make it; where it can be cut in several ways, all of them lead to its weights, as they do there.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import numpy as np

from trellis._support.arrays import Doubles, Ints, Longs, starts_of
from trellis._support.errors import ModelError, TemplateError
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.features.crfpp import MACRO, parse_crfpp
from trellis.features.regex import text_of
from trellis.features.templates import Template
from trellis.features.vocabulary import function_of
from trellis.interfaces.compat.models import Values, frozen_vocabulary
from trellis.interfaces.compat.pattern_files import PatternFile, parse_pattern_model
from trellis.tasks.tagging.chain_model import ChainModel

MOST_COLUMNS, MOST_PATTERNS = 1000, 2000  # of a file
MOST_WAYS, MOST_ALIKE = 200, 256  # of an observation to be cut; patterns that it may be of
MOST_WEIGHTS = 1 << 26  # of a model, after observations that can be cut in several ways were given theirs


# Of a pattern: the values of each observation that it makes, and the number of that observation.
_Cut = list[tuple[Values, int]]


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
        raise ModelError(f"the model has an unsupported pattern: {error}") from error


def _model(parsed: PatternFile, tool: str) -> ChainModel:
    n = len(parsed.labels)
    if not 0 < parsed.n_columns <= MOST_COLUMNS:
        raise ModelError(f"the model has {parsed.n_columns:,} columns; 1 to {MOST_COLUMNS:,} are supported")
    if not np.isfinite(parsed.weights).all() or np.abs(parsed.weights).max(initial=0) > 1e30:
        raise ValueError("a weight is not a number")
    columns = [("word", "pos")[i] if i < 2 else f"column{i + 1}" for i in range(parsed.n_columns)]
    # Wapiti appends its patterns to those of the model that training started from: an observation counts as often as
    # the pattern that makes it occurs.
    n_patterns, n_distinct = len(parsed.patterns), len(set(parsed.patterns))
    counts = [Counter(text for text in parsed.patterns if text[0] in letters) for letters in ("Uu*", "Bb*")]
    if sum(map(len, counts)) > MOST_PATTERNS:
        raise ModelError(
            f"the model has {n_patterns:,} patterns; at most {MOST_PATTERNS:,} different ones are supported"
        )
    plain = {text: count for text, count in counts[True].items() if not MACRO.search(text)}
    both = [(text, False) for text in counts[False]] + [(text, True) for text in counts[True] if text not in plain]
    lines = [("B" if on_edge else "U") + text for text, on_edge in both]  # CRF++'s letters; the rest stays as it is
    templates, _ = parse_crfpp(lines, columns, tool) if lines else ([], False)
    times = [counts[on_edge][text] for text, on_edge in both]
    # Patterns that differ in offsets only share their weights, which are multiplied once: those of other counts do not.
    templates = [
        replace(template, name=f"{template.name}_{count}") if template.name and count > 1 else template
        for template, count in zip(templates, times, strict=True)
    ]
    observed = [_Observed.of(parsed, counts[on_edge], on_edge=on_edge) for on_edge in (False, True)]
    cut = [
        _outside_named(template, observed[on_edge].cuts[_parts(text)], parsed.outside)
        for template, (text, on_edge) in zip(templates, both, strict=True)
    ]
    words = dict.fromkeys(columns, ())
    vocabulary, numbers = frozen_vocabulary(templates, words, [[values for values, _ in one] for one in cut])
    table, pairs = np.zeros((n + 1, padded(n)), np.float32), observed[True]
    for text, count in plain.items():
        for _, i in pairs.cuts[_parts(text)]:
            here = slice(pairs.begins[i], pairs.ends[i])
            before, label = np.divmod(parsed.places[here] - pairs.firsts[i], n)
            table[before, label] += count * parsed.weights[here]
    rows = []
    for on_edge in (False, True):
        some = [k for k, template in enumerate(templates) if (template.history > 0) == on_edge]
        of = np.array([i for k in some for _, i in cut[k]], np.int64)
        factors = np.repeat([float(times[k]) for k in some], [len(cut[k]) for k in some])
        attributes = np.concatenate([np.empty(0, np.int32), *(numbers[k] for k in some)])
        rows.append(_rows(parsed, observed[on_edge], attributes, of, factors, on_edge=on_edge))
    n_edges = len(some)
    weights = ChainWeights(n, rows[0], rows[1] if n_edges else None, table, None)
    info: dict[str, Any] = {"learner": {"name": tool}, "imported": tool}
    if n_distinct < n_patterns:
        info["note"] = (
            f"the file has {n_patterns} patterns, {n_distinct} of them different, "
            "as training from a model leaves them; weights are multiplied by how often a pattern occurs"
        )
    family, order = "local" if parsed.local else "log-linear", 1 if n_edges or plain else 0
    return ChainModel(tuple(parsed.labels), "label", order, vocabulary, weights, training=info, family=family)


@dataclass(frozen=True, slots=True)
class _Observed:
    """The observations that have weights of labels, or of label pairs, as patterns make them."""

    begins: Longs  # the weights of each among all weights
    ends: Longs
    firsts: Longs  # the place of its first weight
    cuts: dict[tuple[str, ...], _Cut]  # by the parts of patterns

    @classmethod
    def of(cls, parsed: PatternFile, patterns: Iterable[str], *, on_edge: bool) -> _Observed:
        """Take the observations apart by these patterns; ModelError where that would take minutes."""
        firsts, n = parsed.firsts[on_edge], len(parsed.labels)
        begins = np.searchsorted(parsed.places, firsts)
        ends = np.where(firsts < 0, begins, np.searchsorted(parsed.places, firsts + (n * n if on_edge else n)))
        named = sorted((text_of(parsed.observations[i]), i) for i in np.flatnonzero(ends > begins).tolist())
        texts, here = [text for text, _ in named], np.array([i for _, i in named], np.int64)
        alike = dict[tuple[str, ...], range]()  # the observations that begin as a pattern does
        for parts in map(_parts, patterns):
            left = bisect_left(texts, parts[0])
            alike[parts] = range(left, bisect_right(texts, parts[0], left, key=lambda text: text[: len(parts[0])]))
        if sum(map(len, alike.values())) > (1 << 20) + MOST_ALIKE * len(texts):
            raise ModelError(f"the model has more than {MOST_ALIKE} patterns with the same prefix")
        cuts: dict[tuple[str, ...], _Cut] = {parts: [] for parts in alike}
        for parts, places in alike.items():
            for i in places:
                ways = list(islice(_values(parts, texts[i]), MOST_WAYS + 1))
                cuts[parts] += [(values, i) for values in ways]
                if len(ways) > MOST_WAYS or len(cuts[parts]) > _most_cuts(len(places)):
                    what = f"an observation, {texts[i][:40]!r}, that can be split in too many ways"
                    raise ModelError(f"the model has {what}")
        return cls(begins[here], ends[here], firsts[here], cuts)


def _parts(pattern: str) -> tuple[str, ...]:
    """The text before, between and after the macros of a pattern."""
    return tuple(MACRO.split(pattern)[:: 1 + MACRO.groups])


def _values(parts: tuple[str, ...], text: str) -> Iterator[tuple[str, ...]]:
    """All values of the macros between these parts that make this observation."""
    first, *rest = parts
    if not rest or not (text.startswith(first) and text.endswith(rest[-1])):
        if parts == (text,):
            yield ()
        return
    # The last place where each part can stand, so that no cut is begun that cannot be finished.
    last, end = list[int](), len(text)
    for part in reversed(rest):
        end = text.rfind(part, len(first), end)
        if end < 0:
            return
        last.insert(0, end)

    def cut(begin: int, k: int) -> Iterator[tuple[str, ...]]:
        """The values from ``begin`` on, before part k of the rest and those after it; the last one ends the text."""
        if k == len(rest) - 1:
            yield (text[begin : last[k]],)
            return
        at = text.find(rest[k], begin)
        while 0 <= at <= last[k]:
            for others in cut(at + len(rest[k]), k + 1):
                yield (text[begin:at], *others)
            at = text.find(rest[k], at + 1)

    yield from cut(len(first), 0)


def _most_cuts(n_observations: int) -> int:
    return (1 << 18) + 8 * n_observations


def _outside_named(template: Template, observed: _Cut, name: Callable[[int], str]) -> _Cut:
    """The same with the places outside the sentence that have, or whose names are said to have, these values.

    What a function says of such a name it may also say of a word; the names themselves are no words.
    """
    places: list[dict[Any, list[int]]] = []
    for look in template.looks:
        step, function = -1 if look.offset < 0 else 1, function_of(look.calls, {}) if look.calls else None
        places.append(defaultdict(list))
        for distance in range(step, look.offset + step, step) if look.offset else ():
            text = name(distance)
            places[-1][text if function is None else function(text)].append(distance)
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
    parsed: PatternFile, observed: _Observed, attributes: Ints, of: Longs, factors: Doubles, *, on_edge: bool
) -> Rows:
    """The weights of attributes of labels, or of label pairs, without those that are 0: each ``of`` an observation."""
    n = len(parsed.labels)
    # Patterns that differ in offsets only share attributes: each is taken once.
    _, distinct = np.unique(attributes, return_index=True)
    of, factors = of[distinct], factors[distinct]
    widths = observed.ends[of] - observed.begins[of]
    starts = starts_of(widths)
    if starts[-1] > MOST_WEIGHTS:
        raise ModelError(f"the model has {starts[-1]:,} weights, since observations can be split in many ways")
    source = np.arange(starts[-1]) + np.repeat(observed.begins[of] - starts[:-1], widths)
    columns = parsed.places[source] - np.repeat(observed.firsts[of], widths)
    weights = parsed.weights[source] * np.repeat(factors, widths)
    columns = (columns // n * padded(n) + columns % n).astype(np.uint32) if on_edge else columns.astype(np.uint16)
    return Rows(starts.astype(np.uint32), columns, weights.astype(np.float32))
