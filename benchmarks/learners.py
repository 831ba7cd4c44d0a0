"""Every learner on the same data and features: CoNLL-2000, all phrases, the `chunking` templates, order 1."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting, timed

# (name, learner, what else training is told)
CONTENDERS: list[tuple[str, Any, dict[str, Any]]] = [
    ("HMM, overlapping features", trellis.HMM(), {}),
    ("perceptron, plain", trellis.Perceptron(epochs=10, average=False), {}),
    ("perceptron, averaged", trellis.Perceptron(epochs=10), {}),
    ("perceptron, voted, one pass", trellis.Perceptron(epochs=1, vote=True), {}),
    ("PA-I", trellis.PassiveAggressive(epochs=10, variant="PA-I"), {}),
    ("MIRA, 1 best", trellis.MIRA(epochs=10), {}),
    ("MIRA, 5 best", trellis.MIRA(epochs=10, k=5), {}),
    ("AROW", trellis.AROW(epochs=10), {}),
    ("maximum entropy, L-BFGS", trellis.MaxEnt(), {}),
    ("CRF, L2", trellis.CRF(c2=1.0), {}),
    ("CRF, L1", trellis.CRF(c1=1.0, c2=0.0), {}),
    ("CRF, AdaGrad", trellis.CRF(solver="adagrad"), {}),
    ("exponential loss", trellis.ExponentialLoss(), {}),
    ("boosting, 3000 rounds", trellis.SequenceBoost(epochs=3000), {}),
    ("HM-SVM, dual, 20 passes", trellis.HMSVM(C=0.1, cost="hamming", epochs=20), {}),
]


def run(setting: Setting) -> Result:
    """Train each learner once and measure what it became."""
    train, test = (trellis.read(setting.file(f"conll2000/{name}.txt")) for name in ("train", "test"))
    rows = []
    for name, learner, options in CONTENDERS:
        work = partial(trellis.train, train, target="label", features="chunking", learner=learner, **options)
        elapsed, tagger = timed(work)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            tagger.save(path)
            size = path.stat().st_size / 1e6
        rows.append(
            {
                "learner": name,
                "F1, %": 100 * tagger.evaluate(test).headline,
                "training, s": elapsed,
                "epochs or iterations": len(tagger.info["history"]) or 1,
                "weights": tagger.model.weights.n_nonzero,
                "model, MB": size,
            }
        )
    return Result("CoNLL-2000, all phrases, `chunking` features, order 1, 2 threads", rows)
