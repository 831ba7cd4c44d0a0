"""One algorithm of the papers per file; here they are by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trellis
from trellis._support.errors import LearnerError

if TYPE_CHECKING:
    from trellis.learning.learner import Learner

# The name of each, as on the command line, and in ``trellis``.
LEARNERS = {
    "perceptron": "Perceptron",
    "mira": "MIRA",
    "pa": "PassiveAggressive",
    "arow": "AROW",
    "crf": "CRF",
    "maxent": "MaxEnt",
    "exponential": "ExponentialLoss",
    "boost": "SequenceBoost",
    "hmm": "HMM",
    "hmsvm": "HMSVM",
    "kernel-perceptron": "KernelPerceptron",
}


def learner_named(name: str) -> type[Learner]:
    """The class of a learner by its name, ignoring case; LearnerError for an unknown name."""
    if (known := name.lower()) not in LEARNERS:
        raise LearnerError(f"no learner {name!r}; the learners are {', '.join(LEARNERS)}")
    found: Any = getattr(trellis, LEARNERS[known])
    return found  # type: ignore[no-any-return]
