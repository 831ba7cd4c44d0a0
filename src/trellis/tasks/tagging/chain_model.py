"""A trained tagger as data: weights, labels, vocabulary and all other content of its file."""

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
    """Endings of words that are not in the tag dictionary, with the labels they allow.

    Attributes
    ----------
    strings
        The endings.
    set_of
        [n_strings] set of labels of each.
    """

    strings: Strings
    set_of: Ints


class FilterLevel(NamedTuple):
    """One level of pruning above order 0: level k leaves runs of k + 1 labels.

    Attributes
    ----------
    margin
        Maximum difference between the best path through a run and the best path.
    survival
        Recall of gold runs in training, with weights that were not trained on the sentence.
    n_runs
        Mean number of runs per token, likewise.
    """

    margin: float
    survival: float
    n_runs: float


@dataclass(frozen=True, slots=True, eq=False)
class LabelFilter:
    """Pruning of labels before decoding, by scores of single labels over the attributes of the model.

    The candidates of a token are the labels that score at most ``margin`` less than the best one, at most ``most`` of
    them. ``levels`` then prune label pairs and longer n-grams.

    Attributes
    ----------
    rows
        Weights of attributes.
    margin
        Maximum difference to the best label.
    most
        Maximum number of candidates.
    survival
        Recall of gold labels in training, with filters that were not trained on the sentence.
    n_candidates
        Mean number of candidates per token, likewise.
    levels
        Further levels of pruning.
    edge
        [n_labels + 1, stride] weights of label pairs, if there are levels.
    ngrams
        Weights of longer n-grams.
    """

    rows: Rows
    margin: float
    most: int
    survival: float
    n_candidates: float
    levels: tuple[FilterLevel, ...] = ()
    edge: Floats | None = None
    ngrams: Ngrams | None = None

    def native(self, n_labels: int) -> dict[str, Any]:
        """Convert to native arguments.

        Parameters
        ----------
        n_labels
            Number of labels.

        Returns
        -------
        dict[str, Any]
            Arguments by name.

        Raises
        ------
        ValueError
            If the arrays are inconsistent.
        """
        margin = float(np.float32(self.margin))  # rounded to float32 here; native code expects exact values
        levels = None
        if self.levels and self.edge is not None and self.ngrams is not None:
            margins = np.array([level.margin for level in self.levels])
            levels = {"edge": self.edge, "ngrams": self.ngrams.native(n_labels, MAX_ORDER), "margins": margins}
        return {"rows": self.rows, "margin": margin, "most": self.most, "levels": levels}

    @property
    def header(self) -> dict[str, Any]:
        """Values that are not arrays, for files."""
        out = {name: getattr(self, name) for name in ("margin", "most", "survival", "n_candidates")}
        return {**out, "levels": [level._asdict() for level in self.levels]} if self.levels else out

    def tensors(self) -> Arrays:
        """Convert to named arrays, for files.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        out = self.rows.tensors("filter")
        if self.levels and self.edge is not None and self.ngrams is not None:
            out |= _nonzero("filter.edge", self.edge[:, : len(self.edge) - 1])
            out |= self.ngrams.tensors("filter.ngrams")
        return out

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Any], header: Mapping[str, Any], n_labels: int) -> LabelFilter:
        """Make the filter from named arrays.

        Parameters
        ----------
        tensors
            Arrays by name.
        header
            The values that are not arrays.
        n_labels
            Number of labels.

        Returns
        -------
        LabelFilter
            The filter.
        """
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


# Meaning of path scores: plain scores (perceptron and similar); unnormalised log-probabilities (CRF); sums of
# log-probabilities of labels given the preceding ones (maximum entropy); joint log-probabilities with the words (HMM).
FAMILIES = ("scores", "log-linear", "local", "joint")


# The columns added by a first pass over documents (trellis.tasks.tagging.documents).
FIRST_PASS = ("same_word", "same_word_in_corpus")


@dataclass(frozen=True, slots=True, eq=False)
class ChainModel:
    """Content of a tagger: labels, vocabulary and weights, with the record of training.

    Attributes
    ----------
    labels
        The labels.
    target
        Column that the model predicts.
    order
        Markov order: number of preceding labels.
    vocabulary
        Templates and their attributes.
    weights
        The weights.
    dictionary
        Allowed labels by value of the first column; the first set is for other words.
    info
        The user's notes.
    family
        Meaning of scores, see FAMILIES.
    temperature
        Divisor of scores before they become probabilities.
    filter
        Pruning of labels.
    endings
        Allowed labels by the longest known ending, for words that are not in the dictionary.
    segments
        Types of segments of a semi-Markov model.
    first
        Model of the first pass, whose labels are columns of this one.
    training
        The record of training: version, learner, sizes, history.
    """

    labels: tuple[str, ...]
    target: str
    order: int
    vocabulary: Vocabulary
    weights: ChainWeights
    dictionary: LabelSets | None = None
    info: dict[str, Any] = field(default_factory=dict)
    family: str = "scores"
    temperature: float = 1.0
    filter: LabelFilter | None = None
    endings: Endings | None = None
    segments: SegmentModel | None = None
    first: ChainModel | None = None
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the columns of weights: labels, then parts of labels."""
        return (*self.labels, *(() if self.weights.parts is None else self.weights.parts.names))

    def row_name(self, attribute: int, column: int) -> str:
        """Get the name of a column of weights: a label, a part of a label, or a type of segment.

        Parameters
        ----------
        attribute
            The attribute.
        column
            The column.

        Returns
        -------
        str
            The name.
        """
        if self.segments is not None and attribute >= self.segments.first:
            return self.segments.types.type_of_column(column)
        return self.row_names[column]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the model reads; free-form attributes are the last one."""
        if self.first is not None:
            return self.first.columns
        bag = () if self.vocabulary.bag is None else (self.vocabulary.bag.column,)
        return (*(column.name for column in self.vocabulary.inputs), *bag)

    def attribute_names(self, numbers: Iterable[int], *, on_edge: bool = False) -> dict[int, str]:
        """Get the names of attributes.

        Parameters
        ----------
        numbers
            Attributes.
        on_edge
            Whether they are attributes of label pairs.

        Returns
        -------
        dict[int, str]
            Names by attribute.
        """
        from trellis.features.known import attribute_names

        of_tokens, of_segments, segments = set(numbers), set[int](), self.segments
        if segments is not None and not on_edge:
            of_segments = {number for number in of_tokens if number >= segments.first}
        try:
            names = attribute_names(self.vocabulary, of_tokens - of_segments, on_edge=on_edge)
            if segments is not None and of_segments:
                segment_names = segments.vocabulary.names([number - segments.first for number in of_segments])
                names |= {number + segments.first: name for number, name in segment_names.items()}
        except (LookupError, ValueError):
            names = {}
        if not names.keys() >= of_tokens:
            raise ModelError("the model is damaged: a feature with a weight has no name")
        return names

    @property
    def training_file(self) -> TrainingFile:
        """Description of the file that the model was trained on; models of CRF++ and Wapiti read rows of any length."""
        record = self.training.get("corpus", {})
        targets = columns_named(self.target, record.get("columns", (self.target,)))
        imported = self.training.get("imported") in ("CRF++", "Wapiti")
        return TrainingFile.of(record, targets, self.columns, len(self.columns) if imported else 0)

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"no family {self.family!r} of models")
