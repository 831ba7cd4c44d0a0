from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.schemes import (
    SCHEMES,
    Span,
    allowed_transition,
    check,
    convert,
    guess_scheme,
    labels_of,
    spans,
)

ORDERLY = settings(derandomize=True, deadline=None, max_examples=150)


@st.composite
def spans_of_a_sentence(draw: st.DrawFn) -> tuple[list[Span], int]:
    found, at = [], 0
    for gap, size, kind in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(["X", "Y", "X-Y", ""])))
    ):
        found.append(Span(kind, at + gap, at + gap + size))
        at += gap + size
    return found, at + draw(st.integers(0, 2))


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [
        ("iob1", "I-X I-X B-X I-Y I-Y O I-X"),
        ("iob2", "B-X I-X B-X B-Y I-Y O B-X"),
        ("ioe1", "I-X E-X I-X I-Y I-Y O I-X"),
        ("ioe2", "I-X E-X E-X I-Y E-Y O E-X"),
        ("iobes", "B-X E-X S-X B-Y E-Y O S-X"),
        ("bilou", "B-X L-X U-X B-Y L-Y O U-X"),
        ("bmes", "B-X E-X S-X B-Y E-Y O S-X"),
    ],
)
def test_one_sentence_in_every_scheme(scheme: str, labels: str) -> None:
    expected = [Span("X", 0, 2), Span("X", 2, 3), Span("Y", 3, 5), Span("X", 6, 7)]
    assert spans(labels.split(), scheme) == expected
    assert labels_of(expected, 7, scheme) == labels.split()
    assert check(labels.split(), scheme) is None


@ORDERLY
@given(spans_of_a_sentence(), st.sampled_from(list(SCHEMES)), st.sampled_from(list(SCHEMES)))
def test_spans_survive_every_conversion(sentence: tuple[list[Span], int], one: str, other: str) -> None:
    expected, n_tokens = sentence
    labels = labels_of(expected, n_tokens, one)
    assert spans(labels, one) == expected
    assert check(labels, one) is None
    assert convert(convert(labels, one, other), other, one) == labels


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n_tokens", range(5))
def test_allowed_sequences_are_exactly_those_that_spans_give(scheme: str, n_tokens: int) -> None:
    letters = sorted({*SCHEMES[scheme], *{"iob1": "B", "ioe1": "E"}.get(scheme, "")})
    labels = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "XY")]
    if len(labels) > 7:  # 9 ** 4 sequences of two types are enough work; one type shows the rest
        labels = [label for label in labels if n_tokens < 4 or not label.endswith("Y")]
    for sequence in itertools.product(labels, repeat=n_tokens):
        canonical = labels_of(spans(sequence), n_tokens, scheme) == list(sequence)
        assert (check(sequence, scheme) is None) == canonical, sequence


def test_lenient_reading_of_illegal_labels() -> None:
    assert spans(["I-X", "I-Y", "O", "I-Y"]) == [Span("X", 0, 1), Span("Y", 1, 2), Span("Y", 3, 4)]
    assert spans(["E-X", "E-X", "I-X"]) == [Span("X", 0, 1), Span("X", 1, 2), Span("X", 2, 3)]
    assert spans(["S-X", "I-X", "S-X"]) == [Span("X", 0, 1), Span("X", 1, 2), Span("X", 2, 3)]
    assert spans([]) == []


def test_bare_letters_have_the_empty_type() -> None:
    assert spans(["B", "I", "O", "B"], "bio") == [Span("", 0, 2), Span("", 3, 4)]
    assert convert(["B", "I", "O", "B"], "bio", "bioes") == ["B", "E", "O", "S"]
    assert convert(["B", "M", "E", "S"], "bmes", "iob2") == ["B", "I", "I", "B"]


def test_check_names_the_first_illegal_place() -> None:
    assert check(["O", "I-X"], "iob2") == 1
    assert check(["B-X", "I-Y"], "iob2") == 1
    assert check(["I-X"], "iob2") == 0
    assert check(["B-X", "O"], "iobes") == 1
    assert check(["B-X", "I-X"], "iobes") == 2  # stops within a span
    assert check(["B-X", "NN"], "iob2") == 1
    assert allowed_transition("iob2", None, None)
    assert not allowed_transition("ioe2", "I-X", None)
    assert not allowed_transition("iob1", None, "B-X")
    assert not allowed_transition("ioe1", "E-X", None)


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        ("O B-X I-X B-Y", "iob2"),
        ("O I-X B-Y I-Y", "iob1"),
        ("O I-X E-X E-Y", "ioe2"),
        ("O I-X E-Y I-Y", "ioe1"),
        ("O B-X I-X E-X S-X", "iobes"),
        ("O B-X L-X U-X", "bilou"),
        ("B M E S", "bmes"),
        ("B I O", "iob2"),
        ("NN VB", None),
        ("B-X L-X E-X", None),
        ("O", None),
        ("O-X B-X", None),
        ("", None),
    ],
)
def test_guess(labels: str, scheme: str | None) -> None:
    assert guess_scheme(labels.split()) == scheme


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="no scheme 'bix'"):
        spans(["O"], "bix")
    with pytest.raises(CorpusError, match="'NN' is not a span label"):
        spans(["NN"])
    with pytest.raises(CorpusError, match="'S-X' is not a label of the scheme iob2"):
        spans(["S-X"], "iob2")
    for wrong in ([Span("X", 0, 2), Span("X", 1, 3)], [Span("X", 2, 4)], [Span("X", 1, 1)]):
        with pytest.raises(CorpusError, match="overlaps another span or exceeds the sentence"):
            labels_of(wrong, 3, "iob2")
