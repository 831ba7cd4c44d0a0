"""Options of the training of a tagger; those of chains are shared with the training of word segmenters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from trellis._support.arguments import whole_number
from trellis.engine.weights import MAX_ORDER
from trellis.features.vocabulary import TemplateSource
from trellis.learners import learner_of
from trellis.learners.online import MIRA
from trellis.learning.learner import Constraint, Learner, Pairs, choice, flag, whole
from trellis.learning.options import Group, Option, TrainingOptions

LEARNER = Constraint("", learner_of)
LONGEST = 1_024  # maximum length of a segment: every token has a site for each length
MOST_MEMBERS = 1000  # of bagging
SURVIVAL = 0.997  # default recall of gold labels after pruning

Partial = bool | Literal["missing"]  # "missing": labels may be missing, and | is an ordinary character
Costs = Mapping[str, float] | Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Segments:
    """A semi-Markov model: whole segments have features beside those of their tokens.

    Parameters
    ----------
    longest
        Maximum number of tokens of a segment (default: for each type, the longest segment in training).
    """

    longest: int | None = None

    def __post_init__(self) -> None:
        if self.longest is not None:
            whole(1, LONGEST).check("longest", self.longest)


def _instance(kind: type, convert: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """Return an instance unchanged; convert other values."""

    def check(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        if convert is None:
            raise TypeError
        return convert(value)

    return check


def _shares(value: Any) -> tuple[float, ...] | str:
    """The recall of gold labels per pruning level; empty: no pruning."""
    if isinstance(value, bool | np.bool_):
        return (SURVIVAL,) if value else ()
    if value == "auto":
        return "auto"
    shares = tuple(map(float, value if isinstance(value, tuple | list) else (value,)))
    if not shares or not all(0 < share <= 1 for share in shares):
        raise ValueError
    return shares


def _workers(value: Any) -> Any:
    if hasattr(value, "actors"):
        return value
    return whole_number("workers", value, 1)


def _count(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _parse_shares(text: str) -> tuple[float, ...] | bool:
    return text != "off" and tuple(map(float, text.split(",")))


def _weight(text: str) -> tuple[str, float]:
    label, _, weight = text.rpartition("=")
    return label, float(weight)


def _dictionary(value: Any) -> Any:
    if isinstance(value, bool | np.bool_) or value == "smoothed":
        return value if isinstance(value, str) else bool(value)
    return whole_number("", value, 0)


def _partial(value: Any) -> Any:
    return value if value == "missing" else flag().convert(value)


DICTIONARY = Constraint("a number of occurrences, True, False or 'smoothed'", _dictionary)
PRUNING = Constraint("'auto', True, False, a share above 0 and at most 1, or a tuple of shares", _shares)
SEGMENTS = Constraint(
    "True, False or a trellis.Segments", _instance(Segments, lambda value: flag().convert(value) and Segments())
)
PARTIAL = Constraint("True, False or 'missing'", _partial)
ORDER_HELP = "Markov order: number of preceding labels (default: that of the templates)"
PAIRS_HELP = "labels with weights for an attribute: seen (those seen with it in training) or all (default: by learner)"
DICTIONARY_HELP = (
    "limit words that occur N times or more (True: 5) to the labels seen with them; smoothed: words below "
)
DICTIONARY_HELP += "300 occurrences also get the labels of rare words with the same ending"
BEAM_HELP = "beam width in states per token, at higher orders and with templates such as label[-3] (default: exact)"
PRUNE_HELP = "recall of gold labels after pruning the candidates per token (True: 0.997); further values: recall of "
PRUNE_HELP += "label pairs, triples, ... (auto: only with more than 2,000 labels at order 1, or 200 at higher orders)"
SEGMENTS_HELP = "semi-Markov model, with features of whole segments"
SCHEME_HELP = "tagging scheme (iob2, iobes, ...); label sequences that violate it are forbidden"
WEIGHTS_HELP = "label weights; each sentence is weighted by the mean weight of its gold labels"
COSTS_HELP = "cost of an error on a gold label, or on a pair (gold, predicted), for max-margin learners"
BAGGING_HELP = "number of models to average, each trained without a random tenth of the features"
PARTIAL_HELP = "partial labels: empty (unknown) or A|B (either); missing: only empty, and | is an ordinary character"
DOCUMENTS_HELP = "two-pass model, for names: features of the second pass are the first pass's labels of the same word "
DOCUMENTS_HELP += "elsewhere in the document"


@dataclass(frozen=True, slots=True)
class Features(Group):
    """Templates, and the features that get weights: ``Features("default", min_count=2, pairs="all")``.

    Parameters
    ----------
    templates
        Preset, template file or list of templates (default: preset ``"default"``).
    min_count
        Minimum count of a feature in training.
    pairs
        ``"seen"``: a feature has weights for the labels seen with it in training; ``"all"``: for all labels (default:
        by learner).
    """

    templates: Annotated[
        TemplateSource | None, Option(None, None, "preset, file or list of templates", "data", flat="features")
    ] = None
    min_count: Annotated[int, Option(0, whole(), "minimum count of features")] = 0
    pairs: Annotated[Pairs | None, Option(None, choice("seen", "all"), PAIRS_HELP)] = None


@dataclass(frozen=True, slots=True)
class Labels(Group):
    """Properties of gold labels: ``Labels(scheme="iob2")``.

    Parameters
    ----------
    scheme
        Scheme (iob2, iobes, ...) whose illegal label sequences are never predicted.
    parts
        Separator of the parts of labels, such as ``|`` in ``NOUN|Case=Nom``; parts get weights of their own.
    partial
        True: labels may be empty (unknown) or ``A|B`` (one of both); ``"missing"``: they may be empty, and ``|`` is
        part of a label.
    weights
        Weight of each label; a sentence is weighted by the mean weight of its gold labels.
    costs
        Cost of missing a label, or of predicting another one, by (gold, predicted), for learners with a margin.
    """

    scheme: Annotated[str | None, Option(None, None, SCHEME_HELP)] = None
    parts: Annotated[
        str | None,
        Option(None, None, "separator of the parts of a label, such as | in NOUN|Case=Nom", flat="label_parts"),
    ] = None
    partial: Annotated[Partial, Option(False, PARTIAL, PARTIAL_HELP)] = False
    weights: Annotated[
        Mapping[str, float] | None,
        Option(None, None, WEIGHTS_HELP, metavar="LABEL=NUMBER", parse=_weight, flat="label_weights"),
    ] = None
    costs: Annotated[Costs | None, Option(None, None, COSTS_HELP, "data", offered=False, flat="label_costs")] = None


@dataclass(frozen=True, slots=True)
class Search(Group):
    """Options of the search for the best labels, in training and prediction: ``Search(beam=8)``.

    Parameters
    ----------
    beam
        Beam width in states per token, at order 2 and above, or with templates such as ``label[-3]`` (default: exact
        search).
    prune
        Recall of gold labels that pruning must retain (True: 0.997); further numbers are for label pairs and longer
        n-grams. ``"auto"`` prunes with more than 2,000 labels at order 1, or 200 above it.
    tag_dictionary
        Frequent words (5 times if True, or this number of times) get only labels seen with them; ``"smoothed"``: words
        with fewer than 300 occurrences also get labels of rare words with the same ending.
    """

    beam: Annotated[int | None, Option(None, whole(1, 2**31 - 1), BEAM_HELP)] = None
    prune: Annotated[
        bool | float | tuple[float, ...] | Literal["auto"],
        Option("auto", PRUNING, PRUNE_HELP, metavar="SHARE[,SHARE]", parse=_parse_shares),
    ] = "auto"
    tag_dictionary: Annotated[
        int | bool | Literal["smoothed"], Option(False, DICTIONARY, DICTIONARY_HELP, metavar="N|smoothed", parse=_count)
    ] = False


WORKERS_HELP = "number of Ray processes to train on a ``trellis.stream``, or workers of ``trellis.cluster.connect``"
WORKERS = Constraint("a number of processes, or workers of trellis.cluster", _workers)
FEATURES = Constraint("templates or a trellis.Features", _instance(Features, Features))
LABELS = Constraint("a trellis.Labels", _instance(Labels))
SEARCH = Constraint("a trellis.Search", _instance(Search))


class ChainOptions(TrainingOptions, total=False):
    """Options of chains of labels."""

    order: Annotated[int | None, Option(None, whole(0, MAX_ORDER), ORDER_HELP)]
    search: Annotated[Search | None, Option(Search(), SEARCH, "beam width, pruning and tag dictionary: a `Search`")]
    segments: Annotated[
        bool | Segments,
        Option(False, SEGMENTS, SEGMENTS_HELP, metavar="LONGEST", parse=lambda text: Segments(int(text))),
    ]
    bagging: Annotated[int, Option(1, whole(1, MOST_MEMBERS), BAGGING_HELP)]


class TaggingOptions(ChainOptions, total=False):
    """Options of `train` of a tagger."""

    target: Annotated[str | None, Option(None, None, "column to learn (default: label, upos or the last)")]
    features: Annotated[
        TemplateSource | Features | None,
        Option(Features(), FEATURES, "preset, file or list of templates, or a `Features`"),
    ]
    learner: Annotated[Learner | str | None, Option(MIRA(), LEARNER, "learner, or its name", "data")]
    labels: Annotated[Labels | None, Option(Labels(), LABELS, "scheme, parts and weights of gold labels: a `Labels`")]
    documents: Annotated[bool, Option(False, flag(), DOCUMENTS_HELP)]
    workers: Annotated[Any, Option(None, WORKERS, WORKERS_HELP, "run", offered=False)]
