"""Models of CRFsuite: its binary files read into ours, and ours written as such files.

A file has weights of attributes with labels (state features), weights of label pairs (transitions), and two hash tables
of strings. Nothing is a weight of the first or the last label. Whatever a file says is checked before it is followed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Bools, Bytes, Doubles, Longs, starts_of
from trellis._support.errors import ModelError
from trellis.corpus.corpus import Strings
from trellis.engine.weights import ChainWeights, padded
from trellis.features.extraction import Extractor
from trellis.features.vocabulary import Bag
from trellis.interfaces.compat.models import check_labels, rows_of, weights_of_attributes
from trellis.tasks.tagging.chain_model import ChainModel

MAGIC = b"lCRF"
_HEADER = struct.Struct("<4sI4sIIIIIIIII")
_VERSION = 100
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1
_MOST = 1e30  # no weight of a trained model is as great; ours are single precision
_TABLES, _CQDB_HEAD, _MARK = 256, 24, 0x62445371
# The scores of first and last labels, which CRFsuite lacks, become weights of attributes of these names; reading makes
# scores of them again.
FIRST, LAST = "trellis:first", "trellis:last"


# ------------------------------------------------------------ reading


def read_crfsuite(data: bytes) -> ChainModel:
    """The model in a file of CRFsuite; ModelError if it is damaged."""
    if len(data) < _HEADER.size:
        raise ModelError("the CRFsuite model ends too early; copy it again")
    magic, size, kind, version, _, n_labels, n_attributes, *offsets = _HEADER.unpack_from(data)
    if magic != MAGIC or kind != b"FOMC" or version != _VERSION:
        raise ModelError("not a CRFsuite model of version 100")
    if size != len(data):
        raise ModelError(f"the CRFsuite model should have {size:,} bytes and has {len(data):,}; copy it again")
    features = _features(data, offsets[0])
    labels = _strings(data, offsets[1], n_labels, "label").tolist()
    attributes, numbers = _strings(data, offsets[2], n_attributes, "attribute"), np.arange(n_attributes, dtype=np.int32)
    check_labels(labels)
    if (attributes.find(attributes) != numbers).any():  # of equal strings the first is found
        raise ModelError("the CRFsuite model has one attribute twice")
    kinds, sources, columns, weights = (np.ascontiguousarray(features[name]) for name in _FEATURE.names or ())
    if (columns >= n_labels).any() or not (np.abs(weights) < _MOST).all():
        raise ModelError("the CRFsuite model has a feature of an unknown label, or a weight that is no number")
    if (kinds > _TRANSITION).any():
        raise ModelError("the CRFsuite model has features of an unknown kind")
    if (sources >= np.where(kinds == _STATE, n_attributes, n_labels)).any():
        raise ModelError("the CRFsuite model has a feature of an unknown attribute or label")
    states, pairs, edge = np.flatnonzero(kinds == _STATE), np.flatnonzero(kinds), np.zeros((n_labels, n_labels))
    edge[sources[pairs], columns[pairs]] = weights[pairs]
    sources, columns, weights = sources[states].astype(np.int64), columns[states].astype(np.int64), weights[states]
    ends = dict[str, Doubles]()
    for name, number in zip((FIRST, LAST), attributes.find(Strings.of((FIRST, LAST))).tolist(), strict=True):
        ends[name] = np.zeros(n_labels)
        if number >= 0:
            own = sources == number
            ends[name][columns[own]] = weights[own]
            sources, columns, weights = sources[~own], columns[~own], weights[~own]
    extractor = Extractor([], {}, lambda name: np.empty(0, np.int64))
    vocabulary = extractor.vocabulary(Bag("attributes", attributes, numbers))
    table = np.zeros((n_labels + 1, padded(n_labels)), np.float32)
    table[:n_labels, :n_labels], table[n_labels, :n_labels] = edge, ends[FIRST]
    end = np.pad(ends[LAST], (0, padded(n_labels) - n_labels)).astype(np.float32) if ends[LAST].any() else None
    rows = rows_of((sources, columns, weights), n_attributes)
    info = {"learner": {"name": "CRFsuite"}, "imported": "crfsuite"}
    model = ChainWeights(n_labels, rows, None, table, None, end)
    return ChainModel(tuple(labels), "label", 1, vocabulary, model, training=info, family="log-linear")


def _features(data: bytes, at: int) -> Any:
    """The FEAT chunk as an array of records."""
    chunk, size, count = _unpack("<4sII", data, at)
    if chunk != b"FEAT" or size != 12 + count * _FEATURE.itemsize or at + size > len(data):
        raise ModelError("the features of the CRFsuite model are damaged")
    return np.frombuffer(data, _FEATURE, count, at + 12)


def _strings(data: bytes, at: int, n: int, what: str) -> Strings:
    """The strings of a CQDB by their ids, through its back links."""
    chunk, size, _, mark, n_links, links = _unpack("<4sIIIII", data, at)
    if chunk != b"CQDB" or mark != _MARK or at + size > len(data) or n_links < n or links + 4 * n_links > size:
        raise ModelError(f"the {what}s of the CRFsuite model are damaged")
    text, places = np.frombuffer(data, np.uint8), np.frombuffer(data, "<u4", n, at + links).astype(np.int64)
    _reject(what, (places < _CQDB_HEAD) | (places + 8 > size), "is nowhere in the file")
    heads = _core.gathered(text, at + places, np.full(n, 8)).view("<u4")  # the id, and the size with a NUL
    own, sizes = heads[::2], heads[1::2].astype(np.int64)
    _reject(what, (own != np.arange(n)) | (sizes < 1) | (places + 8 + sizes > size), "is damaged")
    strings = Strings(_core.gathered(text, at + places + 8, sizes - 1), starts_of(sizes - 1))
    wrong = np.zeros(n, bool)
    if not _core.valid_strings(*strings.arrays):
        wrong = np.array([not _is_utf8(strings.take(np.array([i])).data.tobytes()) for i in range(n)])
    _reject(what, wrong, "is not UTF-8; train again on UTF-8 text")
    return strings


def _reject(what: str, wrong: Bools, why: str) -> None:
    """ModelError for the first of what is wrong."""
    if wrong.any():
        raise ModelError(f"{what} {int(wrong.argmax())} of the CRFsuite model {why}")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unpack(form: str, data: bytes, at: int) -> tuple[Any, ...]:
    if at + struct.calcsize(form) > len(data):
        raise ModelError("the CRFsuite model ends too early; copy it again")
    return struct.unpack_from(form, data, at)


# ------------------------------------------------------------ writing


def write_crfsuite(model: ChainModel, labels: Sequence[str] | None = None) -> bytes:
    """The model as a file of CRFsuite, labels in this order; ModelError if CRFsuite has no such models.

    Attributes of templates are called by their names, as ``word[0]=the``. Scores of first and last labels become
    weights of the attributes FIRST and LAST, which the first and the last token of a sentence then must have.
    """
    strings, (sources, columns, weights), edge, first, last = weights_of_attributes(model)
    for name, scores in ((FIRST, first), (LAST, last)):
        if scores.any():
            some = np.flatnonzero(scores)
            sources = np.concatenate([sources, np.full(len(some), len(strings))])
            columns, weights = np.concatenate([columns, some]), np.concatenate([weights, scores[some]])
            strings.append(name)
    if labels is not None:
        place = np.array([list(labels).index(label) for label in model.labels])
        columns = place[columns]
        edge = edge[np.ix_(np.argsort(place), np.argsort(place))]
    order = np.lexsort((columns, sources))
    sources, columns, weights = sources[order], columns[order], weights[order]
    used = np.unique(sources)  # only attributes that have a weight are written
    previous, label = np.nonzero(edge)
    features = np.empty(len(sources) + len(label), _FEATURE)
    features["type"] = np.repeat([_STATE, _TRANSITION], [len(sources), len(label)])
    features["source"] = np.concatenate([np.searchsorted(used, sources), previous])
    features["label"] = np.concatenate([columns, label])
    features["weight"] = np.concatenate([weights, edge[previous, label]])
    names_used = [strings[number] for number in used.tolist()]
    return _file(features, len(sources), list(labels or model.labels), names_used)


def _file(features: Any, n_states: int, labels: Sequence[str], attributes: Sequence[str]) -> bytes:
    """Header, features, labels, attributes, references of labels, references of attributes."""
    data, sources = bytearray(_HEADER.size), features["source"]
    offsets = [len(data)]
    data += b"FEAT" + struct.pack("<II", 12 + features.nbytes, len(features)) + features.tobytes()
    for strings in (labels, attributes):
        offsets.append(len(data))
        data += _cqdb([string.encode() + b"\0" for string in strings])
    for chunk, some, n, first, more in (
        (b"LFRF", sources[n_states:], len(labels), n_states, 2),
        (b"AFRF", sources[:n_states], len(attributes), 0, 0),
    ):
        data += bytes(-len(data) % 4)
        offsets.append(len(data))
        data += _references(chunk, some, n, first, more, len(data))
    if len(data) >= 1 << 32:
        raise ModelError("a CRFsuite model cannot have 4 GiB; train with --min-count")
    _HEADER.pack_into(data, 0, MAGIC, len(data), b"FOMC", _VERSION, 0, len(labels), len(attributes), *offsets)
    return bytes(data)


def _references(chunk: bytes, sources: Longs, n: int, first: int, more: int, at: int) -> bytes:
    """Of each label or attribute how many features it has, and their numbers from ``first`` on; sources are sorted.

    Before them stands where each begins; ``more`` places that nothing uses are 0.
    """
    cuts = np.searchsorted(sources, np.arange(n + 1))
    lists = np.insert(np.arange(first, first + len(sources)), cuts[:-1], np.diff(cuts))
    places = at + 12 + 4 * (n + more + cuts[:-1] + np.arange(n))
    data = np.concatenate([places, np.zeros(more), lists]).astype("<u4").tobytes()
    return chunk + struct.pack("<II", 12 + len(data), n + more) + data


def _cqdb(strings: Sequence[bytes]) -> bytes:
    """Strings, each with its final NUL, to numbers: 256 hash tables with linear probing, and back links."""
    records, places, at = list[bytes](), list[int](), _CQDB_HEAD + 8 * _TABLES
    buckets: list[list[tuple[int, int]]] = [[] for _ in range(_TABLES)]
    for number, string in enumerate(strings):
        value = _hash(string)
        buckets[value % _TABLES].append((value, at))
        places.append(at)
        records.append(struct.pack("<II", number, len(string)) + string)
        at += len(records[-1])
    heads, tables = list[int](), list[bytes]()
    for bucket in buckets:
        slots = 2 * len(bucket)
        heads += [at if slots else 0, slots]
        table: Bytes | Any = np.zeros((slots, 2), "<u4")
        for value, place in bucket:
            slot = (value >> 8) % slots
            while table[slot, 1]:
                slot = (slot + 1) % slots
            table[slot] = value, place
        tables.append(table.tobytes())
        at += len(tables[-1])
    links = struct.pack(f"<{len(places)}I", *places)
    head = struct.pack("<4sIIIII", b"CQDB", at + len(links), 0, _MARK, len(places), at)
    return head + struct.pack(f"<{len(heads)}I", *heads) + b"".join(records) + b"".join(tables) + links


_ALL = 0xFFFFFFFF
# Jenkins' lookup3: which of a, b, c changes, by which, how far that one is turned, and which is then added to it.
_MIXING = ((0, 2, 4, 1), (1, 0, 6, 2), (2, 1, 8, 0), (0, 2, 16, 1), (1, 0, 19, 2), (2, 1, 4, 0))
_FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))


def _hash(data: bytes) -> int:
    """lookup3 of some bytes, begun with 0."""
    state = [(0xDEADBEEF + len(data)) & _ALL] * 3
    last = (len(data) - 1) // 12 * 12  # where the last twelve bytes or fewer begin
    for at in range(0, len(data), 12):
        words = struct.unpack("<III", data[at : at + 12].ljust(12, b"\0"))
        state = [(one + word) & _ALL for one, word in zip(state, words, strict=True)]
        if at < last:
            for i, by, turn, added in _MIXING:
                state[i] = (state[i] - state[by] & _ALL) ^ _turned(state[by], turn)
                state[by] = (state[by] + state[added]) & _ALL
    for i, by, turn in _FINAL:
        state[i] = ((state[i] ^ state[by]) - _turned(state[by], turn)) & _ALL
    return state[2]


def _turned(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _ALL
