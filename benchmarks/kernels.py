"""The works of the regression guard: one call of each kernel on small made-up data, the same on every machine.

Run by itself it calls each once between two marks, ``os.getppid()``, at which callgrind is told to write its counts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import trellis
from trellis.engine.chain import Chains, Potentials
from trellis.features.extraction import extract
from trellis.features.vocabulary import feature_set
from trellis.learning.parameters import Parameters
from trellis.learning.sums import sums_of

SENTENCES, LENGTH, WORDS, LABELS = 150, 20, 1500, 24
Kernel = Callable[[], object]


class _Capture(trellis.Learner):
    """A learner that stores its problem, as input of kernels."""

    problem: Any = None

    def fit(self, problem: Any, observer: Any) -> Any:
        self.problem = problem
        raise trellis.TrellisError("captured")


def _corpus() -> list[list[tuple[str, str]]]:
    """Words with a Zipf distribution, each with one or two labels."""
    random = np.random.default_rng(1)
    ranks = np.minimum(random.zipf(1.3, SENTENCES * LENGTH), WORDS)
    labels = (ranks * 7 + (random.random(len(ranks)) < 0.2)) % LABELS
    tokens = [(f"w{rank * 7919 % 9973}", f"L{label}") for rank, label in zip(ranks, labels, strict=True)]
    return [tokens[i : i + LENGTH] for i in range(0, len(tokens), LENGTH)]


def _potentials(n_labels: int, order: int, n_tokens: int) -> Potentials:
    random = np.random.default_rng(2)
    n = n_labels + 1
    tri = random.normal(size=(n, n, n_labels)).astype(np.float32) if order == 2 else None
    edge = random.normal(size=(n, n_labels)).astype(np.float32)
    return Potentials(random.normal(size=(n_tokens, n_labels)).astype(np.float32), edge, tri)


def _problem(corpus: Any, learner: Any) -> Any:
    """The problem that ``train`` makes for a learner of that kind."""
    capture = _Capture()
    pairs = getattr(learner, "default_pairs", "all")
    try:
        trellis.train(corpus, target="pos", learner=capture, features=trellis.Features(pairs=pairs), n_threads=1)
    except trellis.TrellisError:
        if capture.problem is None:
            raise
    return capture.problem


def kernels(folder: Path) -> dict[str, Kernel]:
    """Prepare all input, so that a call consists mainly of the kernel."""
    sentences = _corpus()
    words = [[word for word, _ in sentence] for sentence in sentences]
    text = folder / "columns.txt"
    lines = ("".join(f"{w} {z}\n" for w, z in sentence) for sentence in sentences * 5)
    text.write_text("\n".join(lines), encoding="utf-8")
    corpus = trellis.read(sentences, columns="word,pos")
    starts = np.arange(0, SENTENCES * LENGTH + 1, LENGTH)
    first, second = _potentials(LABELS, 1, int(starts[-1])), _potentials(12, 2, int(starts[-1]))
    crf, perceptron = trellis.CRF(), trellis.Perceptron(epochs=1, shuffle=False)
    problem, online_problem = _problem(corpus, crf), _problem(corpus, perceptron)
    parameters = Parameters.of(problem, transitions="seen", start=True)
    sums = sums_of(problem, parameters, 0.0, single=False)
    assert sums.exponent  # found once per training
    point = np.full(parameters.size, 0.01)
    tagger = trellis.train(corpus, target="pos", learner=trellis.Perceptron(epochs=2, shuffle=False), n_threads=1)
    features = feature_set("default", ["word"])
    return {
        "Viterbi, order 1": lambda: Chains.of(first, starts).best(),
        "Viterbi, order 2": lambda: Chains.of(second, starts).best(),
        "five best, order 1": lambda: Chains.of(first, starts).kbest(5),
        "forward-backward, order 1": lambda: Chains.of(first, starts).marginals(),
        "gradient of the CRF": lambda: sums.log_loss(point),
        "perceptron, one epoch": lambda: perceptron.fit(online_problem, None),
        "tagging, new words": lambda: trellis.Tagger(tagger.model).tag_batch(words, n_threads=1),
        "tagging, known words": lambda: tagger.tag_batch(words, n_threads=1),
        "feature extraction": lambda: extract(corpus, features, 1),
        "reading columns": lambda: trellis.read(text, columns="word,pos"),
    }


def main() -> None:
    """Call each kernel once for warm-up, then once between two marks."""
    with tempfile.TemporaryDirectory() as folder:
        for kernel in kernels(Path(folder)).values():
            kernel()
            os.getppid()
            kernel()
            os.getppid()


if __name__ == "__main__":
    main()
