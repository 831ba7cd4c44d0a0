"""Collins 2002, figure 4 (right) and section 4.3: parts of speech by the perceptron and by maximum entropy.

The paper trained on sections 0-18 of the Wall Street Journal, chose on 19-21 and tested on 22-24. That treebank is
sold: whoever has it names the folder of its sections by ``--ptb DIR``. By default the free sample of it takes its
place (a twelfth of the training text, so error rates are higher), and beside it stand UD English-EWT with its Penn
tags, and the Brown corpus, whose 174 tags and million words are trained by the perceptron only, with a filter that
leaves each word few candidate tags. Templates are Ratnaparkhi's, for all words alike, and labels depend on the two
before them.
"""

from __future__ import annotations

from collections.abc import Mapping

import trellis
from experiments import data
from experiments.data import Parts
from experiments.measures import compared, interval, tested
from experiments.papers import curves_of_epochs as figure4
from experiments.papers.curves_of_epochs import METHODS, Method
from experiments.report import Curves, Finding, Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Collins 2002, figure 4 (right) and section 4.3: parts of speech"
DATA = ("wsj-sample", "ud-english-ewt", "brown-pos")
FEATURES = "ratnaparkhi-pos"
PERCEPTRON, SCALING, BROWN = 20, 300, 10  # iterations, at most
# Error rate on dev and the iteration it was reached in, as printed; then on test.
PRINTED = dict(
    zip(
        (method.name for method in METHODS),
        [(2.93, 10), (3.68, 20), (3.03, 6), (4.04, 17), (3.4, 100), (3.28, 200)],
        strict=True,
    )
)
PRINTED_TEST = {"perceptron": 2.89, "maximum entropy": 3.28}
WSJ, PTB = "wsj-sample", "Penn Treebank"
TARGETS = {PTB: "pos", WSJ: "pos", "ud-english-ewt": "xpos", "brown-pos": "pos"}


def _methods(corpus: str) -> list[Method]:
    return [m for m in METHODS if corpus != "brown-pos" or (m.kind != "maxent" and m.cutoff == 0)]


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """The curves of every corpus; then the best of each kind on test."""
    steps = list[Step]()
    for corpus in [PTB] if setting.ptb else [WSJ, "ud-english-ewt", "brown-pos"]:
        curves, methods = list[Step](), _methods(corpus)
        for method in methods:
            most = SCALING if method.kind == "maxent" else BROWN if corpus == "brown-pos" else PERCEPTRON
            iterations = min(most, figure4.iterations(method.kind, setting))
            arguments = {"corpus": corpus, "kind": method.kind, "cutoff": method.cutoff, "iterations": iterations}
            curves.append(Step(f"{corpus}, {method.name}", curve, arguments))
        steps += curves
        if all(step.name in done for step in curves):
            for name, maxent in (("perceptron", False), ("maximum entropy", True)):
                if any((method.kind == "maxent") == maxent for method in methods):
                    best = figure4.best_method(done, f"{corpus}, ", maxent)
                    chosen = {"kind": best.kind, "cutoff": best.cutoff}
                    iterations = done[f"{corpus}, {best.name}"]["iteration"]
                    arguments = {"corpus": corpus, **chosen, "iterations": iterations}
                    steps.append(Step(f"{corpus}, test, {name}", on_test, arguments))
    return steps


def _prune(corpus: str) -> bool:
    """Whether a filter leaves each token few candidates: with 174 tags, triples of them are many."""
    return corpus == "brown-pos"


def parts_of(setting: Setting, corpus: str) -> Parts:
    """A corpus by its name."""
    if corpus == PTB:
        assert setting.ptb is not None
        return data.ptb(setting.ptb)
    if corpus == "ud-english-ewt":
        return data.ud(setting, corpus, "en_ewt")
    return data.brown(setting) if corpus == "brown-pos" else data.wsj(setting)


def curve(setting: Setting, corpus: str, kind: str, cutoff: int, iterations: int) -> Figures:
    """Accuracy on dev by iteration."""
    return figure4.curve(
        parts_of(setting, corpus), setting, TARGETS[corpus], FEATURES, kind, cutoff, iterations, prune=_prune(corpus)
    )


def on_test(setting: Setting, corpus: str, kind: str, cutoff: int, iterations: int) -> Figures:
    """Accuracy on test of what was chosen on dev."""
    parts = parts_of(setting, corpus)
    method = Method("", kind, cutoff)
    tagger: trellis.Tagger = figure4.chosen(
        parts, setting, TARGETS[corpus], FEATURES, method, iterations, prune=_prune(corpus)
    )
    return tested(tagger, parts.test, TARGETS[corpus], setting)


def report(done: Mapping[str, Figures]) -> Report:
    """Figure 4, section 4.3, and what of its findings holds, for each corpus."""
    tables, findings, curves = list[Table](), list[Finding](), list[Curves]()
    for corpus in (name for name in TARGETS if any(step.startswith(name) for step in done)):
        methods = _methods(corpus)
        rows = [
            [
                m.name,
                100 - done[f"{corpus}, {m.name}"]["best"],
                done[f"{corpus}, {m.name}"]["iteration"],
                *PRINTED[m.name],
            ]
            for m in methods
        ]
        tables.append(
            Table(
                f"Figure 4 (right) on {corpus}: error on development data, best iteration",
                ["method", "error, %", "iteration", "printed, Penn Treebank", "iteration, printed"],
                rows,
            )
        )
        tests = {name: done[f"{corpus}, test, {name}"] for name in PRINTED_TEST if f"{corpus}, test, {name}" in done}
        best = [figure4.best_method(done, f"{corpus}, ", name != "perceptron").name for name in tests]
        test_rows = [
            [name, setting, 100 - tests[name]["score"], _turned(interval(tests[name])), PRINTED_TEST[name]]
            for name, setting in zip(tests, best, strict=True)
        ]
        tables.append(
            Table(
                f"Section 4.3 on {corpus}: error on test, as chosen on development data",
                ["method", "setting", "error, %", "95% of bootstraps", "printed, Penn Treebank"],
                test_rows,
            )
        )
        if len(tests) == 2:
            tables.append(compared(tests))
        findings += figure4.findings(done, f"{corpus}, ", corpus)
        curves += figure4.picture(
            done, f"{corpus}, ", f"collins-pos-{corpus}", f"{corpus}: accuracy by iteration", "accuracy"
        )
    remarks = [
        "Error rates depend on how much text there is: the sample has a twelfth of the paper's training sections. What "
        "is to be compared is the order of the rows."
    ]
    return Report(tables, findings, curves, [] if any(step.startswith(PTB) for step in done) else remarks)


def _turned(of_accuracy: str) -> str:
    """An interval of accuracies as one of errors."""
    low, high = (float(end) for end in of_accuracy.split("–"))
    return f"{100 - high:.2f}–{100 - low:.2f}"
