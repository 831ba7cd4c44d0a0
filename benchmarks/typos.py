"""Typo correction on the data of Grover & Ngo Ho: letters wrong after correction."""

from __future__ import annotations

from typing import Any

import numpy as np

import trellis
from benchmarks.common import Result, Setting, timed, verdict

# Name, learner, features, order, letters wrong at most.
CONTENDERS: list[tuple[str, Any, Any, int, float | None]] = [
    ("HMM", trellis.HMM(smoothing="added"), ["letter[0]"], 2, 0.042),
    *(("perceptron, averaged", trellis.Perceptron(epochs=10), "letters", order, None) for order in range(2, 6)),
    # Chosen on the last 2,500 words of train10.
    ("perceptron, averaged, shuffled", trellis.Perceptron(epochs=10, shuffle=True), "letters", 6, 0.0215),
    ("CRF", trellis.CRF(solver="adagrad", epochs=5), "letters", 2, None),
]


def words(setting: Setting, name: str) -> trellis.Corpus:
    """Each word a sequence of letters: as typed, and as meant."""
    lines = setting.file(f"typos/{name}.tsv").read_text(encoding="utf-8").split("\n")
    pairs = [line.split("\t") for line in lines if line]
    return trellis.read({"letter": [list(typed) for typed, _ in pairs], "label": [list(true) for _, true in pairs]})


def run(setting: Setting) -> Result:
    """Train each learner on train10 and correct test10."""
    train, test = words(setting, "train10"), words(setting, "test10")
    typed, true = (np.array(test.column(name).tolist()) for name in ("letter", "label"))
    rows: list[dict[str, Any]] = [{"learner": "copying", "letters wrong": float((typed != true).mean())}]
    for name, learner, features, order, bar in CONTENDERS:
        elapsed, tagger = timed(
            lambda learner=learner, features=features, order=order: trellis.train(
                train, target="label", features=features, learner=learner, order=order
            )
        )
        wrong = 1 - tagger.evaluate(test).token_accuracy
        limit = rows[1]["letters wrong"] if name == "CRF" else bar
        met = None if limit is None else verdict(wrong <= limit if bar else wrong < limit)
        row = {"learner": name, "order": order, "letters wrong": wrong, "at most": limit, "met": met, "s": elapsed}
        rows.append(row)
    return Result("typos10: letters wrong", rows)
