"""Taggers, explanations and k-best lists as pieces of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trellis.display.html import Html, bar, colours_of, element, piece, table
from trellis.display.texts import mark

if TYPE_CHECKING:
    from trellis.tasks.tagging.explain import Explanation, TokenExplanation
    from trellis.tasks.tagging.model import Tagger

SHOWN_WEIGHTS, SHOWN_LABELS, SHOWN_TERMS = 12, 3, 8


def tagger_html(tagger: Tagger) -> str:
    """What a tagger is: what it reads and gives, how it was trained, its heaviest weights."""
    model, info = tagger.model, tagger.info
    learner = info.get("learner", {})
    facts: list[tuple[str, object]] = [
        ("labels", f"{tagger.target}: {_some(tagger.labels)}"),
        ("reads", ", ".join(tagger.columns)),
        ("order", str(tagger.order)),
        ("weights", f"{model.weights.n_nonzero:,}"),
    ]
    if learner:
        parameters = ", ".join(f"{name}={value!r}" for name, value in learner.items() if name != "name")
        facts.append(("learner", f"{learner.get('name', '')}({parameters})"))
    if "sentences" in info:
        facts.append(("trained on", f"{info['sentences']:,} sentences, {info['tokens']:,} tokens"))
    scores = [event["dev_score"] for event in info.get("history", []) if "dev_score" in event]
    if scores:
        facts.append(("best score on dev", f"{100 * max(scores):.2f}%"))
    rows = tagger.heaviest(SHOWN_WEIGHTS)
    greatest = max((abs(row.weight) for row in rows), default=0.0)
    weights = table(
        [(row.feature, row.label, bar(row.weight, greatest)) for row in rows], ("feature", "label", "weight")
    )
    folded = element("details", element("summary", f"the {len(rows)} heaviest weights"), weights)
    return piece(element("b", "Tagger"), table(facts), folded)


def explanation_html(found: Explanation) -> str:
    """Why a sentence gets its labels: per token what speaks for and against, and why the best path beats the next."""
    colours = colours_of(token.label for token in found.tokens)
    line = [mark(token.token, token.label, colours[token.label], None) for token in found.tokens]
    parts: list[Html] = [element("p", *(part for one in line for part in (one, " ")))]
    if found.second is not None:
        rows = [
            (
                found.tokens[term.token].token,
                term.feature,
                term.label,
                bar(term.weight, abs(found.difference[0].weight)),
            )
            for term in found.difference[: 2 * SHOWN_TERMS]
        ]
        why = f"the best path beats the second, {' '.join(found.second.labels)}, by {found.gap:.3f}"
        shown = table(rows, ("token", "feature", "with", "weight"))
        parts.append(element("details", element("summary", why), shown, open="open"))
    parts += [_token(token) for token in found.tokens]
    return piece(*parts)


def _token(token: TokenExplanation) -> Html:
    rows = list[tuple[object, ...]]()
    for label in list(token.scores)[:SHOWN_LABELS]:
        terms = token.terms[label][:SHOWN_TERMS]
        greatest = max((abs(term.weight) for term in terms), default=0.0)
        weights = table([(term.feature, bar(term.weight, greatest)) for term in terms])
        rows.append((label, f"{token.scores[label]:+.3f}", weights))
    rows += [(term.label, term.feature, f"{term.weight:+.3f}") for term in token.transitions]
    return element("details", element("summary", f"{token.token}: {token.label}"), table(rows))


def paths_html(paths: Sequence[tuple[list[str], float]]) -> str:
    """The k best label sequences; where they differ from the best is marked."""
    colours = colours_of(label for labels, _ in paths for label in labels)
    rows = []
    for rank, (labels, score) in enumerate(paths, start=1):
        same = [label == other for label, other in zip(labels, paths[0][0], strict=True)]
        cells = [
            label if alike else element("mark", label, style=f"background:{colours[label]}")
            for label, alike in zip(labels, same, strict=True)
        ]
        rows.append((rank, f"{score:.4f}", *cells))
    return piece(table(rows, ("", "score")))


def _some(names: Sequence[str], most: int = 20) -> str:
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
