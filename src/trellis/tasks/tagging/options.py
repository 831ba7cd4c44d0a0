"""Options of the training of a tagger; those of chains are shared with the training of word segmenters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from trellis._support.arguments import whole_number
from trellis._support.errors import LearnerError
from trellis.engine.weights import MAX_ORDER
from trellis.features.vocabulary import TemplateSource
from trellis.learners import learner_of
from trellis.learners.mira import MIRA
from trellis.learning.learner import Constraint, Learner, Pairs, choice, flag, whole
from trellis.learning.options import Option, TrainingOptions

LEARNER = Constraint("", learner_of)
LONGEST = 1_024  # tokens that a segment may have: every token has a site for each length
MOST_MEMBERS = 1000  # of bagging

Partial = bool | Literal["missing"]  # "missing": labels may be missing, and | is a letter of labels
Costs = Mapping[str, float] | Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Pruning:
    """Few candidate labels per token, left by a filter that is trained first.

    Parameters
    ----------
    survival
        Share of gold labels that survive the filter on held-out sentences. From order 2 on it may be a tuple: the
        second share is that of label pairs, left by a chain of order 1, the third that of label triples, and so on.
    """

    survival: float | tuple[float, ...] = 0.997

    def __post_init__(self) -> None:
        if not self.shares or not all(map(_is_share, self.shares)):
            raise LearnerError(
                f"prune: survival is the share of gold labels to survive, above 0 and at most 1, not {self.survival!r}"
            )
        object.__setattr__(self, "survival", self.shares if len(self.shares) > 1 else self.shares[0])

    @property
    def shares(self) -> tuple[float, ...]:
        """One per level."""
        shares = self.survival if isinstance(self.survival, tuple | list) else (self.survival,)
        return tuple(float(share) if _is_share(share) else share for share in shares)


@dataclass(frozen=True, slots=True)
class Segments:
    """A semi-Markov model: whole segments have features beside those of their tokens.

    Parameters
    ----------
    longest
        Number of tokens that a segment may have (default: by type, that of the longest one in training).
    """

    longest: int | None = None

    def __post_init__(self) -> None:
        if self.longest is not None:
            whole(1, LONGEST).check("longest", self.longest)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(0 < value <= 1)


def _switched(kind: type) -> Any:
    """True as the default of a kind of options, False as it is."""

    def convert(value: Any) -> Any:
        if isinstance(value, bool | np.bool_):
            return kind() if value else False
        if not isinstance(value, kind):
            raise TypeError
        return value

    return convert


def _count(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _shares(text: str) -> Pruning | bool:
    return text != "off" and Pruning(tuple(float(share) for share in text.split(",")))


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
PRUNING = Constraint("'auto', True, False or a trellis.Pruning", _switched(Pruning))
SEGMENTS = Constraint("True, False or a trellis.Segments", _switched(Segments))
PARTIAL = Constraint("True, False or 'missing'", _partial)
ORDER_HELP = "Markov order: number of preceding labels (default: that of the templates)"
PAIRS_HELP = "labels that an attribute has weights for: those seen with it, or all (default: by learner)"
DICTIONARY_HELP = "frequent words (5 times, or the number) get only labels seen with them; smoothed: rarer than 300 "
DICTIONARY_HELP += "times also those of rare words that end alike"
BEAM_HELP = "beam width in states per token, at higher orders and with templates such as label[-3] (default: exact)"
PRUNE_HELP = "few candidate labels per token (auto: with more than 2,000 labels at order 1, or 200 above it)"
SEGMENTS_HELP = "semi-Markov model: features of whole segments"
WEIGHTS_HELP = "weights of labels; a sentence counts by the mean of its gold labels"
COSTS_HELP = "cost of missing a label, or of confusing a pair (gold, other), for learners with a margin"
BAGGING_HELP = "trainings, each without a random tenth of the features, of which the model is the mean"
PARTIAL_HELP = "labels may be empty (unknown) or A|B (one of both); missing: empty, and | is part of labels"
DOCUMENTS_HELP = "two passes, for names: a second model reads what the first says of a word elsewhere in the document"


class ChainOptions(TrainingOptions, total=False):
    """Options of chains of labels."""

    order: Annotated[int | None, Option(None, whole(0, MAX_ORDER), ORDER_HELP)]
    min_count: Annotated[int, Option(0, whole(), "minimum count of features")]
    pairs: Annotated[Pairs | None, Option(None, choice("seen", "all"), PAIRS_HELP)]
    tag_dictionary: Annotated[
        int | bool | Literal["smoothed"], Option(False, DICTIONARY, DICTIONARY_HELP, metavar="N|smoothed", parse=_count)
    ]
    beam: Annotated[int | None, Option(None, whole(1, 2**31 - 1), BEAM_HELP)]
    prune: Annotated[
        bool | Literal["auto"] | Pruning, Option("auto", PRUNING, PRUNE_HELP, metavar="SHARE[,SHARE]", parse=_shares)
    ]
    segments: Annotated[
        bool | Segments,
        Option(False, SEGMENTS, SEGMENTS_HELP, metavar="LONGEST", parse=lambda text: Segments(int(text))),
    ]
    label_weights: Annotated[
        Mapping[str, float] | None, Option(None, None, WEIGHTS_HELP, metavar="LABEL=NUMBER", parse=_weight)
    ]
    label_costs: Annotated[Costs | None, Option(None, None, COSTS_HELP, "data", offered=False)]
    bagging: Annotated[int, Option(1, whole(1, MOST_MEMBERS), BAGGING_HELP)]


class TaggingOptions(ChainOptions, total=False):
    """Options of `train` of a tagger."""

    target: Annotated[str | None, Option(None, None, "column to learn (default: label, upos or the last)")]
    features: Annotated[TemplateSource | None, Option(None, None, "preset, file or list of templates", "data")]
    learner: Annotated[Learner | str | None, Option(MIRA(), LEARNER, "learner, or its name", "data")]
    partial: Annotated[Partial, Option(False, PARTIAL, PARTIAL_HELP, offered=False)]
    scheme: Annotated[str | None, Option(None, None, "scheme (iob2, iobes, ...) whose illegal sequences are forbidden")]
    label_parts: Annotated[str | None, Option(None, None, "separator of parts of labels, as | in NOUN|Case=Nom")]
    documents: Annotated[bool, Option(False, flag(), DOCUMENTS_HELP)]
