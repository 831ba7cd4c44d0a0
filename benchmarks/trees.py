"""Constituency parsing on NLTK's sample of the Penn Treebank: PCFGs, weights of rules, features of spans."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from trellis import trees

# Epochs and templates were chosen on dev.trees.
PCFGS = [(1, 0), (1, 1), (2, 1), (3, 1)]
FOLDS = 5  # of taggers
RULES = trellis.Perceptron(epochs=10, shuffle=True)


def run(setting: Setting) -> Result:
    """Train each once by itself; parse the test sentences on one thread."""
    train, test = (trees.read_trees(setting.file(f"wsj-sample/{name}.trees")).trees for name in ("train", "test"))
    train = train[:300] if setting.quick else train
    rows = []
    for vertical, horizontal in PCFGS:
        given: dict[str, Any] = {"vertical": vertical, "horizontal": horizontal}
        rows.append(_row(f"PCFG, v{vertical} h{horizontal}", train, test, {**given, "learner": "pcfg"}))
        if (vertical, horizontal) != (3, 1):
            given |= {"learner": RULES, "features": "rules"}
            rows.append(_row(f"perceptron weights of rules, v{vertical} h{horizontal}", train, test, given))
    rows.append(_row("perceptron, features of spans", train, test, {}))
    tagged, tagger = retagged([_clean(tree) for tree in train])
    rows.append(_row("perceptron, features of spans, own tagger", tagged, test, {"tagger": tagger}, tags=False))
    return Result("Labelled brackets by evalb's rules on the test trees, with gold tags but in the last row", rows)


def retagged(train: list[trees.PhraseTree]) -> tuple[list[trees.PhraseTree], trellis.Tagger]:
    """Trees with tags by taggers of the other folds, so that a parser learns their mistakes; and a tagger of all."""
    parts = [_tagger([tree for i, tree in enumerate(train) if i % FOLDS != fold]) for fold in range(FOLDS)]
    tags = (parts[i % FOLDS].tag(tree.words) for i, tree in enumerate(train))
    return [_with_tags(tree, iter(some)) for tree, some in zip(train, tags, strict=True)], _tagger(train)


def _tagger(train: list[trees.PhraseTree]) -> trellis.Tagger:
    corpus = {"word": [tree.words for tree in train], "pos": [tree.pos for tree in train]}
    learner = trellis.MIRA(C=0.01, epochs=10, shuffle=True)
    return trellis.train(corpus, target="pos", order=2, learner=learner, n_threads=1)


def _with_tags(tree: trees.PhraseTree, tags: Iterator[str]) -> trees.PhraseTree:
    if tree.is_tag:
        return replace(tree, label=next(tags))
    return replace(tree, children=tuple(_with_tags(child, tags) for child in tree.children))


def _clean(tree: trees.PhraseTree) -> trees.PhraseTree:
    cleaned = tree.clean()
    assert cleaned is not None
    return cleaned


def _row(name: str, train: Any, test: Any, given: dict[str, Any], *, tags: bool = True) -> dict[str, Any]:
    begun = time.process_time()
    parser = trees.train(train, n_threads=1, **given)
    seconds = time.process_time() - begun
    sentences = [_clean(tree) if tags else _clean(tree).words for tree in test]
    begun = time.process_time()
    parsed = parser.parse_batch(sentences, n_threads=1)
    speed = len(test) / (time.process_time() - begun)
    report = trees.evaluate_trees(test, parsed)
    return {
        "model": name,
        "precision, %": 100 * report.overall.precision,
        "recall, %": 100 * report.overall.recall,
        "F1, %": 100 * report.f1,
        "all brackets right, %": 100 * report.complete_match,
        "sentences/s": speed,
        "training, CPU s": seconds,
    }
