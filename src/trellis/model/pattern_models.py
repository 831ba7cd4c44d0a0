"""Models of CRF++ (binary and text) and of Wapiti (text), whose observations are texts made by patterns.

A pattern such as ``U05:%x[-1,0]/%x[0,0]`` is one of our templates. An observation, ``U05:the/dog``, is taken apart into
the values that make it; where it can be cut in several ways, all of them lead to its weights, as they do there.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis.arrays import Doubles, Ints
from trellis.corpus.corpus import Strings
from trellis.errors import ModelError, TemplateError
from trellis.features.crfpp import MACRO, parse_crfpp
from trellis.features.extraction import Extractor
from trellis.features.regex import text_of
from trellis.features.templates import Look, Template
from trellis.features.vocabulary import View, function_of
from trellis.model.foreign import check_labels, frozen_vocabulary
from trellis.model.model import ChainWeights, Model, Rows, padded

MOST_COLUMNS, MOST_WAYS = 1000, 200  # of a file; of an observation to be cut


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
        yield from self._cut(observation[len(first) :], rest)

    def _cut(self, text: str, rest: list[str]) -> Iterator[tuple[str, ...]]:
        after, *more = rest
        if not more:
            if text.endswith(after):
                yield (text[: len(text) - len(after)],)
            return
        at = text.find(after)
        while at >= 0:
            for others in self._cut(text[at + len(after) :], more):
                yield (text[:at], *others)
            at = text.find(after, at + 1)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What a file says: patterns for labels (unigram) and label pairs, observations, and where their weights begin."""

    labels: list[str]
    n_columns: int
    patterns: list[tuple[str, bool, bool]]  # pattern, whether of labels, whether of label pairs
    observations: list[tuple[str, int | None, int | None]]  # text, first weight of labels, of pairs
    weights: Doubles
    outside: re.Pattern[str]  # what stands for a place outside the sentence: sign and distance
    local: bool = False  # labels are normalised one by one


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
        raise ModelError(f"the model is damaged: {error or type(error).__name__}; copy it again") from error
    except TemplateError as error:
        raise ModelError(f"the model has a pattern that is not read: {error}") from error


# ------------------------------------------------------------ the files


def _wapiti(data: bytes) -> _Parsed:
    lines = _Lines(data)
    kind, n_weights = ([int(part) for part in lines.next()[5:].split("#")] + [0])[:2]
    if lines.first.count("#") == 2:  # old files have no kind
        kind, n_weights = 0, kind
    n_patterns, n_columns = (int(part) for part in lines.marked("#rdr#").split("/")[:2])
    texts = [lines.netstring() for _ in range(n_patterns)]
    labels = [lines.netstring() for _ in range(int(lines.marked("#qrk#")))]
    names = [lines.netstring() for _ in range(int(lines.marked("#qrk#")))]
    check_labels(labels)
    patterns = []
    for text in texts:
        if "%" in MACRO.sub("", text):
            raise TemplateError(f"{text!r}; %x, %t and %m are, at places relative to the token")
        patterns.append((text, text[:1] in "u*", text[:1] in "b*"))
    observations, at, n = list[tuple[str, int | None, int | None]](), 0, len(labels)
    for name in names:
        of_labels = at if name[:1] in "u*" else None
        at += n if of_labels is not None else 0
        of_pairs = at if name[:1] in "b*" else None
        at += n * n if of_pairs is not None else 0
        observations.append((name, of_labels, of_pairs))
    weights = np.zeros(at)
    for _ in range(n_weights):
        place, _, value = lines.next().partition("=")
        weights[_within(int(place), at)] = float.fromhex(value)
    outside = re.compile(r"_x([+-])(\d)")
    return _Parsed(labels, n_columns + 1, patterns, observations, weights, outside, local=kind == 1)


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

    def netstring(self) -> str:
        """A string after its length in bytes and a colon, before a comma; a match may have cut a character in two."""
        colon = self._data.index(b":", self._at)
        begin = colon + 1
        end = begin + int(self._data[self._at : colon])
        if self._data[end : end + 1] != b",":
            raise ValueError("a string is not as long as it says")
        self._at = self._data.index(b"\n", end) + 1
        return text_of(self._data[begin:end])


def _crfpp_patterns(lines: Sequence[str]) -> list[tuple[str, bool, bool]]:
    return [(line, line.startswith("U"), line.startswith("B")) for line in lines if line]


_OUTSIDE = re.compile(r"_B([+-])(\d+)")


def _of_features(names: Sequence[str], ids: Sequence[int]) -> list[tuple[str, int | None, int | None]]:
    pairs = zip(names, ids, strict=True)
    return [(name, None, i) if name.startswith("B") else (name, i, None) for name, i in pairs]


def _crfpp_text(data: bytes) -> _Parsed:
    head, labels, patterns, features, weights, *_ = [part.split("\n") for part in data.decode().split("\n\n")]
    known = dict(line.split(": ", 1) for line in head)
    if not data.endswith(b"\n"):
        raise ValueError("it ends within a line")
    pairs = [line.partition(" ")[::2] for line in features if line]
    values = np.array([float(line) for line in weights if line])
    if len(values) != int(known["maxid"]):
        raise ValueError("it has fewer weights than it says")
    observations = _of_features([name for _, name in pairs], [int(number) for number, _ in pairs])
    return _Parsed(labels, int(known["xsize"]), _crfpp_patterns(patterns), observations, values, _OUTSIDE)


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
    keys = _trie(np.frombuffer(data, "<i4", n_trie // 4, at).reshape(-1, 2).astype(np.int64))
    weights = np.frombuffer(data, "<f4", n_weights, at + n_trie).astype(np.float64)
    names = sorted(keys)
    observations = _of_features([name.decode() for name in names], [keys[name] for name in names])
    return _Parsed(labels, n_columns, _crfpp_patterns(patterns), observations, weights, _OUTSIDE)


def _strings(data: bytes, at: int, n: int) -> list[str]:
    if at + n > len(data):
        raise ValueError("it ends too early")
    return [part.decode() for part in data[at : at + n].split(b"\0") if part]


def _trie(units: npt.NDArray[np.int64]) -> dict[bytes, int]:
    """All keys of a double array: the children of a node with base b are the units whose check is b."""
    base, check = units[:, 0], units[:, 1] & 0xFFFFFFFF
    order = np.argsort(check, kind="stable")
    ordered = check[order]
    found = dict[bytes, int]()
    open_nodes = [(int(base[0]), b"")]
    n_seen = 0
    while open_nodes:
        b, key = open_nodes.pop()
        n_seen += 1
        if n_seen > len(units) + 1:
            raise ValueError("its tree of features has no end")
        left, right = np.searchsorted(ordered, [b, b + 1])
        for unit in order[left:right].tolist():
            if unit == 0:
                continue
            if unit == b:
                if base[unit] < 0:
                    found[key] = -int(base[unit]) - 1
            elif 0 <= unit - b - 1 < 256 and base[unit] >= 0:
                open_nodes.append((int(base[unit]), key + bytes([unit - b - 1])))
    return found


# ------------------------------------------------------------ the model


def _within(place: int, n: int) -> int:
    if not 0 <= place < n:
        raise ValueError("a weight has no place")
    return place


def _model(given: _Parsed, tool: str) -> Model:
    n = len(given.labels)
    check_labels(given.labels)
    if not 0 < given.n_columns <= MOST_COLUMNS:
        raise ValueError(f"it has {given.n_columns:,} columns")
    if not np.isfinite(given.weights).all() or np.abs(given.weights).max(initial=0) > 1e30:
        raise ValueError("a weight is no number")
    columns = [("word", "pos")[i] if i < 2 else f"column{i + 1}" for i in range(given.n_columns)]
    plain = {text for text, _, pairs in given.patterns if pairs and not MACRO.search(text)}
    both = [
        *((text, False) for text, of_labels, _ in given.patterns if of_labels),
        *((text, True) for text, _, of_pairs in given.patterns if of_pairs and text not in plain),
    ]
    lines = [("B" if on_edge else "U") + text for text, on_edge in both]  # CRF++'s letters; the rest stays as it is
    templates, _ = parse_crfpp(lines, columns, tool) if lines else ([], False)
    cut = [
        _with_places_outside(template, _cut_up(_Pattern.of(text), on_edge, given))
        for template, (text, on_edge) in zip(templates, both, strict=True)
    ]
    vocabulary, numbers = _vocabulary(templates, columns, cut, given.outside)
    table = np.zeros((n + 1, padded(n)), np.float32)
    for text, _, of_pairs in given.observations:
        if of_pairs is not None and text in plain:
            table[:n, :n] = given.weights[_within(of_pairs, len(given.weights)) : of_pairs + n * n].reshape(n, n)
    n_edges = sum(t.history > 0 for t in templates)
    rows = [_rows(given, cut, numbers, templates, on_edge=on_edge) for on_edge in (False, True)]
    order = 1 if n_edges or plain else 0
    weights = ChainWeights(n, rows[0], rows[1] if n_edges else None, table, None)
    info = {"learner": {"name": tool}, "imported": tool}
    family = "local" if given.local else "log-linear"
    return Model(tuple(given.labels), "label", order, vocabulary, weights, info=info, family=family)


# Of a pattern: the values of each observation that it makes, and where its weights begin.
_Cut = list[tuple[tuple[str, ...], int]]


def _cut_up(pattern: _Pattern, on_edge: bool, given: _Parsed) -> _Cut:
    out = _Cut()
    for text, of_labels, of_pairs in given.observations:
        first = of_pairs if on_edge else of_labels
        if first is not None:
            ways = list(islice(pattern.values(text), MOST_WAYS + 1))
            if len(ways) > MOST_WAYS:
                raise ValueError(f"{text[:40]!r} can be cut in too many ways")
            out += [(values, _within(first, len(given.weights))) for values in ways]
    return out


def _vocabulary(
    templates: Sequence[Template], columns: Sequence[str], cut: Sequence[_Cut], outside: re.Pattern[str]
) -> tuple[Any, dict[tuple[int, int], Ints]]:
    """The vocabulary that has these observations; the numbers of each template's."""
    words: dict[str, dict[str, int]] = {look.column: {} for template in templates for look in template.looks}
    said: dict[str, dict[View, list[str]]] = {column: defaultdict(list) for column in words}
    for template, observed in zip(templates, cut, strict=True):
        for values, _ in observed:
            for look, value in zip(template.looks, values, strict=True):
                if look.calls:
                    said[look.column][look.calls].append(value)
                elif not outside.fullmatch(value):
                    words[look.column].setdefault(value, len(words[look.column]))
    strings = {name: Strings.of(list(words[name])) for name in columns if name in words}
    extractor = Extractor(templates, strings, lambda name: np.ones(len(strings[name]), np.int64), more=said)
    reach = extractor.plan.reach
    ids = {
        (column.name, view): {value: 2 * reach + i for i, value in enumerate(column.values if said is None else said)}
        for column in extractor.columns
        for view, said in zip(column.views, column.strings, strict=True)
    }

    def view_id(look: Look, value: str) -> int:
        match = outside.fullmatch(value.removeprefix(_OUT))
        if match is None or (look.calls and not value.startswith(_OUT)):
            return ids[look.column, look.calls][value]
        far = int(match[2]) - 1  # what lies too far outside to be seen is never asked for
        return -1 if far >= reach or far < 0 else far + (reach if match[1] == "+" else 0)

    return frozen_vocabulary(extractor, templates, [[values for values, _ in observed] for observed in cut], view_id)


_OUT = "\0"  # before the name of a place outside the sentence, which stands for what a function says of that name


def _with_places_outside(template: Template, observed: _Cut) -> _Cut:
    """The same with places outside the sentence, wherever functions say of their names what they say of a word."""
    if not any(look.calls for look in template.looks):
        return observed
    out = _Cut()
    for values, first in observed:
        ways = []
        for look, value in zip(template.looks, values, strict=True):
            names = [f"_x{'-' if look.offset < 0 else '+'}{d}" for d in range(1, abs(look.offset) + 1) if look.calls]
            function = function_of(look.calls, {}) if look.calls else None
            ways.append([value, *(_OUT + name for name in names if function is not None and function(name) == value)])
        out += [(way, first) for way in product(*ways)]
    return out


def _rows(
    given: _Parsed,
    cut: Sequence[_Cut],
    numbers: dict[tuple[int, int], Ints],
    templates: Sequence[Template],
    *,
    on_edge: bool,
) -> Rows:
    """The weights of all attributes of labels, or of label pairs, without those that are 0."""
    n, stride = len(given.labels), padded(len(given.labels))
    width = n * n if on_edge else n
    column = (np.arange(width) // n * stride + np.arange(width) % n) if on_edge else np.arange(width)
    some = [k for k, template in enumerate(templates) if (template.history > 0) == on_edge]
    places = [numbers[int(on_edge), k] for k in some]
    firsts = [np.array([first for _, first in cut[k]], np.int64) for k in some]
    attribute = np.concatenate([*places, np.empty(0, np.int32)]).astype(np.int64)
    first = np.concatenate([*firsts, np.empty(0, np.int64)])
    n_attributes = int(attribute.max(initial=-1)) + 1
    if len(first) and first.max() + width > len(given.weights):
        raise ValueError("a feature has no weights")
    of = np.zeros(n_attributes, np.int64)
    of[attribute[attribute >= 0]] = first[attribute >= 0]
    table = given.weights[of[:, None] + np.arange(width)] if n_attributes else np.zeros((0, width))
    row, place = np.nonzero(table)
    starts = np.searchsorted(row, np.arange(n_attributes + 1)).astype(np.uint32)
    kind: Callable[[Any], Any] = np.uint32 if on_edge else np.uint16
    return Rows(starts, kind(column[place]), table[row, place].astype(np.float32))
