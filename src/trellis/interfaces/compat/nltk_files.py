"""The perceptron tagger of NLTK: weights, dictionary and classes in three JSON files.

It labels from left to right, each token with the best label after those chosen before it, and words of the dictionary
with their one label. Its features are the templates below; those of labels alone are tables of pairs and triples. Of
equally good labels the last by the alphabet wins, so labels are numbered backwards here.
"""

from __future__ import annotations

import json
import reprlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trellis._support.arrays import LabelSets
from trellis._support.errors import ModelError, os_reason
from trellis.corpus.corpus import Strings
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.features.extraction import Extractor
from trellis.features.templates import Look, parse_template
from trellis.features.vocabulary import View
from trellis.interfaces.compat.model_files import NLTK_PARTS
from trellis.interfaces.compat.models import check_labels, frozen_vocabulary, rows_of
from trellis.tasks.tagging.chain_model import ChainModel

# Their names of features by our templates; a suffix of fewer than three letters is the whole word.
_TEMPLATES = {
    "bias": "bias",
    "i suffix": "suffix(word[0], 3)",
    "i whole": "word[0]",
    "i pref1": "prefix(word[0], 1)",
    "i word": "normal(word[0])",
    "i-1 word": "normal(word[-1])",
    "i-1 suffix": "suffix(normal(word[-1]), 3)",
    "i-2 word": "normal(word[-2])",
    "i+1 word": "normal(word[1])",
    "i+1 suffix": "suffix(normal(word[1]), 3)",
    "i+2 word": "normal(word[2])",
    "i-1 tag+i word": "label[-1] & normal(word[0])",
}
_WHOLE = {"i suffix": "i whole", "i-1 suffix": "i-1 word", "i+1 suffix": "i+1 word"}
# What stands outside the sentence, and its last three letters.
_OUTSIDE = {
    -1: ("-START2-", "T2-"),
    -2: ("-START-", "RT-"),
    1: ("-END-", "ND-"),
    2: ("-END2-", "D2-"),
}
_NAMES = sorted([*_TEMPLATES, "i-1 tag", "i-2 tag", "i tag+i-2 tag"], key=len, reverse=True)

Weights = Mapping[str, float]  # by label


def read_nltk(path: Path) -> ChainModel:
    """The model in a folder of three JSON files, one of which may be given in its place."""
    weights, tags, labels = (_part(path, part) for part in NLTK_PARTS)
    try:
        return _model(weights, tags, labels)
    except MemoryError as error:
        raise ModelError(f"{path}: the model does not fit into memory") from error
    except KeyError as error:
        label = reprlib.repr(error.args[0])
        raise ModelError(f"{path}: not a perceptron tagger of NLTK: {label} is not among its labels") from error
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, ModelError) as error:
        raise ModelError(f"{path}: not a perceptron tagger of NLTK: {error or type(error).__name__}") from error


def _part(path: Path, part: str) -> Any:
    """One of the three files."""
    if path.is_dir():
        found = sorted(path.glob(f"*.{part}.json"))
        if len(found) != 1:
            raise ModelError(
                f"{path}: a folder with {len(found)} files *.{part}.json; of NLTK's tagger it would have one"
            )
        file = found[0]
    else:
        file = path.with_name(path.name.rsplit(".", 2)[0] + f".{part}.json")
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise ModelError(f"{file}: {os_reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file}: not JSON: {error}; it should be a file of NLTK's perceptron tagger") from None


def _model(features: Mapping[str, Weights], tags: Mapping[str, str], classes: Iterable[str]) -> ChainModel:
    labels = sorted(map(str, classes), reverse=True)
    check_labels(labels, order=2)
    " ".join([*labels, *features, *map(str, tags)]).encode()  # ValueError where a string is none
    number, n = {label: z for z, label in enumerate(labels)}, len(labels)
    found: dict[str, dict[tuple[str, ...], dict[int, float]]] = {name: {} for name in _TEMPLATES}
    pairs: dict[tuple[str, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))  # (label before,), value
    history: dict[tuple[str, ...], dict[int, float]] = {}
    for feature, by_label in features.items():
        name = next((name for name in _NAMES if feature == name or feature.startswith(f"{name} ")), None)
        if name is None:
            raise ValueError(f"a feature {feature[:40]!r}")
        rest = feature[len(name) + 1 :]
        row = {number[label]: float(weight) for label, weight in by_label.items()}
        if not all(abs(weight) < 1e30 for weight in row.values()):
            raise ValueError(f"a weight of {feature[:40]!r} is no number")
        if name in ("i-1 tag", "i-2 tag", "i tag+i-2 tag"):
            history[(name, *rest.split(" "))] = row
        elif name == "i-1 tag+i word":
            before, _, value = rest.partition(" ")
            y = number[before] if before != "-START-" else n
            for z, weight in row.items():
                pairs[(value,)][y * padded(n) + z] += weight
        else:
            name = _WHOLE.get(name, name) if len(rest) < 3 else name
            values = () if name == "bias" else (rest,)
            here = found[name].setdefault(values, {})
            for z, weight in row.items():
                here[z] = here.get(z, 0.0) + weight
    found["i-1 tag+i word"] = dict(pairs)
    return _assembled(labels, found, history, tags)


def _assembled(
    labels: list[str],
    found: Mapping[str, Mapping[tuple[str, ...], Mapping[int, float]]],
    history: Mapping[tuple[str, ...], Mapping[int, float]],
    tags: Mapping[str, str],
) -> ChainModel:
    n, number = len(labels), {label: z for z, label in enumerate(labels)}
    templates = [parse_template(text) for text in _TEMPLATES.values()]
    rows = list(found.values())
    seen = defaultdict[View, list[str]](list)
    for template, row in zip(templates, rows, strict=True):
        for look in template.looks:
            seen[look.calls] += [value for (value,) in row]
    words = Strings.of(dict.fromkeys([*map(str, tags), *seen.pop((), [])]))
    extractor = Extractor(templates, {"word": words}, lambda name: np.ones(len(words), np.int64), more={"word": seen})
    column, reach = extractor.columns[0], extractor.plan.reach
    strings = [
        {value: 2 * reach + i for i, value in enumerate(column.values if one is None else one)}
        for one in column.strings
    ]

    def view_id(look: Look, value: str) -> int:
        sign = 1 if look.offset > 0 else -1
        for distance in range(1, abs(look.offset) + 1):
            if value in _OUTSIDE[sign * distance]:
                return distance - 1 + (reach if sign > 0 else 0)
        return strings[column.views.index(look.calls)].get(value, -1)

    vocabulary, numbers = frozen_vocabulary(extractor, templates, [list(row) for row in rows], view_id)
    last = len(templates) - 1  # the one of label pairs
    of_labels = _rows(rows[:last], [numbers[0, k] for k in range(last)], np.uint16)
    of_pairs = _rows(rows[last:], [numbers[1, last]], np.uint32)
    edge, tri = _tables(history, number, n)
    weights = ChainWeights(n, of_labels, of_pairs, edge, tri, beam=1)
    given = [number[str(tags[word])] if word in tags else n for word in words]
    sets = LabelSets(
        np.array([1 + z if z < n else 0 for z in given], np.int32),
        np.array([0, *range(n, 2 * n + 1)], np.int64),
        np.concatenate([np.arange(n), np.arange(n)]).astype(np.int32),
    )
    info = {"learner": {"name": "NLTK"}, "imported": "NLTK"}
    return ChainModel(tuple(labels), "label", 2, vocabulary, weights, sets, family="scores", training=info)


def _rows(rows: Iterable[Mapping[tuple[str, ...], Mapping[int, float]]], attributes: Iterable[Any], kind: type) -> Rows:
    """The weights of attributes, by attribute and column."""
    flat = [
        (attribute, column, weight)
        for row, numbers in zip(rows, attributes, strict=True)
        for attribute, weights in zip(numbers.tolist(), row.values(), strict=True)
        for column, weight in weights.items()
        if attribute >= 0 and weight
    ]
    n_attributes = 1 + max((int(numbers.max(initial=-1)) for numbers in attributes), default=-1)
    owners, columns, values = np.array(flat, np.float64).reshape(-1, 3).T
    return rows_of((owners.astype(np.int64), columns.astype(np.int64), values), n_attributes, kind)


def _tables(
    history: Mapping[tuple[str, ...], Mapping[int, float]], number: Mapping[str, int], n: int
) -> tuple[Any, Any]:
    """Weights of label pairs and triples. Before the sentence stand -START- and, before that, -START2-."""
    edge = np.zeros((n + 1, padded(n)), np.float32)
    tri = np.zeros((n + 1, n + 1, padded(n)), np.float32)
    before = {**number, "-START-": n}
    for (name, *tags), row in history.items():
        columns, weights = list(row), np.array(list(row.values()))
        if name == "i-1 tag":
            edge[before[tags[0]], columns] = weights
        elif name == "i-2 tag" and tags[0] == "-START2-":
            tri[n, n, columns] += weights
        elif name == "i-2 tag":  # -START- stands there at the second token: before one of the labels
            tri[before[tags[0]], :n][:, columns] += weights
        elif tags[1] == "-START2-":
            tri[n, n, columns] += weights
        else:
            tri[before[tags[1]], before[tags[0]], columns] += weights
    return edge, tri
