"""Attachment scores of dependency trees: words with correct heads, and with correct labels."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Bools, Ints, Longs
from trellis._support.errors import ArgumentError, LearnerError
from trellis.corpus.corpus import Column
from trellis.corpus.objects import from_mapping
from trellis.display.tables import Row
from trellis.evaluation.report import Report
from trellis.evaluation.tagging import complete_sentences


@dataclass(frozen=True, slots=True)
class AttachmentScore:
    """Counts of words, or of sentences, with correct heads and labels.

    Attributes
    ----------
    support
        Number of words, or of sentences.
    heads
        Number with the correct head, or with all heads correct.
    both
        Number with the correct head and label, or with all of them correct.
    """

    support: int
    heads: int
    both: int

    @property
    def uas(self) -> float:
        """Unlabelled attachment score, from 0 to 1."""
        return self.heads / self.support if self.support else 0.0

    @property
    def las(self) -> float:
        """Labelled attachment score, from 0 to 1."""
        return self.both / self.support if self.support else 0.0

    def to_dict(self) -> dict[str, float]:
        """Convert to a row of a report.

        Returns
        -------
        dict[str, float]
            Attachment scores and counts.
        """
        return {"uas": self.uas, "las": self.las, "support": self.support}


@dataclass(frozen=True, slots=True, repr=False)
class AttachmentReport(Report):
    """Attachment scores of dependency trees; rows are relations.

    Attributes
    ----------
    all
        Score of all words.
    no_punctuation
        Score without punctuation.
    sentences
        Score of whole sentences.
    rows
        Scores by gold label, most frequent first.
    is_labelled
        Whether arcs have labels.
    """

    all: AttachmentScore
    no_punctuation: AttachmentScore
    sentences: AttachmentScore
    rows: Mapping[str, AttachmentScore]
    is_labelled: bool = True
    counts: ClassVar[tuple[str, ...]] = ("n_sentences", "n_words")
    metrics: ClassVar[Mapping[str, str]] = {"auto": "las", "uas": "uas", "las": "las"}

    @property
    def name(self) -> str:
        """Name of the headline figure."""
        return "LAS" if self.is_labelled else "UAS"

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Columns of the printed table."""
        return ("uas", "las", "support") if self.is_labelled else ("uas", "support")

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return self.sentences.support

    @property
    def n_words(self) -> int:
        """Number of words, including punctuation."""
        return self.all.support

    @property
    def uas(self) -> float:
        """Unlabelled attachment score."""
        return self.all.uas

    @property
    def las(self) -> float:
        """Labelled attachment score; UAS if arcs have no labels."""
        return self.all.las

    def figure(self, metric: str) -> float:
        """Get one figure.

        Parameters
        ----------
        metric
            ``"uas"``, ``"las"`` or ``"auto"`` (the labelled score).

        Returns
        -------
        float
            The figure.

        Raises
        ------
        LearnerError
            For ``"las"`` if arcs have no labels.
        """
        if metric == "las" and not self.is_labelled:
            raise LearnerError("metric 'las' needs labelled arcs, but the arcs have no labels; use 'uas'")
        return Report.figure(self, metric)

    def summary(self) -> Mapping[str, Row]:
        """Compute the figures of all words, without punctuation, and of whole sentences.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        return {"all words": self.all, "no punctuation": self.no_punctuation, "sentence accuracy": self.sentences}


def is_punctuation(word: str) -> bool:
    """Whether all characters of a word are punctuation in Unicode."""
    return bool(word) and all(unicodedata.category(c).startswith("P") for c in word)


def attachment(
    words: Sequence[Sequence[str]],
    gold: Sequence[tuple[Sequence[int], Sequence[str] | None]],
    predicted: Sequence[tuple[Sequence[int], Sequence[str] | None]],
    *,
    subtypes: bool = True,
) -> AttachmentReport:
    """Compare dependency trees.

    Parameters
    ----------
    words
        Words of each sentence.
    gold
        Heads and labels (None: no labels) of each gold tree.
    predicted
        Heads and labels of each predicted tree.
    subtypes
        Whether labels are compared with subtypes; False: ``nsubj:pass`` counts as ``nsubj``.

    Returns
    -------
    AttachmentReport
        Unlabelled and labelled attachment scores.

    Examples
    --------
    >>> from trellis.evaluation.attachment import attachment
    >>> report = attachment([["dogs", "bark"]], [([2, 0], ["nsubj", "root"])], [([2, 0], ["obj", "root"])])
    >>> report.uas, report.las
    (1.0, 0.5)
    """
    corpus = from_mapping({"word": words}, None)
    for trees in (gold, predicted):
        if [len(heads) for heads, _ in trees] != np.diff(corpus.starts).tolist():
            raise ArgumentError("gold and predicted trees are of different sentences; compare the same sentences")

    def flat(trees: Sequence[tuple[Sequence[int], Sequence[str] | None]]) -> tuple[Ints, list[str] | None]:
        heads = np.array([head for heads_of, _ in trees for head in heads_of], np.int32)
        if any(labels is None for _, labels in trees):
            return heads, None
        return heads, [label for _, labels in trees for label in labels or ()]

    return attachment_of(corpus.starts, corpus.column("word"), flat(gold), flat(predicted), subtypes=subtypes)


def attachment_of(
    starts: Longs,
    words: Column,
    gold: tuple[Ints, Sequence[str] | None],
    predicted: tuple[Ints, Sequence[str] | None],
    *,
    subtypes: bool = True,
) -> AttachmentReport:
    """The same on flat arrays over sentences that begin at starts [n_sentences + 1]."""
    punctuation = np.array([is_punctuation(word) for word in words.values], bool)[words.codes]
    right = np.asarray(gold[0] == predicted[0])
    correct, labels = right, np.empty(0, object)
    if is_labelled := gold[1] is not None and predicted[1] is not None:
        labels, others = (_cut(side[1] or (), subtypes) for side in (gold, predicted))
        correct = right & (labels == others)

    def score(mask: Bools) -> AttachmentScore:
        return AttachmentScore(int(mask.sum()), int(right[mask].sum()), int(correct[mask].sum()))

    rows = {label: score(labels == label) for label in sorted(set(labels.tolist()))}
    return AttachmentReport(
        score(np.ones(len(right), bool)),
        score(~punctuation),
        AttachmentScore(len(starts) - 1, complete_sentences(right, starts), complete_sentences(correct, starts)),
        dict(sorted(rows.items(), key=lambda row: -row[1].support)),
        is_labelled,
    )


def _cut(labels: Sequence[str], subtypes: bool) -> npt.NDArray[np.object_]:
    return np.array(labels if subtypes else [label.partition(":")[0] for label in labels], object)
