"""A tagged text in colours: spans marked, or every word with its label; the less probable, the paler."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from trellis.display.html import Html, colours_of, element, piece


def text_html(tagged: Any) -> str:
    """A ``TaggedText`` as a piece of a page."""
    marks = [_marks(sentence) for sentence in tagged]
    colours = colours_of(name for some in marks for name, _, _, _ in some)
    paragraphs = list[Html]()
    for sentence, some in zip(tagged, marks, strict=True):
        parts, at = list[object](), sentence.tokens[0].start if sentence.tokens else 0
        for name, start, end, probability in some:
            parts += [tagged.text[at:start], mark(tagged.text[start:end], name, colours[name], probability)]
            at = end
        parts.append(tagged.text[at : sentence.tokens[-1].end] if sentence.tokens else "")
        paragraphs.append(element("p", *parts, dir="auto"))
    return piece(*paragraphs)


def _marks(sentence: Any) -> list[tuple[str, int, int, float | None]]:
    """(label, start, end, probability) of spans, or of tokens where labels mark no spans."""
    if sentence.spans is not None:
        return [(span.label, span.start, span.end, span.confidence) for span in sentence.spans]
    rows = zip(sentence.tokens, sentence.labels, sentence.confidences or repeat(None), strict=False)
    return [(label, token.start, token.end, probability) for token, label, probability in rows]


def mark(words: str, name: str, colour: str, probability: float | None = None) -> Html:
    """Words on a coloured ground with the name of what they are."""
    share = 1.0 if probability is None else max(0.25, probability)
    style = f"background:color-mix(in srgb,{colour} {100 * share:.0f}%,#f4f4f4)"
    title = {} if probability is None else {"title": f"{name}: {probability:.4f}"}
    return element("mark", words, element("b", name), style=style, **title)
