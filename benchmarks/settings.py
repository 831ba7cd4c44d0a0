"""Every setting of every contender, at one place. Works with the same name are the same work."""

from __future__ import annotations

from typing import Any

EPOCHS = 10  # of the averaged perceptron and of stochastic gradients
CAPPED = 30  # iterations of the models that are only tagged with: the same number of weights on both sides

# Settings of trellis: the learner's class, its arguments, further arguments of `trellis.Features`.
TRELLIS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "crf": ("CRF", {"c2": 1.0, "start": False}, {}),
    "crf-all": ("CRF", {"c2": 1.0, "start": False, "transitions": "all"}, {"pairs": "all"}),
    "crf-capped": ("CRF", {"c2": 1.0, "start": False, "epochs": CAPPED}, {}),
    "sgd": ("CRF", {"c2": 1.0, "start": False, "solver": "adagrad", "epochs": EPOCHS}, {}),
    "perceptron": ("Perceptron", {"epochs": EPOCHS, "shuffle": False}, {}),
    "perceptron-seen": ("Perceptron", {"epochs": EPOCHS, "shuffle": False}, {"pairs": "seen"}),
    "fast": ("Perceptron", {"epochs": 4, "shuffle": False}, {}),  # as few epochs as give the F1 of the fastest peer
}

# The same for CRFsuite, under all three of its Python bindings: algorithm and parameters.
CRFSUITE: dict[str, tuple[str, dict[str, Any]]] = {
    "crf": ("lbfgs", {"c2": 1.0}),
    "crf-capped": ("lbfgs", {"c2": 1.0, "max_iterations": CAPPED}),
    "sgd": ("l2sgd", {"c2": 1.0, "max_iterations": EPOCHS}),
    "perceptron": ("ap", {"max_iterations": EPOCHS, "epsilon": 0.0}),
}

# The best found for CoNLL-2000: roll-outs and passes beyond three cost time and give no F1; one pass is the quickest.
VOWPAL = ["--search_task", "sequence", "--search_rollout", "none", "--holdout_off", "-b", "22"]
VOWPAL_PASSES = {"three": 3, "one": 1}

# The penalty is rho2/2 · |w|² in Wapiti and |w|²/2C in CRF++: both are c2 = 1. Wapiti's default has an L1 penalty too.
# One thread; when to stop is left to each.
WAPITI = ["-a", "l-bfgs", "-t", "1", "-1", "0", "-2", "2.0"]
CRFPP = ["-p", "1", "-c", "0.5"]

POS_EPOCHS = 5  # of NLTK's tagger and of ours
LARGE_EPOCHS = 2  # for the works that take the peers minutes
SPACY_EPOCHS = 2
