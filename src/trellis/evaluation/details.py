"""A tagging looked at closely: by label, what is taken for what, known and new words, spans that match in part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trellis._support.arrays import Bools, Longs
from trellis.corpus.corpus import Column
from trellis.corpus.objects import from_mapping
from trellis.corpus.schemes import guess_scheme
from trellis.evaluation.report import right_tokens, score_figures, score_table
from trellis.evaluation.spans import Score, SpanReading

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Confusion(NamedTuple):
    """A label that was taken for another, and how often."""

    gold: str
    predicted: str
    times: int


@dataclass(frozen=True, slots=True)
class PartialScore:
    """Spans by one of the four ways to count of SemEval 2013, task 9."""

    correct: int
    incorrect: int  # found at the place, but not right
    partial: int  # overlapping, which counts half
    missed: int
    spurious: int

    @property
    def precision(self) -> float:
        """What is right of all that was found."""
        found = self.correct + self.incorrect + self.partial + self.spurious
        return (self.correct + 0.5 * self.partial) / found if found else 0.0

    @property
    def recall(self) -> float:
        """What was found right of all that is there."""
        there = self.correct + self.incorrect + self.partial + self.missed
        return (self.correct + 0.5 * self.partial) / there if there else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Details:
    """What a tagging gets wrong."""

    labels: dict[str, Score]  # in alphabetical order
    confusions: list[Confusion]  # the most frequent first
    n_known: int | None = None  # tokens whose word was seen in training; None where that is not known
    known_accuracy: float | None = None
    unknown_accuracy: float | None = None
    # strict: the same span of the same type; exact: the same span; partial: at least overlapping; type: overlapping and
    # of the same type. None where labels mark no spans.
    partial: dict[str, PartialScore] | None = None

    @property
    def macro_f1(self) -> float:
        """The mean F1 of all labels that occur in gold: rare ones count as much as frequent ones."""
        there = [score.f1 for score in self.labels.values() if score.gold]
        return sum(there) / len(there) if there else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        out: dict[str, Any] = {
            "macro_f1": self.macro_f1,
            "labels": {label: score_figures(score) for label, score in self.labels.items()},
            "confusions": [list(confusion) for confusion in self.confusions],
        }
        if self.n_known is not None:
            words = {"tokens": self.n_known, "accuracy": self.known_accuracy}
            out |= {"known_words": words, "unknown_words": {"accuracy": self.unknown_accuracy}}
        if self.partial is not None:
            figures = {"precision", "recall", "f1"}
            out["partial"] = {
                name: asdict(score) | {figure: getattr(score, figure) for figure in sorted(figures)}
                for name, score in self.partial.items()
            }
        return out

    def plot(self) -> Figure:
        """What is taken for what, as a figure of matplotlib."""
        from trellis.display.figures import confusion_figure

        return confusion_figure(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from trellis.display.models import details_html

        return details_html(self)

    def __str__(self) -> str:
        lines = [f"labels, macro-averaged F1 {100 * self.macro_f1:.2f}", *score_table(self.labels)]
        if self.n_known is not None:
            shares = [(self.known_accuracy, "known"), (self.unknown_accuracy, "unknown")]
            lines += [f"{100 * share:.2f}% of {name} words right" for share, name in shares if share is not None]
        if self.confusions:
            lines.append("taken for one another most often: true label, label given, how often")
            lines += [f"  {gold}  {predicted}  {times}" for gold, predicted, times in self.confusions[:10]]
        if self.partial is not None:
            lines.append("spans, also those that match in part: precision, recall, F1")
            lines += [
                f"  {name:8}{100 * one.precision:7.2f}{100 * one.recall:7.2f}{100 * one.f1:7.2f}"
                for name, one in self.partial.items()
            ]
        return "\n".join(lines)


def details(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, known: Sequence[Sequence[bool]] | None = None
) -> Details:
    """Compare label sequences closely; ``known`` says of each token whether its word was seen in training."""
    both = from_mapping({"gold": gold, "predicted": predicted}, None)
    flat = None if known is None else np.array([one for some in known for one in some], bool)
    return details_of(both.column("gold"), both.column("predicted"), both.starts, known=flat)


def details_of(gold: Column, predicted: Column, starts: Longs, *, known: Bools | None = None) -> Details:
    """The same on columns over sentences that begin at starts [n_sentences + 1]."""
    right = right_tokens(gold, predicted)
    pairs = Counter(zip(gold.tolist(), predicted.tolist(), strict=True))
    wanted, found = Counter(gold.tolist()), Counter(predicted.tolist())
    labels = {label: Score(wanted[label], found[label], pairs[label, label]) for label in sorted({*wanted, *found})}
    wrong = [Confusion(a, b, n) for (a, b), n in pairs.items() if a != b]
    wrong.sort(key=lambda one: (-one.times, one.gold, one.predicted))
    spans = partial_matches(gold, predicted, starts) if guess_scheme(gold.values) is not None else None
    if known is None:
        return Details(labels, wrong, partial=spans)
    seen, new = (float(right[some].mean()) if some.any() else None for some in (known, ~known))
    return Details(labels, wrong, int(known.sum()), seen, new, spans)


def partial_matches(gold: Column, predicted: Column, starts: Longs) -> dict[str, PartialScore]:
    """Spans counted in four ways; a span of one side is held against at most one of the other.

    First those with the same ends are paired, then, from left to right, those that overlap and are still alone.
    """
    sides = list[list[tuple[int, int, str]]]()
    for one, other in ((gold, predicted), (predicted, gold)):
        reading = SpanReading.of(one.values.tolist(), other.values.tolist())
        table = reading.find(one.codes, starts)
        columns = (table.begins.tolist(), table.ends.tolist(), [reading.types[kind] for kind in table.types.tolist()])
        sides.append(list(zip(*columns, strict=True)))
    pairs, alone = _paired(*sides)
    n = {name: Counter[str]() for name in ("strict", "exact", "partial", "type")}
    for (begin, end, kind), (other_begin, other_end, other_kind) in pairs:
        same_ends, same_kind = (begin, end) == (other_begin, other_end), kind == other_kind
        n["strict"]["correct" if same_ends and same_kind else "incorrect"] += 1
        n["exact"]["correct" if same_ends else "incorrect"] += 1
        n["partial"]["correct" if same_ends else "partial"] += 1
        n["type"]["correct" if same_kind else "incorrect"] += 1
    missed, spurious = alone
    return {
        name: PartialScore(one["correct"], one["incorrect"], one["partial"], missed, spurious)
        for name, one in n.items()
    }


Span = tuple[int, int, str]


def _paired(gold: list[Span], found: list[Span]) -> tuple[list[tuple[Span, Span]], tuple[int, int]]:
    """Pairs of spans, and how many of each side have none; spans of a side do not overlap and are sorted."""
    at: Mapping[tuple[int, int], Span] = {(begin, end): (begin, end, kind) for begin, end, kind in gold}
    pairs = [(at[one[0], one[1]], one) for one in found if (one[0], one[1]) in at]
    taken = {(begin, end) for (begin, end, _), _ in pairs}
    left = [one for one in gold if (one[0], one[1]) not in taken]
    rest = [one for one in found if (one[0], one[1]) not in taken]
    i = 0
    n_rest = 0  # of those found that have no partner
    for one in rest:
        while i < len(left) and left[i][1] <= one[0]:
            i += 1
        if i < len(left) and left[i][0] < one[1]:
            pairs.append((left[i], one))
            i += 1
        else:
            n_rest += 1
    return pairs, (len(gold) - len(pairs), n_rest)
