"""How good label sequences are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trellis._support.arrays import Bools, Longs
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import Column
from trellis.corpus.objects import from_mapping
from trellis.corpus.schemes import guess_scheme
from trellis.display.tables import Figure, Row
from trellis.evaluation.parts import Parts, PartScores, part_scores
from trellis.evaluation.scores import Score, ScoreReport, SpanScores, macro_average, span_scores


def right_tokens(gold: Column, predicted: Column) -> Bools:
    """Which tokens have the label they should have: [n_tokens]."""
    # Predicted codes in the words of the gold column; -1 for a label that gold never has.
    code_of = {label: code for code, label in enumerate(gold.values)}
    renamed = np.array([code_of.get(label, -1) for label in predicted.values] or [-1], np.int64)
    return np.asarray(gold.codes == renamed[predicted.codes])


def complete_sentences(right: Bools, starts: Longs) -> int:
    """The number of sentences in which all tokens are right; starts [n_sentences + 1]."""
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
    """How good label sequences are: rows are types of spans, features of labels with parts, or labels."""

    n_sentences: int
    n_tokens: int
    token_accuracy: float
    sentence_accuracy: float
    labels: dict[str, Score]
    spans: SpanScores | None  # None where labels mark no spans
    parts: PartScores | None = None  # None where labels have no parts
    counts: ClassVar[tuple[str, ...]] = ("n_sentences", "n_tokens")
    metrics: ClassVar[Mapping[str, str]] = {
        "auto": "f1",
        "token": "token_accuracy",
        "sentence": "sentence_accuracy",
        "span": "span_f1",
    }

    @property
    def name(self) -> str:
        """Name of the headline figure: span F1 where there are spans, else token accuracy."""
        return "accuracy" if self.spans is None else "F1"

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right label."""
        return self.token_accuracy

    @property
    def micro(self) -> Score:  # type: ignore[override]
        """The counts of all spans, or of all labels, where precision, recall and F1 are the token accuracy."""
        if self.spans is not None:
            return self.spans.micro
        return Score(self.n_tokens, self.n_tokens, sum(score.correct for score in self.labels.values()))

    @property
    def span_f1(self) -> float:
        """F1 of spans; LearnerError where labels mark none."""
        if self.spans is None:
            raise LearnerError("labels of the dev corpus mark no spans; choose another metric")
        return self.spans.micro.f1

    def overall(self) -> Row | Figure:
        """The headline figure as a row: all spans, or token accuracy."""
        return self.micro.to_dict() if self.spans is not None else Figure(self.token_accuracy, self.n_tokens)

    def _scores(self) -> dict[str, Score]:
        if self.spans is None and self.parts is None:
            return self.labels
        return {**(self.spans.types if self.spans else {}), **(self.parts.features if self.parts else {})}

    def rows(self) -> Mapping[str, Row]:
        """Figures by type, feature or label."""
        return {name: score.to_dict() for name, score in self._scores().items()}

    def summary(self) -> Mapping[str, Row | Figure]:
        """Averages and accuracies."""
        averages = {} if self.spans is None else ScoreReport.summary(self)
        if self.parts is None:
            averages = {**averages, "macro avg": macro_average(self._scores().values())}
        parts = {} if self.parts is None else self.parts.accuracy
        return {
            **averages,
            **{f"{name} accuracy": Figure(share, self.n_tokens) for name, share in parts.items()},
            "token accuracy": Figure(self.token_accuracy, self.n_tokens),
            "sentence accuracy": Figure(self.sentence_accuracy, self.n_sentences),
        }


def evaluate(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    spans: bool | None = None,
    label_parts: str | None = None,
) -> TaggingReport:
    """Compare label sequences; ``spans`` None: count spans if gold labels are of a scheme such as IOB2.

    ``label_parts`` is what separates the parts of a label (``|`` in ``NOUN|Number=Sing``); they are counted too.
    """
    both = from_mapping({"gold": gold, "predicted": predicted}, None)
    parts = Parts.of_column("gold", both.columns, label_parts)
    return evaluate_columns(both.column("gold"), both.column("predicted"), both.starts, spans=spans, parts=parts)


def evaluate_columns(
    gold: Column, predicted: Column, starts: Longs, *, spans: bool | None = None, parts: Parts | None = None
) -> TaggingReport:
    """The same on columns over sentences that begin at starts [n_sentences + 1]."""
    if len(gold.codes) != len(predicted.codes):
        why = f"{len(gold.codes)} gold labels, {len(predicted.codes)} predicted; compare the same sentences"
        raise CorpusError("", None, why)
    if spans is None:
        spans = guess_scheme(gold.values) is not None
    right = right_tokens(gold, predicted)
    return TaggingReport(
        len(starts) - 1,
        len(right),
        float(right.mean()) if len(right) else 0.0,
        complete_sentences(right, starts) / max(1, len(starts) - 1),
        label_scores(gold, predicted, right),
        span_scores(gold, predicted, starts) if spans else None,
        None if parts is None else part_scores(gold, predicted, parts),
    )
