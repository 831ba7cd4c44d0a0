"""Options of the training of a constituency parser."""

from typing import Annotated, Any

from trellis._support.arguments import instance, real_number
from trellis._support.errors import LearnerError
from trellis.features.vocabulary import TemplateSource
from trellis.learners import parser_learner
from trellis.learners.perceptron import Perceptron
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
        raise LearnerError(f"tagger must read words alone, as sentences to parse have nothing else; it reads {columns}")
    return tagger  # type: ignore[no-any-return]


class TreeOptions(TrainingOptions, total=False):
    """Options of `train` of a constituency parser."""

    features: Annotated[
        TemplateSource | None,
        Option("spans", None, "preset (spans, rules), file or list of templates of phrases", "data", metavar="NAME"),
    ]
    learner: Annotated[
        Learner | str | None,
        Option(
            DEFAULT,
            Constraint("", _learner),
            'online learner, CRF or ExponentialLoss; "pcfg" counts rules, without features',
            "data",
        ),
    ]
    vertical: Annotated[
        int,
        Option(
            1, whole(1, 10), "vertical Markovization: number of ancestors, the node included", metavar="N", parse=int
        ),
    ]
    horizontal: Annotated[
        int, Option(0, whole(0, 10), "horizontal Markovization: number of siblings", metavar="N", parse=int)
    ]
    prune: Annotated[
        float,
        Option(
            1e-4,
            Constraint("a number from 0 to 1", lambda value: real_number("", value, 0.0, 1.0)),
            "probability by a grammar without Markovization below which a phrase is not considered",
            metavar="P",
            parse=float,
        ),
    ]
    tagger: Annotated[
        Tagger | None,
        Option(
            None,
            Constraint("a Tagger, such as trellis.load gives", _tagger),
            "tagger of words, kept in the parser, for sentences without tags",
            "run",
            metavar="MODEL",
        ),
    ]
    lenient: Annotated[bool, Option(False, flag(), "skip what is not a tree in a file", "run")]
