"""Evaluation of label sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np

from trellis._support.arrays import Bools, Longs
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import JOINT, Column, columns_named
from trellis.corpus.label_parts import check_separator
from trellis.corpus.objects import from_mapping
from trellis.corpus.schemes import guess_scheme
from trellis.display.tables import Figure, Row
from trellis.evaluation.scores import Score, ScoreReport, macro_average, span_scores


class PartNames(NamedTuple):
    """Separator of label parts, and names of the first part and of the others."""

    separator: str
    names: tuple[str, ...] = ("first part", "other parts")

    @classmethod
    def of_column(cls, name: str, columns: Container[str], separator: str | None) -> PartNames | None:
        """As ``separator`` says; of two columns as one (``upos+feats``) without it, by their names."""
        names = columns_named(name, columns)
        if separator in (None, JOINT) and len(names) == 2:
            return cls(JOINT, names)
        return None if separator is None else cls(check_separator(separator))


def part_scores(gold: Column, predicted: Column, by: PartNames) -> tuple[dict[str, float], dict[str, Score]]:
    """Accuracy of the first part of labels and of all others together, as CoNLL 2018's scorer counts UPOS and UFeats,
    and scores of every feature by name.

    A feature is found if the predicted label has its name (``Case``), and correct if it has its value too; a part
    without a value (``Case`` alone) is its own name.
    """
    pairs = np.array([gold.codes, predicted.codes], np.int64)  # [2, n_tokens]
    different, counts = np.unique(pairs, axis=1, return_counts=True)
    right = [0, 0]
    truth, guess, correct = Counter[str](), Counter[str](), Counter[str]()
    for (g, p), n in zip(different.T.tolist(), counts.tolist(), strict=True):
        (first, *rest), (guessed, *others) = (
            side.values[i].split(by.separator) for side, i in ((gold, g), (predicted, p))
        )
        right[0] += n * (first == guessed)
        right[1] += n * (rest == others)
        for counter, parts in ((truth, rest), (guess, others), (correct, set(rest) & set(others))):
            for part in parts:
                counter[part.partition("=")[0]] += n
    total = max(1, len(gold.codes))
    features = {name: Score(truth[name], guess[name], correct[name]) for name in sorted(truth | guess)}
    return {name: n / total for name, n in zip(by.names, right, strict=True)}, features


def right_tokens(gold: Column, predicted: Column) -> Bools:
    """Mask of tokens with the correct label: [n_tokens]."""
    # Predicted codes in the numbering of the gold column; -1 for labels that do not occur in gold.
    code_of = {label: code for code, label in enumerate(gold.values)}
    renamed = np.array([code_of.get(label, -1) for label in predicted.values] or [-1], np.int64)
    return np.asarray(gold.codes == renamed[predicted.codes])


def complete_sentences(right: Bools, starts: Longs) -> int:
    """The number of sentences with only correct tokens; starts [n_sentences + 1]."""
    mistakes = np.concatenate([[0], np.cumsum(~right)])
    return int((mistakes[starts[1:]] == mistakes[starts[:-1]]).sum())


def label_scores(gold: Column, predicted: Column, correct: Bools) -> dict[str, Score]:
    """Scores of every label that occurs, in alphabetical order; correct [n_tokens]."""
    counts = [
        dict(zip(side.values.tolist(), np.bincount(codes, minlength=len(side.values)).tolist(), strict=True))
        for side, codes in ((gold, gold.codes), (predicted, predicted.codes), (gold, gold.codes[correct]))
    ]
    scores = {label: Score(*(count.get(label, 0) for count in counts)) for label in sorted({*counts[0], *counts[1]})}
    return {label: score for label, score in scores.items() if score.gold or score.predicted}


@dataclass(frozen=True, slots=True, repr=False)
class TaggingReport(ScoreReport):
    """Accuracy of label sequences, and precision, recall and F1 of spans or labels.

    Attributes
    ----------
    n_sentences
        Number of sentences.
    n_tokens
        Number of tokens.
    token_accuracy
        Fraction of tokens with the correct label.
    sentence_accuracy
        Fraction of sentences with all labels correct.
    micro
        Score of all spans; without spans of all tokens, where precision, recall and F1 equal the token accuracy.
    rows
        Scores by type of span, by feature of labels with parts, or by label.
    has_spans
        Whether labels encode spans.
    part_accuracy
        Accuracy of the first part of labels and of the others; empty without parts.
    """

    n_sentences: int
    n_tokens: int
    token_accuracy: float
    sentence_accuracy: float
    micro: Score
    rows: Mapping[str, Score]
    has_spans: bool
    part_accuracy: Mapping[str, float]
    counts: ClassVar[tuple[str, ...]] = ("n_sentences", "n_tokens")
    metrics: ClassVar[Mapping[str, str]] = {
        "auto": "f1",
        "token": "token_accuracy",
        "sentence": "sentence_accuracy",
        "span": "span_f1",
    }

    @property
    def name(self) -> str:
        """Name of the headline figure: span F1 if labels encode spans, else token accuracy."""
        return "F1" if self.has_spans else "accuracy"

    @property
    def accuracy(self) -> float:
        """Token accuracy."""
        return self.token_accuracy

    @property
    def span_f1(self) -> float:
        """F1 of spans; raises LearnerError if labels encode none."""
        if not self.has_spans:
            raise LearnerError(
                "metric 'span' needs span labels such as B-NP, but the dev corpus has none; choose another metric"
            )
        return self.f1

    def summary(self) -> Mapping[str, Row]:
        """Compute averages and accuracies.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        n, micro = self.n_tokens, ScoreReport.summary(self) if self.has_spans else {}
        macro = {} if self.part_accuracy else {"macro avg": macro_average(self.rows.values())}
        parts = {f"{name} accuracy": Figure(share, n) for name, share in self.part_accuracy.items()}
        tokens = {"token accuracy": Figure(self.token_accuracy, n)}
        sentences = {"sentence accuracy": Figure(self.sentence_accuracy, self.n_sentences)}
        return {**micro, **macro, **parts, **tokens, **sentences}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RerankingReport(TaggingReport):
    """Report of a reranker, with summary rows of the tagger alone and of the oracle.

    Attributes
    ----------
    first
        Report of the tagger's own choice.
    oracle
        Report of the candidates with the lowest cost.
    n_sentences
        Number of sentences.
    n_tokens
        Number of tokens.
    token_accuracy
        Fraction of tokens with the correct label.
    sentence_accuracy
        Fraction of sentences with all labels correct.
    micro
        Score of all spans, or of all tokens.
    rows
        Scores by type of span, by feature of labels with parts, or by label.
    has_spans
        Whether labels encode spans.
    part_accuracy
        Accuracy of the first part of labels and of the others; empty without parts.
    """

    first: TaggingReport
    oracle: TaggingReport

    @classmethod
    def of(cls, chosen: TaggingReport, first: TaggingReport, oracle: TaggingReport) -> RerankingReport:
        """Join the reports of three choices from the same lists.

        Parameters
        ----------
        chosen
            Report of the reranker.
        first
            Report of the tagger.
        oracle
            Report of the candidates with the lowest cost.

        Returns
        -------
        RerankingReport
            The joint report.
        """
        figures = {field.name: getattr(chosen, field.name) for field in fields(TaggingReport)}
        return cls(**figures, first=first, oracle=oracle)

    def summary(self) -> Mapping[str, Row]:
        """Compute averages and accuracies of the reranker, and the headline figures of tagger and oracle.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        return {**TaggingReport.summary(self), "tagger": self.first.micro, "oracle": self.oracle.micro}


def evaluate(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    spans: bool | None = None,
    label_parts: str | None = None,
) -> TaggingReport:
    """Compare label sequences.

    Parameters
    ----------
    gold
        Gold labels of each sentence.
    predicted
        Predicted labels of each sentence.
    spans
        Whether to score spans (default: if gold labels are of a scheme such as IOB2).
    label_parts
        Separator of the parts of labels, such as ``|`` in ``NOUN|Number=Sing``; parts are then scored too.

    Returns
    -------
    TaggingReport
        Accuracy, and precision, recall and F1 of spans or of labels.

    Examples
    --------
    >>> import trellis
    >>> report = trellis.evaluate([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "B-VP"]])
    >>> report.micro
    Score(gold=1, predicted=2, correct=1)
    >>> report.token_accuracy
    0.6666666666666666
    """
    both = from_mapping({"gold": gold, "predicted": predicted}, None)
    parts = PartNames.of_column("gold", both.columns, label_parts)
    return evaluate_columns(both.column("gold"), both.column("predicted"), both.starts, spans=spans, parts=parts)


def evaluate_columns(
    gold: Column, predicted: Column, starts: Longs, *, spans: bool | None = None, parts: PartNames | None = None
) -> TaggingReport:
    """The same on columns over sentences that begin at starts [n_sentences + 1]."""
    if len(gold.codes) != len(predicted.codes):
        reason = f"{len(gold.codes)} gold labels, {len(predicted.codes)} predicted; compare the same sentences"
        raise CorpusError("", None, reason)
    if spans is None:
        spans = guess_scheme(gold.values) is not None
    right = right_tokens(gold, predicted)
    micro, rows = Score(len(right), len(right), int(right.sum())), dict[str, Score]()
    if spans:
        micro, rows = span_scores(gold, predicted, starts)
    elif parts is None:
        rows = label_scores(gold, predicted, right)
    part_accuracy, features = ({}, {}) if parts is None else part_scores(gold, predicted, parts)
    return TaggingReport(
        len(starts) - 1,
        len(right),
        float(right.mean()) if len(right) else 0.0,
        complete_sentences(right, starts) / max(1, len(starts) - 1),
        micro,
        {**rows, **features},
        spans,
        part_accuracy,
    )
