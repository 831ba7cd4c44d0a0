"""Training of two-pass taggers: a first model, and a second model with features from the first model's labels.

The first model labels its training corpus better than new text. So the second model learns from cross-validated labels:
the corpus is split into parts, at document boundaries if there are enough, and each part is labelled by a model trained
on the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from trellis._support.arguments import items
from trellis._support.arrays import Ints, Longs
from trellis._support.errors import LearnerError
from trellis.corpus.corpus import Column, Corpus, Strings, columns_named
from trellis.corpus.read import read_examples
from trellis.corpus.stream import CorpusStream
from trellis.features.vocabulary import templates_of
from trellis.learning.fit import Fit
from trellis.learning.run import Watched
from trellis.tasks.tagging.chain_model import FIRST_PASS
from trellis.tasks.tagging.documents import with_columns, word_column
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import Features, Labels
from trellis.tasks.tagging.train import train_once

PARTS = 5


def train_twice(fit: Fit, source: Any) -> Tagger:
    """Train both passes with the same options."""
    settings, corpus = fit.settings, source
    if not isinstance(source, CorpusStream):
        corpus = read_examples(source, target=settings.target or "label")
    unfit = next(
        (name for name in ("init", "checkpoint", "segments") if getattr(settings, name) not in (None, False)), None
    )
    if unfit is not None or not isinstance(corpus, Corpus):
        condition = unfit or "a stream"
        raise LearnerError(f"documents=True cannot be combined with {condition}; omit one of them")
    if name_used := next((name for name in FIRST_PASS if name in corpus.columns), None):
        raise LearnerError(f"documents=True adds a column {name_used!r}, which the corpus already has; rename it")
    features, second_features = settings.features, Features(None, settings.min_count, settings.pairs)
    if not isinstance(features, str | Path | None):
        features = items(features) or features
    watched = Watched(fit.observer)
    fit = fit.changed(features=replace(second_features, templates=features), observer=watched, verbose=False)
    first = train_once(fit.changed(), corpus)
    fit = fit.changed(target=first.target)  # the default column
    words, dev, settings = word_column(first.model), settings.dev, fit.settings
    labels = Column(_labels_of_others(fit, watched, corpus, first), Strings.of(first.labels))
    if watched.stopped:  # training was stopped: return the first pass
        return first
    if dev is not None:
        dev = read_examples(dev, target=first.target)
        dev = with_columns(dev, words, first.tag_column(dev, n_threads=settings.n_threads))
    target = columns_named(first.target, corpus.columns)
    inputs = [name for name in corpus.columns if name not in target]
    templates, bigrams = templates_of("default" if features is None else features, inputs)
    several = len(np.unique(corpus.document_numbers())) > 1
    new_templates = [f"{name}[0]" for name in (FIRST_PASS if several else FIRST_PASS[:1])]
    order = 0 if settings.order is None and not bigrams else settings.order
    labelled = with_columns(corpus, words, labels)
    second_features = replace(second_features, templates=[*templates, *new_templates])
    second = train_once(fit.changed(features=second_features, dev=dev, order=order), labelled)
    training = {**second.training, "corpus": first.training["corpus"], "document_features": new_templates}
    return Tagger(replace(second.model, first=first.model, training=training))


def _labels_of_others(fit: Fit, watched: Watched, corpus: Corpus, first: Tagger) -> Ints:
    """Label each token with a model that was not trained on its sentence; labels are numbered as in the first model."""
    number = {label: i for i, label in enumerate(first.labels)}
    codes, weights = np.empty(corpus.n_tokens, np.int32), fit.settings.sample_weight
    for begin, end in pairwise(part_bounds(corpus.document_numbers()).tolist()):
        if watched.stopped:
            break
        numbers = np.r_[0:begin, end : len(corpus)]
        weight, part = None if weights is None else np.asarray(weights)[numbers], corpus.take(numbers)
        labels = _of_labels(fit.options.get("labels") or Labels(), set(part.column(first.target).tolist()))
        model = train_once(fit.changed(sample_weight=weight, dev=None, metric=None, patience=None, labels=labels), part)
        labels_here = model.tag_column(corpus[begin:end], n_threads=fit.settings.n_threads)
        of_label = np.array([number[label] for label in model.labels], np.int32)
        codes[corpus.starts[begin] : corpus.starts[end]] = of_label[labels_here.codes]
    return codes


def _of_labels(options: Labels, labels: set[str]) -> Labels:
    """Options by label, restricted to the labels in a part of the corpus."""

    def known(numbers: Any) -> Any:
        if not isinstance(numbers, Mapping):
            return numbers
        names = {key: key if isinstance(key, tuple) else (key,) for key in numbers}
        return {key: number for key, number in numbers.items() if labels.issuperset(names[key])} or None

    return replace(options, weights=known(options.weights), costs=known(options.costs))


def part_bounds(documents: Longs) -> Longs:
    """Sentence offsets of the parts, including the end; at document boundaries if there are enough documents."""
    n = len(documents)
    if n < 2:
        raise LearnerError("documents=True needs at least two sentences")
    targets = np.arange(PARTS + 1) * n // PARTS
    begins = np.append(np.flatnonzero(np.diff(documents, prepend=documents[0] - 1)), n)
    if len(begins) > PARTS:
        targets = begins[np.abs(begins[:, None] - targets).argmin(axis=0)]
    return np.unique(targets)
