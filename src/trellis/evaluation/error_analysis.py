"""Error analysis of a tagging: labels, confusions, known and unknown words, partial matches of spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from trellis._support.arrays import Bools, Longs
from trellis.corpus.corpus import Column
from trellis.corpus.objects import from_mapping
from trellis.corpus.schemes import guess_scheme
from trellis.display.charts import confusion_chart
from trellis.display.html import Number
from trellis.display.svg import Picture
from trellis.display.tables import Figure, Row, Table
from trellis.evaluation.report import Report
from trellis.evaluation.scores import Score, macro_average, matched_spans
from trellis.evaluation.tagging import label_scores, right_tokens


class Confusion(NamedTuple):
    """A gold label, the label predicted instead, and how often.

    Attributes
    ----------
    gold
        Gold label.
    predicted
        Predicted label.
    times
        Number of tokens.
    """

    gold: str
    predicted: str
    times: int


@dataclass(frozen=True, slots=True)
class PartialScore:
    """Counts of spans under one of the four schemes of SemEval 2013, task 9.

    Attributes
    ----------
    correct
        Number of correct spans.
    incorrect
        Number of spans at a gold position that are not correct.
    partial
        Number of overlapping spans, which count half.
    missed
        Number of gold spans without a prediction.
    spurious
        Number of predicted spans without a gold span.
    """

    correct: int
    incorrect: int
    partial: int
    missed: int
    spurious: int

    @property
    def score(self) -> Score:
        """Precision, recall and F1; counts are in halves."""
        pairs = self.correct + self.incorrect + self.partial
        return Score(2 * (pairs + self.missed), 2 * (pairs + self.spurious), 2 * self.correct + self.partial)

    def to_dict(self) -> dict[str, float]:
        """Convert to plain data.

        Returns
        -------
        dict[str, float]
            Counts, precision, recall and F1.
        """
        return {**asdict(self), **{name: getattr(self.score, name) for name in ("precision", "recall", "f1")}}


@dataclass(frozen=True, slots=True, repr=False)
class ErrorAnalysis(Report):
    """Errors of a tagging: scores of labels, confusions, known and unknown words, partial matches of spans.

    Attributes
    ----------
    rows
        Scores by label, in alphabetical order.
    confusions
        Confusions, most frequent first.
    partial
        Scores of spans; strict: same span and type; exact: same span; partial: overlap; type: overlap with the same
        type. None if labels encode no spans.
    known_words
        Accuracy of tokens whose word occurred in training; None if there are none.
    unknown_words
        Accuracy of other tokens; None if there are none.
    """

    rows: Mapping[str, Score]
    confusions: list[Confusion]
    partial: dict[str, PartialScore] | None
    known_words: Figure | None = None
    unknown_words: Figure | None = None
    counts: ClassVar[tuple[str, ...]] = ("n_tokens",)
    metrics: ClassVar[Mapping[str, str]] = {"auto": "macro_f1"}

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return sum(score.gold for score in self.rows.values())

    @property
    def macro_f1(self) -> float:
        """Mean F1 of all labels."""
        return macro_average(self.rows.values())["f1"]

    def summary(self) -> Mapping[str, Row]:
        """Compute the macro average, and the accuracy of known and unknown words.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        words = {"known words": self.known_words, "unknown words": self.unknown_words}
        figures = {name: figure for name, figure in words.items() if figure is not None}
        return {"macro avg": macro_average(self.rows.values()), **figures}

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Returns
        -------
        dict[str, Any]
            All figures.
        """
        partial = {name: score.to_dict() for name, score in (self.partial or {}).items()}
        confusions = {"confusions": [list(confusion) for confusion in self.confusions]}
        return {**Report.to_dict(self), **confusions, **({} if self.partial is None else {"partial": partial})}

    def _tables(self) -> Iterable[tuple[str, Table | None]]:
        yield from Report._tables(self)
        if self.confusions:
            rows = [(gold, predicted, Number(times)) for gold, predicted, times in self.confusions[:10]]
            yield "most frequent confusions", Table(("gold", "predicted", "count"), [rows])
        if self.partial is not None:
            yield "partial matches of spans", Table.of(("precision", "recall", "f1"), self.partial)

    def worst_labels(self, most: int) -> list[str]:
        """List the labels with most errors, as gold or predicted label.

        Parameters
        ----------
        most
            Maximum number of labels.

        Returns
        -------
        list[str]
            The labels in alphabetical order.
        """
        wrong = Counter[str]()
        for gold, predicted, times in self.confusions:
            wrong.update({gold: times})
            wrong.update({predicted: times})
        return sorted(sorted(wrong, key=lambda label: (-wrong[label], label))[:most])

    def plot(self) -> Picture:
        """Plot the confusion matrix.

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        return confusion_chart(self)


def error_analysis(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, known: Sequence[Sequence[bool]] | None = None
) -> ErrorAnalysis:
    """Analyse the errors of label sequences.

    Parameters
    ----------
    gold
        Gold labels of each sentence.
    predicted
        Predicted labels of each sentence.
    known
        For each token whether its word occurred in training.

    Returns
    -------
    ErrorAnalysis
        The analysis.

    Examples
    --------
    >>> from trellis.evaluation.error_analysis import error_analysis
    >>> error_analysis([["D", "N"]], [["D", "V"]]).confusions
    [Confusion(gold='N', predicted='V', times=1)]
    """
    both = from_mapping({"gold": gold, "predicted": predicted}, None)
    flat = None if known is None else np.array([value for values in known for value in values], bool)
    return error_analysis_of(both.column("gold"), both.column("predicted"), both.starts, known=flat)


def error_analysis_of(gold: Column, predicted: Column, starts: Longs, *, known: Bools | None = None) -> ErrorAnalysis:
    """The same on columns over sentences that begin at starts [n_sentences + 1]."""
    right = right_tokens(gold, predicted)
    pairs = Counter(zip(gold.tolist(), predicted.tolist(), strict=True))
    labels = label_scores(gold, predicted, right)
    wrong = [Confusion(a, b, n) for (a, b), n in pairs.items() if a != b]
    wrong.sort(key=lambda error: (-error.times, error.gold, error.predicted))
    spans = partial_matches(gold, predicted, starts) if guess_scheme(gold.values) is not None else None
    groups = [] if known is None else [known, ~known]
    words = [Figure(float(right[group].mean()), int(group.sum())) if group.any() else None for group in groups]
    return ErrorAnalysis(labels, wrong, spans, *words)


def partial_matches(gold: Column, predicted: Column, starts: Longs) -> dict[str, PartialScore]:
    """Count spans in four ways; each span is paired with at most one span of the other side.

    Spans with the same boundaries are paired first, then overlapping unpaired spans from left to right.
    """
    _, *tables, _ = matched_spans(gold, predicted, starts)
    sides = [list(zip(*map(np.ndarray.tolist, (t.begins, t.ends, t.types)), strict=True)) for t in tables]
    pairs, (missed, spurious) = _paired(*sides)
    n = {name: Counter[str]() for name in ("strict", "exact", "partial", "type")}
    for (begin, end, kind), (other_begin, other_end, other_kind) in pairs:
        same_ends, same_kind = (begin, end) == (other_begin, other_end), kind == other_kind
        n["strict"]["correct" if same_ends and same_kind else "incorrect"] += 1
        n["exact"]["correct" if same_ends else "incorrect"] += 1
        n["partial"]["correct" if same_ends else "partial"] += 1
        n["type"]["correct" if same_kind else "incorrect"] += 1
    return {
        name: PartialScore(n_errors["correct"], n_errors["incorrect"], n_errors["partial"], missed, spurious)
        for name, n_errors in n.items()
    }


Span = tuple[int, int, int]  # first token, last token + 1, type


def _paired(gold: list[Span], predicted: list[Span]) -> tuple[list[tuple[Span, Span]], tuple[int, int]]:
    """Pairs of spans, and the numbers of unpaired spans; the spans of each side are sorted and do not overlap."""
    at: Mapping[tuple[int, int], Span] = {(begin, end): (begin, end, kind) for begin, end, kind in gold}
    pairs = [(at[span[0], span[1]], span) for span in predicted if (span[0], span[1]) in at]
    positions = {(begin, end) for (begin, end, _), _ in pairs}
    left = [span for span in gold if (span[0], span[1]) not in positions]
    unpaired = [span for span in predicted if (span[0], span[1]) not in positions]
    i = 0
    n_rest = 0  # of unpaired predicted spans
    for span in unpaired:
        while i < len(left) and left[i][1] <= span[0]:
            i += 1
        if i < len(left) and left[i][0] < span[1]:
            pairs.append((left[i], span))
            i += 1
        else:
            n_rest += 1
    return pairs, (len(gold) - len(pairs), n_rest)
