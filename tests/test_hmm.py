"""Hidden Markov models against reference/counting.py; probabilities that sum to one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from gradient_oracle import Spec, problem_of
from samples import KINDS, random_corpus

import trellis
from experiments.reference.counting import HMMCounts, suffix_probability
from trellis import HMM
from trellis._support.errors import LearnerError, TemplateError
from trellis.corpus.corpus import Corpus
from trellis.learners.hmm import label_probabilities


def counts_of(corpus: Corpus, order: int, k: float) -> HMMCounts:
    return HMMCounts(((one["word"], one["label"]) for one in corpus), order, k)


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("smoothing", ["interpolated", "added"])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_scores_are_the_twins(order: int, smoothing: str, end: bool) -> None:
    corpus = random_corpus(1, 25)
    tagger = trellis.train(
        corpus,
        target="label",
        features=["word[0]"],
        order=order,
        learner=HMM(smoothing=smoothing, k=0.3, end=end),
    )
    twin = counts_of(corpus, order, 0.3)
    assert tagger.model.family == "joint"
    rng = np.random.default_rng(0)
    words = [*twin.words, "unknown"]
    for length in (1, 2, 3, 6):
        for _ in range(5):
            sentence = rng.choice(words, length).tolist()
            labels = rng.choice(twin.labels, length).tolist()
            expected = twin.score(sentence, labels, smoothing, end=end)
            assert tagger.score(sentence, labels) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("smoothing", ["interpolated", "added"])
def test_many_labels_have_no_table_of_triples(smoothing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = random_corpus(1, 25)
    learner = HMM(smoothing=smoothing, k=0.3)
    dense = trellis.train(corpus, target="label", features=["word[0]"], order=2, learner=learner)
    monkeypatch.setattr("trellis.learning.chain_problem.MANY_LABELS", 1)
    sparse = trellis.train(corpus, target="label", features=["word[0]"], order=2, learner=learner)
    assert sparse.model.weights.tri is None
    for one in corpus:
        if len(one["word"]):
            path = list(one["label"])[::-1]
            assert sparse.score(one["word"], path) == pytest.approx(dense.score(one["word"], path), abs=1e-4)


@pytest.mark.parametrize("smoothing", ["interpolated", "added"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_label_probabilities_sum_to_one(order: int, smoothing: str) -> None:
    problem = problem_of(Spec(order=order, weights=True), 1)
    L = problem.n_labels
    edge, tri, *_ = label_probabilities(problem, smoothing, 0.1, end=False)
    sums = np.exp(edge if tri is None else tri).sum(axis=-1)
    if order == 2:
        sums = np.delete(sums, L, axis=1)[:L]  # NULL never follows a label
    np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-12)
    if order:
        before_end, _, end, _ = label_probabilities(problem, smoothing, 0.1, end=True)
        assert end is not None
        goes_on = np.exp(before_end[:L] - edge[:L])
        np.testing.assert_allclose(goes_on + np.exp(end)[:, None], 1.0, rtol=0, atol=1e-12)


def test_joint_probabilities_of_all_sentences_sum_to_one() -> None:
    """Over all words, an unknown one among them, and all labels: sentences of one and of two words."""
    corpus = trellis.read({"word": [["a", "b"], ["b"], ["c", "a"]], "label": [["X", "Y"], ["X"], ["Y", "X"]]})
    tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=HMM(k=0.5, end=False))
    for length in (1, 2):
        total = sum(
            math.exp(tagger.score(list(words), list(labels)))
            for words in itertools.product(["a", "b", "c", "?"], repeat=length)
            for labels in itertools.product("XY", repeat=length)
        )
        assert total == pytest.approx(1.0, abs=1e-5)


def test_a_template_that_is_often_silent_has_a_probability_too() -> None:
    corpus = trellis.read({"word": [["a1", "b", "c", "d"]], "label": [["N", "N", "W", "W"]]})
    tagger = trellis.train(corpus, target="label", features=["has_digit(word[0])"], order=0, learner=HMM(k=0.1))
    # N: one of two has a digit, seen once, so "no digit" counts 1 + 1; W: none of two.
    yes = tagger.score(["9"], ["N"]) - tagger.score(["9"], ["W"])
    no = tagger.score(["x"], ["N"]) - tagger.score(["x"], ["W"])
    assert yes == pytest.approx(math.log(1.1 / 3.2) - math.log(0.1 / 2.2), abs=1e-5)
    assert no == pytest.approx(math.log(2.1 / 3.2) - math.log(2.1 / 2.2), abs=1e-5)


def test_several_templates_are_a_product() -> None:
    corpus = random_corpus(2, 20)

    def score(features: list[str]) -> float:
        learner = HMM(end=False)
        tagger = trellis.train(corpus, target="label", features=features, order=0, learner=learner)
        one = corpus[0]
        sentence = {name: list(one[name]) for name in tagger.columns}
        return tagger.score(sentence, list(one["label"]))

    counts = Counter(label for sentence in corpus for label in sentence["label"])
    prior = sum(math.log(counts[label] / counts.total()) for label in corpus[0]["label"])
    word, pos, both = score(["word[0]"]), score(["pos[0]"]), score(["word[0]", "pos[0]"])
    assert both == pytest.approx(word + pos - prior, abs=1e-4)


def suffix_corpus() -> Corpus:
    rng = np.random.default_rng(0)
    words, labels = [], []
    for _ in range(150):
        stem = "".join(rng.choice(list("bcdfgk"), 5))
        words.append(["the", stem + "ing", "of", stem.title() + "s"])
        labels.append(["D", "V", "P", "NP"])
    return trellis.read({"word": words, "label": labels})


def test_unknown_words_go_by_their_suffix(tmp_path: Path) -> None:
    corpus = suffix_corpus()
    taggers = {
        features: trellis.train(corpus, target="label", features=features, order=1, learner=HMM(end=False))
        for features in ("hmm", "altun-s1")
    }
    tagger = taggers["hmm"]
    assert tagger.tag(["zzzing"]) == ["V"]
    assert tagger.tag(["Zzzs"]) == ["NP"]
    # Known words, rare and frequent, have the very scores they have without suffixes.
    known = list(corpus[0]["word"])
    for labels in itertools.product("DVP", repeat=4):
        scores = [t.score(known, list(labels)) for t in taggers.values()]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    tagger.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    for sentence in (known, ["zzzing", "of"], ["Unheard"]):
        assert again.kbest(sentence, 3) == tagger.kbest(sentence, 3)


def test_unknown_words_have_the_references_probabilities() -> None:
    """log P(word never seen | z) + log P(z | suffix) - log P(z), by counts of rare words."""
    rng = np.random.default_rng(2)
    words = [["".join(rng.choice(list("abc"), rng.integers(1, 6))) for _ in range(4)] for _ in range(60)]
    labels = [[str(rng.choice(["X", "Y", word[-1]])) for word in sentence] for sentence in words]
    corpus, k, strength = trellis.read({"word": words, "label": labels}), 0.2, 3.0
    features = ["word[0]", *(f"rare_suffix(word[0], {n})" for n in (1, 2, 3))]
    learner = HMM(smoothing="added", k=k, strength=strength, end=False)
    tagger = trellis.train(corpus, target="label", features=features, order=1, learner=learner)
    counts = counts_of(corpus, 1, k)
    rare = [(w, z) for s, g in zip(words, labels, strict=True) for w, z in zip(s, g, strict=True)]
    rare = [(w, z) for w, z in rare if counts.words[w] <= 10]
    assert len(rare) < corpus.n_tokens
    for word in ("zbba", "zza", "zb", "q", "zcab"):
        levels = [Counter(z for w, z in rare if w.endswith(word[-n:]) or n == 0) for n in range(min(4, len(word) + 1))]
        levels = levels[:1] + [level for level in levels[1:] if level]
        for z in counts.labels:
            of_suffix, of_rare = (
                suffix_probability(some, z, len(counts.labels), k, strength) for some in (levels, levels[:1])
            )
            expected = counts.score([word], [z], "added", end=False) + math.log(of_suffix / of_rare)
            assert tagger.score([word], [z]) == pytest.approx(expected, abs=1e-4)


def test_dev_scores_are_those_of_tagging() -> None:
    corpus = suffix_corpus()
    dev = trellis.read({"word": [["the", "xing", "of", "Qs"], ["bbbbb"]], "label": [["D", "V", "P", "NP"], ["V"]]})
    for features in ("hmm", ["word[0]", "suffix(word[0], 2)"]):
        tagger = trellis.train(corpus, target="label", features=features, learner=HMM(), order=2, dev=dev)
        (event,) = tagger.training["history"]
        assert event["dev_score"] == pytest.approx(tagger.evaluate(dev).headline)


def test_rare_suffix_speaks_for_rare_words_only() -> None:
    corpus = trellis.read({"word": [["often"] * 11 + ["rare"] * 10], "label": [["A"] * 11 + ["B"] * 10]})
    learner = trellis.Perceptron(epochs=2, average=False)
    tagger = trellis.train(corpus, target="label", features=["rare_suffix(word[0], 2)"], learner=learner, order=0)
    assert tagger.model.weights.rows.n_attributes == 1
    assert tagger.score(["often"], ["B"]) == 0
    assert tagger.score(["rare"], ["B"]) == tagger.score(["square"], ["B"]) != 0
    for wrong in ("rare_suffix(lower(word[0]), 2)", "rare_suffix(word[0])", "rare_suffix(word[0], 101)"):
        with pytest.raises(TemplateError, match="rare_suffix"):
            trellis.train(corpus, target="label", features=[wrong])


@pytest.mark.parametrize("kind", ["plain", "order 0", "order 2", "functions", "tag dictionary 2", "shared"])
def test_every_kind_of_model_counts(kind: str) -> None:
    corpus = KINDS[kind].corpus(n_sentences=40)
    tagger = KINDS[kind].train(corpus, learner=HMM())
    assert tagger.evaluate(corpus).token_accuracy > 0.5
    assert np.isfinite(tagger.model.weights.rows.weights).all()


def test_what_it_cannot_do_it_says() -> None:
    with pytest.raises(LearnerError, match="label pairs"):
        KINDS["edges"].train(learner=HMM())
    with pytest.raises(LearnerError, match="negative"):
        KINDS["bag"].train(learner=HMM())
    with pytest.raises(LearnerError, match="does not support partial labels"):
        HMM().fit(problem_of(Spec(partial=True)), None)
    for parameters in ({"k": 0.0}, {"strength": -1.0}, {"smoothing": "none"}):
        with pytest.raises(LearnerError, match="must be"):
            HMM(**parameters)
