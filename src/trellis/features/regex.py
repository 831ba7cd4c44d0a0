"""The small regular expressions of Wapiti's patterns, over bytes: ``.``, ``^`` first, ``$`` last, ``*`` and ``?`` after
one character, and the classes below, in capitals what is not in them. The leftmost match counts; ``*`` takes as little
as it can, ``?`` as much. There are no groups, so that no pattern takes longer than its length times the word's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

# Letters and signs of ASCII alone, as in C.
CLASSES: dict[str, Callable[[int], bool]] = {
    "a": lambda c: chr(c).isalpha() and c < 128,
    "d": lambda c: 48 <= c <= 57,
    "l": lambda c: 97 <= c <= 122,
    "p": lambda c: 33 <= c <= 126 and not chr(c).isalnum(),
    "s": lambda c: c == 32 or 9 <= c <= 13,
    "u": lambda c: 65 <= c <= 90,
    "w": lambda c: chr(c).isalnum() and c < 128,
}
Step = tuple[frozenset[int] | None, str]  # the bytes that fit, None: any; and * or ? or nothing
_CUT = {0xDC80 + i: 0xF780 + i for i in range(128)}  # half a character as one of the private use area


@cache
def _compiled(pattern: str) -> tuple[bool, tuple[Step, ...], bool]:
    """Whether it is bound to the beginning, its steps, whether it is bound to the end."""
    text = pattern.encode()
    bound = text.startswith(b"^")
    tokens, steps = re.findall(rb"(\\.|.)([*?]?)", text[bound:], re.DOTALL), list[Step]()
    ends = tokens[-1:] == [(b"$", b"")]
    for symbol, sign in tokens[:-1] if ends else tokens:
        fits, letter = None if symbol == b"." else frozenset(symbol[-1:]), chr(symbol[-1])
        if len(symbol) == 2 and (test := CLASSES.get(letter.lower())):
            fits = frozenset(c for c in range(1, 256) if test(c) == letter.islower())
        steps.append((fits, sign.decode()))
    return bound, tuple(steps), ends


SPECIAL = "[](){}|+"  # letters that other expressions have a meaning for, and these have not


def unreadable(pattern: str) -> str:
    """Describe unsupported syntax of an expression; empty if there is none."""
    plain = re.sub(r"\\.", "x", pattern)
    if character := next((c for c in plain if c in SPECIAL), None):
        return f"{character!r} is not supported here; for the character itself write \\{character}"
    if re.search(r"(?:^\^?|[*?])[*?]", plain):
        return "* and ? apply to one character"
    return ""


def escaped(pattern: str) -> str:
    """A pattern of Wapiti, where these are letters, with them marked as such."""
    return re.sub(r"\\.|[\[\](){}|+]", lambda match: match[0] if match[0][0] == "\\" else f"\\{match[0]}", pattern)


def search(pattern: str, word: bytes) -> tuple[int, int] | None:
    """Start and end of the leftmost match."""
    bound, steps, ends = _compiled(pattern)
    n = len(word)
    # ends_at[at]: where a match of the steps from some step on ends that begins at ``at``, -1: there is none.
    ends_at = [-1] * n + [n] if ends else list(range(n + 1))
    for fits, sign in reversed(steps):
        after, ends_at = ends_at, [-1] * (n + 1)
        for at in range(n, -1, -1):
            here = at < n and (fits is None or word[at] in fits)
            if sign == "*":
                ends_at[at] = ends_at[at + 1] if here and after[at] < 0 else after[at]
            elif sign == "?":
                ends_at[at] = after[at + 1] if here and after[at + 1] >= 0 else after[at]
            elif here:
                ends_at[at] = after[at + 1]
    begin = next((at for at in range(1 if bound else n + 1) if ends_at[at] >= 0), None)
    return None if begin is None else (begin, ends_at[begin])


def match(pattern: str) -> Callable[[str], str]:
    """Make a function that returns the first match in a word, "" if there is none."""

    def function(word: str) -> str:
        data = word.encode("utf-8", "surrogateescape")
        groups = search(pattern, data)
        return "" if groups is None else text_of(data[groups[0] : groups[1]])

    return function


def matches(pattern: str) -> Callable[[str], str]:
    """Make a function that returns ``true`` or ``false``: whether a word has a match."""
    return lambda word: "true" if search(pattern, word.encode("utf-8", "surrogateescape")) is not None else "false"


def text_of(data: bytes) -> str:
    """Bytes as text; bytes that are half a character become characters of the private use area, each its own."""
    return data.decode("utf-8", "surrogateescape").translate(_CUT)
