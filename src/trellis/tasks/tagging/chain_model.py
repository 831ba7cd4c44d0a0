"""A trained tagger as data: weights, labels, vocabulary and everything else that a file of it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trellis._support.arrays import Arrays, Floats, Ints, LabelSets
from trellis._support.errors import ModelError
from trellis.corpus.corpus import Strings, columns_named
from trellis.corpus.read import TrainingFile
from trellis.features.vocabulary import Vocabulary

if TYPE_CHECKING:
    from trellis.tasks.tagging.segments.weights import SegmentModel

from trellis.engine.weights import MAX_ORDER, ChainWeights, Ngrams, Rows, _expand, _nonzero


class Endings(NamedTuple):
    """What words that a tag dictionary lacks may end in, with the set of labels that they have then."""

    strings: Strings
    set_of: Ints  # [n_strings]


class FilterLevel(NamedTuple):
    """A level of pruning above order 0: level k leaves runs of k + 1 labels, by the best paths through them."""

    margin: float  # by how much the best path through a run may score less than the best path
    # In training, by weights that were not trained on a sentence: the share of gold runs that are kept, and how many
    # runs a token has on average.
    survival: float
    n_runs: float


@dataclass(frozen=True, slots=True, eq=False)
class LabelFilter:
    """What prunes labels before a sentence is decoded: scores of single labels, over the attributes of the model.

    The candidates of a token are the labels that score at most ``margin`` less than the best one; of more than ``most``
    the best. ``levels`` then prune pairs of candidates and longer runs, by weights of label n-grams beside.
    """

    rows: Rows
    margin: float
    most: int
    # In training, by filters that were not trained on a sentence: the share of gold labels that they keep, and how many
    # candidates a token has on average.
    survival: float
    n_candidates: float
    levels: tuple[FilterLevel, ...] = ()
    edge: Floats | None = None  # [n_labels + 1, stride] weights of label pairs, where there are levels
    ngrams: Ngrams | None = None  # and of longer n-grams

    def native(self, n_labels: int) -> dict[str, Any]:
        """As native code takes it; ValueError if it makes no sense."""
        margin = float(np.float32(self.margin))  # native code takes no rounding upon itself
        levels = None
        if self.levels and self.edge is not None and self.ngrams is not None:
            margins = np.array([level.margin for level in self.levels])
            levels = {"edge": self.edge, "ngrams": self.ngrams.native(n_labels, MAX_ORDER), "margins": margins}
        return {"rows": self.rows, "margin": margin, "most": self.most, "levels": levels}

    @property
    def header(self) -> dict[str, Any]:
        """What is no array."""
        out = {name: getattr(self, name) for name in ("margin", "most", "survival", "n_candidates")}
        return {**out, "levels": [level._asdict() for level in self.levels]} if self.levels else out

    def tensors(self) -> Arrays:
        """As named arrays, for files."""
        out = self.rows.tensors("filter")
        if self.levels and self.edge is not None and self.ngrams is not None:
            out |= _nonzero("filter.edge", self.edge[:, : len(self.edge) - 1])
            out |= self.ngrams.tensors("filter.ngrams")
        return out

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Any], header: Mapping[str, Any], n_labels: int) -> LabelFilter:
        """From such arrays and what is no array."""
        levels = tuple(
            FilterLevel(*(float(level[name]) for name in FilterLevel._fields)) for level in header.get("levels", ())
        )
        return cls(
            Rows.of_tensors("filter", tensors),
            float(header["margin"]),
            int(header["most"]),
            float(header["survival"]),
            float(header["n_candidates"]),
            levels,
            _expand("filter.edge", tensors, (n_labels + 1, n_labels)) if levels else None,
            Ngrams.of_tensors("filter.ngrams", tensors) if levels else None,
        )


# What the score of a path is: just a score (perceptron and its kin); a log-probability but for log Z (CRF); a sum of
# log-probabilities of labels given those before (maximum entropy); a joint log-probability with the words (HMM).
FAMILIES = ("scores", "log-linear", "local", "joint")


# The columns that a first pass over documents gives (trellis.tasks.tagging.documents).
FIRST_PASS = ("same_word", "same_word_in_corpus")


@dataclass(frozen=True, slots=True, eq=False)
class ChainModel:
    """Labels, vocabulary and weights, with how they came to be."""

    labels: tuple[str, ...]
    target: str  # the column it labels
    order: int
    vocabulary: Vocabulary
    weights: ChainWeights
    # Of every value of the first column; the first set is that of other words.
    dictionary: LabelSets | None = None
    info: dict[str, Any] = field(default_factory=dict)  # the user's notes
    family: str = "scores"  # what scores mean, see FAMILIES
    temperature: float = 1.0  # by which scores are divided before they become probabilities
    filter: LabelFilter | None = None  # what prunes labels
    # Where the dictionary has them, the longest ending of another word decides; without any it has the first set.
    endings: Endings | None = None
    segments: SegmentModel | None = None  # of a semi-Markov model
    first: ChainModel | None = None  # whose labels give columns that this one reads (trellis.tasks.tagging.documents)
    training: dict[str, Any] = field(default_factory=dict)  # the record: version, learner, sizes, history

    @property
    def row_names(self) -> tuple[str, ...]:
        """What the columns of rows stand for: labels, then parts of labels."""
        return (*self.labels, *(() if self.weights.parts is None else self.weights.parts.names))

    def row_name(self, attribute: int, column: int) -> str:
        """What a column stands for in the row of an attribute: of an attribute of segments a type."""
        if self.segments is not None and attribute >= self.segments.first:
            return self.segments.types.type_of_column(column)
        return self.row_names[column]

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads; free-form attributes are the last of them."""
        if self.first is not None:
            return self.first.columns
        bag = () if self.vocabulary.bag is None else (self.vocabulary.bag.column,)
        return (*(column.name for column in self.vocabulary.given), *bag)

    def attribute_names(self, wanted: Iterable[int], *, on_edge: bool = False) -> dict[int, str]:
        """Names of attributes (``on_edge``: of those of label pairs) by their rows of weights."""
        from trellis.features.known import attribute_names

        of_tokens, of_segments, segments = set(wanted), set[int](), self.segments
        if segments is not None and not on_edge:
            of_segments = {number for number in of_tokens if number >= segments.first}
        try:
            names = attribute_names(self.vocabulary, of_tokens - of_segments, on_edge=on_edge)
            if segments is not None and of_segments:
                found = segments.vocabulary.names([number - segments.first for number in of_segments])
                names |= {number + segments.first: name for number, name in found.items()}
        except (LookupError, ValueError):
            names = {}
        if not names.keys() >= of_tokens:
            raise ModelError("the model is damaged: a feature with a weight has no name")
        return names

    @property
    def training_file(self) -> TrainingFile:
        """The file that it was trained on; a model of CRF++ or Wapiti reads some fields of rows that may have more."""
        record = self.training.get("corpus", {})
        targets = columns_named(self.target, record.get("columns", (self.target,)))
        imported = self.training.get("imported") in ("CRF++", "Wapiti")
        return TrainingFile.of(record, targets, self.columns, len(self.columns) if imported else 0)

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"no family {self.family!r} of models")
