"""The perceptron tagger of NLTK: weights, dictionary and classes in three JSON files.

It labels greedily from left to right; words of the dictionary get their only label. Its features are the templates
below; label pairs and triples are tables. Ties are won by the last label in alphabetical order, so labels are numbered
in reverse order here.
"""

from __future__ import annotations

import json
import reprlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trellis._support.arrays import Ints, LabelSets
from trellis._support.errors import ModelError, file_reason
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.features.templates import Look, parse_template
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
# Values outside the sentence, and their last three letters.
_OUTSIDE = {-1: ("-START2-", "T2-"), -2: ("-START-", "RT-"), 1: ("-END-", "ND-"), 2: ("-END2-", "D2-")}
_PAIRS, _OF_LABELS = "i-1 tag+i word", ("i-1 tag", "i-2 tag", "i tag+i-2 tag")
_NAMES = sorted([*_TEMPLATES, *_OF_LABELS], key=len, reverse=True)

# For each template the weights of its observations, by label or label pair.
_Rows = dict[str, dict[tuple[str, ...], dict[int, float]]]


def read_nltk(path: Path) -> ChainModel:
    """Read the model in a folder of three JSON files; the path may also be one of them."""
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
        files = sorted(path.glob(f"*.{part}.json"))
        if len(files) != 1:
            raise ModelError(
                f"{path}: a folder with {len(files)} files *.{part}.json; a folder of NLTK's tagger has one"
            )
        file = files[0]
    else:
        file = path.with_name(path.name.rsplit(".", 2)[0] + f".{part}.json")
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise ModelError(": ".join(file_reason(file, error))) from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file}: not JSON: {error}; it should be a file of NLTK's perceptron tagger") from None


def _model(features: Mapping[str, Mapping[str, float]], tags: Mapping[str, str], classes: Iterable[str]) -> ChainModel:
    labels = sorted(map(str, classes), reverse=True)
    check_labels(labels, order=2)
    " ".join([*labels, *features, *map(str, tags)]).encode()  # ValueError if it is not a string
    number, n = {label: z for z, label in enumerate(labels)}, len(labels)
    previous = {**number, "-START-": n}  # directly before the sentence; -START2- precedes it
    edge, tri = np.zeros((n + 1, padded(n)), np.float32), np.zeros((n + 1, n + 1, padded(n)), np.float32)
    rows: _Rows = {name: {} for name in _TEMPLATES}
    for feature, weights in features.items():
        name = next((name for name in _NAMES if feature == name or feature.startswith(f"{name} ")), None)
        if name is None:
            raise ValueError(f"a feature {feature[:40]!r}")
        rest, first = feature[len(name) + 1 :], 0
        if not all(abs(float(weight)) < 1e30 for weight in weights.values()):
            raise ValueError(f"a weight of {feature[:40]!r} is not a number")
        if name in _OF_LABELS:
            columns, values = [number[label] for label in weights], np.array([*map(float, weights.values())])
            last, *earlier = reversed(rest.split(" "))
            if name == "i-1 tag":
                edge[previous[last], columns] = values
            elif last == "-START2-":
                tri[n, n, columns] += values
            elif earlier:
                tri[previous[last], previous[earlier[0]], columns] += values
            else:  # -START- stands there at the second token: before one of the labels
                tri[previous[last], :n][:, columns] += values
            continue
        if name == _PAIRS:
            label, _, rest = rest.partition(" ")
            first = previous[label] * padded(n)
        name = _WHOLE.get(name, name) if len(rest) < 3 else name
        row = rows[name].setdefault(() if name == "bias" else (rest,), defaultdict(float))
        for label, weight in weights.items():
            row[first + number[label]] += float(weight)
    templates = [parse_template(text) for text in _TEMPLATES.values()]
    observed = [
        [tuple(_place(look, value) for look, value in zip(template.looks, values, strict=True)) for values in row]
        for template, row in zip(templates, rows.values(), strict=True)
    ]
    vocabulary, numbers = frozen_vocabulary(templates, {"word": map(str, tags)}, observed)
    attributes = dict(zip(rows, numbers, strict=True))
    of_pairs = _weights({_PAIRS: rows.pop(_PAIRS)}, attributes, np.uint32)
    chain = ChainWeights(n, _weights(rows, attributes, np.uint16), of_pairs, edge, tri, beam=1)
    words = vocabulary.columns[0].values
    sets = LabelSets(
        np.array([1 + number[str(tags[word])] if word in tags else 0 for word in words], np.int32),
        np.array([0, *range(n, 2 * n + 1)], np.int64),
        np.concatenate([np.arange(n), np.arange(n)]).astype(np.int32),
    )
    info = {"learner": {"name": "NLTK"}, "imported": "NLTK"}
    return ChainModel(tuple(labels), "label", 2, vocabulary, chain, sets, family="scores", training=info)


def _place(look: Look, value: str) -> str | int:
    """A value, or the position outside the sentence that it names."""
    step = 1 if look.offset > 0 else -1
    places = range(step, look.offset + step, step) if look.offset else ()
    return next((place for place in places if value in _OUTSIDE[place]), value)


def _weights(rows: _Rows, attributes: Mapping[str, Ints], kind: type) -> Rows:
    """The weights of attributes, by attribute and column."""
    flat = [
        (attribute, column, weight)
        for name, row in rows.items()
        for attribute, weights in zip(attributes[name].tolist(), row.values(), strict=True)
        for column, weight in weights.items()
        if weight
    ]
    n_attributes = 1 + max(int(attributes[name].max(initial=-1)) for name in rows)
    owners, columns, values = np.array(flat, np.float64).reshape(-1, 3).T
    return rows_of((owners.astype(np.int64), columns.astype(np.int64), values), n_attributes, kind)
