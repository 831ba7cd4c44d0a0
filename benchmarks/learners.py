"""Every learner on the same data and features: CoNLL-2000, all phrases, the `chunking` templates, order 1."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting, timed

# (name, learner, how many training sentences; None for all)
CONTENDERS: list[tuple[str, Any, int | None]] = [
    ("HMM, overlapping features", trellis.HMM(), None),
    ("perceptron, plain", trellis.Perceptron(epochs=10, average=False, shuffle=False), None),
    ("perceptron, averaged", trellis.Perceptron(epochs=10, shuffle=False), None),
    ("perceptron, voted, one epoch", trellis.Perceptron(epochs=1, vote=True, shuffle=False), None),
    ("passive-aggressive, PA-I", trellis.PassiveAggressive(epochs=10, variant="PA-I", shuffle=False), None),
    ("MIRA, 1 best", trellis.MIRA(epochs=10, shuffle=False), None),
    ("MIRA, 5 best", trellis.MIRA(epochs=10, k=5, shuffle=False), None),
    ("AROW", trellis.AROW(epochs=10, shuffle=False), None),
    ("maximum entropy, L-BFGS", trellis.MaxEnt(), None),
    ("CRF, L2", trellis.CRF(c2=1.0), None),
    ("CRF, L1", trellis.CRF(c1=1.0, c2=0.0), None),
    ("CRF, AdaGrad", trellis.CRF(solver="adagrad"), None),
    ("exponential loss", trellis.ExponentialLoss(), None),
    ("Sequence AdaBoost, exact steps", trellis.SequenceBoost(epochs=3000), None),
    ("HM-SVM, dual, 20 epochs", trellis.HMSVM(C=0.1, cost="hamming", epochs=20), None),
    (
        "HM-SVM, Frank-Wolfe",
        trellis.HMSVM(C=0.3, cost="hamming", solver="frank-wolfe", epochs=10),
        None,
    ),
    ("perceptron, averaged, 1,000 sentences", trellis.Perceptron(epochs=5, shuffle=False), 1000),
    ("kernel perceptron, degree 2, 1,000 sentences", trellis.KernelPerceptron(epochs=5, shuffle=False), 1000),
]


def run(setting: Setting) -> Result:
    """Train each learner once and measure what it became."""
    train, test = (trellis.read(setting.file(f"conll2000/{name}.txt")) for name in ("train", "test"))
    rows = []
    for name, learner, n in CONTENDERS:
        corpus = train[: n or (200 if setting.quick else None)]
        elapsed, tagger = timed(partial(trellis.train, corpus, target="label", features="chunking", learner=learner))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            tagger.save(path)
            size = path.stat().st_size / 1e6
        rows.append(
            {
                "learner": name,
                "F1, %": 100 * tagger.evaluate(test).headline,
                "training, s": elapsed,
                "epochs": len(tagger.training["history"]) or 1,
                "weights": tagger.model.weights.n_nonzero,
                "model, MB": size,
            }
        )
        print(rows[-1], flush=True)
    return Result("CoNLL-2000, all phrases, `chunking` features, order 1, 2 threads", rows)
