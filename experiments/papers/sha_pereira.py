"""Sha & Pereira 2003: noun phrases by a second-order CRF, a voted perceptron and a maximum-entropy Markov model.

The paper trained on sections 15-18 of the Wall Street Journal and tested on section 20, which are train and test of
CoNLL-2000, and compared its systems by McNemar's test on tokens. It wrote second order as pairs of labels and had
templates much like those of Collins 2002, figure 3, which we use; a last row adds shapes, endings and words with tags.
Constants are chosen on the last tenth of train; then all of train is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trellis
from experiments.data import chunks
from experiments.measures import compared, interval, tested
from experiments.report import Finding, Report, Table
from experiments.steps import Figures, Setting, Step
from trellis.features.presets import PRESETS

TITLE = "Sha & Pereira 2003: second-order CRF, voted perceptron and MEMM on noun phrases"
DATA = ("conll2000",)
ORDER = 2
# What words look like and go with, beside the templates of Collins.
RICHER = [
    *PRESETS["collins-chunking"],
    *(f"shape(word[{offset}])" for offset in (-1, 0, 1)),
    *(f"suffix(word[{offset}], 3)" for offset in (-1, 0, 1)),
    "prefix(word[0], 3)",
    *(f"word[{offset}] & pos[0]" for offset in (-1, 0, 1)),
]
CRF, VOTED, AVERAGED, MEMM = "CRF", "voted perceptron", "averaged perceptron", "MEMM"
MORE = "CRF, more templates"
PRINTED = {CRF: 94.38, VOTED: 94.09, AVERAGED: None, MEMM: 93.70, MORE: None}
STRENGTHS = (0.1, 0.2, 0.5, 1.0, 2.0)  # of the penalty, c2
CHOICES: dict[str, tuple[float | int, ...]] = {
    CRF: STRENGTHS,
    VOTED: (3, 6, 10),
    AVERAGED: (5, 10, 15, 20),
    MEMM: STRENGTHS,
    MORE: STRENGTHS,
}


def _learner(name: str, constant: float) -> trellis.Learner:
    if name in (CRF, MORE):
        return trellis.CRF(c2=constant)
    if name == MEMM:
        return trellis.MaxEnt(c2=constant)
    return trellis.Perceptron(epochs=int(constant), vote=name == VOTED, shuffle=True)


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Every constant on dev; then the best of each system on test."""
    steps = list[Step]()
    for name, choices in CHOICES.items():
        tried = [Step(f"{name}, {c}", on_dev, {"name": name, "constant": c}) for c in _some(choices, setting)]
        steps += tried
        if all(step.name in done for step in tried):
            best = max(tried, key=lambda step: float(done[step.name]["score"]))
            steps.append(Step(f"test, {name}", on_test, dict(best.arguments)))
    return steps


def _some(choices: tuple[float | int, ...], setting: Setting) -> tuple[float | int, ...]:
    return choices[1:3] if setting.quick else choices


def _trained(setting: Setting, corpus: trellis.Corpus, name: str, constant: float) -> trellis.Tagger:
    features: Any = RICHER if name == MORE else "collins-chunking"
    learner = _learner(name, constant)
    return trellis.train(
        corpus, target="label", features=features, learner=learner, order=ORDER, n_threads=setting.n_threads
    )


def on_dev(setting: Setting, name: str, constant: float) -> Figures:
    """F1 on dev, trained on the other nine tenths."""
    parts = chunks(setting)
    tagger = _trained(setting, parts.train, name, constant)
    return {"score": 100 * tagger.evaluate(parts.dev, n_threads=setting.n_threads).headline}


def on_test(setting: Setting, name: str, constant: float) -> Figures:
    """F1 on test, trained on all of train."""
    parts = chunks(setting)
    whole = trellis.read({key: [*parts.train.sentences(key), *parts.dev.sentences(key)] for key in parts.train.columns})
    return tested(_trained(setting, whole, name, constant), parts.test, "label", setting) | {"constant": constant}


def report(done: Mapping[str, Figures]) -> Report:
    """The table, and every pair compared."""
    tests = {name: done[f"test, {name}"] for name in CHOICES}
    rows = [
        [
            name,
            f"{'c2' if CHOICES[name] is STRENGTHS else 'epochs'} = {one['constant']}",
            one["score"],
            interval(one),
            PRINTED[name],
        ]
        for name, one in tests.items()
    ]
    score = {name: one["score"] for name, one in tests.items()}
    findings = [
        Finding(
            "the CRF is better than the voted perceptron",
            score[CRF] > score[VOTED],
            f"{score[CRF]:.2f}, {score[VOTED]:.2f}",
        ),
        Finding("the CRF is better than the MEMM", score[CRF] > score[MEMM], f"{score[CRF]:.2f}, {score[MEMM]:.2f}"),
        Finding(
            "the voted perceptron is better than the MEMM",
            score[VOTED] > score[MEMM],
            f"{score[VOTED]:.2f}, {score[MEMM]:.2f}",
        ),
    ]
    table = Table(
        "Noun phrases, test; constants chosen on the last tenth of train",
        ["system", "chosen", "F1, %", "95% of bootstraps", "printed"],
        rows,
    )
    return Report([table, compared(tests)], findings)
