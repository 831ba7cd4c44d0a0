"""The minimiser against SciPy's, and stopped and resumed against itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from samples import random_corpus
from scipy.optimize import minimize as scipy_minimize

import trellis
from experiments.reference import Doubles
from trellis.learning.lbfgs import MEMORY, WINDOW, History, Minimizer

Function = Callable[[Doubles], tuple[float, Doubles]]


def quadratic(n: int = 12, seed: int = 0) -> tuple[Function, Doubles]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    matrix, centre = root @ root.T + 0.1 * np.eye(n), rng.normal(size=n)
    return lambda x: (float((x - centre) @ matrix @ (x - centre)) / 2, matrix @ (x - centre)), centre


def rosenbrock(x: Doubles) -> tuple[float, Doubles]:
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
    return float(value), np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])


def logistic(seed: int = 1) -> Function:
    rng = np.random.default_rng(seed)
    data, sign = rng.normal(size=(40, 8)), rng.choice([-1.0, 1.0], 40)

    def function(x: Doubles) -> tuple[float, Doubles]:
        margins = sign * (data @ x)
        slope = -(sign / (1 + np.exp(margins))) @ data
        return float(np.logaddexp(0, -margins).sum()), slope

    return function


def run(function: Function, x: Doubles, iterations: int = 500) -> Minimizer:
    state = Minimizer(x)
    state.start(function)
    while state.iteration < iterations and state.step(function):
        pass
    return state


def test_finds_the_bottom_of_a_bowl() -> None:
    function, centre = quadratic()
    np.testing.assert_allclose(run(function, np.zeros(12)).x, centre, rtol=0, atol=1e-6)


def test_turns_corners() -> None:
    np.testing.assert_allclose(run(rosenbrock, np.array([-1.2, 1.0])).x, [1, 1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_scipy(seed: int) -> None:
    function = logistic(seed)
    peer = scipy_minimize(function, np.zeros(8), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    assert run(function, np.zeros(8)).value == pytest.approx(peer.fun, rel=1e-9)


@pytest.mark.parametrize("stop", [0, 1, 5, 14])
def test_stopped_and_resumed_gives_the_same_bits(stop: int) -> None:
    function = logistic(2)
    whole = run(function, np.zeros(8), 25)
    first = run(function, np.zeros(8), stop)
    second = Minimizer(np.zeros(8))
    second.restore({name: array.copy() for name, array in first.state().items()})
    while first.iteration == stop and second.iteration < 25 and second.step(function):  # unless it had ended
        pass
    assert second.iteration == whole.iteration
    assert second.iteration == whole.iteration
    for name, array in whole.state().items():
        assert np.array_equal(array, second.state()[name]), name


def two_loops(steps: list[Doubles], changes: list[Doubles], slope: Doubles) -> Doubles:
    """The direction as textbooks have it (Nocedal and Wright, algorithm 7.4)."""
    q, factors = -slope, []
    for s, y in zip(reversed(steps), reversed(changes), strict=True):
        factors.append(float(s @ q) / float(s @ y))
        q = q - factors[-1] * y
    r = q * float(steps[-1] @ changes[-1]) / float(changes[-1] @ changes[-1])
    for s, y, factor in zip(steps, changes, reversed(factors), strict=True):
        r = r + (factor - float(y @ r) / float(s @ y)) * s
    return r


def halved(x: Doubles) -> Doubles:
    """To the nearest number of 16 bits, the upper half of a float."""
    bits = (x.astype(np.float32).view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


@pytest.mark.parametrize("n_pairs", [1, 2, 5, MEMORY, MEMORY + 7])
@pytest.mark.parametrize("size", [3, 5000])
def test_the_direction_is_that_of_the_two_loops(n_pairs: int, size: int) -> None:
    rng = np.random.default_rng(n_pairs)
    scales = rng.uniform(0.5, 2.0, size)
    history, steps, changes = History(size), list[Doubles](), list[Doubles]()
    for _ in range(n_pairs):
        step = halved(rng.normal(size=size))
        change = halved(step * scales)
        history.add(step, np.zeros(size), change, np.zeros(size))
        steps.append(step)
        changes.append(change)
        slope = rng.normal(size=size)
        expected = two_loops(steps[-MEMORY:], changes[-MEMORY:], slope)
        found = [history.direction(slope, n_threads) for n_threads in (1, 2, 3)]
        np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
        assert all(np.array_equal(one, found[0]) for one in found)
    assert len(history) == min(n_pairs, MEMORY)


def test_says_when_it_has_converged() -> None:
    """When the value fell by less than the tolerance, of itself, over the last ten iterations: not before."""
    state = Minimizer(np.zeros(1))
    for n in range(30):
        state.values, state.value = [*state.values[-WINDOW:], 100 / (n + 1)], 100 / (n + 1)
        for tolerance in (0.45, 0.95, 1.9):
            # 100 / (n - 9) - 100 / (n + 1) < tolerance · 100 / (n + 1)  <=>  10 < tolerance · (n - 9)
            assert state.has_converged(tolerance) == (n >= 10 and tolerance * (n - 9) > 10)


@pytest.mark.parametrize("c1", [0.0, 0.3])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_training_ends_at_the_tolerance(tolerance: float, c1: float) -> None:
    """The last epoch is the first after which the rule holds; with L1 one later, that looks at all weights."""
    learner = trellis.CRF(c1=c1, tolerance=tolerance, warm_up=0, precision="double")
    tagger = trellis.train(random_corpus(1, 20), target="label", features=["word[0]"], learner=learner)
    start = tagger.training["tokens"] * np.log(len(tagger.labels))  # every path has the same probability
    values = [start, *(event["objective"] for event in tagger.training["history"])]
    ends = [n for n in range(WINDOW, len(values)) if values[n - WINDOW] - values[n] < tolerance * values[n]]
    assert ends[-1] == len(values) - 1
    assert len(ends) == 1 if c1 == 0 else len(ends) <= 2
    assert len(values) < 1000


def test_a_function_that_is_infinite_far_away() -> None:
    def function(x: Doubles) -> tuple[float, Doubles]:
        if x[0] >= 1:
            return np.inf, np.array([np.nan])
        return float(-np.log(1 - x[0]) - 5 * x[0]), np.array([1 / (1 - x[0]) - 5])

    assert run(function, np.zeros(1)).x[0] == pytest.approx(0.8, abs=1e-6)
