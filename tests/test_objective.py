"""Losses and gradients against enumeration and finite differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gradient_oracle import (
    PARTIAL,
    PARTS,
    SPECS,
    Spec,
    local_losses_of,
    losses_of,
    potentials_of,
    problem_of,
    slope_of,
)
from gradients import gradient_of
from oracle import paths_of, score_of
from samples import random_corpus

import trellis
from experiments.reference import Doubles
from trellis import _core
from trellis._support.arrays import Lists
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.parameters import Parameters
from trellis.learning.sums import sums_of

ALL = SPECS | PARTIAL | PARTS


def setting(
    spec: Spec, seed: int = 1, *, transitions: str = "all", scale: float = 1.0
) -> tuple[ChainProblem, Parameters, Doubles]:
    problem = problem_of(spec, seed)
    parameters = Parameters.of(problem, transitions=transitions, start=True)
    x = scale * np.random.default_rng(seed + 100).normal(size=parameters.size)
    return problem, parameters, x


@pytest.mark.parametrize("name", ALL)
def test_losses_are_those_of_enumeration(name: str) -> None:
    for seed in range(3):
        problem, parameters, x = setting(ALL[name], seed)
        expected = losses_of(problem, parameters, x)
        objective = parameters.objective(local=False, single=False)
        np.testing.assert_allclose(objective.losses(x, 1), expected, rtol=0, atol=1e-10)
        losses, _ = gradient_of(objective, x, problem.sentence_weights, 1)
        np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("transitions", ["seen", "all"])
@pytest.mark.parametrize("name", ALL)
def test_gradients_are_finite_differences(name: str, transitions: str) -> None:
    problem, parameters, x = setting(ALL[name], transitions=transitions)
    objective = parameters.objective(local=False, single=False)
    _, gradient = gradient_of(objective, x, problem.sentence_weights, 1)

    def total(at: Doubles) -> float:  # the losses were checked above
        return float(problem.weigh(objective.losses(at, 1)).sum())

    np.testing.assert_allclose(gradient, slope_of(total, x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["order 2", "everything 2", "partial 2"])
def test_sparse_ngrams_at_order_2(name: str) -> None:
    """As where labels are many: only the triples of training have weights, and paths go by lists of labels."""
    problem = problem_of(ALL[name], 4)
    parameters = Parameters.of(problem, transitions="seen", start=True, sparse=True)
    assert parameters.ngrams is not None
    x = np.random.default_rng(4).normal(size=parameters.size)
    objective = parameters.objective(local=False, single=False)
    losses, gradient = gradient_of(objective, x, problem.sentence_weights, 1)
    np.testing.assert_allclose(losses, losses_of(problem, parameters, x), rtol=0, atol=1e-10)

    def total(at: Doubles) -> float:
        return float(problem.weigh(objective.losses(at, 1)).sum())

    np.testing.assert_allclose(gradient, slope_of(total, x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", SPECS | PARTS)
def test_local_losses_and_gradients(name: str) -> None:
    problem, parameters, x = setting(ALL[name], 2)
    objective = parameters.objective(local=True, single=False)
    expected = local_losses_of(problem, parameters, x)
    np.testing.assert_allclose(objective.losses(x, 1), expected, rtol=0, atol=1e-10)
    losses, gradient = gradient_of(objective, x, problem.sentence_weights, 1)
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-10)

    def total(at: Doubles) -> float:
        return float(problem.weigh(local_losses_of(problem, parameters, at)).sum())

    np.testing.assert_allclose(gradient, slope_of(total, x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("c2", [0.0, 0.3])
@pytest.mark.parametrize("name", ALL)
def test_exponential_losses_and_gradients(name: str, c2: float) -> None:
    problem, parameters, x = setting(ALL[name], 3, scale=0.5)
    objective = parameters.objective(local=False, single=False)

    def value(at: Doubles) -> float:
        inverse = problem.weigh(np.exp(objective.losses(at, 1)))
        return float(np.log(inverse.sum() + c2 * (at**2).sum()))

    found, gradient = sums_of(problem, parameters, c2, single=False).log_risk(x)
    assert found == pytest.approx(value(x), abs=1e-10)
    np.testing.assert_allclose(gradient, slope_of(value, x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("scale", [300.0, 3000.0])
@pytest.mark.parametrize("name", ["order 1", "order 2", "edges", "everything 2", "partial", "partial 2"])
def test_factors_that_underflow(name: str, scale: float) -> None:
    """Potentials thousands apart: losses of enumeration, gradients of the paths' probabilities."""
    for seed in range(3):
        problem, parameters, x = setting(ALL[name], seed, scale=scale)
        objective = parameters.objective(local=False, single=False)
        losses, gradient = gradient_of(objective, x, problem.sentence_weights, 1)
        np.testing.assert_allclose(losses, losses_of(problem, parameters, x), rtol=1e-12, atol=1e-9)
        assert np.isfinite(gradient).all()

        def total(at: Doubles, problem: ChainProblem = problem, objective: _core.Objective = objective) -> float:
            return float(problem.weigh(objective.losses(at, 1)).sum())

        np.testing.assert_allclose(gradient, slope_of(total, x, 1e-4), rtol=0, atol=1e-5)


def test_a_path_that_underflows_and_comes_back() -> None:
    """Two labels that never follow each other: one is e^-800 at first, the other falls behind by and by."""
    starts = np.array([0, 3], np.int64)
    lists = Lists(np.arange(4, dtype=np.int64), np.arange(3, dtype=np.int32), np.empty(0, np.float32))
    encoded = _core.Encoded(starts, lists, None, None, 3, 0, 2)
    edge_base = np.zeros((3, 8), np.float32)
    edge_base[[0, 1], [1, 0]] = -np.inf
    for order in (1, 2):
        problem = ChainProblem(np.array([1, 1, 1], np.int32), encoded, starts, 2, order, edge_base=edge_base)
        parameters = Parameters.of(problem, transitions="all", start=True)
        x = np.zeros(parameters.size)
        x[:6] = [0, -800, -400, 0, -400, 0]  # both paths score -800
        objective = parameters.objective(local=False, single=False)
        losses, gradient = gradient_of(objective, x, None, 1)
        assert losses[0] == pytest.approx(np.log(2), abs=1e-9)
        np.testing.assert_allclose(gradient[:6], [0.5, -0.5] * 3, rtol=0, atol=1e-9)


def test_exponential_loss_does_not_overflow() -> None:
    problem, parameters, x = setting(Spec(), 4, scale=2000.0)
    objective = parameters.objective(local=False, single=False)
    assert objective.losses(x, 1).max() > 1000
    value, gradient = sums_of(replace(problem, sentence_weights=None), parameters, 0.5, single=False).log_risk(x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(float(objective.losses(x, 1).max()), rel=1e-2)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_single_precision_is_near_double(name: str, local: bool) -> None:
    problem, parameters, x = setting(SPECS[name], 5)
    (losses, slope), (near, near_slope) = (
        gradient_of(parameters.objective(local=local, single=single), x, problem.sentence_weights, 1)
        for single in (False, True)
    )
    np.testing.assert_allclose(near, losses, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(near_slope, slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("name", ["order 1", "everything 2", "partial everything"])
def test_any_number_of_threads_gives_the_same_bits(name: str, single: bool) -> None:
    problem, parameters, x = setting(ALL[name], 6)
    objective = parameters.objective(local=False, single=single)
    losses, gradient = gradient_of(objective, x, problem.sentence_weights, 1)
    for n_threads in (2, 3, 7):
        again, again_gradient = gradient_of(objective, x, problem.sentence_weights, n_threads)
        assert (losses == again).all()
        assert (gradient == again_gradient).all()
        assert (objective.losses(x, n_threads) == objective.losses(x, 1)).all()


@pytest.mark.parametrize("name", SPECS)
def test_gold_counts_are_the_slope_of_the_gold_score(name: str) -> None:
    problem, parameters, x = setting(SPECS[name], 7)

    def score(at: Doubles) -> float:
        golds = np.split(problem.gold, problem.starts[1:-1])
        each = zip(potentials_of(problem, parameters, at), golds, strict=True)
        return float(problem.weigh(np.array([score_of(p, gold) for p, gold in each])).sum())

    np.testing.assert_allclose(parameters.gold_counts(), slope_of(score, x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", SPECS)
def test_weights_and_back(name: str) -> None:
    """A vector made weights of a chain, and these where to begin: the same vector, in float."""
    problem, parameters, x = setting(SPECS[name], 8)
    x[::3] = 0
    weights = parameters.weights(x)
    if problem.edge_base is None:
        assert weights.n_nonzero == np.count_nonzero(x)
    again = replace(parameters, problem=replace(problem, initial=weights)).start()
    possible = np.ones(len(x), bool)
    if problem.edge_base is not None:
        first = len(x) - len(parameters.edge_places) - len(parameters.tri_places)
        pairs = slice(first, first + len(parameters.edge_places))
        possible[pairs] = np.isfinite(problem.edge_base.ravel()[parameters.edge_places])
        assert (np.isneginf(weights.edge) == np.isneginf(problem.edge_base)).all()
        assert weights.end is problem.end_base
    assert (again[possible] == x[possible].astype(np.float32)).all()
    assert (again[~possible] == 0).all()
    assert (parameters.start() == 0).all()


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_one_pass_is_its_definition(order: int, batch: int) -> None:
    """AdaGrad by the plain formulas, the gradient of each batch from the objective."""
    spec = Spec(order=order, edges=True, weights=True)
    problem, parameters, x = setting(spec, 9)
    objective = parameters.objective(local=False, single=False)
    rate, c1, c2 = 0.3, 0.02, 0.1
    order_of = np.array([3, 0, 4, 1], np.int64)

    def one_pass(n: int, n_threads: int = 1) -> tuple[Any, Any, Any]:
        w, squares = x.copy(), np.ones(len(x))
        given = problem.sentence_weights
        met = objective.one_pass(w, squares, order_of[:n], given, rate, c1, c2, batch=batch, n_threads=n_threads)
        return w, squares, met

    found, squares, met = one_pass(len(order_of))
    first = len(x) - len(parameters.edge_places) - len(parameters.tri_places)
    w, sums = x.copy(), np.ones(len(x))
    for i in range(0, len(order_of), batch):
        before, _, _ = one_pass(i)
        np.testing.assert_allclose(before[first:], w[first:], rtol=1e-10, atol=1e-12)
        only = np.zeros(problem.n_sentences)
        some = order_of[i : i + batch]
        only[some] = problem.sentence_weights[some]
        losses, gradient = gradient_of(objective, before, only, 1)
        np.testing.assert_allclose(met[some], losses[some], rtol=1e-12)
        # Label pairs and triples take one step per batch, and their share of the penalty with it.
        share = 1 / -(-problem.n_sentences // batch)
        g = gradient + 2 * c2 * share * w
        sums += g**2
        w = w - rate / np.sqrt(sums) * g
        w = np.sign(w) * np.maximum(np.abs(w) - rate / np.sqrt(sums) * c1 * share, 0)
    np.testing.assert_allclose(found[first:], w[first:], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(squares[first:], sums[first:], rtol=1e-10)
    assert not (found[:first] == x[:first]).all()


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("batch", [1, 6, 40])
def test_a_pass_on_any_number_of_threads_gives_the_same_bits(batch: int, single: bool) -> None:
    corpus, results = random_corpus(5, 40, n_words=300), []
    for n in (1, 2, 3):
        learner = trellis.CRF(solver="adagrad", epochs=3, batch=batch, precision="single" if single else "double")
        tagger = trellis.train(corpus, target="label", features=["word[0]", "word[-1]"], learner=learner, n_threads=n)
        results.append((tagger.model.weights.rows.weights, tagger.model.weights.edge))
    for rows, edge in results[1:]:
        assert np.array_equal(rows, results[0][0])
        assert np.array_equal(edge, results[0][1])


def test_probabilities_of_all_paths_sum_to_one() -> None:
    problem, parameters, x = setting(Spec(order=2), 10)
    objective = parameters.objective(local=False, single=False)
    p = potentials_of(problem, parameters, x)[0]
    total = 0.0
    for path in paths_of(p):
        gold = problem.gold.copy()
        gold[: len(path)] = path
        of_path = replace(parameters, problem=replace(problem, gold=gold)).objective(local=False, single=False)
        total += np.exp(-of_path.losses(x, 1)[0])
    assert total == pytest.approx(1.0, abs=1e-9)
    assert (objective.losses(x, 1) >= 0).all()
