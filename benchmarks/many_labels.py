"""Many labels with and without pruning: joint UPOS and features of UD English-EWT, and a CRF with a thousand labels."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import trellis
from benchmarks.common import Result, Setting

TARGET = "upos+feats"
ONLINE: dict[str, dict[str, Any]] = {
    "perceptron, order 1": {"order": 1},
    "perceptron, order 1, pruned": {"order": 1, "prune": True},
    "perceptron, order 2, pruned": {"order": 2, "prune": True},
    "perceptron, order 2, pruned, parts": {"order": 2, "prune": True, "label_parts": "|"},
}
SPLIT_TOKENS = 40_000
ITERATIONS = 3


def run(setting: Setting) -> Result:
    """CPU seconds on two threads, in turns; the best round counts. Accuracy is on the dev file."""
    train, dev = (
        trellis.read(setting.file(f"ud-english-ewt/en_ewt-ud-{part}")) for part in ("train.conllu.gz", "dev.conllu")
    )
    train = train[:300] if setting.quick else train
    rows = [{"task": f"{len(train.column(TARGET).values)} labels, {name}"} for name in ONLINE]
    for _ in range(setting.rounds):
        for row, given in zip(rows, ONLINE.values(), strict=True):
            begun = time.process_time()
            tagger = trellis.train(train, target=TARGET, n_threads=2, **given)
            _keep(row, "training, CPU s", time.process_time() - begun)
            row["accuracy, dev"] = f"{100 * tagger.evaluate(dev).token_accuracy:.2f}"
    few, fewer_dev = _split_by_ending(train, 2_000 if setting.quick else SPLIT_TOKENS), _split_by_ending(dev)
    n_labels = len({label for labels in few["label"] for label in labels})
    for name, prune in (("pruned", True), ("all labels", False)):
        ends = [0.0]
        learner = trellis.CRF(epochs=ITERATIONS, warm_up=0)
        observer = lambda _, ends=ends: ends.append(time.process_time())  # noqa: E731
        tagger = trellis.train(few, target="label", learner=learner, prune=prune, n_threads=2, observer=observer)
        row = {"task": f"{n_labels} labels, CRF of order 1, {name}", "iteration, CPU s": float(np.diff(ends)[1:].min())}
        rows.append({**row, "accuracy, dev": f"{100 * tagger.evaluate(fewer_dev).token_accuracy:.2f}"})
    return Result(
        "UD English-EWT: UPOS and features as one label; the same split by the last two letters of words", rows
    )


def _keep(row: dict[str, Any], name: str, seconds: float) -> None:
    row[name] = min(seconds, row.get(name, seconds))


def _split_by_ending(corpus: trellis.Corpus, n_tokens: int | None = None) -> dict[str, list[list[str]]]:
    """The first sentences, each label split by the last two letters of its word."""
    if n_tokens is not None:
        corpus = corpus[: int(np.searchsorted(corpus.starts, n_tokens))]
    words, labels = corpus.sentences("form"), corpus.sentences(TARGET)
    split = [[f"{z}+{w[-2:].lower()}" for w, z in zip(*pair, strict=True)] for pair in zip(words, labels, strict=True)]
    return {"form": words, "label": split}
