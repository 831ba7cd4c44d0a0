"""Options of the training of models of arbitrary structures."""

from typing import Annotated

from trellis.learners import learner_with
from trellis.learners.online import Perceptron
from trellis.learning.learner import Constraint, Learner, whole
from trellis.learning.options import Option, TrainingOptions
from trellis.tasks.structured.problem import Problem

LEARNERS = 'an online learner, CRF, ExponentialLoss or HMSVM(solver="frank-wolfe")'
LEARNER = Constraint("", lambda one: learner_with("structures", one, f"supports chains only; use {LEARNERS}"))
PROBLEM_HELP = "problem: the possible outputs of an input and their features (docs/structured.md)"


class StructuredOptions(TrainingOptions, total=False):
    """Options of `train` of a structured model."""

    problem: Annotated[Problem, Option(None, None, PROBLEM_HELP, "data", offered=False)]
    learner: Annotated[Learner | str | None, Option(Perceptron(), LEARNER, f"{LEARNERS}, or its name", "data")]
    beam: Annotated[int | None, Option(None, whole(1, 2**31 - 1), "beam width of a problem with choices")]
