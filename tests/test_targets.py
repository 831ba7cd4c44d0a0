"""Outputs to step towards that depend on the weights, and warm starts, of any structure."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from test_structured import LEARNERS, SENTENCES, STRUCTURES, Searched

import trellis
from trellis.tasks.structured.problem import Weights

# Which letters of a word are its stem? Only the stem is given; where it starts is hidden.
WORDS = [("abab", "ab"), ("baab", "a"), ("bbab", "ab"), ("aaba", "ba"), ("abba", "zz")]


class Stems:
    """An output is (start, end)."""

    def outputs(self, x: str) -> list[tuple[int, int]]:
        return list(itertools.combinations(range(len(x) + 1), 2))

    def features(self, x: str, y: tuple[int, int]) -> dict[str, float]:
        assert not isinstance(y, str), "y is no output"
        return {f"start {y[0]}": 1, x[slice(*y)]: 1, f"size {y[1] - y[0]}": 0.5, f"{x[:2]} last {x[y[1] - 1]}": 1}

    def kbest(self, x: str, weights: Weights, k: int) -> list[tuple[int, int]]:
        return sorted(self.outputs(x), key=lambda y: -weights.score(self.features(x, y)))[:k]

    def argmax(self, x: str, weights: Weights) -> tuple[int, int]:
        return self.kbest(x, weights, 1)[0]

    def target(self, x: str, y: str, weights: Weights) -> tuple[int, int] | None:
        right = [z for z in self.outputs(x) if x[slice(*z)] == y]
        return max(right, key=lambda z: weights.score(self.features(x, z)), default=None)


class NearStems(Stems):
    """The right stem cannot always be reached: the cheapest of the three best stands for it."""

    def cost(self, x: str, y: str, z: tuple[int, int]) -> float:
        stem = x[slice(*z)]
        return abs(len(stem) - len(y)) + len(set(stem) ^ set(y)) + (stem != y)

    def target(self, x: str, y: str, weights: Weights) -> tuple[int, int] | None:
        return min(self.kbest(x, weights, 3), key=lambda z: self.cost(x, y, z))


class Plain(dict[str, float]):
    def score(self, features: dict[str, float]) -> float:
        return sum(self.get(name, 0.0) * value for name, value in features.items())


def test_the_perceptron_steps_towards_the_target() -> None:
    """Against the loop in plain Python."""
    for problem in (Stems(), NearStems()):
        weights = Plain()
        for _ in range(4):
            for x, y in WORDS:
                right, z = problem.target(x, y, weights), problem.argmax(x, weights)  # type: ignore[arg-type]
                if right is None or z == right:
                    continue
                cost = getattr(problem, "cost", None)
                if cost is not None and cost(x, y, z) <= cost(x, y, right):
                    continue
                for sign, output in ((1, right), (-1, z)):
                    for name, value in problem.features(x, output).items():
                        weights[name] = weights.get(name, 0.0) + sign * value
        model = trellis.StructuredModel.train(
            WORDS, problem=problem, learner=trellis.Perceptron(epochs=4, average=False, shuffle=False)
        )
        assert learnt(model) == {n: w for n, w in weights.items() if w}
        assert any(weights.values())


def test_an_example_without_a_target_is_left_out() -> None:
    model = trellis.StructuredModel.train(WORDS, problem=Stems(), learner=trellis.Perceptron(epochs=5, shuffle=False))
    without = trellis.StructuredModel.train(
        WORDS[:4], problem=Stems(), learner=trellis.Perceptron(epochs=5, average=False, shuffle=False)
    )
    last = trellis.StructuredModel.train(
        WORDS, problem=Stems(), learner=trellis.Perceptron(epochs=5, average=False, shuffle=False)
    )
    assert last.names == without.names
    assert last.weights.values.tobytes() == without.weights.values.tobytes()
    assert [x[slice(*model.predict(x))] for x, _ in WORDS[:4]] == [y for _, y in WORDS[:4]]


class Once(NearStems):
    """Steps from the whole word to its first letter."""

    def target(self, x: str, y: str, weights: Weights) -> tuple[int, int] | None:
        return (0, 1)

    def argmax(self, x: str, weights: Weights) -> tuple[int, int]:
        return (0, len(x))

    def augmented(self, x: str, y: str, weights: Weights) -> tuple[int, int]:
        return (0, len(x))


def test_costs_count_beyond_that_of_the_target() -> None:
    """One example, one step of MIRA: w = loss / |d|² · d with loss = cost(z) - cost(target)."""
    once, x = Once(), "abab"
    assert [once.cost(x, "b", z) for z in ((0, 1), (0, 4))] == [3, 5]
    model = trellis.StructuredModel.train(
        [(x, "b")], problem=once, learner=trellis.MIRA(epochs=1, C=100.0, average=False)
    )
    right, other = once.features(x, (0, 1)), once.features(x, (0, 4))
    d = {name: right.get(name, 0) - other.get(name, 0) for name in right | other}
    size = sum(value * value for value in d.values())
    assert learnt(model) == pytest.approx({name: 2 / size * value for name, value in d.items() if value})


def test_an_output_as_cheap_as_the_target_is_no_mistake() -> None:
    once, x = Once(), "abab"
    assert once.cost(x, "ab", (0, 1)) == once.cost(x, "ab", (0, 4)) == 3
    for y, n_steps in (("ab", 0), ("b", 1)):
        model = trellis.StructuredModel.train([(x, y)], problem=once, learner=trellis.Perceptron(epochs=1))
        assert model.training["history"][0]["updates"] == n_steps
        assert model.training["history"][0]["mistakes"] == n_steps


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("name", ["perceptron", "PA-I", "3-best MIRA"])
def test_a_warm_start_goes_on_where_the_older_training_was(name: str, structure: str) -> None:
    """Online learners without averages: some examples and then the last are one epoch over all."""
    problem, more = STRUCTURES[structure](), {"beam": 3} if structure == "steps" else {}
    once = replace(LEARNERS[name], epochs=1, average=False, shuffle=False)
    examples = [*SENTENCES, (("the", "dog"), ("V", "V"))]
    first = trellis.StructuredModel.train(examples[:4], problem=problem, learner=once, **more)
    whole = trellis.StructuredModel.train(examples, problem=problem, learner=once, **more)
    weights = dict(zip(first.names, first.weights.values.tolist(), strict=True))
    assert learnt(first) != learnt(whole)
    for init in (first, weights):
        assert learnt(
            trellis.StructuredModel.train(examples[4:], problem=problem, learner=once, init=init, **more)
        ) == learnt(whole)


def learnt(model: trellis.StructuredModel) -> dict[str, float]:
    return {name: model[name] for name in model.names if model[name]}


def test_averages_and_votes_count_the_weights_of_a_warm_start() -> None:
    """With weights that are right already there is no step: they are all that is averaged and all that votes."""
    right = trellis.StructuredModel.train(
        SENTENCES, problem=Searched(), learner=trellis.Perceptron(epochs=9, average=False)
    )
    assert right.training["history"][-1]["updates"] == 0
    for vote in (False, True):
        model = trellis.StructuredModel.train(
            SENTENCES, problem=Searched(), learner=trellis.Perceptron(epochs=2, vote=vote), init=right
        )
        assert learnt(model) == learnt(right)
        assert [model.predict(x) for x, _ in SENTENCES] == [y for _, y in SENTENCES]
    other = trellis.StructuredModel.train(
        SENTENCES, problem=Searched(), learner=trellis.Perceptron(epochs=1), init={"far": 2.0, "the|V": 50.0}
    )
    assert other["far"] == 2.0
    assert 0 < other["the|V"] < 50.0


@pytest.mark.parametrize("name", ["CRF", "CRF, L1", "CRF, AdaGrad", "exponential"])
def test_batch_learners_start_where_the_older_training_ended(name: str) -> None:
    problem = STRUCTURES["lattice"]()
    first = trellis.StructuredModel.train(SENTENCES, problem=problem, learner=replace(LEARNERS[name], epochs=200))
    again = trellis.StructuredModel.train(
        SENTENCES, problem=problem, learner=replace(LEARNERS[name], epochs=1), init=first
    )
    anew = trellis.StructuredModel.train(SENTENCES, problem=problem, learner=replace(LEARNERS[name], epochs=1))
    end = first.training["history"][-1]["objective"]
    assert again.training["history"][0]["objective"] == pytest.approx(end, rel=1e-3)
    assert anew.training["history"][0]["objective"] > 1.05 * end


def test_wrong_warm_starts_are_one_clear_line() -> None:
    wrong: list[tuple[Any, Any, str]] = [
        (LEARNERS["Frank-Wolfe"], {"a": 1.0}, "HMSVM does not support init"),
        (LEARNERS["perceptron"], {"a": float("nan")}, "init: feature 'a' must have a number"),
        (LEARNERS["perceptron"], {1: 1.0}, "init: the name of a feature must be a string"),
        (LEARNERS["perceptron"], [1.0], "init: features must be a dict"),
    ]
    for learner, init, message in wrong:
        with pytest.raises(trellis.TrellisError, match=message):
            trellis.StructuredModel.train(SENTENCES, problem=STRUCTURES["lattice"](), learner=learner, init=init)
