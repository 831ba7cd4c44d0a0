"""Options of the training of a pipeline."""

from collections.abc import Sequence
from typing import Annotated, Any

from trellis._support.arguments import items
from trellis.learners import parser_learner
from trellis.learners.online import MIRA
from trellis.learning.learner import Constraint, Learner, flag, whole
from trellis.learning.options import Option, TrainingOptions
from trellis.tasks.pipeline.model import PARTS


def _parts(value: Any) -> tuple[str, ...]:
    parts = items(value)
    if not parts or not set(parts) <= set(PARTS):
        raise ValueError
    return tuple(part for part in PARTS if part in parts)


PARTS_CHECK = Constraint(f"a list of {', '.join(map(repr, PARTS))}", _parts)
LEARNER = Constraint("", parser_learner)
LEARNER_HELP = "online learner of all parts (default: MIRA, for each part with its own parameters)"
PARTS_HELP = "parts to train: tokens, tags, lemmas, trees (default: all that the treebank has)"
PROJECTIVE_HELP = "only projective trees (default: unless more than 5% of the arcs of the treebank cross others)"
FOLDS_HELP = "folds of the cross-validation that predicts the tags on which later parts are trained"


class PipelineOptions(TrainingOptions, total=False):
    """Options of `train` of a pipeline."""

    parts: Annotated[
        Sequence[str] | None,
        Option(None, PARTS_CHECK, PARTS_HELP, metavar="PART[,PART]", parse=lambda text: text.split(",")),
    ]
    learner: Annotated[Learner | str | None, Option(MIRA(epochs=10), LEARNER, LEARNER_HELP, "data")]
    projective: Annotated[bool | None, Option(None, flag(), PROJECTIVE_HELP)]
    folds: Annotated[int, Option(5, whole(2), FOLDS_HELP)]
