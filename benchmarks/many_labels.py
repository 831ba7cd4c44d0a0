"""Many labels with and without pruning: joint UPOS and features of UD English-EWT, and a CRF with 1,024 labels."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import trellis
from benchmarks.common import Result, Setting
from benchmarks.contenders.commands import marmot_morph
from benchmarks.peers import absent, present
from benchmarks.rows import write_rows

TARGET = "upos+feats"
ONLINE: dict[str, dict[str, Any]] = {
    "perceptron, order 1": {"order": 1},
    "perceptron, order 1, pruned": {"order": 1, "search": trellis.Search(prune=True)},
    "perceptron, order 2, pruned": {"order": 2, "search": trellis.Search(prune=True)},
    "perceptron, order 2, pruned, parts": {
        "order": 2,
        "search": trellis.Search(prune=True),
        "labels": trellis.Labels(parts="|"),
    },
    "perceptron, order 2, pairs pruned too": {"order": 2, "search": trellis.Search(prune=(0.997, 0.999))},
    "perceptron, order 3, pruned": {"order": 3, "search": trellis.Search(prune=True)},
    "perceptron, order 3, pairs and triples pruned too": {
        "order": 3,
        "search": trellis.Search(prune=(0.997, 0.999, 0.999)),
    },
}
BATCH: dict[str, dict[str, Any]] = {
    "CRF, order 2, pruned": {"order": 2, "search": trellis.Search(prune=True)},
    "CRF, order 2, pairs pruned too": {"order": 2, "search": trellis.Search(prune=(0.997, 0.999))},
}
BATCH_EPOCHS = 9
CRF_TOKENS = 40_000
CRF_EPOCHS = 6  # of which the first three are passes of stochastic steps


def run(setting: Setting) -> Result:
    """CPU seconds on two threads, in turns; the best round counts. Accuracy is on the dev file."""
    train, dev = (
        trellis.read(setting.file(f"ud-english-ewt/en_ewt-ud-{part}")) for part in ("train.conllu.gz", "dev.conllu")
    )
    train = train[:300] if setting.quick else train
    rows = [{"task": f"{len(train.column(TARGET).values)} labels, {name}"} for name in ONLINE]
    for _ in range(setting.rounds):
        for row, given in zip(rows, ONLINE.values(), strict=True):
            _measure(row, train, dev, given)
    for name, given in BATCH.items():
        rows.append({"task": f"{len(train.column(TARGET).values)} labels, {name}"})
        _measure(rows[-1], train, dev, {**given, "learner": trellis.CRF(epochs=BATCH_EPOCHS)}, iterations=True)
    rows.extend(marmot(train, dev) for _ in present("MarMoT"))
    rows.extend(crf(train, dev, 2_000 if setting.quick else CRF_TOKENS))
    return Result(
        "UD English-EWT: UPOS and features as one label; for the CRF also the last letter of the word and whether it "
        f"is capitalised, every fifth sentence, {CRF_TOKENS:,} tokens",
        rows,
        notes=absent("MarMoT"),
    )


def _measure(
    row: dict[str, Any], train: trellis.Corpus, dev: trellis.Corpus, given: dict[str, Any], *, iterations: bool = False
) -> None:
    """One training into its row; ``iterations``: also the seconds of one, after the passes of stochastic steps."""
    begun, ends = time.process_time(), list[float]()
    observer = lambda _: ends.append(time.process_time())  # noqa: E731
    tagger = trellis.train(train, target=TARGET, n_threads=2, observer=observer, **given)
    _keep(row, "training, CPU s", time.process_time() - begun)
    if iterations:
        _keep(row, "iteration, CPU s", float(np.diff(ends)[3:].min()))
    row["accuracy, dev"] = f"{100 * tagger.evaluate(dev).token_accuracy:.2f}"


def _keep(row: dict[str, Any], name: str, seconds: float) -> None:
    row[name] = min(seconds, row.get(name, seconds))


def marmot(train: trellis.Corpus, dev: trellis.Corpus) -> dict[str, Any]:
    """MarMoT's row, of one round."""
    with tempfile.TemporaryDirectory() as folder:
        files = {str(Path(folder) / name): corpus for name, corpus in (("train", train), ("dev", dev))}
        for file, corpus in files.items():
            columns = (corpus.sentences(name) for name in ("form", "upos", "feats"))
            write_rows(file, [list(zip(*sentence, strict=True)) for sentence in zip(*columns, strict=True)])
        figures = marmot_morph(*files)
    both = zip(figures["labels"], dev.sentences(TARGET), strict=True)
    pairs = [pair for sentence in both for pair in zip(*sentence, strict=True)]
    right = sum(found == gold for found, gold in pairs)
    task = f"{len(train.column(TARGET).values)} labels, MarMoT, order 2"
    return {"task": task, "training, CPU s": figures["cpu"], "accuracy, dev": f"{100 * right / len(pairs):.2f}"}


def crf(train: trellis.Corpus, dev: trellis.Corpus, n_tokens: int) -> Iterator[dict[str, Any]]:
    """The rows of a CRF with the finer labels, of one round."""
    few, few_dev = with_shapes(train[::5], n_tokens), with_shapes(dev)
    n_labels = len({label for labels in few["label"] for label in labels})
    for name, prune in (("all labels", False), ("pruned", True)):
        ends = [0.0]
        learner = trellis.CRF(epochs=CRF_EPOCHS)
        observer = lambda _, ends=ends: ends.append(time.process_time())  # noqa: E731
        tagger = trellis.train(
            few, target="label", learner=learner, search=trellis.Search(prune=prune), n_threads=2, observer=observer
        )
        row = {"task": f"{n_labels} labels, CRF of order 1, {name}", "iteration, CPU s": float(np.diff(ends)[3:].min())}
        yield {**row, "accuracy, dev": f"{100 * tagger.evaluate(few_dev).token_accuracy:.2f}"}


def with_shapes(corpus: trellis.Corpus, n_tokens: int | None = None) -> dict[str, list[list[str]]]:
    """The first sentences; a label is UPOS, features, the last letter of the word and whether it is capitalised."""
    if n_tokens is not None:
        corpus = corpus[: int(np.searchsorted(corpus.starts, n_tokens))]
    words, labels = corpus.sentences("form"), corpus.sentences(TARGET)
    finer = [
        [f"{z}+{w[-1].lower()}{'+' if w[0].isupper() else '-'}" for w, z in zip(*pair, strict=True)]
        for pair in zip(words, labels, strict=True)
    ]
    return {"form": words, "label": finer}
