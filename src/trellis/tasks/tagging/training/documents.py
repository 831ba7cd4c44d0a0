"""Training of two passes over documents: a first model, and a second one that reads what the first says elsewhere.

The first model labels its own training corpus better than any other text. So the second learns from labels that other
models gave: the corpus is cut into parts, between documents where there are enough, and each part is labelled by a
model of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from trellis._support.arguments import items
from trellis._support.arrays import Ints, Longs
from trellis._support.errors import LearnerError
from trellis.corpus.corpus import Column, Corpus, Strings, columns_named
from trellis.corpus.read import read
from trellis.features.vocabulary import templates_of
from trellis.learning.run import Watched, check_observer
from trellis.tasks.tagging.chain_model import FIRST_PASS
from trellis.tasks.tagging.documents import with_columns, word_column
from trellis.tasks.tagging.model import Tagger

PARTS = 5
Train = Callable[..., Tagger]


def train_twice(train: Train, corpus: Any, features: Any, given: dict[str, Any]) -> Tagger:
    """Two passes, each trained by ``train`` with the other parameters that are ``given``."""
    unfit = next((name for name in ("init", "checkpoint", "segments") if given[name] not in (None, False)), None)
    if unfit is not None or not isinstance(corpus, Corpus):
        what = unfit or "a stream"
        raise LearnerError(f"document_features train several models, so {what} has no place beside it; leave one out")
    if taken := next((name for name in FIRST_PASS if name in corpus.columns), None):
        raise LearnerError(f"document_features make a column {taken!r}, and the corpus has one; rename it")
    check_observer(given["observer"])
    features = features if isinstance(features, str | Path | None) else items(features) or features
    watched = given["observer"] = Watched(given["observer"])
    first = train(corpus, features=features, **given)
    words, n_threads = word_column(first.model), given["n_threads"]
    labels = Column(_labels_of_others(train, corpus, features, given, first), Strings.of(first.labels))
    if watched.stopped:  # with what there is: one pass
        return first
    dev = None if given["dev"] is None else read(given["dev"])
    if dev is not None:
        dev = with_columns(dev, words, first.tag_column(dev, n_threads=n_threads))
    target = columns_named(str(given["target"]), corpus.columns)
    inputs = [name for name in corpus.columns if name not in target]
    templates, bigrams = templates_of("default" if features is None else features, inputs)
    several = len(np.unique(corpus.document_numbers())) > 1
    more = [f"{name}[0]" for name in (FIRST_PASS if several else FIRST_PASS[:1])]
    order = 0 if given["order"] is None and not bigrams else given["order"]
    told = with_columns(corpus, words, labels)
    second = train(told, features=[*templates, *more], **{**given, "dev": dev, "order": order})
    training = {**second.training, "corpus": first.training["corpus"], "document_features": more}
    return Tagger(replace(second.model, first=first.model, training=training))


def _labels_of_others(train: Train, corpus: Corpus, features: Any, given: dict[str, Any], first: Tagger) -> Ints:
    """Each token's label by a model that did not learn from its sentence, as a number of the first model's labels."""
    number = {label: i for i, label in enumerate(first.labels)}
    codes, weights = np.empty(corpus.n_tokens, np.int32), given["sample_weight"]
    for begin, end in pairwise(part_bounds(corpus.document_numbers()).tolist()):
        if given["observer"].stopped:
            break
        rest = np.r_[0:begin, end : len(corpus)]
        some, part = None if weights is None else np.asarray(weights)[rest], corpus.take(rest)
        told = {**given, "sample_weight": some, "dev": None, "metric": None, "patience": None}
        there = set(part.column(first.target).tolist())
        other = train(part, features=features, **{**told, **_of_labels(given, there)})
        found = other.tag_column(corpus[begin:end], n_threads=given["n_threads"])
        of_label = np.array([number[label] for label in other.labels], np.int32)
        codes[corpus.starts[begin] : corpus.starts[end]] = of_label[found.codes]
    return codes


def _of_labels(given: dict[str, Any], there: set[str]) -> dict[str, Any]:
    """What is said of labels, of those alone that a part of the corpus has."""

    def known(key: Any) -> bool:
        return there.issuperset(key if isinstance(key, tuple) else (key,))

    found = ("label_weights", "label_costs")
    return {
        name: {key: value for key, value in given[name].items() if known(key)} or None
        for name in found
        if isinstance(given[name], Mapping)
    }


def part_bounds(documents: Longs) -> Longs:
    """Where parts begin and the last one ends, as numbers of sentences: where documents do, if there are enough."""
    n = len(documents)
    if n < 2:
        raise LearnerError("document_features learn from what other sentences say; one sentence has no others")
    wanted = np.arange(PARTS + 1) * n // PARTS
    begins = np.append(np.flatnonzero(np.diff(documents, prepend=documents[0] - 1)), n)
    if len(begins) > PARTS:
        wanted = begins[np.abs(begins[:, None] - wanted).argmin(axis=0)]
    return np.unique(wanted)
