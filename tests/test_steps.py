"""Outputs decided step by step: the beam, its k best and the three updates, against a plain beam and enumeration."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beam_oracle import plain_beams, plain_score, plain_training

import trellis
from trellis.tasks.structured.beam import BeamSearch, violations

UPDATES = ("standard", "early", "max-violation")
LABELS = "ABC"


class History:
    """Labels that see everything before them: whether a label was used, the one three before, the last of the word."""

    def choices(self, x: Any, done: Any) -> str:
        return LABELS if len(done) < len(x) else ""

    def features(self, x: Any, done: Any, choice: str) -> dict[str, float]:
        t = len(done)
        same = [z for word, z in zip(x, done, strict=False) if word == x[t]]
        names = [f"{x[t]}|{choice}", f"3:{done[-3] if t > 2 else '^'}|{choice}", f"same:{same[-1:]}|{choice}"]
        return dict.fromkeys([*names, *(f"any:{z}|{choice}" for z in sorted(set(done)))], 1.0)


class Merged(History):
    """The same, told that no more is seen."""

    def signature(self, x: Any, done: Any) -> Any:
        return done[-3:], frozenset(done), tuple(dict(zip(x, done, strict=False)).items())


class Lengths:
    """Outputs of different lengths: a string in pieces of one to three letters."""

    def choices(self, x: Any, done: Any) -> list[str]:
        rest = x[sum(map(len, done)) :]
        return [rest[:n] for n in range(1, min(3, len(rest)) + 1)]

    def features(self, x: Any, done: Any, choice: str) -> dict[str, float]:
        return {choice: 1.0, f"{done[-1] if done else '^'} {len(choice)}": 1.0}


def sentences(seed: int, n: int = 12) -> list[tuple[Any, Any]]:
    draw = random.Random(seed)
    xs = ["".join(draw.choice("abc") for _ in range(draw.randrange(1, 6))) for _ in range(n)]
    return [(x, tuple(draw.choice(LABELS) for _ in x)) for x in xs]


def segments(seed: int, n: int = 12) -> list[tuple[Any, Any]]:
    draw = random.Random(seed)
    ys = [tuple(draw.choice(["a", "ab", "abc", "ca", "b"]) for _ in range(draw.randrange(1, 4))) for _ in range(n)]
    return [("".join(y), y) for y in ys]


# ---------------------------------------------------------------------------- against a beam in a few plain lines


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("width", [1, 2, 4, 1000])
@pytest.mark.parametrize("make", [History, Merged, Lengths])
def test_training_gives_the_weights_of_a_plain_beam(make: Any, width: int, update: Any) -> None:
    problem, examples = make(), segments(width) if make is Lengths else sentences(width)
    moments = plain_training(problem, examples, width, update, 3)
    for average in (False, True):
        learner = trellis.Perceptron(epochs=3, average=average, update=update, shuffle=False)
        model = trellis.StructuredModel.train(examples, problem=problem, learner=learner, beam=width)
        for f in moments[-1]:
            mean = sum(weights.get(f, 0.0) for weights in moments) / len(moments)
            assert model[f] == pytest.approx(mean if average else moments[-1][f], abs=1e-6 if average else 0)
        if not average:
            for x, _ in sentences(9) if make is not Lengths else segments(9):
                assert model.predict(x) == plain_beams(problem, moments[-1], x, width)[-1][0]


def random_model(problem: Any, examples: Any, seed: int, beam: int, *, whole: bool) -> trellis.StructuredModel:
    draw = random.Random(seed)
    model = trellis.StructuredModel.train(examples, problem=problem, beam=beam)
    values = [draw.randrange(-2, 3) if whole else draw.gauss(0, 1) for _ in model.names]
    return replace(model, weights=replace(model.weights, values=np.array(values, np.float32)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [History, Merged, Lengths])
def test_a_beam_as_wide_as_the_space_is_exact(make: Any, seed: int) -> None:
    problem, examples = make(), segments(seed) if make is Lengths else sentences(seed)
    model = random_model(problem, examples, seed, 10**4, whole=False)
    weights = {name: model[name] for name in model.names}
    for x, _ in examples:
        every = [(plain_score(problem, weights, x, y), y) for y in outputs(problem, x)]
        every.sort(reverse=True)
        assert model.predict(x) == every[0][1]
        for found, (score, y) in zip(model.kbest(x, 5), every, strict=False):
            assert found[0] == y
            assert found[1] == pytest.approx(score, abs=1e-5)
        assert len(model.kbest(x, 5)) == min(5, len(every))


def outputs(problem: Any, x: Any, done: Any = ()) -> list[Any]:
    choices = problem.choices(x, done)
    return list(itertools.chain(*(outputs(problem, x, (*done, c)) for c in choices))) if len(choices) else [done]


@pytest.mark.parametrize("width", [1, 2, 3, 10**4])
@pytest.mark.parametrize("make", [History, Merged, Lengths])
def test_the_best_is_the_first_of_the_k_best(make: Any, width: int) -> None:
    for seed in range(3):
        problem, examples = make(), segments(seed) if make is Lengths else sentences(seed)
        model = random_model(problem, examples, seed, width, whole=seed > 0)
        for x, _ in examples:
            for k in (2, 5):
                found = model.kbest(x, k)
                assert found[0][0] == model.predict(x)
                assert len({y for y, _ in found}) == len(found)
                scores = [score for _, score in found]
                assert scores == pytest.approx(sorted(scores, reverse=True))


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("make", [History, Merged])
def test_early_and_max_violation_updates_are_violations(make: Any, update: str) -> None:
    """What is stepped away from never scores less than what is stepped to; the standard update does without."""
    fewer = n = 0
    for seed in range(4):
        problem, examples = make(), sentences(seed)
        model = random_model(problem, examples, seed, 2, whole=False)
        weights = trellis.Weights({name: i for i, name in enumerate(model.names)}, _dot(model))
        for x, y in examples:
            begun, others = violations(BeamSearch(problem, 2), x, y, weights, update=update, k=1, augmented=False)
            for z in others:
                assert len(begun) == len(z)
                violation = model.score(_phi(problem, x, z)) - model.score(_phi(problem, x, begun))
                fewer += violation < -1e-6
                n += 1
    assert n > 20
    assert (fewer > 0) == (update == "standard")


def _dot(model: trellis.StructuredModel) -> Any:
    return lambda ids, amounts: float(model.weights.values[ids].astype(float) @ amounts)


def _phi(problem: Any, x: Any, y: Any) -> Any:
    return BeamSearch(problem, 1).features(x, y)


@pytest.mark.parametrize(
    "learner",
    [
        trellis.Perceptron(epochs=8),
        trellis.Perceptron(epochs=8, vote=True),
        trellis.PassiveAggressive(epochs=8),
        trellis.MIRA(epochs=8),
        trellis.MIRA(epochs=8, k=3),
        trellis.AROW(epochs=8, update="early"),
    ],
    ids=repr,
)
def test_online_learners_learn_by_a_beam(learner: Any, tmp_path: Path) -> None:
    """Labels that only the whole history explains: the first of a word is A, every later one B."""
    xs = [x for x, _ in sentences(5, 30)]
    examples = [(x, tuple("B" if word in x[:t] else "A" for t, word in enumerate(x))) for x in xs]
    model = trellis.StructuredModel.train(examples, problem=Merged(), learner=learner, beam=4)
    assert sum(model.predict(x) == y for x, y in examples) >= 29
    assert model.beam == 4
    assert model.training["update"] == (learner.update or "max-violation")
    model.save(tmp_path / "m")
    again = trellis.StructuredModel.load(tmp_path / "m", problem=Merged())
    assert [again.predict(x) for x in xs] == [model.predict(x) for x in xs]
    assert sum(term.weight for term in again.explain(xs[0]).terms) == pytest.approx(
        again.kbest(xs[0], 1)[0][1], abs=1e-5
    )


class Listed:
    def candidates(self, x: Any) -> list[str]:
        return ["A", "B"]

    def features(self, x: Any, y: Any) -> dict[str, float]:
        return {f"{x} {y}": 1}


class Odd(History):
    """Whatever it is told to give in place of what is right."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def choices(self, x: Any, done: Any) -> Any:
        return self.given.get("choices", super().choices(x, done))

    def signature(self, x: Any, done: Any) -> Any:
        return self.given.get("signature", done)

    def features(self, x: Any, done: Any, choice: Any) -> Any:
        return {"f": self.given["value"]} if "value" in self.given else super().features(x, done, choice)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: trellis.StructuredModel.train(sentences(1), problem=History()),
            "requires beam search; set the beam width, such as beam=8",
        ),
        (
            lambda: trellis.StructuredModel.train(sentences(1), problem=History(), beam=0),
            "beam must be a whole number from 1",
        ),
        (
            lambda: trellis.StructuredModel.train([("a", "A")], problem=Listed(), beam=4),
            "beam has an effect only for problems with choices",
        ),
        (
            lambda: trellis.StructuredModel.train(
                [("a", "A")], problem=Listed(), learner=trellis.Perceptron(update="early")
            ),
            "update has an effect only with a beam from left to right",
        ),
        (lambda: trellis.Perceptron(update="late"), "update must be 'standard' or 'early' or 'max-violation'"),  # type: ignore[arg-type]
        (
            lambda: trellis.StructuredModel.train([("ab", "AX")], problem=History(), beam=4),
            "example 0: step 1 of y .*, 'X', is not among",
        ),
        (
            lambda: trellis.StructuredModel.train([("ab", "A")], problem=History(), beam=4),
            "example 0: y is not complete",
        ),
        (
            lambda: trellis.StructuredModel.train([("ab", 5)], problem=History(), beam=4),
            "example 0: y must be a sequence of choices, not 5",
        ),
        (
            lambda: trellis.StructuredModel.train(sentences(1), problem=History(), learner=trellis.CRF(), beam=4),
            "is searched by a beam; .* AROW",
        ),
        (
            lambda: trellis.StructuredModel.train([("ab", "AB")], problem=Odd(choices=None), beam=4),
            "example 0: choices.* not None",
        ),
        (
            lambda: trellis.StructuredModel.train([("ab", "AB")], problem=Odd(choices=5), beam=4),
            "example 0: choices.* must return a list.* not 5",
        ),
        (
            lambda: trellis.StructuredModel.train(sentences(1), problem=Odd(signature=[]), beam=4),
            "example \\d+: signature.* hashable.* not \\[\\]",
        ),
        (
            lambda: trellis.StructuredModel.train([("ab", "AB")], problem=Odd(value="x"), beam=4),
            "example 0: feature 'f' must have a number",
        ),
        (
            lambda: trellis.StructuredModel.train(
                sentences(1), problem=History(), beam=4, dev=sentences(1), metric="token"
            ),  # type: ignore[arg-type]
            "metric must be a function of outputs and gold outputs, not 'token'",
        ),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(call: Any, message: str) -> None:
    with pytest.raises(trellis.TrellisError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_model_is_of_one_kind_of_problem(tmp_path: Path) -> None:
    listed, steps = (
        trellis.StructuredModel.train([("a", "A")], problem=Listed()),
        trellis.StructuredModel.train(sentences(1), problem=History(), beam=4),
    )
    for model, other, message in (
        (listed, History(), "has the method candidates, but the given one has choices"),
        (steps, Listed(), "has the method choices, but the given one has candidates"),
    ):
        model.save(tmp_path / "m")
        with pytest.raises(trellis.ModelError, match=message):
            trellis.StructuredModel.load(tmp_path / "m", problem=other)
