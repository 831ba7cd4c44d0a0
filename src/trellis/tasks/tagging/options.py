"""Options of the training of a tagger; those of chains are shared with the training of word segmenters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from trellis._support.arguments import whole_number
from trellis._support.errors import ArgumentError, LearnerError
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
        if self.longest is None:
            return
        try:
            whole_number("longest", self.longest, 1, LONGEST)
        except ArgumentError as error:
            raise LearnerError(str(error)) from None


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


def _dictionary(value: Any) -> Any:
    if isinstance(value, bool | np.bool_) or value == "smoothed":
        return value if isinstance(value, str) else bool(value)
    return whole_number("", value, 0)


def _partial(value: Any) -> Any:
    return value if value == "missing" else flag().convert(value)


class ChainOptions(TrainingOptions, total=False):
    """Options of chains of labels."""

    order: Annotated[
        int | None,
        Option(
            None,
            whole(0, MAX_ORDER),
            "Markov order: number of preceding labels (default: that of the templates)",
            metavar="N",
            parse=int,
        ),
    ]
    cutoff: Annotated[
        int, Option(0, whole(), "minimum count: features seen fewer times are dropped", metavar="N", parse=int)
    ]
    pairs: Annotated[
        Pairs | None,
        Option(
            None,
            choice("seen", "all"),
            "labels that an attribute has weights for: those seen with it, or all (default: by learner)",
            metavar="NAME",
        ),
    ]
    tag_dictionary: Annotated[
        int | bool | Literal["smoothed"],
        Option(
            False,
            Constraint("a number of occurrences, True, False or 'smoothed'", _dictionary),
            "frequent words (5 times, or the number) get only labels seen with them; smoothed: also those of rare "
            "words that end alike, unless the word was seen 300 times",
            metavar="N|smoothed",
        ),
    ]
    beam: Annotated[
        int | None,
        Option(
            None,
            whole(1, 2**31 - 1),
            "beam width in states per token, at higher orders and with templates such as label[-3] (default: exact)",
            metavar="N",
            parse=int,
        ),
    ]
    prune: Annotated[
        bool | Literal["auto"] | Pruning,
        Option(
            "auto",
            Constraint("'auto', True, False or a trellis.Pruning", _switched(Pruning)),
            "few candidate labels per token, fast with many labels (auto: with more than 2,000 labels at order 1, or "
            "200 above it)",
            metavar="SHARE[,SHARE]",
        ),
    ]
    segments: Annotated[
        bool | Segments,
        Option(
            False,
            Constraint("True, False or a trellis.Segments", _switched(Segments)),
            "semi-Markov model of labels that mark spans: features of whole segments",
            metavar="LONGEST",
        ),
    ]
    label_weights: Annotated[
        Mapping[str, float] | None,
        Option(
            None, None, "weights of labels; a sentence counts by the mean of its gold labels", metavar="LABEL=NUMBER"
        ),
    ]
    label_costs: Annotated[
        Costs | None,
        Option(
            None,
            None,
            "cost of missing a label, or of confusing a pair (gold, other), for learners with a margin",
            "data",
            offered=False,
        ),
    ]
    bagging: Annotated[
        int,
        Option(
            1,
            whole(1, MOST_MEMBERS),
            "number of trainings, each without a random tenth of the features; the model is their mean",
            metavar="N",
            parse=int,
        ),
    ]


class TaggingOptions(ChainOptions, total=False):
    """Options of `train` of a tagger."""

    target: Annotated[
        str | None,
        Option(None, None, "column to learn (default: label, upos in CoNLL-U, else the last)", metavar="NAME"),
    ]
    features: Annotated[
        TemplateSource | None,
        Option(None, None, "preset, template file or list of templates (default: default)", "data", metavar="NAME"),
    ]
    learner: Annotated[Learner | str | None, Option(MIRA(), LEARNER, "learner, or its name", "data")]
    partial: Annotated[
        Partial,
        Option(
            False,
            Constraint("True, False or 'missing'", _partial),
            "labels may be empty (unknown) or A|B (one of both); missing: empty, and | is part of labels",
            offered=False,
        ),
    ]
    scheme: Annotated[
        str | None,
        Option(None, None, "scheme (iob2, iobes, ...) whose illegal label sequences are forbidden", metavar="NAME"),
    ]
    label_parts: Annotated[
        str | None,
        Option(
            None,
            None,
            "separator of the parts of labels, as | in NOUN|Case=Nom; parts get weights",
            metavar="CHARACTER",
        ),
    ]
    documents: Annotated[
        bool,
        Option(
            False,
            flag(),
            "two passes, for names: a second model reads what the first says of the word elsewhere in the document",
        ),
    ]
