"""Huang's slides: Chinese words by the perceptron, as published for the PKU corpus of the second bakeoff (2005).

The slides name word segmentation as what Viterbi and the perceptron do; published closed tests of PKU are a CRF with
95.0 (Tseng et al. 2005), a perceptron over words with 94.5 (Zhang & Clark 2007), and the best linear models with 95.2
to 95.4. Training text and test are theirs. Settings were chosen on the last 1,950 lines of train. A word is unknown if
training does not have it as it is written, which is how published figures count; or, more strictly, neither in half
nor in full width: train has digits of full width, test those of ASCII.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trellis
from experiments.data import find
from experiments.report import Cell, Finding, Report, Table
from experiments.steps import Figures, Setting, Step
from trellis.evaluation.words import compare_words, half_width, places_of
from trellis.features.presets import SEGMENTATION

TITLE = "Chinese words of the PKU corpus, by characters and by segments"
DATA = ("pku",)
HELD_OUT, FEW = 1_950, 4_000  # lines
CHARACTERS = [template for template in SEGMENTATION if "(character[0])" not in template or "kinds" in template]
Line = list[str]
# How many lines of train, and what Segmenter.train is told.
MODELS: dict[str, tuple[int | None, dict[str, Any]]] = {
    "MIRA": (None, {}),
    "MIRA, characters alone": (None, {"features": CHARACTERS}),
    "averaged perceptron": (None, {"learner": trellis.Perceptron(epochs=10)}),
    "MIRA, 4,000 lines": (FEW, {}),
    "MIRA, 4,000 lines, segments": (FEW, {"segments": trellis.Segments(8)}),
}
TEST = "test, MIRA"
PUBLISHED = 95.4  # of the best linear models


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Every model on held-out lines; then the first on test."""
    return [*(Step(name, held_out, {"model": name}) for name in MODELS), Step(TEST, on_test, {})]


def lines_of(path: Path) -> list[Line]:
    """The lines of a file that are not empty, word by word."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [words for words in map(str.split, lines) if words]


def _read(setting: Setting, part: str) -> list[Line]:
    lines = lines_of(find(setting, "pku", f"{part}.utf8.gz"))
    return lines[:1_000] if setting.quick else lines


def held_out(setting: Setting, model: str) -> Figures:
    """Trained on all but the last lines of train, measured on those."""
    whole = _read(setting, "train")
    cut = len(whole) - min(HELD_OUT, len(whole) // 10)
    n_lines, given = MODELS[model]
    train = whole[:cut][: FEW // 20 if n_lines and setting.quick else n_lines]
    return measured(trellis.Segmenter.train(train, n_threads=setting.n_threads, **given), train, whole[cut:])


def on_test(setting: Setting) -> Figures:
    """The model of the library's defaults, trained on all of train."""
    train = _read(setting, "train")
    return measured(trellis.Segmenter.train(train, n_threads=setting.n_threads), train, _read(setting, "test"))


def measured(segmenter: trellis.Segmenter, train: list[Line], gold: list[Line]) -> Figures:
    """Words found in the text of these lines."""
    return scores(train, gold, segmenter.segment_batch(["".join(words) for words in gold], n_threads=1))


def scores(train: list[Line], gold: list[Line], found: list[Line]) -> Figures:
    """Precision, recall and F1 of words; recall of known words and of unknown ones, counted both ways."""
    written = {word for words in train for word in words}
    counted = compare_words(gold, found, {half_width(word) for word in written})
    figures = {
        "precision": counted.precision,
        "recall": counted.recall,
        "F1": counted.f1,
        "known": counted.known.value,
        "unknown": _recall_of_unwritten(gold, found, written),
        "unknown in any width": counted.unknown.value,
    }
    return {name: 100 * value for name, value in figures.items()}


def _recall_of_unwritten(gold: list[Line], found: list[Line], written: set[str]) -> float:
    """The recall of words that were not written so in training."""
    right = list[bool]()
    for true, words in zip(gold, found, strict=True):
        places = set(places_of(words))
        right += [place in places for word, place in zip(true, places_of(true), strict=True) if word not in written]
    return sum(right) / max(1, len(right))


def report(done: Mapping[str, Figures]) -> Report:
    """Held-out lines, then test beside what is published."""
    keys = ("precision", "recall", "F1", "known", "unknown", "unknown in any width")
    rows: list[list[Cell]] = [
        ["test" if name == TEST else "held out", name.removeprefix("test, "), *(one[key] for key in keys)]
        for name, one in done.items()
    ]
    columns = ["lines", "model", "precision, %", "recall, %", "F1, %"]
    columns += ["recall of known", "of unknown as written", "of unknown in any width"]
    f1 = {name: one["F1"] for name, one in done.items()}
    few, segments, plain = f1["MIRA, 4,000 lines"], f1["MIRA, 4,000 lines, segments"], f1["MIRA, characters alone"]
    findings = [
        Finding(
            "a perceptron over characters reaches the best published linear models",
            f1[TEST] >= PUBLISHED,
            f"{f1[TEST]:.2f}, {PUBLISHED}",
        ),
        Finding("words of training as a dictionary help", f1["MIRA"] > plain, f"{f1['MIRA']:.2f}, {plain:.2f}"),
        Finding(
            "segments are better than characters", segments > few, f"{segments:.2f}, {few:.2f}, both of 4,000 lines"
        ),
    ]
    return Report([Table("PKU; published closed tests: CRF 95.0, perceptron over words 94.5", columns, rows)], findings)
