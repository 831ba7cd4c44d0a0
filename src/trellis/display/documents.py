"""HTML of documents: each sentence with its dependency tree, or a table of its words."""

from __future__ import annotations

from typing import Any

from trellis.display.html import Html, element, folded, piece, table

SHOWN = 5  # sentences with a picture or a table
COLUMNS = ("form", "lemma", "upos", "feats", "head", "deprel")


def document_html(document: Any) -> Html:
    """A ``Document`` as a piece of a page: its first sentences."""
    parts = [_sentence(sentence) for sentence in document.sentences[:SHOWN]]
    rest = [element("p", sentence.text, dir="auto") for sentence in document.sentences[SHOWN:]]
    more = [folded(f"{len(rest):,} more sentences", *rest)] if rest else []
    return piece(*parts, *more)


def sentence_html(sentence: Any) -> Html:
    """A ``DocumentSentence`` as a piece of a page."""
    return piece(_sentence(sentence))


def _sentence(sentence: Any) -> Html:
    text = element("p", sentence.text, dir="auto")
    if sentence.words and sentence.has_tree:
        return element("div", text, sentence.draw().svg)
    known = ["form", *(name for name in COLUMNS[1:] if any(getattr(word, name) is not None for word in sentence.words))]
    values = [[getattr(word, name) for name in known] for word in sentence.words]
    rows = [[i, *("" if value is None else value for value in row)] for i, row in enumerate(values, 1)]
    return element("div", text, table(rows, ["id", *known]))
