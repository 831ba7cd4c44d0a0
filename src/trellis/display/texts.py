"""A tagged text in colours: spans marked, or every word with its label; the fainter, the less sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trellis.display.html import Html, colours_of, element, piece

if TYPE_CHECKING:
    from trellis.tasks.tagging.text import TaggedSentence, TaggedText


def text_html(tagged: TaggedText) -> str:
    """The text as a piece of a page."""
    types = (
        [span.label for sentence in tagged for span in sentence.spans or ()]
        if any(sentence.spans is not None for sentence in tagged)
        else [label for sentence in tagged for label in sentence.labels]
    )
    colours = colours_of(types)
    return piece(*(element("p", *_parts(tagged.text, sentence, colours), dir="auto") for sentence in tagged))


def _parts(text: str, sentence: TaggedSentence, colours: dict[str, str]) -> list[object]:
    """The sentence as it is written, with marks."""
    marks: list[tuple[str, int, int, float | None]]
    if sentence.spans is not None:
        marks = [(span.label, span.start, span.end, span.confidence) for span in sentence.spans]
    else:
        sure: Sequence[float | None] = sentence.confidences or [None] * len(sentence.tokens)
        marks = [
            (label, token.start, token.end, p)
            for token, label, p in zip(sentence.tokens, sentence.labels, sure, strict=True)
        ]
    parts: list[object] = []
    at = sentence.tokens[0].start if sentence.tokens else 0
    for name, start, end, p in marks:
        parts += [text[at:start], mark(text[start:end], name, colours[name], p)]
        at = end
    return [*parts, text[at : sentence.tokens[-1].end] if sentence.tokens else ""]


def mark(words: str, name: str, colour: str, probability: float | None) -> Html:
    """Words on a coloured ground with the name of what they are."""
    share = 1.0 if probability is None else max(0.25, probability)
    style = f"background:color-mix(in srgb,{colour} {100 * share:.0f}%,#f4f4f4)"
    title = {} if probability is None else {"title": f"{name}: {probability:.4f}"}
    return element("mark", words, element("b", name), style=style, **title)
