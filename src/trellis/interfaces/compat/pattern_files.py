"""The files of CRF++ (binary and text) and of Wapiti (text): labels, patterns, observations and their weights."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Doubles, Longs
from trellis._support.errors import TemplateError
from trellis.features.crfpp import MACRO
from trellis.features.regex import text_of
from trellis.interfaces.compat.models import check_labels


@dataclass(frozen=True, slots=True)
class PatternFile:
    """Content of a file: patterns for labels (U, u), label pairs (B, b) or both (*), observations and their weights."""

    labels: list[str]
    n_columns: int
    patterns: list[str]
    observations: list[bytes]
    firsts: tuple[Longs, Longs]  # [n observations] index of its first weight of labels, of label pairs; -1: none
    places: Longs  # of all nonzero weights, ascending
    weights: Doubles
    outside: Callable[[int], str]  # name of a position outside the sentence, by distance (negative: before)
    local: bool = False  # locally normalised


def parse_pattern_model(data: bytes) -> PatternFile:
    """Parse such a file; ValueError or similar errors if it is damaged, TemplateError for unsupported patterns."""
    if data.startswith(b"#mdl#"):
        return _wapiti(data)
    return _crfpp_text(data) if data.startswith(b"version:") else _crfpp_binary(data)


def _wapiti(data: bytes) -> PatternFile:
    lines = _Lines(data)
    *kinds, n_weights = (int(part) for part in lines.marked("#mdl#").split("#")[:2])  # old files do not store the kind
    n_patterns, highest = (int(part) for part in lines.marked("#rdr#").split("/")[:2])
    texts = [text_of(text) for text in lines.netstrings(n_patterns)]
    labels = [text_of(text) for text in lines.netstrings(int(lines.marked("#qrk#")))]
    check_labels(labels)
    if not texts:
        raise TemplateError("it has no patterns, but was trained on features instead of columns")
    for text in texts:
        if text[:1] not in ("u", "b", "*") or "%" in MACRO.sub("", text):
            raise TemplateError(f"{text!r}; supported are %x, %t and %m with offsets relative to the token")
        highest = max([highest, *(int(match[3] or match[6]) for match in MACRO.finditer(text))])
    observations = lines.netstrings(int(lines.marked("#qrk#")))
    n, letters = len(labels), np.array([name[:1] for name in observations], "S1")
    has_labels, has_pairs = np.isin(letters, [b"u", b"*"]), np.isin(letters, [b"b", b"*"])
    ends = np.cumsum(has_labels * n + has_pairs * (n * n))
    begins = ends - has_labels * n - has_pairs * (n * n)
    firsts = np.where(has_labels, begins, -1), np.where(has_pairs, begins + has_labels * n, -1)
    places, weights = lines.weights(n_weights)
    if len(places) and (places[0] < 0 or places[-1] >= ends.max(initial=0)):
        raise ValueError("a weight has no index")
    return PatternFile(labels, highest + 1, texts, observations, firsts, places, weights, _wapiti_outside, kinds == [1])


def _wapiti_outside(distance: int) -> str:
    """Positions five or more tokens outside the sentence share a name."""
    steps = abs(distance)
    return f"_x{'-' if distance < 0 else '+'}{steps if steps < 5 else '#'}"


class _Lines:
    """Iterates over the lines of a file."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

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
                raise ValueError("a string has another length than stated")
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
) -> PatternFile:
    check_labels(labels)
    b"\n".join(features).decode()  # UnicodeDecodeError of another encoding
    on_edge = np.array([name[:1] == b"B" for name in features], bool)
    widths = np.where(on_edge, len(labels) ** 2, len(labels))
    order = np.argsort(ids, kind="stable")
    ends = (ids + widths)[order]
    if len(ids) and (ids.min() < 0 or ends[-1] > len(weights) or (ends[:-1] > ids[order][1:]).any()):
        raise ValueError("a feature has no weights")
    firsts, places = (np.where(on_edge, -1, ids), np.where(on_edge, ids, -1)), np.flatnonzero(weights)
    patterns = [line for line in templates if line[:1] in ("U", "B")]
    outside = "_B{:+}".format
    return PatternFile(labels, n_columns, patterns, features, firsts, places, weights[places], outside)


def _crfpp_text(data: bytes) -> PatternFile:
    head, labels, patterns, features, weights, *_ = [part.split(b"\n") for part in data.split(b"\n\n")]
    fields = dict(line.decode().split(": ", 1) for line in head)
    if not data.endswith(b"\n"):
        raise ValueError("it ends in the middle of a line")
    pairs = [line.partition(b" ")[::2] for line in features if line]
    values = np.array([float(line) for line in weights if line])
    if len(values) != int(fields["maxid"]):
        raise ValueError("it has fewer weights than stated")
    ids: Longs = np.array([int(number) for number, _ in pairs], np.int64)
    texts = [[line.decode() for line in lines] for lines in (labels, patterns)]
    return _crfpp(texts[0], int(fields["xsize"]), texts[1], [name for _, name in pairs], ids, values)


_HEAD = struct.Struct("<IidIIII")


def _crfpp_binary(data: bytes) -> PatternFile:
    _, _, _, n_weights, n_columns, n_trie, n_labels = _HEAD.unpack_from(data)
    at = _HEAD.size
    labels = _strings(data, at, n_labels)
    at += n_labels
    (n_patterns,) = struct.unpack_from("<I", data, at)
    patterns = _strings(data, at + 4, n_patterns)
    at += 4 + n_patterns
    if at + n_trie + 4 * n_weights != len(data) or n_trie % 8:
        raise ValueError("it has another length than stated")
    names, ids = _trie(np.frombuffer(data, "<i4", n_trie // 4, at).reshape(-1, 2).astype(np.int64))
    with np.errstate(invalid="ignore"):  # invalid numbers are detected later
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
