"""Options of the training of a dependency parser."""

from typing import Annotated

from trellis.features.vocabulary import TemplateSource
from trellis.learners import parser_learner
from trellis.learners.mira import MIRA
from trellis.learning.learner import Constraint, Learner, flag, whole
from trellis.learning.options import Option, TrainingOptions

DEFAULT = MIRA(C=0.01, epochs=10, shuffle=False)
FILTER = "pos[head] & pos[dep] & direction"


class ParsingOptions(TrainingOptions, total=False):
    """Options of `train` of a dependency parser."""

    features: Annotated[
        TemplateSource | None,
        Option(
            None,
            None,
            "preset, file or list of templates of arcs (default: the templates of ud whose columns exist)",
            "data",
            metavar="NAME",
        ),
    ]
    learner: Annotated[
        Learner | str | None,
        Option(DEFAULT, Constraint("", parser_learner), "online learner, CRF or ExponentialLoss", "data"),
    ]
    order: Annotated[int, Option(2, whole(1, 2), "1: scores of arcs; 2: of siblings too", metavar="N", parse=int)]
    projective: Annotated[bool, Option(True, flag(), "trees without crossing arcs; False needs order 1")]
    labelled: Annotated[
        bool | None, Option(None, flag(), "arcs with labels (default: if the corpus has a column deprel)")
    ]
    filter: Annotated[
        str | None,
        Option(
            FILTER,
            None,
            "template; an arc is considered only if its value occurred in training (None: all arcs)",
            nullable=True,
            metavar="TEMPLATE",
        ),
    ]
    lenient: Annotated[bool, Option(False, flag(), "skip sentences that have no tree", "run")]
