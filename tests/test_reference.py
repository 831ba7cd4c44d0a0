"""What reference/ says beyond chains: gradients by finite differences, margins and boosting against the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from boost_oracle import sentences_of
from gradient_oracle import SPECS, Spec, problem_of
from gradients import gradient_of

import trellis
from experiments.reference import DenseWeights, Doubles, Tokens, features_of, potentials
from experiments.reference.boosting import Round, wrong_paths
from experiments.reference.loglinear import (
    crf_gradient,
    crf_loss,
    exponential_gradient,
    local_gradient,
    local_loss,
)
from experiments.reference.margin import most_violated, sizes_in_the_dual
from experiments.reference.steps import mira_step
from trellis.learning.parameters import Parameters

SENTENCES: list[Tokens] = [[[0], [1, 3], [2]], [[1, 2], [0, 3]], [[3]]]
GOLDS = [[0, 2, 1], [1, 1], [2]]


def random_weights(order: int) -> DenseWeights:
    rng = np.random.default_rng(order)
    weights = DenseWeights.zeros(4, 3, order)
    for table in weights.tables():
        table += rng.normal(size=table.shape)
    return weights


def slopes(weights: DenseWeights, value: Callable[[], float], h: float = 1e-5) -> Iterator[Doubles]:
    """The gradient by central differences, table by table."""
    for table in weights.tables():
        out = np.zeros(table.shape)
        for place in np.ndindex(*table.shape):
            at = table[place]
            table[place] = at + h
            above = value()
            table[place] = at - h
            out[place] = (above - value()) / (2 * h)
            table[place] = at
        yield out


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["crf", "local", "exponential"])
def test_gradients_are_finite_differences(kind: str, order: int) -> None:
    w, tokens, gold = random_weights(order), SENTENCES[0], GOLDS[0]
    value: Callable[[], float]
    if kind == "crf":
        value, gradient = (
            lambda: crf_loss(potentials(w, tokens), [[z] for z in gold]),
            crf_gradient(w, tokens, gold),
        )
    elif kind == "local":
        value, gradient = lambda: local_loss(potentials(w, tokens), gold), local_gradient(w, tokens, gold)
    else:
        value = lambda: exponential_gradient(w, SENTENCES, GOLDS)[0]  # noqa: E731
        _, gradient = exponential_gradient(w, SENTENCES, GOLDS)
    for found, expected in zip(gradient.tables(), slopes(w, value), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        assert found.any()


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_are_the_kernels(order: int, local: bool) -> None:
    problem = problem_of(Spec(order=order, seen=False), 4)
    parameters = Parameters.of(problem, transitions="all", start=True)
    x = np.random.default_rng(0).normal(size=parameters.size)
    _, found = gradient_of(parameters.objective(local=local, single=False), x, None, 1)
    L, stride = problem.n_labels, 8
    n_edges = len(parameters.edge_places)

    def weights_of(x: Doubles) -> DenseWeights:
        edge, tri = np.zeros((L + 1, stride)), np.zeros((L + 1, L + 1, stride))
        edge.ravel()[parameters.edge_places] = x[4 * L : 4 * L + n_edges]
        tri.ravel()[parameters.tri_places] = x[4 * L + n_edges :]
        return DenseWeights(x[: 4 * L].reshape(4, L), edge[:, :L], tri[..., :L] if order == 2 else None)

    starts, ids, _ = problem.corpus.lists
    tokens = [ids[a:b].tolist() for a, b in pairwise(starts)]
    total = DenseWeights.zeros(4, L, order)
    for begin, end in pairwise(problem.starts):
        one = (local_gradient if local else crf_gradient)(
            weights_of(x), tokens[begin:end], problem.gold[begin:end].tolist()
        )
        for table, part in zip(total.tables(), one.tables(), strict=True):
            table += part
    for table, kernel in zip(total.tables(), weights_of(found).tables(), strict=True):
        np.testing.assert_allclose(table, kernel, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bound", ["loose", "tight", "exact"])
@pytest.mark.parametrize("name", ["order 0", "order 1", "edges", "values", "weights"])
def test_a_round_of_boosting_is_the_kernels(name: str, bound: str) -> None:
    problem = problem_of(SPECS[name], 3)
    parameters = Parameters.of(problem, transitions="all", start=True)
    booster = parameters.booster(bound, 3.0)
    booster.begin(np.random.default_rng(3).normal(size=parameters.size), None, 1)
    for _ in range(3):
        one = Round([s for s in sentences_of(problem, parameters, booster.parameters) if len(s.risk)])
        k, step = one.choose(bound, 3.0)
        feature, kernels, _ = booster.choose(1)
        by = one.loose if bound == "loose" else one.tight
        if bound != "exact":
            assert by(feature, kernels) == pytest.approx(by(k, step), rel=1e-9)
        if feature == k:
            assert kernels == pytest.approx(step, abs=1e-4)
        assert one.z(k, step) <= one.tight(k, step) * (1 + 1e-12) <= one.loose(k, step) * (1 + 2e-12)
        booster.step(feature, kernels, 1)


def test_wrong_paths_are_the_exponential_risk() -> None:
    for order in (1, 2):
        w = random_weights(order)
        each = [wrong_paths(w, tokens, gold) for tokens, gold in zip(SENTENCES, GOLDS, strict=True)]
        risk, gradient = exponential_gradient(w, SENTENCES, GOLDS)
        assert Round(each).risk == pytest.approx(risk, rel=1e-9)
        flat = np.concatenate([table.ravel() for table in gradient.tables()])
        for k in range(0, len(flat), 7):
            assert Round(each).slope(k, 0.0) == pytest.approx(flat[k] / risk, abs=1e-9)


@pytest.mark.parametrize("cost", ["zero-one", "hamming"])
def test_working_sets_reach_the_hm_svms_objective(cost: str) -> None:
    """Altun's algorithm 3 by reference alone: to and fro among sentences until no margin is violated."""
    words, labels, C, tolerance = [["a", "b", "a"], ["b", "a"], ["b"]], ["XYY", "YX", "X"], 0.4, 1e-4
    corpus = trellis.read({"word": words, "label": [list(z) for z in labels]})
    learner = trellis.HMSVM(C=C, cost=cost, tolerance=tolerance)
    tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=learner)

    def phi(tokens: Tokens, path: list[int]) -> Doubles:
        return np.concatenate([table.ravel() for table in features_of(tokens, path, 2, 2, 1).tables()])

    sentences = [[["ab".index(word)] for word in sentence] for sentence in words]
    golds = [["XY".index(z) for z in sentence] for sentence in labels]
    n = 2 * 2 + 3 * 2
    parts = [np.zeros(n) for _ in words]  # the contribution of each sentence to w
    sets: list[dict[tuple[int, ...], tuple[Doubles, float]]] = [{} for _ in words]
    dual_costs = [0.0] * len(words)
    for _ in range(200):
        for i, (tokens, gold) in enumerate(zip(sentences, golds, strict=True)):
            w = np.array(parts).sum(axis=0)
            p = potentials(DenseWeights(w[:4].reshape(2, 2), w[4:].reshape(3, 2), None), tokens)
            path = most_violated(p, gold, 1 - np.eye(2)[gold] if cost == "hamming" else None)
            if path != gold:
                wrong = sum(y != z for y, z in zip(path, gold, strict=True))
                sets[i][tuple(path)] = (
                    phi(tokens, gold) - phi(tokens, path),
                    wrong if cost == "hamming" else 1.0,
                )
            if sets[i]:
                d, costs = (np.array(column) for column in zip(*sets[i].values(), strict=True))
                alpha = sizes_in_the_dual(w - parts[i], d, costs, C)
                parts[i], dual_costs[i] = alpha @ d, float(alpha @ costs)
    w = np.array(parts).sum(axis=0)
    dual = sum(dual_costs) - 0.5 * w @ w
    assert tagger.training["history"][-1]["objective"] == pytest.approx(dual, abs=C * 3 * tolerance)


def test_mira_keeps_its_margins() -> None:
    """With C large enough every margin is met, by the smallest step: for one path in closed form."""
    rng = np.random.default_rng(1)
    w, d, costs = rng.normal(size=6), rng.normal(size=(3, 6)), np.array([1.0, 2.0, 1.0])
    assert ((w + mira_step(w, d, costs, 1e3)) @ d.T >= costs - 1e-9).all()
    size = max(0.0, min(0.05, (1 - w @ d[0]) / (d[0] @ d[0])))
    np.testing.assert_allclose(mira_step(w, d[:1], costs[:1], 0.05), size * d[0])
