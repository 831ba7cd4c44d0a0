"""Spans as labels of tokens: IOB1, IOB2 (BIO), IOE1, IOE2, IOBES, BILOU, BMES, and conversion between them.

A label is ``O`` or a letter with a type, ``B-NP``; the letter alone is a label of the type "". Reading spans
is lenient, as conlleval's is, and the same for all schemes: a span continues until something ends it.

| scheme | a span of 3, of 1 | when it touches another of its type |
| --- | --- | --- |
| iob1 | I I I, I | the second one's first letter is B |
| iob2 | B I I, B | |
| ioe1 | I I I, I | the first one's last letter is E |
| ioe2 | I I E, E | |
| iobes | B I E, S | |
| bilou | B I L, U | |
| bmes | B M E, S | |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trellis._support.arrays import Bytes, Ints, Longs
from trellis._support.errors import ArgumentError, CorpusError

OUTSIDE = "O"


class Span(NamedTuple):
    """A labelled span of a sentence: tokens ``start_token`` to ``end_token``, exclusive.

    Attributes
    ----------
    label
        Type of the span.
    start_token
        First token.
    end_token
        Token after the last one.
    """

    label: str
    start_token: int
    end_token: int


class Letters(NamedTuple):
    """The letters of a scheme by the position of a token in its span."""

    first: str
    inside: str
    last: str
    single: str


SCHEMES = {
    "iob1": Letters("I", "I", "I", "I"),  # and B, see labels_of
    "iob2": Letters("B", "I", "I", "B"),
    "ioe1": Letters("I", "I", "I", "I"),  # and E
    "ioe2": Letters("I", "I", "E", "E"),
    "iobes": Letters("B", "I", "E", "S"),
    "bilou": Letters("B", "I", "L", "U"),
    "bmes": Letters("B", "M", "E", "S"),
}
_ALIASES = {"bio": "iob2", "bioes": "iobes"}
MARKERS = {"iob1": "B", "ioe1": "E"}  # the letter that these schemes use only between spans that touch
_COMMON = {"L": "E", "U": "S", "M": "I"}  # letters of other schemes, mapped to IOBES


def scheme_named(name: str) -> str:
    """The scheme's own name, from any of its names."""
    scheme = _ALIASES.get(str(name).lower(), str(name).lower())
    if scheme not in SCHEMES:
        raise ArgumentError(f"no scheme {name!r}; the schemes are {', '.join(SCHEMES)}")
    return scheme


def split_label(label: str) -> tuple[str, str]:
    """Letter and type of a label, the letter mapped to IOBES."""
    letter, _, kind = label.partition("-")
    letter = _COMMON.get(letter, letter)
    if letter not in ("B", "I", "E", "S", OUTSIDE) or (letter == OUTSIDE and kind):
        raise CorpusError("", None, f"label {label!r} is not a span label such as O, B-NP or I-NP")
    return letter, kind


def spans(labels: Sequence[str], scheme: str | None = None) -> list[Span]:
    """Find the spans of one sentence; illegal sequences are read leniently, as by conlleval.

    Parameters
    ----------
    labels
        One label per token.
    scheme
        Scheme whose letters the labels must have (default: any).

    Returns
    -------
    list[Span]
        The spans in order.

    Raises
    ------
    CorpusError
        If a label is not of the scheme.

    Examples
    --------
    >>> from trellis.corpus import schemes
    >>> schemes.spans(["B-NP", "I-NP", "O", "B-VP"])
    [Span(label='NP', start_token=0, end_token=2), Span(label='VP', start_token=3, end_token=4)]
    """
    if scheme is not None:
        letters = _letters(scheme_named(scheme))
        if foreign := next((label for label in labels if label.partition("-")[0] not in letters), None):
            raise CorpusError("", None, f"label {foreign!r} is not a label of the scheme {scheme}")
    spans_of: list[Span] = []
    begin, previous, kind = 0, OUTSIDE, ""
    for t, label in enumerate([*labels, OUTSIDE]):
        letter, type_here = split_label(label)
        if starts_anew(previous, kind, letter, type_here):
            if previous != OUTSIDE:
                spans_of.append(Span(kind, begin, t))
            begin = t
        previous, kind = letter, type_here
    return spans_of


def starts_anew(previous: str, kind: str, letter: str, current: str) -> bool:
    """Whether a span ends or begins between two neighbours, by conlleval's rules; letters as in IOBES."""
    return previous in ("E", "S", OUTSIDE) or letter in ("B", "S", OUTSIDE) or kind != current


def labels_of(spans: Iterable[Span], n_tokens: int, scheme: str) -> list[str]:
    """Encode spans as labels.

    Parameters
    ----------
    spans
        Spans of one sentence, without overlap.
    n_tokens
        Number of tokens of the sentence.
    scheme
        Name of the scheme: iob1, iob2, ioe1, ioe2, iobes, ...

    Returns
    -------
    list[str]
        One label per token.

    Examples
    --------
    >>> from trellis.corpus import schemes
    >>> schemes.labels_of([schemes.Span("NP", 0, 2)], 3, "iobes")
    ['B-NP', 'E-NP', 'O']
    """
    scheme = scheme_named(scheme)
    letters = SCHEMES[scheme]
    ordered = sorted(spans, key=lambda span: span.start_token)
    labels = [OUTSIDE] * n_tokens
    last_end = 0
    for kind, begin, end in ordered:
        if not last_end <= begin < end <= n_tokens:
            raise CorpusError("", None, f"span {begin}..{end} overlaps another span or exceeds the sentence")
        last_end = end
        marks = [letters.single]
        if end - begin > 1:
            marks = [letters.first, *[letters.inside] * (end - begin - 2), letters.last]
        labels[begin:end] = [joined(mark, kind) for mark in marks]
    if scheme in MARKERS:
        for current, following in pairwise(ordered):
            if current.end_token == following.start_token and current.label == following.label:
                first = following.start_token if scheme == "iob1" else current.end_token - 1
                labels[first] = joined(MARKERS[scheme], current.label)
    return labels


def convert(labels: Sequence[str], source: str, target: str) -> list[str]:
    """Convert labels to another scheme with the same spans.

    Parameters
    ----------
    labels
        One label per token.
    source
        Scheme of the labels.
    target
        Scheme of the result.

    Returns
    -------
    list[str]
        One label per token.

    Examples
    --------
    >>> from trellis.corpus import schemes
    >>> schemes.convert(["B-NP", "I-NP", "O"], "iob2", "iobes")
    ['B-NP', 'E-NP', 'O']
    """
    return labels_of(spans(labels, source), len(labels), target)


def check(labels: Sequence[str], scheme: str) -> int | None:
    """Find the first label that is illegal at its position.

    Parameters
    ----------
    labels
        One label per token.
    scheme
        Name of the scheme: iob1, iob2, ioe1, ioe2, iobes, ...

    Returns
    -------
    int | None
        Its index; the number of labels if the sequence ends within a span; None if all is legal.

    Examples
    --------
    >>> from trellis.corpus import schemes
    >>> schemes.check(["O", "I-NP"], "iob2")
    1
    """
    line: list[str | None] = [None, *labels, None]
    for t, (previous, label) in enumerate(pairwise(line)):
        if not allowed_transition(scheme, previous, label):
            return t
    return None


def allowed_transition(scheme: str, previous: str | None, label: str | None) -> bool:
    """Whether a label may follow another; None before the first label and after the last.

    Label sequences all of whose transitions are allowed are exactly those that ``labels_of`` gives.
    """
    scheme = scheme_named(scheme)
    letters = _letters(scheme)
    if any(side is not None and side.partition("-")[0] not in letters for side in (previous, label)):
        return False
    letter_before, kind_before = split_label(OUTSIDE if previous is None else previous)
    letter, kind = split_label(OUTSIDE if label is None else label)
    is_same = kind == kind_before and OUTSIDE not in (letter, letter_before)
    if scheme == "iob1":
        return letter != "B" or is_same
    if scheme == "ioe1":
        return letter_before != "E" or is_same
    goes_on, unfinished = letter in ("I", "E"), letter_before in ("B", "I")
    if scheme == "iob2":
        return is_same or not goes_on
    if scheme == "ioe2":
        return is_same or not unfinished
    return (is_same and goes_on) if unfinished else not goes_on


def belongs(label: str, scheme: str) -> bool:
    """Whether a label is of a scheme at all."""
    letter, dash, _ = label.partition("-")
    return letter in _letters(scheme_named(scheme)) and not (letter == OUTSIDE and dash)


def guess_scheme(labels: Iterable[str]) -> str | None:
    """Guess the scheme of a set of labels.

    IOB1 and IOE1 are recognised by a type that never occurs with B or E.

    Parameters
    ----------
    labels
        Labels.

    Returns
    -------
    str | None
        Name of the scheme; None if the labels encode no spans.

    Examples
    --------
    >>> from trellis.corpus import schemes
    >>> schemes.guess_scheme(["B-NP", "I-NP", "O"])
    'iob2'
    """
    pairs = {(letter, kind) for letter, _, kind in (label.partition("-") for label in labels)}
    letters = {letter for letter, _ in pairs}
    if not letters - {OUTSIDE} or (OUTSIDE in letters and any(x == OUTSIDE and kind for x, kind in pairs)):
        return None
    for scheme, marker in (("iob2", "B"), ("ioe2", "E")):
        if letters <= {"I", marker, OUTSIDE}:
            plain = all((marker, kind) in pairs for letter, kind in pairs if letter == "I")
            return scheme if plain else scheme[:-1] + "1"
    return next((s for s in ("iobes", "bilou", "bmes") if letters <= _letters(s)), None)


def _letters(scheme: str) -> set[str]:
    return {*SCHEMES[scheme], MARKERS.get(scheme, OUTSIDE), OUTSIDE}


def joined(letter: str, kind: str) -> str:
    """Make the label of a letter and a type."""
    return f"{letter}-{kind}" if kind else letter


_LETTERS = (OUTSIDE, "B", "I", "E", "S")
# [5, 5] whether a span ends or begins between two letters even if their types are the same.
_CUTS = np.array([[starts_anew(a, "", b, "") for b in _LETTERS] for a in _LETTERS])


@dataclass(frozen=True, slots=True)
class SpanReading:
    """Table for reading spans from label numbers by the rules of ``corpus.schemes.spans``, for all schemes."""

    types: tuple[str, ...]
    type_of: Ints  # [L] the type of a label's span, -1 outside
    cut: Bytes  # [L, L] whether something ends or begins between two neighbours

    @classmethod
    def of(cls, labels: Sequence[str], *more: Sequence[str]) -> SpanReading:
        """Make the table of these labels and the types of ``more``; CorpusError if one is not O or like B-NP."""
        parsed = [split_label(label) for label in labels]
        others = [split_label(label) for sequence in more for label in sequence]
        types = sorted({kind for letter, kind in [*parsed, *others] if letter != OUTSIDE})
        number = {kind: i for i, kind in enumerate(types)}
        letters = np.array([_LETTERS.index(letter) for letter, _ in parsed], np.int64)
        type_of = np.array([-1 if letter == OUTSIDE else number[kind] for letter, kind in parsed], np.int32)
        cut = _CUTS[letters[:, None], letters] | (type_of[:, None] != type_of)
        return cls(tuple(types), type_of, cut.astype(np.uint8))

    def find(self, codes: Ints, starts: Longs) -> SpanTable:
        """The spans of sentences that begin at starts [n_sentences + 1], all at once; codes [n_tokens] are labels."""
        cut = np.ones(len(codes) + 1, bool)  # [n_tokens + 1] whether something ends or begins before token t
        cut[1:-1] = self.cut[codes[:-1], codes[1:]]
        cut[starts] = True
        types = self.type_of[codes] if len(codes) else np.empty(0, np.int32)
        begins = np.flatnonzero(cut[:-1] & (types >= 0))
        return SpanTable(begins, np.flatnonzero(cut[1:] & (types >= 0)) + 1, types[begins].astype(np.int64))


@dataclass(frozen=True, slots=True)
class SpanTable:
    """The spans of many sentences, sorted by their beginning."""

    begins: Longs  # [n_spans] first token
    ends: Longs  # [n_spans] last token + 1
    types: Longs  # [n_spans] index into a list of types
