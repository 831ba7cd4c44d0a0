"""Options of the training of a dependency parser."""

from typing import Annotated

from trellis._support.arguments import real_number
from trellis.features.vocabulary import TemplateSource
from trellis.learners import parser_learner
from trellis.learners.online import MIRA
from trellis.learning.learner import Constraint, Learner, flag, whole
from trellis.learning.options import Option, TrainingOptions

DEFAULT = MIRA(C=0.01, epochs=10, shuffle=False)
LEARNER = Constraint("", parser_learner)
SHARE = Constraint("a number from 0 to 0.99", lambda value: real_number("", value, 0.0, 0.99))
FILTER = "pos[head] & pos[dep] & direction"
FEATURES_HELP = "preset, file or list of arc templates (default: preset ud, without templates of missing columns)"
FILTER_HELP = "arc filter: template whose value must have occurred in training (None: all arcs)"


class ParsingOptions(TrainingOptions, total=False):
    """Options of `train` of a dependency parser."""

    features: Annotated[TemplateSource | None, Option(None, None, FEATURES_HELP, "data")]
    learner: Annotated[Learner | str | None, Option(DEFAULT, LEARNER, "online learner, CRF or ExponentialLoss", "data")]
    order: Annotated[int, Option(2, whole(1, 2), "1: features of arcs; 2: also of adjacent siblings")]
    projective: Annotated[
        bool, Option(True, flag(), "only projective trees (no crossing arcs); False requires order 1")
    ]
    labelled: Annotated[bool | None, Option(None, flag(), "labelled arcs (default: if the data have a column deprel)")]
    filter: Annotated[str | None, Option(FILTER, None, FILTER_HELP, nullable=True, metavar="TEMPLATE")]
    prune_weights: Annotated[float, Option(0.6, SHARE, "share of weights dropped after training, the smallest ones")]
    lenient: Annotated[bool, Option(False, flag(), "skip sentences without a valid tree", "run")]
