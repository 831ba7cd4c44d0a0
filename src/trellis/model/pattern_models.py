"""Models of CRF++ (binary and text) and of Wapiti (text), whose observations are texts made by patterns.

A pattern such as ``U05:%x[-1,0]/%x[0,0]`` is one of our templates. An observation, ``U05:the/dog``, is taken apart into
the values that make it; where it can be cut in several ways, all of them lead to its weights, as they do there.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis.arrays import Doubles, Ints, Longs
from trellis.corpus.corpus import Strings
from trellis.errors import ModelError, TemplateError
from trellis.features.crfpp import MACRO, parse_crfpp
from trellis.features.extraction import Extractor
from trellis.features.regex import text_of
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import View, function_of
from trellis.model.foreign import check_labels, frozen_vocabulary
from trellis.model.model import ChainWeights, Model, Rows, padded

MOST_COLUMNS, MOST_PATTERNS = 1000, 2000  # of a file
MOST_WAYS = 200  # of an observation to be cut
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


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What a file says: patterns for labels (unigram) and label pairs, observations, and where their weights begin."""

    labels: list[str]
    n_columns: int
    patterns: list[tuple[str, bool, bool]]  # pattern, whether of labels, whether of label pairs
    observations: list[bytes]
    of_labels: Longs  # [n observations] the place of its first weight of labels, -1: it has none
    of_pairs: Longs  # the same of label pairs
    places: Longs  # of all weights that are not 0, ascending
    weights: Doubles
    outside: Callable[[int], str]  # the name of a place outside the sentence, by its distance, negative before it
    local: bool = False  # labels are normalised one by one

    def weighted(self, *, on_edge: bool) -> tuple[Longs, Longs, Longs]:
        """The observations that have a weight; where their weights begin and end in ``weights``."""
        first, n = self.of_pairs if on_edge else self.of_labels, len(self.labels)
        begin = np.searchsorted(self.places, first)
        end = np.where(first < 0, begin, np.searchsorted(self.places, first + (n * n if on_edge else n)))
        here = np.flatnonzero(end > begin)
        return here, begin[here], end[here]


def read_pattern_model(data: bytes) -> Model:
    """The model in such a file; ModelError if it is damaged, or has patterns that are not read."""
    try:
        if data.startswith(b"#mdl#"):
            return _model(_wapiti(data), "Wapiti")
        return _model(_crfpp_text(data) if data.startswith(b"version:") else _crfpp_binary(data), "CRF++")
    except MemoryError as error:
        raise ModelError("cannot read the model: not enough memory") from error
    except (
        ValueError,
        IndexError,
        KeyError,
        OverflowError,
        struct.error,
        UnicodeDecodeError,
        RecursionError,
    ) as error:
        if isinstance(error, UnicodeDecodeError):
            why = "has text that is not UTF-8; convert its text model (crf_learn -t) with iconv, or train it again"
            raise ModelError(f"the model {why}") from error
        raise ModelError(f"the model is damaged: {error or type(error).__name__}; copy it again") from error
    except TemplateError as error:
        raise ModelError(f"the model has a pattern that is not read: {error}") from error


# ------------------------------------------------------------ the files


def _wapiti(data: bytes) -> _Parsed:
    lines = _Lines(data)
    kind, n_weights = ([int(part) for part in lines.next()[5:].split("#")] + [0])[:2]
    if lines.first.count("#") == 2:  # old files have no kind
        kind, n_weights = 0, kind
    n_patterns, highest = (int(part) for part in lines.marked("#rdr#").split("/")[:2])
    texts = [text_of(text) for text in lines.netstrings(n_patterns)]
    labels = [text_of(text) for text in lines.netstrings(int(lines.marked("#qrk#")))]
    check_labels(labels)
    if not texts:
        raise TemplateError("it has none, but was trained on features in place of columns")
    patterns = []
    for text in texts:
        if text[:1] not in ("u", "b", "*") or "%" in MACRO.sub("", text):
            raise TemplateError(f"{text!r}; %x, %t and %m are, at places relative to the token")
        patterns.append((text, text[:1] in "u*", text[:1] in "b*"))
        highest = max([highest, *(int(match[3] or match[6]) for match in MACRO.finditer(text))])
    observations = lines.netstrings(int(lines.marked("#qrk#")))
    n, kinds = len(labels), np.array([name[:1] for name in observations], "S1")
    has_labels, has_pairs = np.isin(kinds, [b"u", b"*"]), np.isin(kinds, [b"b", b"*"])
    ends = np.cumsum(has_labels * n + has_pairs * (n * n))
    begins = ends - has_labels * n - has_pairs * (n * n)
    of_labels, of_pairs = np.where(has_labels, begins, -1), np.where(has_pairs, begins + has_labels * n, -1)
    places, weights = lines.weights(n_weights)
    if len(places) and (places[0] < 0 or places[-1] >= ends.max(initial=0)):
        raise ValueError("a weight has no place")
    return _Parsed(
        labels, highest + 1, patterns, observations, of_labels, of_pairs, places, weights, _wapiti_outside, kind == 1
    )


def _wapiti_outside(distance: int) -> str:
    """Five places outside the sentence and more have one name."""
    far = abs(distance)
    return f"_x{'-' if distance < 0 else '+'}{far if far < 5 else '#'}"


class _Lines:
    """The lines of a file, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self.first = data.partition(b"\n")[0].decode()

    def next(self) -> str:
        end = self._data.index(b"\n", self._at)
        line, self._at = self._data[self._at : end], end + 1
        return line.decode()

    def marked(self, mark: str) -> str:
        line = self.next()
        if not line.startswith(mark):
            raise ValueError(f"{mark} is missing")
        return line[len(mark) :]

    def netstrings(self, n: int) -> list[bytes]:
        """So many strings, each after its length in bytes and a colon, before a comma and the end of the line."""
        data, at, strings = self._data, self._at, list[bytes]()
        for _ in range(n):
            colon = data.index(b":", at)
            end = colon + 1 + int(data[at:colon])
            if end <= colon or data[end : end + 1] != b",":
                raise ValueError("a string is not as long as it says")
            strings.append(data[colon + 1 : end])
            at = data.index(b"\n", end) + 1
        self._at = at
        return strings

    def weights(self, n: int) -> tuple[Longs, Doubles]:
        """So many lines ``place=weight``: the places in ascending order and their weights, without those that are 0.

        Weights are hexadecimal (``0x1.8p-3``), or decimal as other writers of this format print them; of several for
        one place the last counts.
        """
        by_place = dict[int, float]()
        for _ in range(n):
            place, _, value = self.next().partition("=")
            by_place[int(place)] = float.fromhex(value) if "x" in value.lower() else float(value)
        places: Longs = np.array(sorted(by_place), np.int64)
        weights: Doubles = np.array([by_place[place] for place in places.tolist()], np.float64)
        return places[weights != 0], weights[weights != 0]


def _crfpp(
    labels: list[str], n_columns: int, templates: Sequence[str], features: list[bytes], ids: Longs, weights: Doubles
) -> _Parsed:
    check_labels(labels)
    b"\n".join(features).decode()  # UnicodeDecodeError of another encoding
    on_edge = np.array([name[:1] == b"B" for name in features], bool)
    widths = np.where(on_edge, len(labels) ** 2, len(labels))
    order = np.argsort(ids, kind="stable")
    ends = (ids + widths)[order]
    if len(ids) and (ids.min() < 0 or ends[-1] > len(weights) or (ends[:-1] > ids[order][1:]).any()):
        raise ValueError("a feature has no weights of its own")
    places = np.flatnonzero(weights)
    return _Parsed(
        labels,
        n_columns,
        [(line, line.startswith("U"), line.startswith("B")) for line in templates if line],
        features,
        np.where(on_edge, -1, ids),
        np.where(on_edge, ids, -1),
        places,
        weights[places],
        lambda distance: f"_B{distance:+}",
    )


def _crfpp_text(data: bytes) -> _Parsed:
    head, labels, patterns, features, weights, *_ = [part.split(b"\n") for part in data.split(b"\n\n")]
    known = dict(line.decode().split(": ", 1) for line in head)
    if not data.endswith(b"\n"):
        raise ValueError("it ends within a line")
    pairs = [line.partition(b" ")[::2] for line in features if line]
    values = np.array([float(line) for line in weights if line])
    if len(values) != int(known["maxid"]):
        raise ValueError("it has fewer weights than it says")
    ids: Longs = np.array([int(number) for number, _ in pairs], np.int64)
    texts = [[line.decode() for line in lines] for lines in (labels, patterns)]
    return _crfpp(texts[0], int(known["xsize"]), texts[1], [name for _, name in pairs], ids, values)


_HEAD = struct.Struct("<IidIIII")


def _crfpp_binary(data: bytes) -> _Parsed:
    _, _, _, n_weights, n_columns, n_trie, n_labels = _HEAD.unpack_from(data)
    at = _HEAD.size
    labels = _strings(data, at, n_labels)
    at += n_labels
    (n_patterns,) = struct.unpack_from("<I", data, at)
    patterns = _strings(data, at + 4, n_patterns)
    at += 4 + n_patterns
    if at + n_trie + 4 * n_weights != len(data) or n_trie % 8:
        raise ValueError("it is not as long as it says")
    names, ids = _trie(np.frombuffer(data, "<i4", n_trie // 4, at).reshape(-1, 2).astype(np.int64))
    weights = np.frombuffer(data, "<f4", n_weights, at + n_trie).astype(np.float64)
    return _crfpp(labels, n_columns, patterns, names, ids, weights)


def _strings(data: bytes, at: int, n: int) -> list[str]:
    if at + n > len(data):
        raise ValueError("it ends too early")
    return [part.decode() for part in data[at : at + n].split(b"\0") if part]


def _trie(units: npt.NDArray[np.int64]) -> tuple[list[bytes], Longs]:
    """All keys of a double array with their numbers: the children of a node with base b are the units whose check is b.

    It is walked level by level.
    """
    base, check = units[:, 0], units[:, 1] & 0xFFFFFFFF
    order = np.argsort(check, kind="stable")
    order = order[order != 0]
    ordered = check[order]
    keys, numbers = list[bytes](), list[int]()
    bases, prefixes, n_seen = base[:1], [b""], 0
    while len(bases):
        n_seen += len(bases)
        if n_seen > len(units) + 1:
            raise ValueError("its tree of features has no end")
        left = np.searchsorted(ordered, bases)
        counts = np.searchsorted(ordered, bases, "right") - left
        parents = np.repeat(np.arange(len(bases)), counts)
        children = order[np.arange(len(parents)) + np.repeat(left - np.cumsum(counts) + counts, counts)]
        letters = children - bases[parents] - 1
        ends = (letters == -1) & (base[children] < 0)
        keys += [prefixes[parent] for parent in parents[ends].tolist()]
        numbers += (-base[children[ends]] - 1).tolist()
        inner = (letters >= 0) & (letters < 256) & (base[children] >= 0)
        pairs = zip(parents[inner].tolist(), letters[inner].tolist(), strict=True)
        prefixes = [prefixes[parent] + bytes((letter,)) for parent, letter in pairs]
        bases = base[children[inner]]
    return keys, np.array(numbers, np.int64)


# ------------------------------------------------------------ the model


def _model(given: _Parsed, tool: str) -> Model:
    n = len(given.labels)
    if not 0 < given.n_columns <= MOST_COLUMNS:
        raise ValueError(f"it has {given.n_columns:,} columns")
    if not np.isfinite(given.weights).all() or np.abs(given.weights).max(initial=0) > 1e30:
        raise ValueError("a weight is no number")
    columns = [("word", "pos")[i] if i < 2 else f"column{i + 1}" for i in range(given.n_columns)]
    # Wapiti appends its patterns to those of the model that training started from: an observation counts as often as
    # the pattern that makes it occurs.
    counts = {on_edge: Counter(text for text, *about in given.patterns if about[on_edge]) for on_edge in (False, True)}
    if len(counts[False]) + len(counts[True]) > MOST_PATTERNS:
        raise ValueError(f"it has {len(given.patterns):,} patterns, at most {MOST_PATTERNS:,} are read")
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
    observed = [_Observed.of(given, on_edge=on_edge) for on_edge in (False, True)]
    cut = [
        _outside_named(template, observed[on_edge].cut_up(_Pattern.of(text)), given.outside)
        for template, (text, on_edge) in zip(templates, both, strict=True)
    ]
    vocabulary, numbers = _vocabulary(templates, columns, cut)
    table = np.zeros((n + 1, padded(n)), np.float32)
    for text in plain:
        for _, i in observed[True].cut_up(_Pattern.of(text)):
            begin, end = observed[True].begins[i], observed[True].ends[i]
            first = given.of_pairs[observed[True].numbers[i]]
            before, label = np.divmod(given.places[begin:end] - first, n)
            table[before, label] += counts[True][text] * given.weights[begin:end]
    n_edges = sum(t.history > 0 for t in templates)
    rows = [_rows(given, observed[on_edge], cut, numbers, times, templates) for on_edge in (False, True)]
    order = 1 if n_edges or plain else 0
    weights = ChainWeights(n, rows[0], rows[1] if n_edges else None, table, None)
    info: dict[str, Any] = {"learner": {"name": tool}, "imported": tool}
    if len(set(given.patterns)) < len(given.patterns):
        info["note"] = (
            f"the file has {len(given.patterns)} patterns, {len(set(given.patterns))} of them different, "
            "as training from a model leaves them; weights are multiplied by how often a pattern occurs"
        )
    family = "local" if given.local else "log-linear"
    return Model(tuple(given.labels), "label", order, vocabulary, weights, info=info, family=family)


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
    def of(cls, given: _Parsed, *, on_edge: bool) -> _Observed:
        here, begins, ends = given.weighted(on_edge=on_edge)
        texts = [text_of(given.observations[i]) for i in here.tolist()]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        places = np.array(order, np.int64)
        return cls(on_edge, [texts[i] for i in order], here[places], begins[places], ends[places])

    def cut_up(self, pattern: _Pattern) -> _Cut:
        """The observations that begin as the pattern does, taken apart by it."""
        if pattern.parts in self._cuts:
            return self._cuts[pattern.parts]
        cut, first = _Cut(), pattern.parts[0]
        left = bisect_left(self.texts, first)
        right = bisect_right(self.texts, first, left, key=lambda text: text[: len(first)])
        for i in range(left, right):
            ways = list(islice(pattern.values(self.texts[i]), MOST_WAYS + 1))
            cut += [(values, i) for values in ways]
            if len(ways) > MOST_WAYS or len(cut) > _most_cuts(right - left):
                raise ValueError(f"{self.texts[i][:40]!r} can be cut in too many ways")
        self._cuts[pattern.parts] = cut
        return cut


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
            raise ValueError(f"{str(template)!r} sees too many places outside the sentence alike")
        out += [(way, i) for way in product(*ways)]
    return out


def _rows(
    given: _Parsed,
    observed: _Observed,
    cut: Sequence[_Cut],
    numbers: dict[tuple[int, int], Ints],
    times: Sequence[int],
    templates: Sequence[Template],
) -> Rows:
    """The weights of all attributes of labels, or of label pairs, without those that are 0."""
    n, stride = len(given.labels), padded(len(given.labels))
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
        raise ValueError(f"its observations can be cut in so many ways that it has {widths.sum():,} weights")
    starts = np.zeros(n_attributes + 1, np.int64)
    starts[1:][distinct[distinct >= 0]] = widths
    starts = np.cumsum(starts)
    source = np.arange(starts[-1]) + np.repeat(observed.begins[of] - starts[:-1][distinct[distinct >= 0]], widths)
    firsts = (given.of_pairs if observed.on_edge else given.of_labels)[observed.numbers[of]]
    column = given.places[source] - np.repeat(firsts, widths)
    weights = given.weights[source] * np.repeat(factor, widths)
    kind: Callable[[Any], Any] = np.uint16
    if observed.on_edge:
        column, kind = column // n * stride + column % n, np.uint32
    return Rows(starts.astype(np.uint32), kind(column), weights.astype(np.float32))
