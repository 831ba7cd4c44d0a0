"""What the training of all parsers checks, of dependency trees and of constituency trees."""

from __future__ import annotations

from trellis._support.errors import LearnerError
from trellis.learning.learner import Learner
from trellis.learning.site_problem import NO_L1
from trellis.tasks.tagging.train import learner_of


def parser_learner(given: Learner | str, also: str = "") -> Learner:
    """The learner, or the one of that name; LearnerError if it trains no parsers. ``also`` names what else does."""
    learner = learner_of(given)
    if "trees" not in learner.abilities:
        raise LearnerError(
            f"{type(learner).__name__} with these settings does not train parsers; choose Perceptron, MIRA, "
            f"PassiveAggressive, AROW, CRF, ExponentialLoss{also}"
        )
    if getattr(learner, "c1", 0):
        raise LearnerError(NO_L1)
    return learner
