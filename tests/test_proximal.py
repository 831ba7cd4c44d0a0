"""The minimiser with an L1 penalty: against SciPy's over twice as many weights, and its step against dense algebra."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from samples import random_corpus
from scipy.optimize import minimize as scipy_minimize

import trellis
from trellis import _core
from trellis._support.arrays import Bools, Doubles
from trellis.learning import proximal
from trellis.learning.lbfgs import Function
from trellis.learning.proximal import Curvature, ProximalMinimizer

N = 12


def data(seed: int) -> tuple[Doubles, Doubles]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(40, N)) + rng.normal(size=(40, 1)), rng.choice([-1.0, 1.0], 40)


def logistic(columns: Doubles, sign: Doubles) -> Function:
    def function(x: Doubles) -> tuple[float, Doubles]:
        margins = sign * (columns @ x)
        return float(np.logaddexp(0, -margins).sum()), -(sign / (1 + np.exp(margins))) @ columns

    return function


def begin(seed: int, c1: float, masks: list[Bools] | None = None) -> tuple[ProximalMinimizer, Function]:
    columns, sign = data(seed)

    def restrict(kept: Bools) -> Function:
        if masks is not None:
            masks.append(kept)
        return logistic(columns[:, kept], sign)

    def measure(x: Doubles) -> Doubles:
        return (columns * columns).sum(axis=0) / 4

    return ProximalMinimizer(np.zeros(N), c1, measure, restrict), logistic(columns, sign)


def run(state: ProximalMinimizer, function: Function, iterations: int = 300) -> ProximalMinimizer:
    if not state.values:
        state.start(function)
    while state.iteration < iterations and not state.has_converged(1e-13) and state.step(function):
        pass
    return state


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("c1", [0.01, 1.0, 3.0])
def test_agrees_with_scipy(seed: int, c1: float) -> None:
    """x = u - v with u and v not negative: |x| is u + v, which is smooth."""
    found, function = begin(seed, c1)
    run(found, function)

    def split(uv: Doubles) -> tuple[float, Doubles]:
        value, slope = function(uv[:N] - uv[N:])
        return value + c1 * uv.sum(), np.concatenate([slope, -slope]) + c1

    options = {"ftol": 1e-15, "gtol": 1e-9}
    peer = scipy_minimize(
        split, np.zeros(2 * N), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * N), options=options
    )
    assert found.value == pytest.approx(peer.fun, rel=1e-8)
    value, gradient = function(found.x)
    assert found.value == pytest.approx(value + c1 * np.abs(found.x).sum(), rel=1e-12)
    zero = found.x == 0
    np.testing.assert_allclose(gradient[~zero], -c1 * np.sign(found.x[~zero]), rtol=0, atol=1e-4)
    assert (np.abs(gradient[zero]) <= c1 + 1e-6).all()
    assert c1 < 1 or zero.any()


def test_a_large_penalty_leaves_nothing() -> None:
    assert (run(*begin(0, 1000.0)).x == 0).all()


def test_what_was_screened_out_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function is restricted, to other weights as training goes on, and the minimum is that of all."""
    monkeypatch.setattr(proximal, "PERIOD", 10**6)
    returned = 0
    for seed in range(20):
        masks: list[Bools] = []
        found = run(*begin(seed, 5.0, masks))
        monkeypatch.setattr(proximal, "SCREEN", 0.0)
        free = run(*begin(seed, 5.0))
        monkeypatch.undo()
        monkeypatch.setattr(proximal, "PERIOD", 10**6)
        assert found.value == pytest.approx(free.value, rel=1e-10)
        returned += any((later & ~earlier).any() for earlier, later in pairwise(masks))
    assert returned > 0


@pytest.mark.parametrize("stop", [0, 1, 3, 7])
def test_stopped_and_resumed_gives_the_same_bits(stop: int) -> None:
    whole, function = begin(2, 2.5)
    run(whole, function, 12)
    first, _ = begin(2, 2.5)
    run(first, function, stop)
    second, _ = begin(2, 2.5)
    second.restore({name: array.copy() for name, array in first.state().items()})
    run(second, function, 12)
    assert second.iteration == whole.iteration
    for name, array in whole.state().items():
        assert np.array_equal(array, second.state()[name]), name


@pytest.mark.parametrize("n_pairs", [0, 1, 3, proximal.MEMORY, proximal.MEMORY + 4])
def test_the_step_minimises_the_model(n_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the Hessian by BFGS's updates one after the other, written out."""
    monkeypatch.setattr(proximal, "SWEEPS", 10**5)
    monkeypatch.setattr(proximal, "SWEEP_TOLERANCE", 1e-28)
    rng, n, c1 = np.random.default_rng(n_pairs), 30, 0.5
    root = rng.normal(size=(n, n))
    matrix, diagonal = root @ root.T / n + np.eye(n), rng.uniform(0.5, 2.0, n)
    curvature = Curvature(diagonal)
    pairs = [(step, matrix @ step) for step in rng.normal(size=(n_pairs, n))]
    for step, change in pairs:
        curvature.add(step, change)
    hessian = curvature.scale() * np.diag(diagonal)
    for s, y in pairs[-proximal.MEMORY :]:
        hs = hessian @ s
        hessian = hessian - np.outer(hs, hs) / (s @ hs) + np.outer(y, y) / (s @ y)
    x = rng.normal(size=n) * (rng.random(n) < 0.5)
    slope = rng.normal(size=n)
    found = [curvature.step(x, slope, c1, n_threads) for n_threads in (1, 2, 3)]
    assert all(np.array_equal(one, found[0]) for one in found)
    takes_part = (x != 0) | (np.abs(slope) > c1)
    assert (found[0][~takes_part] == 0).all()
    there, left = (x + found[0])[takes_part], (slope + hessian @ found[0])[takes_part]
    np.testing.assert_allclose(left[there != 0], -c1 * np.sign(there[there != 0]), rtol=0, atol=1e-7)
    assert (np.abs(left[there == 0]) <= c1 + 1e-7).all()


def test_shapes_are_checked() -> None:
    x, pairs = np.zeros(3), np.zeros((1, 3))
    for bad in ((x[:2], x, x, pairs, pairs, np.eye(2)), (x, x, x, pairs, pairs[:, :2], np.eye(2))):
        with pytest.raises(ValueError, match="different lengths"):
            _core.proximal_step(*bad, 1.0, 1, 0.0, 1)
    with pytest.raises(ValueError, match="middle"):
        _core.proximal_step(x, x, x, pairs, pairs, np.eye(3), 1.0, 1, 0.0, 1)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    corpus, learner = random_corpus(4, 60), trellis.CRF(c1=0.3, c2=0.01, epochs=25)
    taggers = [
        trellis.train(
            corpus, target="label", features=["word[0]", "word[-1]"], learner=learner, n_threads=n
        ).model.weights
        for n in (1, 2, 3)
    ]
    for other in taggers[1:]:
        assert np.array_equal(other.rows.weights, taggers[0].rows.weights)
        assert np.array_equal(other.edge, taggers[0].edge)
