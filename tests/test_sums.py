"""Sums in fixed point: the same integers however the sentences are divided, in any order."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from samples import random_corpus

import trellis
from trellis import _core
from trellis._support.arrays import Doubles, Lists
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.fit import Fit
from trellis.learning.parameters import Parameters, block_tokens
from trellis.learning.sums import UNIT, Part, Sums, exact_sum, sums_of
from trellis.tasks.tagging.options import TaggingOptions
from trellis.tasks.tagging.train import check
from trellis.tasks.tagging.training.encoding import encode


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there are several."""
    monkeypatch.setattr("trellis.learning.parameters.BLOCK_BYTES", 0)
    monkeypatch.setattr("trellis.learning.parameters.LEAST_BLOCK", 700)


def problem_of(n_sentences: int = 200, n_labels: int = 30, **options: Any) -> ChainProblem:
    """Some thousand tokens."""
    corpus = random_corpus(3, n_sentences, n_words=300, n_labels=n_labels, longest=40)
    fit = Fit(TaggingOptions, {"target": "label", "features": ["word[0]", "word[-1]"], "order": 1, **options})
    return encode(check(fit, corpus)).problem


def part_of(problem: ChainProblem, first: int, last: int) -> ChainProblem:
    """The sentences from the first to the last, as another process would have them."""
    starts, lists = problem.starts, problem.corpus.lists
    begin, end = int(starts[first]), int(starts[last])
    item, stop = int(lists[0][begin]), int(lists[0][end])
    values = lists[2][item:stop] if len(lists[2]) else lists[2]
    corpus = _core.Encoded(
        starts[first : last + 1] - begin,
        Lists(lists[0][begin : end + 1] - item, lists[1][item:stop], values),
        None,
        None,
        problem.corpus.n_attributes,
        0,
        problem.n_labels,
    )
    weights = None if problem.sentence_weights is None else problem.sentence_weights[first:last]
    return replace(
        problem,
        corpus=corpus,
        starts=starts[first : last + 1] - begin,
        gold=problem.gold[begin:end],
        sentence_weights=weights,
        first_token=begin,
    )


class Several:
    """Parts of several processes, added in some order."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts

    @property
    def first(self) -> Part:
        return self.parts[0]

    def sum(self, method: str, *args: Any) -> Any:
        found = [getattr(part, method)(*args) for part in self.parts]
        if isinstance(found[0], tuple):
            return tuple(sum(these[1:], start=these[0]) for these in zip(*found, strict=True))
        return sum(found[1:], start=found[0])

    def most(self, method: str, *args: Any) -> float:
        return float(max(getattr(part, method)(*args) for part in self.parts))


def cuts_of(problem: ChainProblem, block: int) -> list[int]:
    """The sentences at which blocks begin, and the end."""
    number = problem.starts[:-1] // block
    return [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), problem.n_sentences]


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("local", [False, True])
def test_blocks_of_other_processes_give_the_same_bits(local: bool, single: bool) -> None:
    problem = problem_of(sample_weight=1 + np.arange(200) % 7 / 3)
    parameters = Parameters.of(problem, transitions="all", start=True)
    x = np.random.default_rng(1).normal(size=parameters.size)
    objective = parameters.objective(local=local, single=single)
    cuts = cuts_of(problem, block_tokens(problem.n_columns))
    assert len(cuts) > 3
    whole = sums_of(problem, parameters, 0.5, local=local, single=single)
    functions = ("log_loss",) if local else ("log_loss", "log_risk")
    expected = {name: getattr(whole, name)(x) for name in functions}
    assert expected["log_loss"][0] == pytest.approx(
        float(problem.weigh(objective.losses(x, 1)).sum()) + 0.5 * float(x @ x), rel=1e-12
    )
    parts = []
    for first, last in itertools.pairwise(cuts):
        of_part = part_of(problem, first, last)
        parts.append(Part(of_part, replace(parameters, problem=of_part), local, single))
    for order in (parts, parts[::-1], [*parts[2:], *parts[:2]]):
        sums = Sums(Several(order), 0.5)  # type: ignore[arg-type]
        for name, (value, gradient) in expected.items():
            found, slope = getattr(sums, name)(x)
            assert found == value
            assert np.array_equal(slope, gradient)


@pytest.mark.parametrize("scale", [1e-15, 1e-6, 1e9])
def test_gradients_are_as_exact_for_any_weights_of_sentences(scale: float) -> None:
    weights = np.arange(1.0, 201.0)
    parameters = Parameters.of(problem_of(sample_weight=weights), transitions="all", start=True)
    scaled = Parameters.of(problem_of(sample_weight=scale * weights), transitions="all", start=True)
    x = np.random.default_rng(1).normal(size=parameters.size)
    expected = sums_of(parameters.problem, parameters, 0.0, single=False).log_loss(x)[1]
    found = sums_of(scaled.problem, scaled, 0.0, single=False).log_loss(x)[1]
    np.testing.assert_allclose(found / scale, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_cut_within_a_block_is_seen() -> None:
    """So the test above compares something."""
    problem = problem_of()
    parameters = Parameters.of(problem, transitions="all", start=True)
    x = np.random.default_rng(1).normal(size=parameters.size)
    expected = sums_of(problem, parameters, 0.5, single=True).log_loss(x)[1]
    parts = []
    for first, last in ((0, 10), (10, problem.n_sentences)):
        of_part = part_of(problem, first, last)
        parts.append(Part(of_part, replace(parameters, problem=of_part), local=False, single=True))
    found = Sums(Several(parts), 0.5).log_loss(x)[1]  # type: ignore[arg-type]
    assert not np.array_equal(found, expected)
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_exact_sums_are_those_of_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=100) * 2.0 ** random.integers(-8, 50, 100)
    assert exact_sum(numbers) == sum(int(Fraction(x) * UNIT) for x in numbers.tolist())
    assert exact_sum(random.permutation(numbers)) == exact_sum(numbers)


@pytest.mark.parametrize("odd", [np.inf, np.nan, -np.inf, 1e300])
def test_a_sum_of_no_numbers_is_infinite(odd: float) -> None:
    numbers: Doubles = np.array([1.0, odd, 2.0])
    assert exact_sum(numbers) == float("inf")


def test_stochastic_passes_before_a_batch_method_go_over_the_first_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that the rest would change: with a head of all tokens they are others."""
    corpus = random_corpus(3, 60, n_words=50)

    def weights(head: int) -> Doubles:
        monkeypatch.setattr("trellis.learning.chain_problem.HEAD", head)
        tagger = trellis.train(corpus, target="label", learner=trellis.CRF(epochs=3, warm_up=3))
        return np.asarray(tagger.model.weights.edge)

    everything = weights(10**9)
    assert np.array_equal(weights(corpus.n_tokens + 1), everything)
    assert not np.array_equal(weights(100), everything)
