"""Handwritten words letter by letter (Kassel; Taskar et al. 2003): letters wrong by order, each fold tested in turn."""

from __future__ import annotations

import gzip
from typing import Any

import trellis
from benchmarks.common import Result, Setting, timed, verdict

ORDERS = (1, 2, 3, 4, 5)
N_FOLDS, DEVELOPMENT = 10, 9
HEIGHT, WIDTH = 16, 8
BAR = 2.0  # per cent of letters, at the best order
LEARNER = trellis.Perceptron(epochs=10, shuffle=True)

Word = list[tuple[str, list[str]]]  # of each letter: which it is, its attributes


def attributes(pixels: str) -> list[str]:
    """Every pixel by its place."""
    return [f"{i}={pixel}" for i, pixel in enumerate(pixels)]


def folds(setting: Setting) -> list[list[Word]]:
    """The words of each fold."""
    out: list[list[Word]] = [[] for _ in range(N_FOLDS)]
    word: Word = []
    with gzip.open(setting.file("ocr-letters/letter.data.gz"), "rt", encoding="ascii") as lines:
        for line in lines:
            _, letter, after, _, _, fold, *pixels = line.rstrip("\n").split("\t")
            word.append((letter, attributes("".join(pixels[: HEIGHT * WIDTH]))))
            if after == "-1":  # the last letter of a word
                out[int(fold)].append(word)
                word = []
    return out


def corpus(words: list[Word]) -> trellis.Corpus:
    """Words as sentences of letters."""
    columns = {"attributes": [[seen for _, seen in word] for word in words]}
    return trellis.read({**columns, "label": [[letter for letter, _ in word] for word in words]})


def run(setting: Setting) -> Result:
    """Train on nine folds and read the tenth: all ten in turn, or the one asked for."""
    words = folds(setting)
    development = [DEVELOPMENT] if setting.quick else list(range(N_FOLDS))
    tested = development if setting.fold is None else [setting.fold]
    rows: list[dict[str, Any]] = [{"order": order} for order in ORDERS]
    for fold in tested:
        train = corpus([word for i in range(N_FOLDS) if i != fold for word in words[i]])
        test = corpus(words[fold])
        for row in rows:
            elapsed, tagger = timed(
                lambda train=train, order=row["order"]: trellis.train(
                    train, target="label", features="attributes", learner=LEARNER, order=order
                )
            )
            row[f"fold {fold}"] = 100 * (1 - tagger.evaluate(test).token_accuracy)
            row["s"] = row.get("s", 0.0) + elapsed
    for row in rows:
        row["mean"] = sum(row[f"fold {fold}"] for fold in tested) / len(tested)
        row["s"] = row.pop("s") / len(tested)
    best = min(row["mean"] for row in rows)
    note = f"at most {BAR}% at the best order: {verdict(best <= BAR)}; s: training, per fold"
    return Result("handwritten letters: per cent wrong", rows, notes=[note])
