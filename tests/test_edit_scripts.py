"""Edit scripts: they give the lemma of their form; equal changes have equal scripts; damaged texts are rejected."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trellis.tasks.pipeline.edit_scripts import CASES, MOST, WHOLE, EditScript, common_substring

few = settings(max_examples=300, deadline=None)
# Letters whose other case has another length or none, marks, digits, letters of four bytes, and any other.
LETTERS = st.one_of(st.sampled_from("abABéÉßẞİıſǅŉﬁΣσς_-'1\u0301\u064e𐐀𐐨😀"), st.characters(exclude_categories=["Cs"]))
TEXTS = st.text(LETTERS, max_size=12)
PARTS = st.text("abAB", max_size=6)


@few
@given(TEXTS, TEXTS)
@example("", "")
@example("", "x")
@example("x", "")
@example("İ", "i")
@example("_", "_")
def test_a_script_gives_the_lemma(form: str, lemma: str) -> None:
    script = EditScript.between(form, lemma)
    assert script.apply(form) == lemma
    assert EditScript.parse(str(script)) == script


@few
@given(PARTS, PARTS)
def test_words_alike_in_parts(form: str, lemma: str) -> None:
    """Few letters: long common substrings, also within what is left and right of the longest one."""
    assert EditScript.between(form, lemma).apply(form) == lemma


def test_all_short_words() -> None:
    words = ["".join(letters) for n in range(4) for letters in itertools.product("abA", repeat=n)]
    for form, lemma in itertools.product(words, words):
        assert EditScript.between(form, lemma).apply(form) == lemma


@pytest.mark.parametrize(
    ("form", "lemma", "text"),
    [
        ("walking", "walk", '["lower",[],[-3]]'),
        ("Walking", "walk", '["lower",[],[-3]]'),
        ("London", "London", '["keep",[],[]]'),
        ("LONDON", "London", '["title",[],[]]'),
        ("nasa", "NASA", '["upper",[],[]]'),
        ("iPhone", "IPhone", '["upper first",[],[]]'),
        ("McDonalds", "mcDonald", '["lower first",[],[-1]]'),
        ("gesungen", "singen", '["lower",[-2,1,-1,"i"],[]]'),
        ("was", "be", '["whole",["be"],[]]'),
        ("l'", "le", '["lower",[],[-1,"e"]]'),
        ("1953", "1953", '["lower",[],[]]'),
        ("_", "_", '["lower",[],[]]'),
        ("word", "_", '["whole",["_"],[]]'),
    ],
)
def test_known_scripts(form: str, lemma: str, text: str) -> None:
    assert str(EditScript.between(form, lemma)) == text


def test_equal_changes_have_equal_scripts() -> None:
    pairs = [("walked", "walk"), ("Talked", "talk"), ("GASPED", "gasp"), ("tested", "test")]
    assert len({EditScript.between(form, lemma) for form, lemma in pairs}) == 1


def test_a_script_that_does_not_fit() -> None:
    script = EditScript.between("walking", "walk")
    assert script.apply("talking") == "talk"
    assert script.apply("ing") is None
    assert script.apply("") is None
    assert EditScript.between("l'", "le").apply("d'") == "de"
    assert EditScript.between("l'", "le").apply("d") is None  # no letter would be kept
    assert EditScript("keep").apply("") is None


def test_long_words_are_replaced() -> None:
    form = "a" * (MOST + 1)
    assert EditScript.between(form, form) == EditScript("lower")
    assert EditScript.between(form + "s", form).case == WHOLE
    assert EditScript.between("a" * MOST, "a" * (MOST - 1)) == EditScript("lower", (), (-1,))


@few
@given(PARTS, PARTS)
def test_common_substrings_are_longest(source: str, target: str) -> None:
    n = max(
        (b - a for a in range(len(source)) for b in range(a + 1, len(source) + 1) if source[a:b] in target), default=0
    )
    found = common_substring(source, target)
    assert (found is None) == (n == 0)
    if found is not None:
        at, to, length = found
        assert length == n
        assert source[at : at + n] == target[to : to + n]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "walk",
        "3",
        "[]",
        '["lower"]',
        '["lower",[]]',
        '["lower",[],[],[]]',
        '["sideways",[],[]]',
        '[["lower"],[],[]]',
        '["lower",3,[]]',
        '["lower",{},[]]',
        '["lower",[0],[]]',
        '["lower",[1.5],[]]',
        '["lower",[true],[]]',
        '["lower",[null],[]]',
        '["lower",[[1]],[]]',
        '["lower",[1000000000],[]]',
        '["lower",["\\ud800"],[]]',
        '["whole",[],[]]',
        '["whole",[3],[]]',
        '["whole",["a","b"],[]]',
        '["whole",["a"],[1]]',
        "[" * 5000,
    ],
)
def test_damaged_texts_are_rejected(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        EditScript.parse(text)


def test_every_case_is_used() -> None:
    """A change of case that no pair needs would be dead code."""
    pairs = [("A", "a"), ("A", "A"), ("AB", "aB"), ("ab", "Ab"), ("aB", "AB"), ("ab", "AB"), ("AB", "Ab")]
    assert {EditScript.between(*pair).case for pair in pairs} == set(CASES)
