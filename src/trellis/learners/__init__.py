"""One algorithm of the papers per file; here they are by their names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trellis.errors import LearnerError

if TYPE_CHECKING:
    from trellis.learning.learner import Learner

# Name, as on the command line: module and class.
LEARNERS = {
    "perceptron": ("perceptron", "Perceptron"),
    "crf": ("crf", "CRF"),
    "exponential": ("exponential", "ExponentialLoss"),
    "boost": ("boost", "SequenceBoost"),
    "hmm": ("hmm", "HMM"),
    "maxent": ("maxent", "MaxEnt"),
    "mira": ("mira", "MIRA"),
    "pa": ("passive_aggressive", "PassiveAggressive"),
    "arow": ("arow", "AROW"),
    "hmsvm": ("hmsvm", "HMSVM"),
    "kernel-perceptron": ("kernel_perceptron", "KernelPerceptron"),
}


def learner_named(name: str) -> type[Learner]:
    """The class of a learner; LearnerError if there is none of that name."""
    if name not in LEARNERS:
        raise LearnerError(f"no learner {name!r}; the learners are {', '.join(LEARNERS)}")
    module, kind = LEARNERS[name]
    found: Any = getattr(importlib.import_module(f"trellis.learners.{module}"), kind)
    return found  # type: ignore[no-any-return]
