"""The probability of a span, against the enumeration of all label sequences that have it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import LABELS, MODELS, all_paths, random_tagger, sentences

import trellis
from trellis._support.errors import CorpusError
from trellis.corpus.schemes import Span, spans
from trellis.tasks.tagging.model import Tagger


def every_span(n: int) -> list[Span]:
    return [Span(kind, a, b) for kind in ("X", "Y") for a, b in itertools.combinations(range(n + 1), 2)]


def check(tagger: Tagger, sentence: list[str], allowed: list[list[str]] | None = None) -> None:
    paths = all_paths(tagger, sentence, allowed)
    read = {path: spans(path) for path in paths}
    for span in every_span(len(sentence)):
        expected = sum(p for path, p in paths.items() if span in read[path])
        assert tagger.span_probability(sentence, span, allowed=allowed) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scheme", LABELS)
def test_by_enumeration(scheme: str, order: int) -> None:
    tagger = random_tagger(order, LABELS[scheme], order=order, end=order == 2, spread=1.5)
    for sentence in sentences(4 if order == 1 else 3):
        check(tagger, sentence)


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_model(name: str) -> None:
    tagger = random_tagger(4, LABELS["iob2"], **MODELS[name])
    for sentence in sentences(3):
        check(tagger, sentence)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scheme", LABELS)
def test_where_a_scheme_is_kept(scheme: str, order: int) -> None:
    """Illegal sequences have no share; then a span has one label sequence alone inside."""
    tagger = random_tagger(order, LABELS[scheme], order=order).constrained(scheme)
    sentence = ["a", "b", "c"]
    check(tagger, sentence)
    for span, p in tagger.tag_spans(sentence):
        assert 0 < p <= 1 + 1e-9
        assert p == tagger.span_probability(sentence, span)


def test_within_what_is_allowed() -> None:
    tagger = random_tagger(2, LABELS["iob2"])
    check(tagger, ["a", "b", "c"], [["B-X", "O"], ["I-X", "I-Y", "O"], ["O", "I-X"]])


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(LABELS)), st.sampled_from([1, 2]), st.integers(1, 12))
def test_a_token_has_one_span_at_most(seed: int, scheme: str, order: int, n: int) -> None:
    """P(outside) and the spans that cover a token make one."""
    tagger = TAGGERS[scheme, order]
    rng = np.random.default_rng(seed)
    sentence = [str(w) for w in rng.choice(("a", "b", "c", "d"), n)]
    t = int(rng.integers(n))
    outside = tagger.marginals(sentence)[t].get("O", 0.0)
    covering = [s for s in every_span(n) if s.start_token <= t < s.end_token]
    total = sum(tagger.span_probability(sentence, span) for span in covering)
    assert outside + total == pytest.approx(1.0, abs=1e-9)


TAGGERS = {
    (scheme, order): random_tagger(order, LABELS[scheme], order=order, spread=3.0)
    for scheme in LABELS
    for order in (1, 2)
}


@pytest.mark.parametrize("decode", ["viterbi", "posterior"])
@pytest.mark.parametrize("name", MODELS)
def test_batches(name: str, decode: str) -> None:
    tagger = random_tagger(4, LABELS["iob2"], **MODELS[name])
    many = [*sentences(4), ["a", "b"] * 8, []]
    alone = [tagger.tag_spans(sentence, decode=decode) for sentence in many]
    assert any(alone)
    for sentence, found in zip(many, alone, strict=True):
        assert [span for span, _ in found] == spans(tagger.tag(sentence, decode=decode))
        assert [p for _, p in found] == [tagger.span_probability(sentence, span) for span, _ in found]
    for n_threads in (1, 2):
        assert tagger.tag_spans_batch(many, decode=decode, n_threads=n_threads) == alone
        assert tagger.tag_spans_batch(trellis.read({"word": many}), decode=decode, n_threads=n_threads) == alone


def test_huge_scores() -> None:
    for spread in (1e3, 1e4):
        for order in (1, 2):
            tagger = random_tagger(3, LABELS["iob2"], order=order, spread=spread)
            for _, p in tagger.tag_spans(["a", "b", "c", "a", "c"] * 3):
                assert p == pytest.approx(1.0)


def test_what_cannot_be_asked() -> None:
    tagger = random_tagger(0, LABELS["iob2"])
    assert tagger.span_probability(["a"], ("Z", 0, 1)) == 0.0
    assert tagger.span_probability(["a"], ("X", 0, 1)) > 0.0
    for begin, end in ((0, 2), (-1, 1), (1, 1), (0, 0)):
        with pytest.raises(ValueError, match="exceeds the sentence of 1 token"):
            tagger.span_probability(["a"], Span("X", begin, end))
    with pytest.raises(CorpusError, match="'P' is not a span label"):
        random_tagger(0).tag_spans(["a"])
