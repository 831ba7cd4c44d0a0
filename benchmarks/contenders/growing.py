"""trellis on data of many sizes, for the study of growth."""

from __future__ import annotations

import resource
import sys
from typing import Any

import numpy as np

import trellis
from benchmarks.clock import Clock, best

UNIT = 1 << 20 if sys.platform == "darwin" else 1 << 10
LEARNERS = {
    "perceptron": lambda: trellis.Perceptron(epochs=1, shuffle=False),
    "crf": lambda: trellis.CRF(epochs=5, tolerance=0.0, warm_up=0, precision="single"),
}


def _bare_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNIT


def train(
    train: str, model: str, learner: str, order: int = 1, tag_dictionary: bool = False, n_threads: int = 1
) -> dict[str, Any]:
    """One epoch, or a few iterations; seconds are of learning alone."""
    chosen, learning, bare = LEARNERS[learner](), Clock(), _bare_mb()
    fit = type(chosen).fit

    def clocked_fit(*arguments: Any) -> Any:
        with learning:
            return fit(*arguments)

    type(chosen).fit = clocked_fit
    corpus = trellis.read(train, columns="word,pos")
    tagger = trellis.train(
        corpus,
        target="pos",
        learner=chosen,
        order=order,
        search=trellis.Search(tag_dictionary=tag_dictionary),
        n_threads=n_threads,
    )
    tagger.save(model)
    figures: dict[str, Any] = {"tokens": corpus.n_tokens, "labels": len(tagger.labels), "bare_mb": bare}
    tags = tagger.model.dictionary
    if tags is not None:
        words = {value: i for i, value in enumerate(tagger.model.vocabulary.columns[0].values)}
        column = corpus.column("word")
        sets = np.array([tags.set_of[words[value]] for value in column.values])[column.codes]
        figures["allowed"] = float(np.diff(tags.starts)[sets].mean())
    return learning.figures() | figures


def tag(train: str, model: str, n_threads: int = 1) -> dict[str, Any]:
    """The training text again, by a tagger that has met no word."""
    bare = _bare_mb()
    tagger = trellis.load(model)
    corpus = trellis.read(train, columns="word,pos")
    taggers = [trellis.Tagger(tagger.model) for _ in range(3)]
    figures, _ = best(lambda: taggers.pop().tag_column(corpus, n_threads=n_threads), 3)
    return figures | {"tokens": corpus.n_tokens, "labels": len(tagger.labels), "bare_mb": bare}
