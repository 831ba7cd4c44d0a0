"""HTML of tagged texts, models, explanations and k-best lists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat, zip_longest
from typing import Any

from trellis._support.errors import ArgumentError
from trellis.display.html import Html, bar, colours_of, element, folded, piece, table

SHOWN_WEIGHTS, SHOWN_LABELS, SHOWN_TERMS = 12, 3, 8


def text_html(tagged: Any) -> str:
    """A ``TaggedText`` as a piece of a page."""
    marks = [_marks(sentence) for sentence in tagged]
    colours = colours_of(name for spans in marks for name, _, _, _ in spans)
    paragraphs = list[Html]()
    for sentence, spans in zip(tagged, marks, strict=True):
        parts, at = list[object](), sentence.tokens[0].start if sentence.tokens else 0
        for name, start, end, probability in spans:
            parts += [tagged.text[at:start], mark(tagged.text[start:end], name, colours[name], probability)]
            at = end
        parts.append(tagged.text[at : sentence.tokens[-1].end] if sentence.tokens else "")
        paragraphs.append(element("p", *parts, dir="auto"))
    return piece(*paragraphs)


def _marks(sentence: Any) -> list[tuple[str, int, int, float | None]]:
    """(label, start, end, probability) of spans, or of tokens if labels encode no spans."""
    if sentence.spans is not None:
        return [(span.label, span.start, span.end, span.confidence) for span in sentence.spans]
    rows = zip(sentence.tokens, sentence.labels, sentence.confidences or repeat(None), strict=False)
    return [(label, token.start, token.end, probability) for token, label, probability in rows]


def mark(words: str, name: str, colour: str, probability: float | None = None) -> Html:
    """Words on a coloured background with their label."""
    share = 1.0 if probability is None else max(0.25, probability)
    style = f"background:color-mix(in srgb,{colour} {100 * share:.0f}%,#f4f4f4)"
    title = {} if probability is None else {"title": f"{name}: {probability:.4f}"}
    return element("mark", words, element("b", name), style=style, **title)


def model_html(model: Any) -> str:
    """HTML of a model: columns and labels, training, and the largest named weights."""
    facts = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in model.summary().items()]
    try:
        weights = [(term.feature, term.label, term.weight) for term in model.top_features(SHOWN_WEIGHTS)]
    except ArgumentError:
        weights = []
    top = folded(f"the {len(weights)} largest weights", _bars(weights, ("feature", "label", "weight")))
    return piece(element("b", type(model).__name__), table(facts), *([top] if weights else []))


def explanation_html(explanation: Any) -> str:
    """HTML of an explanation: features for and against per token, and the difference to the second-best output."""
    tokens = getattr(explanation, "tokens", [])
    colours = colours_of(token.label for token in tokens)
    marks = [mark(token.token, token.label, colours[token.label]) for token in tokens]
    parts = [element("p", Html(" ".join(marks)))]
    if not tokens:
        parts = [element("p", f"{explanation.output}, score {explanation.score:.3f}"), _terms(explanation.terms, [])]
    if explanation.second is not None:
        other = explanation.second.output
        text = " ".join(map(str, other)) if isinstance(other, list) else str(other)
        reason = f"score difference to the second best, {text}: {explanation.gap:.3f}"
        parts.append(folded(reason, _terms(explanation.difference, tokens), open="open"))
    return piece(*parts, *map(_token, tokens))


def _terms(terms: Sequence[Any], tokens: Sequence[Any]) -> Html:
    ranked = sorted(terms, key=lambda term: -abs(term.weight))[: 2 * SHOWN_TERMS]
    places = [tokens[term.where[0]].token if tokens else " ".join(map(str, term.where)) for term in ranked]
    rows = [(place, term.feature, term.label, term.weight) for place, term in zip(places, ranked, strict=True)]
    return _bars(rows, ("where", "feature", "label", "weight"))


def _token(token: Any) -> Html:
    rows: list[tuple[object, ...]] = [
        (label, f"{score:+.3f}", _bars([(term.feature, term.weight) for term in token.terms[label][:SHOWN_TERMS]]))
        for label, score in list(token.scores.items())[:SHOWN_LABELS]
    ]
    rows += [(term.label, term.feature, f"{term.weight:+.3f}") for term in token.transitions]
    return folded(f"{token.token}: {token.label}", table(rows))


def _bars(rows: Sequence[tuple[Any, ...]], head: Sequence[str] = ()) -> Html:
    """A table whose last column, of weights, is drawn as bars."""
    greatest = max((abs(row[-1]) for row in rows), default=0.0)
    return table([(*row[:-1], bar(row[-1], greatest)) for row in rows], head)


def paths_html(outputs: Sequence[tuple[Any, float]]) -> str:
    """The k best outputs; labels that differ from those of the best sequence are marked."""
    colours = colours_of(label for output, _ in outputs if isinstance(output, list) for label in output)
    rows = []
    for rank, (output, score) in enumerate(outputs, start=1):
        cells: list[object] = [str(output)]
        if isinstance(output, list):
            equal = [label == best for label, best in zip_longest(output, outputs[0][0])]
            marks = [element("mark", label, style=f"background:{colours[label]}") for label in output]
            cells = [label if equal[t] else marks[t] for t, label in enumerate(output)]
        rows.append((rank, f"{score:.4f}", *cells))
    return piece(table(rows, ("", "score")))
