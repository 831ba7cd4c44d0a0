"""Figure 2 of Altun: five models of parts of speech, cross-validated on 300 sentences with a window of three words."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

import trellis
from benchmarks.common import Result, Setting, timed, verdict

SENTENCES, FOLDS = 300, 5
MINUTES = 15  # that the HM-SVM may take, all folds together
HMM, CRF, CRF_B, HM_PC, HM_SVM = "HMM", "CRF", "CRF-B", "HM-PC", "HM-SVM"
MODELS: list[tuple[str, str, Any]] = [
    (HMM, "overlapping features", trellis.HMM()),
    (CRF, "no prior", trellis.CRF(c2=0.0)),
    (CRF_B, "Gaussian prior, c2 = 1", trellis.CRF(c2=1.0)),
    (HM_PC, "degree 2, 10 epochs, not averaged", trellis.KernelPerceptron(epochs=10, average=False)),
    (HM_SVM, "degree 2, C = 1", trellis.HMSVM(C=1.0, kernel="poly", degree=2)),
    ("HM-PC, averaged", "beside the figure", trellis.KernelPerceptron(epochs=10)),
    ("perceptron, averaged", "beside the figure: linear", trellis.Perceptron(epochs=10)),
    ("HM-SVM, linear", "beside the figure: C = 1", trellis.HMSVM(C=1.0)),
    ("HM-SVM, Hamming", "beside the figure: degree 2, C = 1", trellis.HMSVM(kernel="poly", cost="hamming")),
]


def run(setting: Setting) -> Result:
    """Train every model on four fifths, test it on the other, five times."""
    whole = trellis.read(setting.file("wsj-sample/train.tsv"), columns=["word", "pos", "head"])
    corpus = whole.take(np.arange(SENTENCES))
    fold = np.arange(SENTENCES) % FOLDS
    rows: list[dict[str, Any]] = []
    for name, how, learner in MODELS:
        errors, seconds, passes, support = [], 0.0, [], []
        begun = time.process_time()
        for k in range(FOLDS):
            train, test = (corpus.take(np.flatnonzero(chosen)) for chosen in (fold != k, fold == k))
            elapsed, tagger = timed(
                lambda train=train, learner=learner: trellis.train(
                    train, target="pos", features="altun-s2", learner=learner
                )
            )
            seconds += elapsed
            errors.append(100 * (1 - tagger.evaluate(test).token_accuracy))
            passes.append(len(tagger.info["history"]))
            if tagger.model.weights.dual is not None:
                support.append(len(tagger.support()) / len(train))
        rows.append(
            {
                "model": name,
                "test error, %": statistics.mean(errors),
                "deviation": statistics.stdev(errors),
                "training, s": seconds,
                "CPU, s": time.process_time() - begun,
                "passes": max(passes) or None,
                "support sequences a sentence": statistics.mean(support) if support else None,
                "how": how,
            }
        )
    error = {row["model"]: row["test error, %"] for row in rows}
    order = sorted((HMM, CRF, CRF_B, HM_PC, HM_SVM), key=error.__getitem__)
    taken = next(row["training, s"] for row in rows if row["model"] == HM_SVM)
    return Result(
        f"Parts of speech, {SENTENCES} sentences, {FOLDS} folds, `altun-s2` features (a window of three words)",
        rows,
        notes=[
            f"From the best to the worst: {', '.join(order)}.",
            f"HM-SVM best, as printed: {verdict(order[0] == HM_SVM)}; "
            f"both CRFs better than HM-PC, as printed: {verdict(max(error[CRF], error[CRF_B]) < error[HM_PC])}.",
            f"HM-SVM within {MINUTES} minutes: {verdict(taken < 60 * MINUTES)}.",
        ],
    )
