"""Tests of significance against SciPy, against all swaps of a few sentences, and against counting by hand."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.stats import binomtest

import trellis
from trellis._support.errors import ArgumentError
from trellis.corpus.objects import from_mapping
from trellis.evaluation.significance import bootstrap, f1_of, mcnemar, randomisation, sentence_counts


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_is_the_binomial_test(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random(400) < 0.9, rng.random(400) < 0.9 - 0.02 * seed
    found = mcnemar(a, b)
    assert (found.a, found.b) == (np.sum(a & ~b), np.sum(b & ~a))
    assert found.p == pytest.approx(min(1.0, binomtest(int(found.a), int(found.a + found.b)).pvalue))


def test_mcnemar_of_equal_systems():
    assert mcnemar([True, False], [True, False]).p == 1.0
    assert mcnemar([], []).p == 1.0


def test_randomisation_nears_the_share_of_all_swaps():
    rng = np.random.default_rng(1)
    gold = rng.integers(3, 7, 10)
    a, b = (np.stack([rng.binomial(gold, p), rng.integers(3, 7, 10) + 2, gold], axis=1) for p in (0.9, 0.6))
    difference = abs(f1_of(a.sum(axis=0)) - f1_of(b.sum(axis=0)))
    as_far = 0
    for swaps in itertools.product((False, True), repeat=10):
        swapped = np.array(swaps)[:, None]
        first, second = np.where(swapped, b, a).sum(axis=0), np.where(swapped, a, b).sum(axis=0)
        as_far += abs(f1_of(first) - f1_of(second)) >= difference - 1e-12
    found = randomisation(a, b, draws=20_000)
    assert found.p == pytest.approx(as_far / 2**10, abs=0.01)
    assert (found.a, found.b) == (f1_of(a.sum(axis=0)), f1_of(b.sum(axis=0)))
    assert randomisation(a, b) == randomisation(a, b)  # seeded
    assert randomisation(a, a).p == 1.0


def test_bootstrap_nears_the_binomial_interval():
    right = np.arange(500) < 400
    low, high = bootstrap(np.stack([right, np.ones(500), np.ones(500)], axis=1))
    assert (low, high) == pytest.approx((0.8 - 1.96 * 0.4 / 500**0.5, 0.8 + 1.96 * 0.4 / 500**0.5), abs=0.003)
    assert bootstrap([[3, 4, 4]] * 7) == (0.75, 0.75)
    assert bootstrap(np.empty((0, 3))) == (0.0, 0.0)


def test_counts_of_sentences_add_up_to_the_scores():
    gold = [["B-NP", "I-NP", "O"], ["B-NP", "B-VP"], ["O"]]
    found = [["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP"], ["O"]]
    both = from_mapping({"gold": gold, "found": found}, None)
    columns = (both.column("gold"), both.column("found"), both.starts)
    spans = sentence_counts(*columns, spans=True)
    assert spans.tolist() == [[1, 2, 1], [0, 1, 2], [0, 0, 0]]
    report = trellis.evaluate(gold, found)
    assert report.has_spans
    assert float(f1_of(spans.sum(axis=0))) == report.f1
    tokens = sentence_counts(*columns, spans=False)
    assert tokens.tolist() == [[2, 3, 3], [1, 2, 2], [1, 1, 1]]
    assert float(f1_of(tokens.sum(axis=0))) == report.token_accuracy


def test_what_cannot_be_compared_is_rejected():
    with pytest.raises(ArgumentError, match="2 and 3 tokens"):
        mcnemar([True, False], [True, False, True])
    with pytest.raises(ArgumentError, match="1 and 2 sentences"):
        randomisation([[1, 1, 1]], [[1, 1, 1]] * 2)
    with pytest.raises(ArgumentError, match="n_sentences, 3"):
        bootstrap([1, 2, 3])
    with pytest.raises(ArgumentError, match="level"):
        bootstrap([[1, 1, 1]], level=95)


def test_many_sentences_take_little_memory_and_time() -> None:
    """Draws go by blocks, over sentences that differ and over kinds of sentences."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 40, 40_000)
    one = np.stack([rng.binomial(lengths, 0.9), lengths, lengths], axis=1)
    other = np.where(rng.random((40_000, 1)) < 0.1, np.stack([rng.binomial(lengths, 0.9), lengths, lengths], 1), one)
    tracemalloc.start()
    try:
        found = randomisation(one, other, draws=500)
        low, high = bootstrap(one, draws=500)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6
    assert 0 < found.p <= 1
    share = one[:, 0].sum() / lengths.sum()
    error = 1.96 * np.sqrt(((one[:, 0] - share * lengths) ** 2).sum()) / lengths.sum()
    assert (low, high) == pytest.approx((share - error, share + error), abs=error / 4)
