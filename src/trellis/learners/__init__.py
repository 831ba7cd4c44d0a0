"""Learning algorithms, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trellis
from trellis._support.errors import LearnerError

if TYPE_CHECKING:
    from trellis.learning.learner import Ability, Learner

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
    if (key := name.lower()) not in LEARNERS:
        raise LearnerError(f"unknown learner {name!r}; the learners are {', '.join(LEARNERS)}")
    learner_class: Any = getattr(trellis, LEARNERS[key])
    return learner_class  # type: ignore[no-any-return]


def learner_of(learner: Any) -> Learner:
    """The learner itself, or the one of that name; LearnerError if it is neither."""
    if isinstance(learner, str):
        return learner_named(learner)()
    if not isinstance(learner, trellis.Learner):
        raise LearnerError(
            "learner must be a learner such as trellis.CRF(c2=1.0), the name of a learner or an instance of a "
            f"subclass of trellis.Learner, not {learner!r}"
        )
    return learner


def learner_with(ability: Ability, learner: Any, reason: str) -> Learner:
    """Like ``learner_of``; LearnerError with the reason ``reason`` if the learner lacks an ability."""
    learner = learner_of(learner)
    if ability not in learner.abilities:
        raise LearnerError(f"{str(learner).removesuffix('()')} {reason}")
    return learner  # type: ignore[no-any-return]


def parser_learner(learner: Any, alternatives: str = "") -> Learner:
    """Like ``learner_of``, for parsers; ``alternatives`` names further algorithms in the error."""
    able = ", ".join(name for name in LEARNERS if "trees" in learner_named(name)().abilities)
    resolved = learner_with("trees", learner, f"does not train parsers; use {able}{alternatives}")
    if getattr(resolved, "c1", 0):
        raise LearnerError("c1 (L1 regularisation) is not supported for parsers; omit it")
    return resolved
