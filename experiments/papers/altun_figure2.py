"""Altun, figure 2: five models of parts of speech, cross-validated on 300 sentences with a window of three words.

The paper drew 300 sentences from the Penn Treebank, without saying which; ours are the first 300 of the free sample's
training part. As there: five folds, kernels of degree 2 for the HM-perceptron and the HM-SVM, C = 1. The figure has
bars and no numbers, so the order of the models is what can be compared. Beside them stand four models that the paper
does not have.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

import numpy as np

import trellis
from experiments.data import wsj
from experiments.report import Cell, Finding, Report, Table
from experiments.steps import Figures, Setting, Step

TITLE = "Altun, figure 2: HMM, CRF, HM-perceptron and HM-SVM on 300 sentences"
DATA = ("wsj-sample",)
SENTENCES, QUICK_SENTENCES, FOLDS = 300, 60, 5
HMM, CRF, CRF_B, HM_PC, HM_SVM = "HMM", "CRF", "CRF-B", "HM-PC", "HM-SVM"
PRINTED = (HMM, CRF, CRF_B, HM_PC, HM_SVM)
MODELS: dict[str, tuple[str, trellis.Learner]] = {
    HMM: ("overlapping features", trellis.HMM()),
    CRF: ("no prior", trellis.CRF(c2=0.0)),
    CRF_B: ("Gaussian prior, c2 = 1", trellis.CRF(c2=1.0)),
    HM_PC: ("degree 2, 10 epochs, not averaged", trellis.KernelPerceptron(epochs=10, average=False, shuffle=False)),
    HM_SVM: ("degree 2, C = 1", trellis.HMSVM(C=1.0, kernel="poly", degree=2)),
    "HM-PC, averaged": ("beside the figure", trellis.KernelPerceptron(epochs=10, shuffle=False)),
    "perceptron, averaged": ("beside the figure: linear", trellis.Perceptron(epochs=10, shuffle=False)),
    "HM-SVM, linear": ("beside the figure: C = 1", trellis.HMSVM(C=1.0)),
    "HM-SVM, Hamming": ("beside the figure: degree 2, C = 1", trellis.HMSVM(kernel="poly", cost="hamming")),
}


def plan(setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
    """Each model on all folds."""
    return [Step(model, cross_validated, {"model": model}) for model in MODELS]


def cross_validated(setting: Setting, model: str) -> Figures:
    """Error on each fold, trained on the other four."""
    n = QUICK_SENTENCES if setting.quick else SENTENCES
    corpus = wsj(setting).train[:n]
    fold = np.arange(len(corpus)) % FOLDS
    errors, support = list[float](), list[float]()
    for k in range(FOLDS):
        train, test = (corpus.take(np.flatnonzero(some)) for some in (fold != k, fold == k))
        learner = MODELS[model][1]
        tagger = trellis.train(train, target="pos", features="altun-s2", learner=learner, n_threads=setting.n_threads)
        errors.append(100 * (1 - tagger.evaluate(test, n_threads=setting.n_threads).token_accuracy))
        if tagger.model.weights.dual is not None:
            support.append(len(tagger.support()) / len(train))
    return {"errors": errors, "support": statistics.mean(support) if support else None}


def report(done: Mapping[str, Figures]) -> Report:
    """The bars as a table, and their order."""
    error = {model: statistics.mean(done[model]["errors"]) for model in MODELS}
    rows: list[list[Cell]] = [
        [model, error[model], statistics.stdev(done[model]["errors"]), done[model]["support"], MODELS[model][0]]
        for model in MODELS
    ]
    order = sorted(PRINTED, key=error.__getitem__)
    worse = max(error[CRF], error[CRF_B])
    findings = [
        Finding(
            "the HM-SVM is the best of the five", order[0] == HM_SVM, ", ".join(f"{m} {error[m]:.2f}" for m in order)
        ),
        Finding(
            "both CRFs are better than the HM-perceptron", worse < error[HM_PC], f"{worse:.2f}, {error[HM_PC]:.2f}"
        ),
        Finding("the HMM is the worst", order[-1] == HMM, f"{error[HMM]:.2f}"),
    ]
    columns = ["model", "test error, %", "deviation over folds", "support sequences a sentence", "how"]
    return Report([Table("Error, mean over five folds", columns, rows)], findings)
