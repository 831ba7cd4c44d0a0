"""Options of the training of models of arbitrary structures."""

from typing import Annotated, Any

from trellis.learners import learner_with
from trellis.learners.perceptron import Perceptron
from trellis.learning.learner import Constraint, Learner, whole
from trellis.learning.options import Option, TrainingOptions
from trellis.tasks.structured.problem import Problem


def structure_learner(learner: Any) -> Learner:
    """The learner, or the one of that name; LearnerError if it does not learn structures."""
    others = 'choose an online learner, CRF, ExponentialLoss or HMSVM(solver="frank-wolfe")'
    return learner_with("structures", learner, f"learns chains only; {others}")


class StructuredOptions(TrainingOptions, total=False):
    """Options of `train` of a structured model."""

    problem: Annotated[
        Problem,
        Option(None, None, "the outputs of an input and their features (docs/structured.md)", "data", offered=False),
    ]
    learner: Annotated[
        Learner | str | None,
        Option(
            Perceptron(),
            Constraint("", structure_learner),
            'online learner, CRF, ExponentialLoss or HMSVM(solver="frank-wolfe") that the problem can answer',
            "data",
        ),
    ]
    beam: Annotated[
        int | None,
        Option(None, whole(1, 2**31 - 1), "beam width of a problem with choices", metavar="N", parse=int),
    ]
