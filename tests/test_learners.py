"""What all learners have in common: parameters that are converted and checked, and what ``train`` wants of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from samples import random_corpus

import trellis
from trellis._support.errors import LearnerError
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.learners import LEARNERS, learner_named
from trellis.learning.online import OnlineLearner

CLASSES = [learner_named(name) for name in LEARNERS]
every_learner = pytest.mark.parametrize("learner", CLASSES, ids=list(LEARNERS))


def kind_of(constraint: Any) -> str:
    """What it takes, by what it says: whole, number, True (or False), or words."""
    return constraint.expected.removeprefix("a ").split()[0]


def example(constraint: Any) -> Any:
    """Some value, of NumPy's types where there are any, that the constraint takes."""
    words = constraint.expected.split("'")
    return {"whole": np.int64(3), "number": np.float32(0.5), "True": np.bool_(True)}.get(
        kind_of(constraint), words[-2] if len(words) > 1 else None
    )


# ------------------------------------------------------------ parameters


@every_learner
def test_every_parameter_is_declared(learner: Any) -> None:
    assert {field.name for field in fields(learner)} == set(learner.constraints)


@every_learner
def test_wrong_values_are_one_line(learner: Any) -> None:
    """Each parameter with values of other types and out of range, whatever the others are."""
    for name, constraint in learner.constraints.items():
        bad = ["no", object(), [1], float("nan"), float("inf"), -1, 2.5, np.array([1.0, 2.0])]
        if kind_of(constraint) == "number":
            bad.remove(2.5)
            bad += ["1", True, 10**400]
        if kind_of(constraint) == "whole":
            bad += ["1", True, np.float64(2.0), None if constraint.default is None else -(10**400)]
        if kind_of(constraint) == "True":
            bad += [1, 0, "True"]
        for value in bad:
            with pytest.raises(LearnerError, match=rf"^{name} (must be|has an effect only)") as error:
                learner(**{name: value})
            assert "\n" not in str(error.value)


@every_learner
def test_numbers_of_numpy_become_pythons(learner: Any) -> None:
    for name, constraint in learner.constraints.items():
        if constraint.only is not None:
            continue
        made = learner(**{name: example(constraint)})
        assert type(getattr(made, name)) in (int, float, bool, str)
        json.dumps(made.parameters())
        assert made == learner(**{name: getattr(made, name)})


# (learner, parameters that have no effect, one of them at a time, and with what they would have one)
WITHOUT_EFFECT: list[tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (trellis.Perceptron, {"shuffle": False}, {"seed": 1}, {"shuffle": True}),
    (trellis.MIRA, {"shuffle": False}, {"seed": 1}, {"shuffle": True}),
    (trellis.AROW, {"shuffle": False}, {"seed": 2}, {"shuffle": True}),
    (trellis.PassiveAggressive, {"shuffle": False}, {"seed": 1}, {"shuffle": True}),
    (trellis.Perceptron, {}, {"mix": "uniform"}, {"shards": 2}),
    (trellis.MIRA, {}, {"mix": "uniform"}, {"shards": 2}),
    (trellis.AROW, {}, {"mix": "uniform"}, {"shards": 2}),
    (trellis.PassiveAggressive, {}, {"mix": "uniform"}, {"shards": 2}),
    (trellis.PassiveAggressive, {"variant": "PA"}, {"C": 2.0}, {"variant": "PA-II"}),
    (trellis.CRF, {"solver": "adagrad"}, {"tolerance": 1e-4, "warm_up": 2}, {"solver": "lbfgs"}),
    (trellis.CRF, {"warm_up": 0}, {"rate": 0.1, "seed": 1, "batch": 4}, {"warm_up": 1}),
    (trellis.MaxEnt, {"solver": "gis"}, {"tolerance": 1e-4}, {"solver": "lbfgs"}),
    (trellis.SequenceBoost, {}, {"seed": 1}, {"folds": 2}),
    (trellis.HMSVM, {}, {"average": False}, {"solver": "frank-wolfe"}),
    (trellis.HMSVM, {}, {"degree": 3, "gamma": 1.0, "coef0": 2.0, "memory": 9.0}, {"kernel": "poly"}),
    (trellis.HMSVM, {"kernel": "rbf"}, {"degree": 3, "coef0": 0.0}, {"kernel": "poly"}),
    (trellis.KernelPerceptron, {"kernel": "linear"}, {"memory": 9.0}, {"kernel": "rbf"}),
    (trellis.KernelPerceptron, {"shuffle": False}, {"seed": 1}, {"shuffle": True}),
]


@pytest.mark.parametrize(("learner", "chosen", "idle", "instead"), WITHOUT_EFFECT, ids=lambda v: str(v))
def test_a_parameter_without_effect_is_an_error(learner: Any, chosen: Any, idle: Any, instead: Any) -> None:
    for name, value in idle.items():
        with pytest.raises(LearnerError, match=f"{name} has an effect only with .*; omit it"):
            learner(**chosen, **{name: value})
        default = next(field.default for field in fields(learner) if field.name == name)
        assert learner(**chosen, **{name: default}) == learner(**chosen)
        assert name not in learner(**chosen).parameters()
        assert learner(**{**chosen, **instead, name: value}).parameters()[name] == value


def test_every_conditional_parameter_is_in_that_list() -> None:
    conditional = {(c, name) for c in CLASSES for name, rule in c.constraints.items() if rule.only}
    assert conditional == {(c, name) for c, _, idle, _ in WITHOUT_EFFECT for name in idle} | {
        (trellis.KernelPerceptron, name) for name in ("degree", "gamma", "coef0")
    }


class Slotted(trellis.Learner):
    """A learner of one's own without a dict."""

    __slots__ = ("bonus", "idle")

    def __init__(self) -> None:
        self.bonus = 2.0

    def fit(self, problem: Any, observer: Any = None) -> Any:
        return trellis.Perceptron(epochs=1).fit(problem, observer)


@dataclass(frozen=True, slots=True)
class SlottedData(Slotted):
    bonus: float = 2.0


@pytest.mark.parametrize("kind", [Slotted, SlottedData])
def test_a_learner_of_ones_own_with_slots(kind: Any) -> None:
    tagger = trellis.train({"word": [["a"]], "label": [["A"]]}, target="label", learner=kind())
    assert tagger.training["learner"] == {"name": kind.__name__, "bonus": 2.0}


@pytest.mark.parametrize(
    ("learner", "n_epochs"),
    [
        (trellis.CRF(epochs=2, tolerance=0.0), 2),
        (trellis.CRF(solver="adagrad", epochs=6), 6),
        (trellis.MaxEnt(solver="gis", epochs=7), 7),
        (trellis.SequenceBoost(epochs=np.int64(3)), 3),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_epochs_are_counted(learner: Any, n_epochs: int) -> None:
    tagger = trellis.train(random_corpus(0), target="label", learner=learner)
    assert [e["epoch"] for e in tagger.training["history"]] == list(range(1, n_epochs + 1))
    assert {e["epochs"] for e in tagger.training["history"]} == {n_epochs}
    assert tagger.training["learner"]["epochs"] == n_epochs


@every_learner
def test_defaults_are_in_the_classes(learner: Any) -> None:
    """None is the default only where the value depends on the solver, the data or the search."""
    assert {field.name for field in fields(learner) if field.default is None} <= {"gamma", "update"} | (
        {"epochs"} if learner is trellis.CRF else set()
    )
    assert all(field.kw_only for field in fields(learner))
    if issubclass(learner, OnlineLearner):
        made = learner()
        assert (made.epochs, made.shuffle, made.seed) == (15 if learner is trellis.MIRA else 10, True, 0)


def test_the_name_of_a_learner_is_its_default() -> None:
    corpus = random_corpus(0, 5)
    by_default, named, made = (
        trellis.train(corpus, target="label", **options)
        for options in ({}, {"learner": "Mira"}, {"learner": trellis.MIRA()})
    )
    assert by_default.to_bytes() == named.to_bytes() == made.to_bytes()


def test_defaults_follow_the_solver() -> None:
    assert trellis.CRF().parameters()["epochs"] == 1000
    assert trellis.CRF(solver="adagrad").parameters()["epochs"] == 10
    assert trellis.CRF() == trellis.CRF(epochs=None)


# ------------------------------------------------------------ requirements of train for learners


class Majority(trellis.Learner):
    """A learner of a user's own, no dataclass: the commonest label of every attribute."""

    default_pairs = "seen"

    def __init__(self, bonus: Any) -> None:
        self.bonus, self.seen = bonus, [1, 2]

    def fit(self, problem: Any, observer: Any = None) -> Any:
        n = problem.n_labels
        starts, ids, _ = problem.corpus.lists
        gold = problem.gold[np.repeat(np.arange(len(starts) - 1), np.diff(starts))]
        counts = np.zeros((problem.corpus.n_attributes, n), np.float32)
        np.add.at(counts, (ids, gold), 1)
        rows = Rows(
            np.arange(len(counts) + 1, dtype=np.uint32) * np.uint32(n),
            np.tile(np.arange(n, dtype=np.uint16), len(counts)),
            counts.reshape(-1) * np.float32(self.bonus),
        )
        return ChainWeights(n, rows, None, np.zeros((n + 1, padded(n)), np.float32), None), []


def test_a_learner_of_ones_own(tmp_path: Any) -> None:
    corpus = trellis.read({"word": [["a", "b", "a"], ["b", "c"]], "label": [["A", "B", "A"], ["B", "C"]]})
    tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=Majority(np.float32(2)))
    assert tagger.training["learner"] == {"name": "Majority", "bonus": 2.0}
    tagger.save(tmp_path / "model")
    assert trellis.load(tmp_path / "model").tag(["c", "b", "a"]) == ["C", "B", "A"]


@every_learner
def test_fit_on_sentences_points_to_train(learner: Any) -> None:
    for arguments in ([[["a"]], [["A"]]], [np.zeros((2, 2)), np.zeros(2)], [random_corpus(0)]):
        with pytest.raises(LearnerError, match=r"call trellis\.train\(") as error:
            learner().fit(*arguments)
        assert "\n" not in str(error.value)


def test_learners_by_name() -> None:
    assert [learner_named(name).__name__ for name in ("CRF", "Mira", "Kernel-Perceptron")] == [
        *("CRF", "MIRA", "KernelPerceptron")
    ]
    corpus = random_corpus(0, 5)
    for name in LEARNERS:
        if name in ("crf", "hmm", "pa", "kernel-perceptron"):
            tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=name)
            assert tagger.training["learner"]["name"] == learner_named(name).__name__
    with pytest.raises(LearnerError, match="unknown learner 'crv'; the learners are perceptron, mira"):
        trellis.train(corpus, target="label", learner="crv")
