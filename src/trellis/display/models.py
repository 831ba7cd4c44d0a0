"""Taggers, explanations and k-best lists as pieces of a page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from trellis.display.html import Html, bar, colours_of, element, piece, table
from trellis.display.texts import mark

if TYPE_CHECKING:
    from trellis.tasks.tagging.explain import TokenExplanation

SHOWN_WEIGHTS, SHOWN_LABELS, SHOWN_TERMS = 12, 3, 8


def model_html(model: Any) -> str:
    """What a model is: what it reads and gives, how it was trained."""
    facts = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in model.summary().items()]
    return piece(element("b", type(model).__name__), table(facts))


def explanation_html(found: Any) -> str:
    """Why an output is the best: per token what speaks for and against, and why it beats the next."""
    tokens = getattr(found, "tokens", [])
    colours = colours_of(token.label for token in tokens)
    line = [mark(token.token, token.label, colours[token.label], None) for token in tokens]
    parts: list[Html] = [element("p", *(part for one in line for part in (one, " ")))]
    if not tokens:
        parts = [element("p", f"{found.output}, score {found.score:.3f}"), _terms_table(found.terms, tokens)]
    if found.second is not None:
        other = found.second.output
        shown = " ".join(map(str, other)) if isinstance(other, list) else str(other)
        why = f"beats the second, {shown}, by {found.gap:.3f}"
        parts.append(element("details", element("summary", why), _terms_table(found.difference, tokens), open="open"))
    parts += [_token(token) for token in tokens]
    return piece(*parts)


def _terms_table(terms: Sequence[Any], tokens: Sequence[Any]) -> Html:
    ranked = sorted(terms, key=lambda term: -abs(term.weight))[: 2 * SHOWN_TERMS]
    rows = [
        (
            tokens[term.where[0]].token if tokens else " ".join(map(str, term.where)),
            term.feature,
            term.label,
            bar(term.weight, abs(ranked[0].weight)),
        )
        for term in ranked
    ]
    return table(rows, ("where", "feature", "with", "weight"))


def _token(token: TokenExplanation) -> Html:
    rows = list[tuple[object, ...]]()
    for label in list(token.scores)[:SHOWN_LABELS]:
        terms = token.terms[label][:SHOWN_TERMS]
        greatest = max((abs(term.weight) for term in terms), default=0.0)
        weights = table([(term.feature, bar(term.weight, greatest)) for term in terms])
        rows.append((label, f"{token.scores[label]:+.3f}", weights))
    rows += [(term.label, term.feature, f"{term.weight:+.3f}") for term in token.transitions]
    return element("details", element("summary", f"{token.token}: {token.label}"), table(rows))


def paths_html(outputs: Sequence[tuple[Any, float]]) -> str:
    """The k best outputs; where label sequences differ from the best is marked."""
    if not all(isinstance(output, list) for output, _ in outputs):
        return piece(table([(i, f"{score:.4f}", str(y)) for i, (y, score) in enumerate(outputs, 1)], ("", "score")))
    colours = colours_of(label for labels, _ in outputs for label in labels)
    rows = []
    for rank, (labels, score) in enumerate(outputs, start=1):
        same = [label == other for label, other in zip_longest(labels, outputs[0][0])][: len(labels)]
        cells = [
            label if alike else element("mark", label, style=f"background:{colours[label]}")
            for label, alike in zip(labels, same, strict=True)
        ]
        rows.append((rank, f"{score:.4f}", *cells))
    return piece(table(rows, ("", "score")))
