"""Options of the training of a constituency parser."""

from typing import Annotated, Any

from trellis._support.arguments import instance, real_number
from trellis._support.errors import LearnerError
from trellis.features.vocabulary import TemplateSource
from trellis.learners import parser_learner
from trellis.learners.online import Perceptron
from trellis.learning.learner import Constraint, Learner, flag, whole
from trellis.learning.options import Option, TrainingOptions
from trellis.tasks.tagging.model import Tagger

PCFG = "pcfg"
DEFAULT = Perceptron(epochs=6)


def _learner(learner: Any) -> Learner | str:
    return PCFG if isinstance(learner, str) and learner.lower() == PCFG else parser_learner(learner, ' or "pcfg"')


def _tagger(tagger: Any) -> Tagger:
    instance("tagger", tagger, Tagger, "a tagger")
    if len(tagger.columns) != 1 or tagger.model.vocabulary.bag is not None:
        columns = ", ".join(tagger.columns)
        raise LearnerError(f"tagger must read words only, but it reads {columns}")
    return tagger  # type: ignore[no-any-return]


LEARNER = Constraint("", _learner)
LEARNER_HELP = 'online learner, CRF or ExponentialLoss; "pcfg" counts rules, without features'
PROBABILITY = Constraint("a number from 0 to 1", lambda value: real_number("", value, 0.0, 1.0))
TAGGER = Constraint("a Tagger, as returned by trellis.load", _tagger)
TAGGER_HELP = "part-of-speech tagger, stored in the parser, for sentences without tags"


class TreeOptions(TrainingOptions, total=False):
    """Options of `train` of a constituency parser."""

    features: Annotated[
        TemplateSource | None, Option("spans", None, "preset (spans, rules), file or list of templates", "data")
    ]
    learner: Annotated[Learner | str | None, Option(DEFAULT, LEARNER, LEARNER_HELP, "data")]
    vertical: Annotated[int, Option(1, whole(1, 10), "vertical Markovization: number of ancestors, including the node")]
    horizontal: Annotated[int, Option(0, whole(0, 10), "horizontal Markovization: number of preceding siblings")]
    prune: Annotated[float, Option(1e-4, PROBABILITY, "minimum probability of a constituent under the coarse grammar")]
    tagger: Annotated[Tagger | None, Option(None, TAGGER, TAGGER_HELP, "run", metavar="MODEL")]
    lenient: Annotated[bool, Option(False, flag(), "skip invalid trees of a file", "run")]
