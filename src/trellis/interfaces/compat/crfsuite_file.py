"""Read and write CRFsuite's binary model files.

A file has weights of attributes with labels (state features), weights of label pairs (transitions), and two hash tables
of strings. There are no weights of first or last labels. All offsets of a file are checked before use.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Bytes, Longs
from trellis._support.errors import ModelError
from trellis.corpus.corpus import Strings
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.features.vocabulary import Bag, Vocabulary
from trellis.interfaces.compat.models import check_labels, weights_of_attributes
from trellis.tasks.tagging.chain_model import ChainModel

MAGIC = b"lCRF"
_HEADER = struct.Struct("<4sI4sIIIIIIIII")
_VERSION = 100
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1
_TABLES, _CQDB_HEAD, _MARK = 256, 24, 0x62445371
# CRFsuite has no scores of first and last labels: they are written as weights of attributes with these names, and
# converted back on reading.
FIRST, LAST = "trellis:first", "trellis:last"


# ------------------------------------------------------------ reading


class Attributes(Strings):
    """The attributes of a CRFsuite file: taggers look them up in its bytes; they are copied when they are listed."""

    __slots__ = ("file",)

    def __init__(self, file: _core.CrfsuiteFile) -> None:
        self.file, self._slots = file, None

    def __getattr__(self, name: str) -> Any:
        if name not in ("data", "starts"):
            raise AttributeError(name)
        try:
            found = self.file.attributes()
        except ValueError as error:
            raise ModelError(str(error)) from None
        self.data, self.starts = found["data"], found["starts"]
        return found[name]

    def __len__(self) -> int:
        return len(self.file)


def read_crfsuite(data: bytes) -> ChainModel:
    """The model in a file of CRFsuite; ModelError if it is damaged."""
    try:
        file = _core.CrfsuiteFile(data)
        names, parsed = file.labels(), file.weights(FIRST, LAST)
    except ValueError as error:
        raise ModelError(str(error)) from None
    labels = Strings(names["data"], names["starts"]).tolist()
    check_labels(labels)
    bag = Bag("attributes", Attributes(file), np.arange(len(file), dtype=np.int32))
    n_labels, rows = len(labels), Rows.of_tensors("rows", parsed)
    table = np.zeros((n_labels + 2, padded(n_labels)), np.float32)  # label pairs, first labels, last labels
    table[parsed["previous"], parsed["next"]] = parsed["pair_weights"]
    weights = ChainWeights(n_labels, rows, None, table[:-1], None, table[-1] if table[-1].any() else None)
    info = {"learner": {"name": "CRFsuite"}, "imported": "crfsuite"}
    vocabulary = Vocabulary.of_bag(bag)
    return ChainModel(tuple(labels), "label", 1, vocabulary, weights, training=info, family="log-linear")


# ------------------------------------------------------------ writing


def write_crfsuite(model: ChainModel, labels: Sequence[str] | None = None) -> bytes:
    """The model as a file of CRFsuite, labels in this order; ModelError if CRFsuite has no such models.

    Attributes of templates are called by their names, as ``word[0]=the``. Scores of first and last labels become
    weights of the attributes FIRST and LAST, which the first and the last token of a sentence then must have.
    """
    strings, (sources, columns, weights), edge, first, last = weights_of_attributes(model)
    for name, scores in ((FIRST, first), (LAST, last)):
        if scores.any():
            nonzero = np.flatnonzero(scores)
            sources = np.concatenate([sources, np.full(len(nonzero), len(strings))])
            columns, weights = np.concatenate([columns, nonzero]), np.concatenate([weights, scores[nonzero]])
            strings.append(name)
    if labels is not None:
        place = np.array([list(labels).index(label) for label in model.labels])
        columns = place[columns]
        edge = edge[np.ix_(np.argsort(place), np.argsort(place))]
    order = np.lexsort((columns, sources))
    sources, columns, weights = sources[order], columns[order], weights[order]
    written = np.unique(sources)  # only attributes with a weight are written
    previous, label = np.nonzero(edge)
    features = np.empty(len(sources) + len(label), _FEATURE)
    features["type"] = np.repeat([_STATE, _TRANSITION], [len(sources), len(label)])
    features["source"] = np.concatenate([np.searchsorted(written, sources), previous])
    features["label"] = np.concatenate([columns, label])
    features["weight"] = np.concatenate([weights, edge[previous, label]])
    names_used = [strings[number] for number in written.tolist()]
    return _file(features, len(sources), list(labels or model.labels), names_used)


def _file(features: Any, n_states: int, labels: Sequence[str], attributes: Sequence[str]) -> bytes:
    """Header, features, labels, attributes, references of labels, references of attributes."""
    data, sources = bytearray(_HEADER.size), features["source"]
    offsets = [len(data)]
    data += b"FEAT" + struct.pack("<II", 12 + features.nbytes, len(features)) + features.tobytes()
    for strings in (labels, attributes):
        offsets.append(len(data))
        data += _cqdb(strings)
    for chunk, sources_of, n, first, offset in (
        (b"LFRF", sources[n_states:], len(labels), n_states, 2),
        (b"AFRF", sources[:n_states], len(attributes), 0, 0),
    ):
        data += bytes(-len(data) % 4)
        offsets.append(len(data))
        data += _references(chunk, sources_of, n, first, offset, len(data))
    if len(data) >= 1 << 32:
        raise ModelError("a CRFsuite model must be smaller than 4 GiB; train with --min-count")
    _HEADER.pack_into(data, 0, MAGIC, len(data), b"FOMC", _VERSION, 0, len(labels), len(attributes), *offsets)
    return bytes(data)


def _references(chunk: bytes, sources: Longs, n: int, first: int, offset: int, at: int) -> bytes:
    """Of each label or attribute how many features it has, and their numbers from ``first`` on; sources are sorted.

    A table of their offsets comes first; ``offset`` unused entries are 0.
    """
    cuts = np.searchsorted(sources, np.arange(n + 1))
    lists = np.insert(np.arange(first, first + len(sources)), cuts[:-1], np.diff(cuts))
    places = at + 12 + 4 * (n + offset + cuts[:-1] + np.arange(n))
    data = np.concatenate([places, np.zeros(offset), lists]).astype("<u4").tobytes()
    return chunk + struct.pack("<II", 12 + len(data), n + offset) + data


def _cqdb(strings: Sequence[str]) -> bytes:
    """Strings, each with its final NUL, to numbers: 256 hash tables with linear probing, and back links."""
    records, places, at = list[bytes](), list[int](), _CQDB_HEAD + 8 * _TABLES
    buckets: list[list[tuple[int, int]]] = [[] for _ in range(_TABLES)]
    for number, string in enumerate(strings):
        value, data = _core.crfsuite_hash(string), string.encode() + b"\0"
        buckets[value % _TABLES].append((value, at))
        places.append(at)
        records.append(struct.pack("<II", number, len(data)) + data)
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
