"""Taggers with random weights, and the oracle of decoding: every label sequence with its probability."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gradient_oracle import ngram_labels
from oracle import score_of

import trellis
from experiments.reference import Potentials, ngram_table, restrict
from experiments.reference.loglinear import local_loss
from trellis.corpus.corpus import Corpus
from trellis.engine.chain import Tables
from trellis.engine.weights import Rows
from trellis.learning.options import grouped
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.options import TaggingOptions

WORDS = ("a", "b", "c")
TEMPLATES = ("word[0]", "word[-1] & word[0]", "bias")
LABELS = {
    "iob1": ("O", "I-X", "B-X", "I-Y"),
    "iob2": ("O", "B-X", "I-X", "B-Y", "I-Y"),
    "ioe1": ("O", "I-X", "E-X", "I-Y"),
    "ioe2": ("O", "I-X", "E-X", "E-Y"),
    "iobes": ("O", "B-X", "I-X", "E-X", "S-X"),
    "bilou": ("O", "B-X", "I-X", "L-X", "U-X"),
    "bmes": ("B-X", "M-X", "E-X", "S-X"),
}


def corpus_of(labels: Sequence[str], seed: int = 0, n: int = 12) -> Corpus:
    """Random words and labels; every label and every word occurs."""
    rng = np.random.default_rng(seed)
    lengths = [len(labels), *rng.integers(1, 5, n - 1).tolist()]
    words = [[str(w) for w in rng.choice(WORDS, k)] for k in lengths]
    chosen = [list(labels), *([str(z) for z in rng.choice(labels, k)] for k in lengths[1:])]
    return trellis.read({"word": words, "label": chosen})


def random_tagger(
    seed: int,
    labels: Sequence[str] = ("P", "Q", "R"),
    *,
    order: int | None = None,
    templates: Sequence[str] = TEMPLATES,
    end: bool = False,
    family: str = "log-linear",
    temperature: float = 1.0,
    spread: float = 1.0,
    **options: Any,
) -> Tagger:
    """A tagger of these labels with random weights."""
    rng = np.random.default_rng(seed)
    learner = trellis.Perceptron(epochs=2, average=False)
    values = {"target": "label", "features": list(templates), "order": order, "learner": learner, **options}
    trained = trellis.train(corpus_of(labels, seed), **grouped(TaggingOptions, values)).model
    old, n = trained.weights, len(labels)

    def fill(shape: tuple[int, ...]) -> np.ndarray:
        return (spread * rng.normal(size=shape)).astype(np.float32)

    def padded(table: np.ndarray) -> np.ndarray:
        out = np.zeros_like(table)
        out[..., :n] = fill((*table.shape[:-1], n))
        return out

    def rows(given: Rows | None) -> Rows | None:
        return None if given is None else replace(given, weights=fill(given.weights.shape))

    weights = replace(
        old,
        rows=rows(old.rows),
        edge_rows=rows(old.edge_rows),
        edge=padded(old.edge) if trained.order else old.edge,
        tri=None if old.tri is None else padded(old.tri),
        end=padded(np.zeros(old.edge.shape[1], np.float32)) if end else None,
        ngrams=None if old.ngrams is None else replace(old.ngrams, weights=fill(old.ngrams.weights.shape)),
    )
    return Tagger(replace(trained, weights=weights, family=family, temperature=temperature))


MODELS: dict[str, dict[str, Any]] = {
    "order 0": {"order": 0},
    "order 1": {},
    "order 2": {"order": 2},
    "end": {"end": True},
    "end 2": {"end": True, "order": 2},
    "edges": {"templates": ("word[0]", "label[-1] & word[0]")},
    "edges 2": {"templates": ("word[0]", "label[-1] & word[-1]"), "order": 2},
    "histories": {"templates": ("word[0]", "label[-2..-1] & word[0]")},
    "histories 3": {
        "templates": ("word[0]", "label[-1] & word[0]", "label[-3..-1] & word[-1]"),
        "end": True,
        "temperature": 1.3,
    },
    "histories tag dictionary": {"templates": ("word[0]", "label[-2..-1] & word[0]"), "tag_dictionary": 9},
    "order 3": {"order": 3},
    "end 4": {"end": True, "order": 4, "temperature": 1.5},
    "edges 3": {"templates": ("word[0]", "label[-1] & word[0]"), "order": 3},
    "tag dictionary 3": {"tag_dictionary": 9, "order": 3},
    "tag dictionary": {"tag_dictionary": 9},
    "tag dictionary 2": {"tag_dictionary": 9, "order": 2},
    "confidence": {"family": "scores", "temperature": 2.5},
    "local": {"family": "local"},
    "local 2": {"family": "local", "order": 2, "end": True},
    "local 3": {"family": "local", "order": 3, "end": True},
    "local edges 3": {"family": "local", "templates": ("word[0]", "label[-1] & word[0]"), "order": 3},
    "local tag dictionary 3": {"family": "local", "tag_dictionary": 9, "order": 3},
    "joint": {"family": "joint", "end": True, "temperature": 0.7},
}


def sentences(longest: int = 3) -> Iterator[list[str]]:
    """Some of every length, one with a word never seen."""
    rng = np.random.default_rng(7)
    yield []
    for n in range(1, longest + 1):
        yield [str(w) for w in rng.choice((*WORDS, "new"), n)]
        yield [str(w) for w in rng.choice(WORDS, n)]


def possible(tagger: Tagger, sentence: Sequence[str]) -> list[tuple[str, ...]]:
    """The labels each token may have by the tag dictionary."""
    tags, labels = tagger.model.dictionary, tagger.labels
    if tags is None:
        return [labels] * len(sentence)
    known = {word: int(tags.set_of[i]) for i, word in enumerate(tagger.model.vocabulary.columns[0].values)}
    sets = [known.get(word, 0) for word in sentence]
    return [tuple(labels[z] for z in tags.labels[tags.starts[s] : tags.starts[s + 1]]) for s in sets]


def all_paths(
    tagger: Tagger, sentence: Sequence[str], allowed: Sequence[Sequence[str]] | None = None
) -> dict[tuple[str, ...], float]:
    """Every label sequence with its probability, by enumeration."""
    listed = possible(tagger, sentence)
    paths = list(itertools.product(*(listed if allowed is None else allowed)))
    number = {label: z for z, label in enumerate(tagger.labels)}
    codes = [[number[z] for z in path] for path in paths]
    local = tagger.model.family == "local"
    decoder = Tagger(replace(tagger.model, family="scores"))._decoder if local else tagger._decoder
    tables = decoder.chains(decoder.encode([sentence]), None, 1).tables
    p = with_ngrams(tagger, tables.potentials)
    if local:  # decision by decision
        known = replace(p, emit=restrict(p.emit, [[number[z] for z in labels] for labels in listed]))
        ends = [0.0] * len(number) if p.end is None else p.end.tolist()
        scores = np.array([(ends[path[-1]] if path else 0.0) - local_loss(known, path) for path in codes])
        scores /= tagger.temperature
    else:
        scores = np.array([score_of(p, path) + own_score(tagger, tables, path) for path in codes]) / tagger.temperature
    weights = np.exp(scores - scores.max())
    return dict(zip(paths, (weights / weights.sum()).tolist(), strict=True))


def own_score(tagger: Tagger, tables: Tables, path: Sequence[int]) -> float:
    """What label n-grams give at single tokens."""
    if tables.token_ngrams is None or tagger.model.weights.ngrams is None:
        return 0.0
    starts, nodes, scores = (array.tolist() for array in tables.token_ngrams)
    runs, before, total = (
        ngram_labels(tagger.model.weights.ngrams, len(tagger.labels)),
        [len(tagger.labels), *path],
        0.0,
    )
    for t in range(len(path)):
        for i in range(starts[t], starts[t + 1]):
            run = runs[nodes[i]]
            total += scores[i] if run == tuple(before[: t + 2][-len(run) :]) else 0.0
    return total


def with_ngrams(tagger: Tagger, p: Any) -> Potentials:
    """Potentials of a sentence with the table of label n-grams, if the model has some."""
    ngrams, n, tri = tagger.model.weights.ngrams, len(tagger.labels), p.tri
    if ngrams is not None:
        runs = zip(ngram_labels(ngrams, n)[n + 2 :], ngrams.weights.tolist(), strict=True)
        tri = ngram_table({run: w for run, w in runs if len(run) > 2}, n, tagger.order)
    return Potentials(p.emit, p.edge, tri, p.end)
