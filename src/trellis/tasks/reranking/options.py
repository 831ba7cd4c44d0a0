"""Options of the training of a reranker."""

from collections.abc import Callable, Sequence
from typing import Annotated

from trellis.corpus.corpus import Corpus
from trellis.learners.perceptron import Perceptron
from trellis.learning.learner import Constraint, Learner, choice, whole
from trellis.learning.options import Option, TrainingOptions
from trellis.tasks.reranking.features import Feature
from trellis.tasks.reranking.lists import MAX_K, Cost
from trellis.tasks.structured.options import structure_learner
from trellis.tasks.tagging.model import Tagger


class ListOptions(TrainingOptions, total=False):
    """Options of `fit`, the training of a reranker on lists."""

    learner: Annotated[
        Learner | str | None,
        Option(
            Perceptron(),
            Constraint("", structure_learner),
            'online learner, CRF, ExponentialLoss or HMSVM(solver="frank-wolfe")',
            "data",
        ),
    ]
    k: Annotated[int, Option(20, whole(1, MAX_K), "number of candidates per sentence", metavar="N", parse=int)]
    features: Annotated[
        Sequence[Feature] | None,
        Option(None, None, "names of FEATURES, templates, functions of a Candidate (default: all names)", "data"),
    ]
    cost: Annotated[
        Cost,
        Option("auto", choice("auto", "tokens", "spans"), "cost of a candidate: wrong tokens or spans", metavar="NAME"),
    ]


class RerankingOptions(ListOptions, total=False):
    """Options of `train` of a reranker."""

    tagger: Annotated[
        Callable[[Corpus], Tagger] | Tagger,
        Option(
            None,
            None,
            "function that trains a tagger on a corpus, called once per fold and with the whole corpus; or a tagger, "
            "if the data are lists",
            "data",
            offered=False,
        ),
    ]
    folds: Annotated[
        int, Option(5, whole(2), "number of folds of the cross-validation that makes the lists", metavar="N", parse=int)
    ]
