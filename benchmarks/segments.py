"""Semi-Markov chains beside chains with the same templates of tokens: chunks (CoNLL-2000), Chinese words (PKU)."""

from __future__ import annotations

import gzip
import time
from typing import Any

import trellis
from benchmarks.common import Result, Setting

# c2 was chosen on every tenth sentence of train, for both models; epochs are the default.
CHUNKING: list[tuple[str, Any]] = [
    ("perceptron, averaged", trellis.Perceptron(epochs=10, shuffle=False)),
    ("CRF, L2", trellis.CRF(c2=0.5)),
]
LINES = 4_000  # of the training file of PKU
CHARACTERS = [
    *(f"char[{i}]" for i in range(-2, 3)),
    *(f"char[{i}] & char[{i + 1}]" for i in range(-2, 2)),
    "char[-1] & char[1]",
]
WORDS = ["length", "char[segment]", "char[first] & char[last]", "char[first-1] & char[last+1]"]


def run(setting: Setting) -> Result:
    """Train each once by itself."""
    train, test = (
        trellis.read(setting.file(f"conll2000/{name}.txt"), columns=["word", "pos", "chunk"])
        for name in ("train", "test")
    )
    train = train[:500] if setting.quick else train
    rows = []
    for name, learner in CHUNKING:
        for segments in (False, True):
            given = {"target": "chunk", "features": "chunking", "learner": learner, "segments": segments}
            rows.append(_row("CoNLL-2000 chunks", name, train, test, given))
    lines = [setting.file(f"pku/{part}.utf8.gz") for part in ("train", "test")]
    words, more = characters(lines[0], 200 if setting.quick else LINES), characters(lines[1], None)
    learner = trellis.Perceptron(epochs=5, shuffle=False)
    for segments in (False, True):
        features = [*CHARACTERS, *(WORDS if segments else [])]
        given = {"target": "label", "features": features, "learner": learner, "segments": segments}
        rows.append(_row(f"PKU words, {len(words['char']):,} lines", "perceptron, averaged", words, more, given))
    return Result("F1 on the test files; chains and semi-Markov chains have the same templates of tokens", rows)


def _row(task: str, name: str, train: Any, test: Any, given: dict[str, Any]) -> dict[str, Any]:
    begun = time.process_time()
    tagger = trellis.train(train, n_threads=2, **given)
    seconds = time.process_time() - begun
    report = tagger.evaluate(test)
    kind = "semi-Markov" if given["segments"] else "chain"
    f1 = {
        "precision, %": 100 * report.precision,
        "recall, %": 100 * report.recall,
        "F1, %": 100 * report.f1,
    }
    return {"task": task, "learner": name, "model": kind, **f1, "training, CPU s": seconds}


def characters(path: Any, n_lines: int | None) -> dict[str, list[list[str]]]:
    """Lines of words as characters with labels B M E S."""
    chars, labels = list[list[str]](), list[list[str]]()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words and (n_lines is None or len(chars) < n_lines):
                chars.append([letter for word in words for letter in word])
                marks = (["S"] if len(word) == 1 else ["B", *["M"] * (len(word) - 2), "E"] for word in words)
                labels.append([mark for some in marks for mark in some])
    return {"char": chars, "label": labels}
