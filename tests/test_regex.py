"""Wapiti's regular expressions, held against Python's where both mean the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis._support.errors import TemplateError
from trellis.features.regex import escaped, match, matches, search
from trellis.features.templates import parse_template

PIECES = ["a", "b", ".", r"\d", r"\D", r"\u", r"\l", r"\p", r"\w", r"\A", "1"]
PYTHON = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\u": "[A-Z]",
    r"\l": "[a-z]",
    r"\p": "[!-/:-@[-`{-~]",
    r"\w": "[0-9A-Za-z]",
}
PYTHON |= {r"\A": "[^A-Za-z]", ".": "[\\x00-\\xff]"}


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", "", "*", "?"])), max_size=5),
    st.booleans(),
    st.booleans(),
    st.text("abAB1.-é", max_size=8),
)
def test_as_python_matches(pieces: list[tuple[str, str]], bound: bool, ends: bool, word: str) -> None:
    """A star is lazy here; bytes are letters of Latin-1 there."""
    pattern = "^" * bound + "".join(piece + sign for piece, sign in pieces) + "$" * ends
    theirs = "".join(PYTHON.get(piece, piece) + ("*?" if sign == "*" else sign) for piece, sign in pieces)
    data = word.encode()
    found = re.search("^" * bound + theirs + r"\Z" * ends, data.decode("latin-1"), re.DOTALL)
    assert search(pattern, data) == (found.span() if found else None)
    assert matches(pattern)(word) == ("true" if found else "false")


@pytest.mark.parametrize(
    ("pattern", "word", "expected"),
    [
        ("^.?.?", "dog", "do"),
        (".?.?$", "dog", "og"),
        (r"\d*$", "a12", "12"),
        ("x", "dog", ""),
        (r"\.", "U.S.", "."),
        ("", "a", ""),
    ],
)
def test_matches_by_hand(pattern: str, word: str, expected: str) -> None:
    assert match(pattern)(word) == expected


def test_half_characters_are_told_apart() -> None:
    found = {match("^.")(word) for word in ("é", "à", "ô", "中")}
    assert len(found) == 2  # the first bytes of the two-byte and of the three-byte letters
    assert all(len(one) == 1 and one.encode() for one in found)


def test_no_pattern_takes_long() -> None:
    assert search("a*" * 60 + "b", b"a" * 2000) is None
    assert search("a?" * 60 + "a" * 60, b"a" * 60) == (0, 60)


@pytest.mark.parametrize("pattern", ["^[0-9]+$", "(ing|ed)$", "a{2}", "*a", "^*", "a**", "a?*"])
def test_what_these_expressions_do_not_have_is_said(pattern: str) -> None:
    with pytest.raises(TemplateError, match=r"not supported here|apply to one character"):
        parse_template(f'matches(word[0], "{pattern}")')
    assert parse_template(r'matches(word[0], "\(\+\)*")')


def test_patterns_of_wapiti_mean_letters() -> None:
    assert escaped(r"(a|b)\[+") == r"\(a\|b\)\[\+"
    assert match(escaped("(+"))("a(+b") == "(+"
