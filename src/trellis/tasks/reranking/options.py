"""Options of the training of a reranker."""

from collections.abc import Callable, Sequence
from typing import Annotated, get_args

from trellis.corpus.corpus import Corpus
from trellis.learners.online import Perceptron
from trellis.learning.learner import Learner, choice, whole
from trellis.learning.options import Option, TrainingOptions
from trellis.tasks.reranking.features import Feature
from trellis.tasks.reranking.lists import MAX_K, Cost
from trellis.tasks.structured.options import LEARNER, LEARNERS
from trellis.tasks.tagging.model import Tagger

COST = choice(*get_args(Cost))
FEATURES_HELP = "names from FEATURES, templates, or functions of a Candidate (default: all names)"
TAGGER_HELP = "function that trains a tagger, called for each fold and for the whole corpus; a tagger if data are lists"


class RerankingOptions(TrainingOptions, total=False):
    """Options of `train` of a reranker."""

    tagger: Annotated[Callable[[Corpus], Tagger] | Tagger, Option(None, None, TAGGER_HELP, "data", offered=False)]
    learner: Annotated[Learner | str | None, Option(Perceptron(), LEARNER, f"{LEARNERS}, or its name", "data")]
    k: Annotated[int, Option(20, whole(1, MAX_K), "number of candidates per sentence")]
    features: Annotated[Sequence[Feature] | None, Option(None, None, FEATURES_HELP, "data")]
    cost: Annotated[Cost, Option("auto", COST, "cost of a candidate: number of wrong tokens or spans")]
    folds: Annotated[int, Option(5, whole(2), "folds of the cross-validation that generates the candidate lists")]
