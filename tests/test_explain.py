"""Explanations: the terms of a score are all there, named, and sum up."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from feature_oracle import features_of
from random_models import LABELS, MODELS, random_tagger, sentences
from samples import KINDS, PART_KINDS, Kind
from test_tagger import rows_of

import trellis
from trellis.tasks.tagging.explain import TaggingExplanation, shown
from trellis.tasks.tagging.model import Tagger


def check_sums(tagger: Tagger, sentence: object, found: TaggingExplanation) -> None:
    best = tagger.kbest(sentence, 2)
    near = 1e-5 + 1e-6 * abs(best[0][1])  # scores are added in single precision
    assert found.output == best[0][0]
    assert found.score == pytest.approx(best[0][1], abs=near)
    assert math.fsum(term.weight for term in found.terms) == pytest.approx(best[0][1], abs=near)
    if len(best) == 1:
        assert found.second is None
        assert found.gap == math.inf
        assert found.difference == []
        return
    assert found.second is not None
    assert found.second.output == best[1][0]
    assert found.second.score == pytest.approx(best[1][1], abs=near)
    assert found.gap == pytest.approx(best[0][1] - best[1][1], abs=near)
    assert math.fsum(term.weight for term in found.difference) == pytest.approx(found.gap, abs=1e-9)
    assert all(term.weight for term in found.difference)


@pytest.mark.parametrize("name", MODELS)
def test_random_models(name: str) -> None:
    tagger = random_tagger(1, **MODELS[name])
    for sentence in sentences(4):
        found = tagger.explain(sentence)
        check_sums(tagger, sentence, found)
        assert [token.token for token in found.tokens] == sentence
        json.dumps(found.to_dict())
        assert str(found)


@pytest.mark.parametrize("name", KINDS | PART_KINDS)
def test_trained_models(name: str) -> None:
    """What each token's features give every label is what the decoder adds up."""
    kind: Kind = (KINDS | PART_KINDS)[name]
    tagger = kind.train(kind.corpus(2, 30), learner=trellis.Perceptron(epochs=3))
    for sentence in rows_of(tagger, kind.corpus(3, 10)):
        found = tagger.explain(sentence)
        check_sums(tagger, sentence, found)
        emit, *_ = tagger._decoder.native.potentials(tagger._decoder.encode([sentence]), False, 1)
        for t, token in enumerate(found.tokens):
            assert token.label == found.output[t]
            assert list(token.scores.values()) == sorted(token.scores.values(), reverse=True)
            for z, label in enumerate(tagger.labels):
                assert token.scores[label] == pytest.approx(float(emit[t, z]), abs=1e-5)
                total = math.fsum(term.weight for term in token.terms[label])
                assert token.scores[label] == pytest.approx(total, abs=1e-9)
                sizes = [abs(term.weight) for term in token.terms[label]]
                assert sizes == sorted(sizes, reverse=True)
            own = [term for term in found.terms if term.where == (t,)]
            assert sorted(map(repr, own)) == sorted(map(repr, [*token.terms[token.label], *token.transitions]))


def test_features_are_those_of_the_token() -> None:
    """As many features speak as the oracle finds, of those that have a weight."""
    kind = KINDS["functions"]
    corpus = kind.corpus(2, 30)
    tagger = kind.train(corpus)
    everything = features_of(kind.templates, corpus)
    for sentence, features in zip(rows_of(tagger, corpus), everything, strict=True):
        for token, known in zip(tagger.explain(sentence).tokens, features, strict=True):
            named = {term.feature for terms in token.terms.values() for term in terms}
            assert 0 < len(named) <= len(known)


def test_names() -> None:
    tagger = trellis.train(
        {"word": [["the", "man"], ["man"]], "tag": [["D", "N"], ["N"]]},
        target="tag",
        features=["word[0]", "label[-1] & word[0]", "bias"],
        learner=trellis.CRF(transitions="all"),
        order=2,
    )
    found = tagger.explain(["the", "man"])
    assert found.output == ["D", "N"]
    shown = {(term.where[0], term.feature, term.label) for term in [*found.terms, *found.second.terms]}
    assert (0, "word[0]=the", "D") in shown
    assert (0, "label[-1]", "<start> D") in shown
    assert (1, "label[-2..-1]", "<start> D N") in shown
    assert (1, "label[-1] & word[0]=man", "D N") in shown
    text = found.text(n_labels=1, n_terms=1)
    assert "score difference to path 2:" in text
    assert "word[0]=the" in text
    assert "and 1 more" in text


def test_values_of_attributes() -> None:
    attributes = [[{"x": 2.0, "kind": "big"}], [{"x": -1.0}]]
    tagger = trellis.train({"attributes": attributes, "tag": [["A"], ["B"]]}, target="tag", features=["attributes[0]"])
    found = tagger.explain(attributes[0])
    by_name = {term.feature: term.weight for term in found.tokens[0].terms["A"]}
    half = tagger.explain([{"x": 1.0}]).tokens[0].terms["A"]
    assert by_name["x"] == pytest.approx(2 * next(term.weight for term in half if term.feature == "x"))
    assert found.tokens[0].token == "0: big"
    assert [shown(3, t) for t in ({"x": 1.0, "y": 2}, ["a", "b", "c"], ("w", "p", {"x": 1}))] == [
        "3: x y",
        "3: a b",
        "w p",
    ]


def test_a_forbidden_transition_is_no_reason() -> None:
    """Neither of two paths that can be has a term of minus infinity."""
    tagger = random_tagger(1, LABELS["iobes"], spread=2.0).constrained("iobes")
    for sentence in sentences(4):
        found = tagger.explain(sentence)
        check_sums(tagger, sentence, found)
        assert all(np.isfinite(term.weight) for term in found.difference)


@pytest.mark.parametrize("order", [1, 2])
def test_locally_normalised_models(order: int) -> None:
    """What the decoder adds to the weights of features is a term of its own."""
    tagger = random_tagger(2, family="local", order=order)
    found = tagger.explain(["a", "b"])
    check_sums(tagger, ["a", "b"], found)
    assert any(term.feature == "normalisation" for term in found.terms)
    for sentence in sentences(4):  # the score is the logarithm of a probability
        assert tagger.explain(sentence).score <= 1e-6
