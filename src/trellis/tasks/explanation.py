"""Explanations of predictions: a score is a sum of weights, and an explanation lists its terms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from trellis._support.arguments import whole_number


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a score: a feature and its weight.

    Attributes
    ----------
    feature
        ``word[0]=the``, ``label[-1] & word[0]=the``; ``label[-1]`` of label pairs.
    weight
        Weight times the value of the feature, which is 1 unless it was set.
    where
        (token,); of an arc (head, dependent), counted from 1 with 0 for the root; of a phrase (first word, word after
        the last); () of a whole output.
    label
        ``B-NP``, ``O B-NP`` of a label pair, or a part of a label; of an arc its label, of a phrase its rule.
    """

    feature: str
    weight: float
    where: tuple[int, ...] = ()
    label: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Returns
        -------
        dict[str, Any]
            The fields by name.
        """
        return {"feature": self.feature, "weight": finite(self.weight), "where": list(self.where), "label": self.label}


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The best output, the terms of its score, and the second-best output.

    Attributes
    ----------
    output
        The best output.
    score
        Its score.
    terms
        The terms that sum to the score.
    second
        The second-best output; None if there is only one.
    """

    output: Any
    score: float
    terms: list[Term]
    second: Explanation | None = None

    @property
    def gap(self) -> float:
        """Score of the best output less that of the second; infinite if there is only one."""
        return float("inf") if self.second is None else self.score - self.second.score

    @property
    def difference(self) -> list[Term]:
        """Terms of only one of both outputs, those of the second negated; largest first."""
        return [] if self.second is None else difference(self.terms, self.second.terms)

    def to_dict(self, *, n_terms: int | None = None) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Parameters
        ----------
        n_terms
            Number of terms per list, largest first (None: all).

        Returns
        -------
        dict[str, Any]
            A nested dict.
        """
        second = None if self.second is None else self.second.to_dict(n_terms=n_terms)
        terms = {"terms": plain_terms(self.terms, n_terms), "difference": plain_terms(self.difference, n_terms)}
        result = {"output": plain_output(self.output), "score": finite(self.score)}
        return {**result, **terms, "second": second, "gap": finite(self.gap)}

    def text(self, *, n_terms: int = 20) -> str:
        """Format as text: the largest terms of the score, and the difference to the second-best output.

        Parameters
        ----------
        n_terms
            Number of terms per list.

        Returns
        -------
        str
            Several lines.
        """
        lines = [output_text(self.output), f"score {self.score:.4f}", *term_lines(self.terms, n_terms)]
        if self.second is not None:
            lines += ["", f"score difference to {output_text(self.second.output)}: {self.gap:.4f}"]
            lines += term_lines(self.difference, n_terms)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text(n_terms=5)

    def _repr_html_(self) -> str:
        from trellis.display.models import explanation_html

        return explanation_html(self)


def difference(first: Iterable[Term], second: Iterable[Term]) -> list[Term]:
    """The terms of one output minus those of another; common terms cancel."""
    left, right = Counter(first), Counter(second)
    negated = [
        Term(term.feature, -term.weight, term.where, term.label) for term in (right - left).elements() if term.weight
    ]
    return heaviest_first([*(left - right).elements(), *negated])


def heaviest_first(terms: Iterable[Term]) -> list[Term]:
    """Sort terms by absolute weight."""
    return sorted(terms, key=lambda term: (-abs(term.weight), term.where, term.feature, term.label))


def output_text(output: Any) -> str:
    """Format an output in one line; a dependency tree as words with their heads."""
    if hasattr(output, "heads"):
        names = ["ROOT", *output.words]
        return " ".join(f"{word}<-{names[head]}" for word, head in zip(output.words, output.heads, strict=True))
    return " ".join(map(str, output)) if isinstance(output, list) else " ".join(str(output).split())


def plain_output(output: Any) -> Any:
    """An output as plain data, ready for JSON: labels, words, heads with labels, a document, a tree in brackets."""
    if isinstance(output, list):
        return output
    if hasattr(output, "to_json"):
        return output.to_json()
    return output.to_dict() if hasattr(output, "to_dict") else str(output)


def plain_terms(terms: Iterable[Term], n: int | None = None) -> list[dict[str, Any]]:
    """Terms as plain data; with ``n`` only the n largest."""
    selected = terms if n is None else heaviest_first(terms)[: whole_number("n_terms", n, 0)]
    return [term.to_dict() for term in selected]


def finite(number: float) -> float | None:
    """The number, or None if it is infinite, as JSON has no infinity."""
    return number if math.isfinite(number) else None


def term_lines(terms: Iterable[Term], n: int) -> list[str]:
    """Format the n largest terms, one per line, and the sum of the others."""
    ranked = heaviest_first(terms)
    lines = [
        f"  {term.weight:+9.4f}  {' '.join(map(str, term.where))}  {term.feature}"
        + (f" with {term.label}" if term.label else "")
        for term in ranked[:n]
    ]
    if len(ranked) > n:
        lines.append(f"  {sum(term.weight for term in ranked[n:]):+9.4f}  {len(ranked) - n} more")
    return lines


def explanation_of(ranked: Iterable[tuple[Any, float, list[Term]]]) -> Explanation:
    """Explain the best of one or more outputs; outputs come with scores and terms, best first."""
    best = None
    for output, score, terms in reversed([*ranked]):
        best = Explanation(output, score, terms, best)
    assert best is not None
    return best
