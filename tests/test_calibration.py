"""Temperatures fitted to held-out labels, and reliability tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import LABELS, MODELS, all_paths, corpus_of, possible, random_tagger

import trellis
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import spans
from trellis.evaluation.reliability import reliability
from trellis.tasks.tagging.calibration import LEAST, MOST, search
from trellis.tasks.tagging.model import Tagger


def noisy_corpus(seed: int, n: int) -> Corpus:
    """Labels that depend on the word and on the label before, but not always."""
    rng = np.random.default_rng(seed)
    words, labels = [], []
    for _ in range(n):
        sentence = rng.integers(0, 4, int(rng.integers(1, 9)))
        before, row = 0, []
        for w in sentence.tolist():
            before = int(rng.choice(3, p=[[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]][(w + before) % 3]))
            row.append(("O", "B-X", "I-X")[before])
        words.append([f"w{w}" for w in sentence])
        labels.append(row)
    return trellis.read({"word": words, "label": labels})


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return noisy_corpus(0, 400)


@pytest.fixture(scope="module")
def crf(corpus: Corpus) -> Tagger:
    learner = trellis.CRF(c2=1e-4, transitions="all")
    return trellis.train(corpus, target="label", features=["word[0]", "label[-1] & word[0]"], learner=learner)


def times(tagger: Tagger, factor: float) -> Tagger:
    """The same tagger with all scores multiplied."""
    w = tagger.model.weights
    rows, edge_rows = (
        None if r is None else replace(r, weights=np.float32(factor) * r.weights) for r in (w.rows, w.edge_rows)
    )
    assert rows is not None
    weights = replace(w, rows=rows, edge_rows=edge_rows, edge=np.float32(factor) * w.edge)
    return Tagger(replace(tagger.model, weights=weights))


def test_a_crf_is_calibrated_on_its_own_data(crf: Tagger, corpus: Corpus) -> None:
    """Nearly, for the model is not quite the truth."""
    assert crf.calibrated(corpus).temperature == pytest.approx(1.0, abs=0.1)
    assert crf.reliability(corpus).tokens.ece < 0.02


@pytest.mark.parametrize("factor", [0.25, 3.0, 100.0])
def test_scores_of_another_size(crf: Tagger, corpus: Corpus, factor: float) -> None:
    """Multiplied scores need a multiplied temperature, and then say the same."""
    expected = crf.calibrated(corpus)
    found = times(crf, factor).calibrated(corpus)
    assert found.temperature == pytest.approx(factor * expected.temperature, rel=2e-3)
    sentence = ["w0", "w1", "w2"]
    np.testing.assert_allclose(found.marginals(sentence).node, expected.marginals(sentence).node, atol=1e-3)
    assert found.tag(sentence) == crf.tag(sentence)


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_the_least(name: str) -> None:
    """By enumeration: no temperature near the fitted one is better."""
    tagger = random_tagger(3, **MODELS[name])
    corpus = corpus_of(("P", "Q", "R"), 8, 25)
    corpus = corpus.take([i for i, words in enumerate(corpus.sentences("word")) if len(words) < 4])

    def loss(one: Tagger) -> float:
        total, n = 0.0, 0
        for words, gold in zip(corpus.sentences("word"), corpus.sentences("label"), strict=True):
            shares, may = all_paths(one, words), possible(one, words)
            for t, z in enumerate(gold):
                if z in may[t]:
                    total -= np.log(sum(p for path, p in shares.items() if path[t] == z))
                    n += 1
        return total / n

    fitted = tagger.calibrated(corpus)
    record, best = fitted.training["calibration"], loss(fitted)
    assert record["loss"] == pytest.approx(best, rel=1e-6)
    assert record["temperature"] == fitted.temperature
    assert record["loss_at_temperature_1"] == pytest.approx(
        loss(Tagger(replace(tagger.model, temperature=1.0))), rel=1e-6
    )
    for factor in (0.9, 1.1):
        other = fitted.temperature * factor
        if LEAST < other < MOST:
            assert loss(Tagger(replace(tagger.model, temperature=other))) >= best - 1e-7


def test_confidences_of_a_perceptron(corpus: Corpus, tmp_path: Path) -> None:
    tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=trellis.Perceptron(epochs=5))
    assert tagger.probability_kind == "confidence"
    fitted = tagger.calibrated(noisy_corpus(1, 200))
    before, after = (one.reliability(noisy_corpus(2, 200)) for one in (tagger, fitted))
    assert after.tokens.ece < before.tokens.ece
    assert after.probability_kind == "confidence"
    assert after.tokens.accuracy == before.tokens.accuracy
    fitted.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    assert again.temperature == fitted.temperature != 1.0
    assert again.marginals(["w0"]).node.tolist() == fitted.marginals(["w0"]).node.tolist()
    for n_threads in (1, 2):
        assert tagger.calibrated(noisy_corpus(1, 200), n_threads=n_threads).temperature == fitted.temperature
    # Calibrating again begins anew.
    assert fitted.calibrated(noisy_corpus(1, 200)).temperature == fitted.temperature


def test_impossible_labels_are_left_out() -> None:
    tagger = random_tagger(0, LABELS["iob2"]).constrained("iob2")
    legal = {"word": [["a", "b"], ["c"]], "label": [["B-X", "I-X"], ["O"]]}
    illegal = {"word": [*legal["word"], ["a"]], "label": [*legal["label"], ["I-X"]]}
    foreign = {"word": [*legal["word"], ["a"]], "label": [*legal["label"], ["Z"]]}
    expected = tagger.calibrated(legal)
    for more in (illegal, foreign):
        assert tagger.calibrated(more).training["calibration"] == expected.training["calibration"]
    with pytest.raises(
        CorpusError, match="no label of these sentences is known to the model; calibrate on other sentences"
    ):
        tagger.calibrated({"word": [["a"]], "label": [["Z"]]})


def test_search() -> None:
    for least in (0.02, 0.5, 1.0, 7.3, 900.0):
        assert search(lambda t, least=least: (np.log(t) - np.log(least)) ** 2) == pytest.approx(least, rel=1e-3)
    assert search(lambda t: t) == pytest.approx(LEAST, rel=1e-3)
    assert search(lambda t: -t) == pytest.approx(MOST, rel=1e-3)


# ------------------------------------------------------------ tables


def test_table_by_hand() -> None:
    table = reliability([0.05, 0.15, 0.95, 0.85, 1.0, 0.1], [0, 0, 1, 1, 0, 1], n_bins=10)
    assert [bin.n for bin in table.bins] == [1, 2, 0, 0, 0, 0, 0, 0, 1, 2]
    assert table.bins[1].confidence == pytest.approx(0.125)
    assert table.bins[1].accuracy == 0.5
    assert table.bins[9].confidence == pytest.approx(0.975)
    assert table.ece == pytest.approx((0.05 + 2 * 0.375 + 0.15 + 2 * 0.475) / 6)
    assert table.mce == pytest.approx(0.475)
    assert table.brier == pytest.approx(np.mean(np.square([0.05, 0.15, 0.05, 0.15, 1.0, 0.9])))
    assert table.accuracy == 0.5
    assert "ECE 0.3167, MCE 0.4750, Brier score" in str(table)
    assert table.to_dict()["bins"][8]["n"] == 1


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40), st.integers(1, 20))
def test_table_laws(pairs: list[tuple[float, bool]], n_bins: int) -> None:
    table = reliability([p for p, _ in pairs], [right for _, right in pairs], n_bins)
    assert sum(bin.n for bin in table.bins) == table.n == len(pairs)
    assert 0 <= table.ece <= table.mce + 1e-12 <= 1 + 1e-9
    assert abs(table.confidence - table.accuracy) <= table.ece + 1e-9
    for bin in table.bins:
        if bin.n:
            assert bin.low - 1e-9 <= bin.confidence <= bin.high + 1e-9


def test_wrong_tables() -> None:
    with pytest.raises(ValueError, match="2 confidences, but 1 predictions"):
        reliability([0.1, 0.2], [True])
    with pytest.raises(ValueError, match="from 0 to 1"):
        reliability([1.5], [True])
    with pytest.raises(ValueError, match="n_bins"):
        reliability([0.5], [True], 0)


def test_reliability_of_a_tagger(corpus: Corpus, crf: Tagger) -> None:
    found = crf.reliability(corpus, n_bins=5)
    believed, right, span_believed, span_right = [], [], [], []
    for words, gold in zip(corpus.sentences("word"), corpus.sentences("label"), strict=True):
        labels, node = crf.tag(words), crf.marginals(words)
        believed += [node[t][z] for t, z in enumerate(labels)]
        right += [z == g for z, g in zip(labels, gold, strict=True)]
        for span, p in crf.tag_spans(words):
            span_believed.append(p)
            span_right.append(span in spans(gold))
    assert found.tokens == reliability(believed, right, 5)
    assert found.spans is not None
    assert found.spans == reliability(span_believed, span_right, 5)
    assert found.to_dict()["spans"]["n"] == len(span_right)
    assert "Calibration (spans), probability" in str(found)
    # Labels that mark no spans.
    plain = random_tagger(0)
    assert plain.reliability(corpus_of(("P", "Q", "R"), 2)).spans is None
    assert plain.reliability(corpus_of(("P", "Q", "R"), 2)[:0]).tokens.n == 0
