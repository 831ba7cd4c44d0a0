"""Collins 2002, figure 4 (left) and section 4.3: noun phrases by the perceptron and by maximum entropy.

The paper trained on sections 15-18 of the Wall Street Journal, chose on section 21 and tested on section 20.
CoNLL-2000 has 15-18 and 20, as train and test: the very sentences, with noun phrases and four kinds of phrases more,
which we take out. It has no section 21, so the last tenth of train is our development set; training is on the other
nine tenths. Tags are those of the corpus, by Brill's tagger as in the paper. Templates are those of figure 3, and
labels depend on the two before them.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.data import chunks
from experiments.measures import compared, interval, tested
from experiments.papers import curves_of_epochs as figure4
from experiments.papers.curves_of_epochs import METHODS, Method
from experiments.report import Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Collins 2002, figure 4 (left) and section 4.3: noun phrases"
DATA = ("conll2000",)
TARGET, FEATURES = "label", "collins-chunking"
# F1 on dev and the iteration it was reached in, as printed; then F1 on test of the best of each.
PRINTED = dict(
    zip(
        (method.name for method in METHODS),
        [(93.53, 13), (93.04, 35), (93.33, 9), (91.88, 39), (92.34, 900), (92.65, 200)],
        strict=True,
    )
)
PRINTED_TEST = {"perceptron": 93.63, "maximum entropy": 93.29}


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """The six curves; then the best perceptron and the best maximum-entropy model on test."""
    steps = list[Step]()
    for method in METHODS:
        iterations = figure4.iterations(method.kind, setting)
        arguments = {"kind": method.kind, "cutoff": method.cutoff, "iterations": iterations}
        steps.append(Step(method.name, curve, arguments))
    if all(step.name in done for step in steps):
        for name, maxent in (("perceptron", False), ("maximum entropy", True)):
            best = figure4.best_method(done, "", maxent)
            chosen = {"kind": best.kind, "cutoff": best.cutoff, "iterations": done[best.name]["iteration"]}
            steps.append(Step(f"test, {name}", on_test, chosen))
    return steps


def curve(setting: Setting, kind: str, cutoff: int, iterations: int) -> Figures:
    """F1 on dev by iteration."""
    return figure4.curve(chunks(setting), setting, TARGET, FEATURES, kind, cutoff, iterations)


def on_test(setting: Setting, kind: str, cutoff: int, iterations: int) -> Figures:
    """F1 on test of what was chosen on dev."""
    parts = chunks(setting)
    tagger = figure4.chosen(parts, setting, TARGET, FEATURES, Method("", kind, cutoff), iterations)
    return tested(tagger, parts.test, TARGET, setting)


def report(done: Mapping[str, Figures]) -> Report:
    """Figure 4, section 4.3, and what of its findings holds."""
    rows = [
        [name, done[name]["best"], done[name]["iteration"], *PRINTED[name]]
        for name in (method.name for method in METHODS)
    ]
    tests = {name: done[f"test, {name}"] for name in PRINTED_TEST}
    best = [figure4.best_method(done, "", maxent).name for maxent in (False, True)]
    test_rows = [
        [name, setting, tests[name]["score"], interval(tests[name]), PRINTED_TEST[name]]
        for name, setting in zip(tests, best, strict=True)
    ]
    return Report(
        [
            Table(
                "Figure 4 (left): F1 on development data, best iteration",
                ["method", "F1, %", "iteration", "printed", "iteration, printed"],
                rows,
            ),
            Table(
                "Section 4.3: F1 on test, with the setting and the iteration that were best on development data",
                ["method", "setting", "F1, %", "95% of bootstraps", "printed"],
                test_rows,
            ),
            compared(tests),
        ],
        figure4.findings(done, "", "noun phrases"),
        figure4.picture(done, "", "collins-chunking", "Noun phrases: F1 by iteration", "F1"),
        [
            "Our development set is a tenth of the training sections, where the paper had section 21: figures on it "
            "are not comparable with the printed ones, their order is. Section 20 is the test set of both.",
        ],
    )
