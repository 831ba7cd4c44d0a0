"""Huang's slides and Collins 2002, section 6: constituency trees, with weights by counting and by the perceptron.

The slides name parsing as what the structured perceptron does beside tagging; no table is theirs. Johnson 1998 and
Klein & Manning 2003 have treebank grammars with parents and horizontal markovisation on the Penn Treebank, sections
2-21 and 23, and Finkel et al. 2008 and Hall et al. 2014 features of words and spans. Ours is the free sample of that
treebank, a twelfth of it; gold tags except where said; labelled brackets by evalb's rules. Epochs and templates were
chosen on dev.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import trellis
from experiments.data import find
from experiments.report import Cell, Finding, Report, Table
from experiments.steps import Figures, Setting, Step
from trellis.evaluation.brackets import evaluate_trees

TITLE = "Constituency trees: PCFGs, the perceptron on their rules, features of spans"
DATA = ("wsj-sample",)
PCFGS = ((1, 0), (1, 1), (2, 1), (3, 1))  # vertical, horizontal
FOLDS = 5  # of taggers
SPANS, OWN = "perceptron, features of spans", "perceptron, features of spans, own tagger"
# Klein & Manning 2003, figure 2: F1 on section 22 for sentences of up to 40 words.
NEIGHBOURS = {"PCFG, v1 h0": 71.27, "PCFG, v1 h1": 72.5, "PCFG, v2 h1": 77.42, "PCFG, v3 h1": 79.18}


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Grammars by counting and by the perceptron; then features of spans."""
    epochs = 3 if setting.quick else 10
    steps = list[Step]()
    for v, h in PCFGS:
        grammar = {"vertical": v, "horizontal": h}
        steps.append(Step(f"PCFG, v{v} h{h}", counted, grammar))
        if (v, h) != (3, 1):
            steps.append(Step(f"perceptron on the rules, v{v} h{h}", on_rules, grammar | {"epochs": epochs}))
    return [*steps, Step(SPANS, by_spans, {"own_tagger": False}), Step(OWN, by_spans, {"own_tagger": True})]


def _parts(setting: Setting) -> tuple[list[trellis.PhraseTree], list[trellis.PhraseTree]]:
    train, test = (trellis.read_trees(find(setting, "wsj-sample", f"{name}.trees")).trees for name in ("train", "test"))
    return (train[:300], test[:100]) if setting.quick else (train, test)


def counted(setting: Setting, vertical: int, horizontal: int) -> Figures:
    """A PCFG."""
    train, test = _parts(setting)
    return _measured(train, test, setting, {"vertical": vertical, "horizontal": horizontal, "learner": "pcfg"})


def on_rules(setting: Setting, vertical: int, horizontal: int, epochs: int) -> Figures:
    """The rules of that PCFG, with weights by the perceptron."""
    train, test = _parts(setting)
    learner = trellis.Perceptron(epochs=epochs, shuffle=True)
    grammar = {"vertical": vertical, "horizontal": horizontal}
    return _measured(train, test, setting, {**grammar, "learner": learner, "features": "rules"})


def by_spans(setting: Setting, own_tagger: bool) -> Figures:
    """Features of words and spans, with gold tags or those of our own tagger."""
    train, test = _parts(setting)
    given: dict[str, Any] = {"learner": trellis.Perceptron(epochs=3, shuffle=True)} if setting.quick else {}
    if not own_tagger:
        return _measured(train, test, setting, given)
    tagged, tagger = retagged([_clean(tree) for tree in train], setting)
    return _measured(tagged, test, setting, given | {"tagger": tagger}, tags=False)


def retagged(train: list[trellis.PhraseTree], setting: Setting) -> tuple[list[trellis.PhraseTree], trellis.Tagger]:
    """Trees with tags by taggers of the other folds, so that a parser learns their mistakes; and a tagger of all."""
    parts = [_tagger([tree for i, tree in enumerate(train) if i % FOLDS != fold], setting) for fold in range(FOLDS)]
    tags = (parts[i % FOLDS].tag(tree.words) for i, tree in enumerate(train))
    return [_with_tags(tree, iter(some)) for tree, some in zip(train, tags, strict=True)], _tagger(train, setting)


def _tagger(train: list[trellis.PhraseTree], setting: Setting) -> trellis.Tagger:
    corpus = {"word": [tree.words for tree in train], "pos": [tree.pos for tree in train]}
    learner = trellis.MIRA(C=0.01, epochs=10, shuffle=True)
    return trellis.train(corpus, target="pos", order=2, learner=learner, n_threads=setting.n_threads)


def _with_tags(tree: trellis.PhraseTree, tags: Iterator[str]) -> trellis.PhraseTree:
    if tree.is_tag:
        return replace(tree, label=next(tags))
    return replace(tree, children=tuple(_with_tags(child, tags) for child in tree.children))


def _clean(tree: trellis.PhraseTree) -> trellis.PhraseTree:
    cleaned = tree.clean()
    assert cleaned is not None
    return cleaned


def _measured(
    train: list[trellis.PhraseTree],
    test: list[trellis.PhraseTree],
    setting: Setting,
    given: dict[str, Any],
    *,
    tags: bool = True,
) -> Figures:
    """Train, parse the test sentences on one thread, count brackets."""
    begun = time.process_time()
    parser = trellis.TreeParser.train(train, n_threads=setting.n_threads, **given)
    seconds = time.process_time() - begun
    sentences = [_clean(tree) if tags else _clean(tree).words for tree in test]
    begun = time.process_time()
    parsed = parser.parse_batch(sentences, n_threads=1)
    speed = len(test) / (time.process_time() - begun)
    found = evaluate_trees(test, parsed)
    scores = {"precision": found.precision, "recall": found.recall, "F1": found.f1}
    shares = {name: 100 * value for name, value in (scores | {"complete": found.complete_match}).items()}
    return shares | {"sentences/s": speed, "training, CPU s": seconds}


def report(done: Mapping[str, Figures]) -> Report:
    """Brackets on test, and whether the perceptron is better than counting."""
    keys = ("precision", "recall", "F1", "complete")
    rows: list[list[Cell]] = [
        [name, *(one[key] for key in keys), NEIGHBOURS.get(name), int(one["sentences/s"])] for name, one in done.items()
    ]
    findings = list[Finding]()
    for v, h in PCFGS[:3]:
        a, b = (done[f"{kind}, v{v} h{h}"]["F1"] for kind in ("perceptron on the rules", "PCFG"))
        findings.append(
            Finding(f"the perceptron is better than counting on the same rules, v{v} h{h}", a > b, f"{a:.2f}, {b:.2f}")
        )
    one, two = (done[f"PCFG, v{v} h1"]["F1"] for v in (1, 2))
    findings.append(Finding("parents help a PCFG", two > one, f"{two:.2f}, {one:.2f}"))
    spans, best = done[SPANS]["F1"], max(one["F1"] for name, one in done.items() if not name.startswith(SPANS))
    findings.append(
        Finding("features of spans are better than any grammar's rules alone", spans > best, f"{spans:.2f}, {best:.2f}")
    )
    columns = [
        "model",
        "precision, %",
        "recall, %",
        "F1, %",
        "all right, %",
        "Klein & Manning 2003",
        "sentences/s, one core",
    ]
    table = Table("Labelled brackets, test trees of the sample", columns, rows)
    remark = (
        "Klein & Manning's figures are of the whole treebank, sentences of up to 40 words: they are beside ours for "
        "what parents and markovisation gain, not for the level."
    )
    return Report([table], findings, remarks=[remark])
