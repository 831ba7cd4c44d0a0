"""Options of the training of a dependency parser."""

from typing import Annotated

from trellis.features.vocabulary import TemplateSource
from trellis.learners import parser_learner
from trellis.learners.online import MIRA
from trellis.learning.learner import Constraint, Learner, flag, whole
from trellis.learning.options import Option, TrainingOptions

DEFAULT = MIRA(C=0.01, epochs=10, shuffle=False)
LEARNER = Constraint("", parser_learner)
FILTER = "pos[head] & pos[dep] & direction"
FEATURES_HELP = "preset, file or list of templates of arcs (default: the templates of ud whose columns exist)"
FILTER_HELP = "template; an arc is considered only if its value occurred in training (None: all arcs)"


class ParsingOptions(TrainingOptions, total=False):
    """Options of `train` of a dependency parser."""

    features: Annotated[TemplateSource | None, Option(None, None, FEATURES_HELP, "data")]
    learner: Annotated[Learner | str | None, Option(DEFAULT, LEARNER, "online learner, CRF or ExponentialLoss", "data")]
    order: Annotated[int, Option(2, whole(1, 2), "1: scores of arcs; 2: of siblings too")]
    projective: Annotated[bool, Option(True, flag(), "trees without crossing arcs; False needs order 1")]
    labelled: Annotated[bool | None, Option(None, flag(), "arcs with labels (default: if there is a column deprel)")]
    filter: Annotated[str | None, Option(FILTER, None, FILTER_HELP, nullable=True, metavar="TEMPLATE")]
    lenient: Annotated[bool, Option(False, flag(), "skip sentences that have no tree", "run")]
