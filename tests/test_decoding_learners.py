"""Decoding for all: every learner's tagger answers every question."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from random_models import all_paths
from test_constraints import legal_corpus
from test_explain import check_sums

import trellis
from trellis.corpus import schemes
from trellis.engine.weights import MANY_LABELS
from trellis.learners import LEARNERS, learner_named
from trellis.tasks.tagging.model import Tagger

QUICK: dict[str, dict[str, Any]] = {
    "crf": {"epochs": 20},
    "exponential": {"epochs": 20},
    "boost": {"epochs": 20},
    "maxent": {"epochs": 20},
    "hmm": {},
}
CASES = {name: learner_named(name)(**QUICK.get(name, {"epochs": 2})) for name in LEARNERS}
CASES["voted"] = trellis.Perceptron(epochs=2, vote=True)
CASES["frank-wolfe"] = trellis.HMSVM(epochs=5, solver="frank-wolfe")


SETTINGS = list(itertools.product(CASES, [1, 2]))
SETTINGS += [(name, order) for name in CASES if "orders" in CASES[name].abilities for order in (3, 4)]


def trained(name: str, order: int, **options: Any) -> Tagger:
    options |= {} if name == "hmm" else {"features": ["word[0]", "word[-1]"]}
    return trellis.train(
        legal_corpus("iob2"),
        target="label",
        order=order,
        learner=CASES[name],
        labels=trellis.Labels(scheme="iob2"),
        **options,
    )


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def tagger(request: pytest.FixtureRequest) -> Tagger:
    return trained(*request.param)


SENTENCES = [["a"], ["b", "new"], ["c", "a", "d"]]


def test_every_question(tagger: Tagger) -> None:
    assert tagger.probability_kind == ("confidence" if tagger.model.family == "scores" else "probability")
    for sentence in SENTENCES:
        paths = {path: p for path, p in all_paths(tagger, sentence).items() if p > 0}
        assert all(schemes.check(path, "iob2") is None for path in paths)
        believed = tagger.marginals(sentence, edges=True)
        for t in range(len(sentence)):
            assert sum(believed[t].values()) == pytest.approx(1.0)
            for label, p in believed[t].items():
                share = sum(q for path, q in paths.items() if path[t] == label)
                assert p == pytest.approx(share, rel=1e-6, abs=1e-9)
        likely = sorted(paths.values(), reverse=True)
        best = tagger.kbest(sentence, 4)
        assert len(best) == min(4, len(paths))
        for (path, score), p in zip(best, likely, strict=False):
            assert paths[tuple(path)] == pytest.approx(p, rel=1e-5)
            assert np.exp(score - best[0][1]) == pytest.approx(p / likely[0], rel=1e-4)
        for span, p in tagger.tag_spans(sentence):
            share = sum(q for path, q in paths.items() if span in schemes.spans(path))
            assert p == pytest.approx(share, rel=1e-6, abs=1e-9)
        for decode in ("viterbi", "posterior"):
            assert schemes.check(tagger.tag(sentence, decode=decode), "iob2") is None
            assert tagger.tag(sentence, decode=decode, allowed={0: "O"})[0] == "O"
        if tagger.model.weights.expansion is None:
            check_sums(tagger, sentence, tagger.explain(sentence))
        else:  # a kernel model has no weights of features
            with pytest.raises(trellis.ModelError, match="to explain"):
                tagger.explain(sentence)


@pytest.mark.parametrize("name", [name for name in CASES if "orders" in CASES[name].abilities])
def test_triples_of_many_labels(name: str) -> None:
    """At order 2 there is no table of all triples then."""
    rng = np.random.default_rng(1)
    codes = [*range(MANY_LABELS + 1), *rng.integers(0, 9, 39).tolist()]
    words = [[f"w{z // 2}" for z in codes[i : i + 5]] for i in range(0, 100, 5)]
    labels = [[f"L{z}" for z in codes[i : i + 5]] for i in range(0, 100, 5)]
    options: dict[str, Any] = {} if name == "hmm" else {"features": ["word[0]"]}
    corpus = trellis.read({"word": words, "label": labels})
    tagger = trellis.train(corpus, target="label", order=2, learner=CASES[name], **options)
    assert tagger.model.weights.tri is None
    assert tagger.model.weights.ngrams is not None
    sentence = ["w1", "w2"]
    paths, believed = all_paths(tagger, sentence), tagger.marginals(sentence)
    for label in ("L1", "L2", "L5"):
        share = sum(p for path, p in paths.items() if path[1] == label)
        assert believed[1][label] == pytest.approx(share, rel=1e-5, abs=1e-9)
    assert paths[tuple(tagger.kbest(sentence, 1)[0][0])] == pytest.approx(max(paths.values()), rel=1e-5)
    check_sums(tagger, words[0], tagger.explain(words[0]))


def test_calibration(tagger: Tagger) -> None:
    dev = legal_corpus("iob2", 10)
    fitted = tagger.calibrated(dev)
    assert np.isfinite(fitted.temperature)
    kept = fitted.training["calibration"]
    assert kept["loss"] <= kept["loss_at_temperature_1"] + 1e-9
    assert fitted.tag_batch(dev) == tagger.tag_batch(dev)
    assert fitted.reliability(dev).tokens.n == dev.n_tokens


@pytest.mark.parametrize(("name", "order"), SETTINGS, ids=str)
def test_any_number_of_threads(name: str, order: int) -> None:
    one, two = (trained(name, order, n_threads=n) for n in (1, 2))
    found, same = one.model.weights.tensors(), two.model.weights.tensors()
    assert found.keys() == same.keys()
    assert all(np.array_equal(found[key], same[key]) for key in found)
    sentences = SENTENCES * 40
    assert one.tag_batch(sentences, n_threads=1) == two.tag_batch(sentences, n_threads=2)
    for a, b in zip(
        one.marginals_batch(sentences, n_threads=1), two.marginals_batch(sentences, n_threads=2), strict=True
    ):
        assert np.array_equal(a.node, b.node)


def test_files(tagger: Tagger, tmp_path: Any) -> None:
    fitted = tagger.calibrated(legal_corpus("iob2", 10))
    fitted.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    for sentence in SENTENCES:
        assert again.tag(sentence) == fitted.tag(sentence)
        assert again.marginals(sentence).node.tolist() == fitted.marginals(sentence).node.tolist()
