"""All figures of one evaluation: to print, to keep as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis._support.arrays import Bools, Longs
from trellis._support.errors import CorpusError, LearnerError
from trellis.corpus.corpus import Column
from trellis.corpus.objects import from_mapping
from trellis.corpus.schemes import guess_scheme
from trellis.evaluation.parts import Parts, PartScores, part_scores
from trellis.evaluation.spans import Score, SpanScores, span_scores


def right_tokens(gold: Column, predicted: Column) -> Bools:
    """Which tokens have the label they should have: [n_tokens]."""
    # Predicted codes in the words of the gold column; -1 for a label that gold never has.
    code_of = {label: code for code, label in enumerate(gold.values)}
    renamed = np.array([code_of.get(label, -1) for label in predicted.values] or [-1], np.int64)
    return np.asarray(gold.codes == renamed[predicted.codes])


def token_accuracy(right: Bools) -> float:
    """The share of tokens that are right, 0 if there are none."""
    return float(right.mean()) if len(right) else 0.0


def sentence_accuracy(right: Bools, starts: Longs) -> float:
    """The share of sentences without a mistake, 0 if there are none; starts [n_sentences + 1]."""
    if len(starts) < 2:
        return 0.0
    mistakes = np.concatenate([[0], np.cumsum(~right)])
    return float((mistakes[starts[1:]] == mistakes[starts[:-1]]).mean())


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """How good a tagging is."""

    n_sentences: int
    n_tokens: int
    token_accuracy: float
    sentence_accuracy: float
    spans: SpanScores | None  # None where labels mark no spans
    parts: PartScores | None = None  # None where labels have no parts

    @property
    def headline(self) -> float:
        """The one figure by which epochs are compared: span F1 where there are spans, else token accuracy."""
        return self.token_accuracy if self.spans is None else self.spans.micro.f1

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain dicts, ready for JSON."""
        figures: dict[str, Any] = {
            "n_sentences": self.n_sentences,
            "n_tokens": self.n_tokens,
            "token_accuracy": self.token_accuracy,
            "sentence_accuracy": self.sentence_accuracy,
        }
        if self.spans is not None:
            figures["spans"] = {
                **score_figures(self.spans.micro),
                "types": {name: score_figures(score) for name, score in self.spans.types.items()},
            }
        if self.parts is not None:
            features = {name: score_figures(score) for name, score in self.parts.features.items()}
            figures["parts"] = {"accuracy": self.parts.accuracy, "features": features}
        return figures

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from trellis.display.models import report_html

        return report_html(self)

    def __str__(self) -> str:
        if not self.n_tokens:
            return "no tokens to evaluate"
        lines = [
            f"sentences {self.n_sentences}, {100 * self.sentence_accuracy:.2f}% without a mistake",
            f"tokens    {self.n_tokens}, {100 * self.token_accuracy:.2f}% right",
        ]
        if self.spans is not None:
            lines += score_table({"all spans": self.spans.micro, **self.spans.types})
        if self.parts is not None:
            width = max(map(len, self.parts.accuracy))
            lines += [f"  {name:{width}}  {100 * share:.2f}% right" for name, share in self.parts.accuracy.items()]
            lines += score_table(self.parts.features)
        return "\n".join(lines)


def _span_f1(report: Report) -> float:
    if report.spans is None:
        raise LearnerError("labels of the dev corpus mark no spans; choose another metric")
    return report.spans.micro.f1


# The figures by which epochs can be compared.
METRICS: dict[str, Callable[[Report], float]] = {
    "auto": lambda report: report.headline,
    "token": lambda report: report.token_accuracy,
    "sentence": lambda report: report.sentence_accuracy,
    "span": _span_f1,
}


def evaluate(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    spans: bool | None = None,
    label_parts: str | None = None,
) -> Report:
    """Compare label sequences; ``spans`` None: count spans if gold labels are of a scheme such as IOB2.

    ``label_parts`` is what separates the parts of a label (``|`` in ``NOUN|Number=Sing``); they are counted too.
    """
    both = from_mapping({"gold": gold, "predicted": predicted}, None)
    parts = Parts.of_column("gold", both.columns, label_parts)
    return evaluate_columns(both.column("gold"), both.column("predicted"), both.starts, spans=spans, parts=parts)


def evaluate_columns(
    gold: Column, predicted: Column, starts: Longs, *, spans: bool | None = None, parts: Parts | None = None
) -> Report:
    """The same on columns over sentences that begin at starts [n_sentences + 1]."""
    if len(gold.codes) != len(predicted.codes):
        why = f"{len(gold.codes)} gold labels, {len(predicted.codes)} predicted; compare the same sentences"
        raise CorpusError("", None, why)
    if spans is None:
        spans = guess_scheme(gold.values) is not None
    right = right_tokens(gold, predicted)
    return Report(
        len(starts) - 1,
        len(right),
        token_accuracy(right),
        sentence_accuracy(right, starts),
        span_scores(gold, predicted, starts) if spans else None,
        None if parts is None else part_scores(gold, predicted, parts),
    )


def score_figures(score: Score) -> dict[str, float]:
    """The figures as a plain dict, ready for JSON."""
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "gold": score.gold,
        "predicted": score.predicted,
        "correct": score.correct,
    }


def score_table(scores: Mapping[str, Score]) -> list[str]:
    """The lines of a table, one row per name; none where there are no names."""
    if not scores:
        return []
    width = max(map(len, scores))
    return ["", f"{'':{width}}  precision  recall      F1    gold   found   right"] + [
        f"{name:{width}}  {100 * one.precision:9.2f}  {100 * one.recall:6.2f}  {100 * one.f1:6.2f}"
        f"  {one.gold:6}  {one.predicted:6}  {one.correct:6}"
        for name, one in scores.items()
    ]
