r"""Whitespace around tokens: in MISC, in the comment ``# text``, and in the text of a document.

MISC has ``SpaceAfter=No`` where the next token follows at once. UDPipe's ``SpacesAfter``, ``SpacesBefore`` and
``SpacesInToken`` have the characters themselves, with escapes: ``\s`` is a space, ``\p`` is ``|``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from trellis.corpus.document_sentence import MultiwordToken, Word

Token = Word | MultiwordToken

ESCAPES = {" ": r"\s", "\t": r"\t", "\n": r"\n", "\r": r"\r", "|": r"\p", "\\": r"\\"}
_PLAIN = {escape: character for character, escape in ESCAPES.items()}
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\.")
NAMES = ("SpaceAfter", "SpacesAfter", "SpacesBefore", "SpacesInToken")  # of whitespace in MISC
PARAGRAPH = "\n\n"


class Spacing(NamedTuple):
    """Whitespace of a token, as its MISC has it.

    Attributes
    ----------
    after
        Whitespace after it; "" for ``SpaceAfter=No``, None if nothing is said.
    before
        Whitespace before it, beside that after the last token.
    surface
        Its characters in the text, if they differ from the form.
    paragraph
        Whether it begins a paragraph within a sentence.
    """

    after: str | None = None
    before: str = ""
    surface: str | None = None
    paragraph: bool = False


def spacing_of(misc: str | None) -> Spacing:
    """Whitespace that MISC tells."""
    found = Spacing()
    for item in misc.split("|") if misc else ():
        name, _, value = item.partition("=")
        if name == "SpaceAfter" and value == "No" and found.after is None:
            found = found._replace(after="")
        elif name == "SpacesAfter":
            found = found._replace(after=unescape(value))
        elif name == "SpacesBefore":
            found = found._replace(before=unescape(value))
        elif name == "SpacesInToken":
            found = found._replace(surface=unescape(value))
        elif item == "NewPar=Yes":
            found = found._replace(paragraph=True)
    return found


def unescape(value: str) -> str:
    """Whitespace without escapes."""
    return _ESCAPE.sub(lambda match: _PLAIN.get(match[0]) or _code_point(match[0]), value) if "\\" in value else value


def _code_point(escape: str) -> str:
    return chr(int(escape[2:], 16)) if len(escape) > 2 else escape


def escape(characters: str) -> str:
    r"""Characters with UDPipe's escapes; other whitespace, which files cannot have there, as ``\u00a0``."""
    return "".join(ESCAPES.get(c) or (rf"\u{ord(c):04x}" if c.isspace() else c) for c in characters)


def plain_text(tokens: Sequence[Token]) -> str:
    """Tokens with one space where they stand apart, by their offsets or else by MISC."""
    parts = list[str]()
    for i, token in enumerate(tokens):
        parts.append(token.form)
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        if after is None:
            break
        known = token.end is not None and after.start is not None
        apart = token.end != after.start if known else spacing_of(token.misc).after != ""
        parts.append(" " if apart else "")
    return "".join(parts)


def gaps_of(tokens: Sequence[Token], spacings: Sequence[Spacing], text: str | None) -> list[str] | str:
    """Whitespace after each token but the last: by MISC, else by the sentence's text, else one space.

    If the text differs from the tokens, the token at which it does so.
    """
    gaps = [" " if spacing.after is None else spacing.after for spacing in spacings[:-1]]
    if text is None:
        return gaps
    plain = "".join([token.form + (" " if gap else "") for token, gap in zip(tokens, [*gaps, ""], strict=True)])
    if plain == text:
        return gaps
    at = 0  # otherwise there is other whitespace in the text, or the two differ
    for i, (token, spacing) in enumerate(zip(tokens, spacings, strict=True)):
        if not text.startswith(token.form, at):
            return token.form
        at += len(token.form)
        begin = at
        while at < len(text) and text[at].isspace():
            at += 1
        if i < len(gaps):
            if (begin == at) != (spacing.after == ""):
                return token.form
            gaps[i] = text[begin:at] if spacing.after is None else spacing.after
    return gaps if at == len(text) else tokens[-1].form
