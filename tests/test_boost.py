"""Sequence AdaBoost: section 3 of Altun by enumeration, the bookkeeping against full passes, and the learner."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from boost_oracle import sentences_of
from gradient_oracle import PARTIAL, SPECS, problem_of
from samples import KINDS, random_corpus

import trellis
from experiments.reference import Doubles
from experiments.reference.boosting import Round
from trellis import SequenceBoost, _core
from trellis._support.errors import LearnerError
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.parameters import Parameters
from trellis.learning.run import Event

BOUNDS = ("loose", "tight", "exact")
LIMIT = 3.0
# U and L are the very extremes where every label is free; with a dictionary or forbidden pairs they may lie outside.
FREE = ["order 0", "order 1", "order 2", "all pairs", "edges", "edges 2", "values", "weights", "nine labels"]
BOUNDED = ["dictionary", "dictionary 2", "base", "base 2", "everything", "everything 2"]
ALL = [*FREE, *BOUNDED]


def started(name: str, bound: str, seed: int = 3) -> tuple[ChainProblem, Parameters, Doubles, Any]:
    """A problem with random weights, and a booster that stands there."""
    problem = problem_of(SPECS[name], seed)
    parameters = Parameters.of(problem, transitions="all", start=True)
    x = np.random.default_rng(seed).normal(size=parameters.size)
    booster = parameters.booster(bound, LIMIT)
    booster.begin(x, None, 1)
    return problem, parameters, x, booster


def bounds_of(theory: Round, bound: str, steps: Doubles) -> Doubles:
    """[n_features, n_steps] the loose or the tight bound on what steps multiply the risk by, equations 7 and 10."""

    def chords(low: Doubles, high: Doubles, mean: Doubles) -> Doubles:
        width = np.where(low < high, high - low, 1.0)
        s = np.clip((high - mean) / width, 0, 1)
        curves = s * np.exp(np.outer(steps, low)) + (1 - s) * np.exp(np.outer(steps, high))
        return np.where(low < high, curves, 1.0).T

    sentences = [s for s in theory.sentences if len(s.risk)]
    if bound == "loose":
        low, high = (np.min([s.low for s in theory.sentences], 0), np.max([s.high for s in theory.sentences], 0))
        return chords(low, high, sum(s.risk @ s.u for s in sentences) / theory.risk)
    total = sum(s.risk.sum() * chords(s.low, s.high, s.risk @ s.u / s.risk.sum()) for s in sentences)
    return np.asarray(total / theory.risk)


# ------------------------------------------------------------ the equations


@pytest.mark.parametrize("name", ALL)
def test_the_risk_is_the_sum_over_wrong_paths(name: str) -> None:
    problem, parameters, x, booster = started(name, "tight")
    theory = Round(sentences_of(problem, parameters, x))
    assert np.exp(booster.log_risk) == pytest.approx(theory.risk, rel=1e-9)


def test_huge_steps_come_to_an_end() -> None:
    """The scale follows the risk from 1e300 back to where it was; a step that is no number is an error."""
    _, _, x, booster = started(ALL[0], "tight")
    before = booster.log_risk
    for size in (1e300, -1e300, 1e30, -1e30):
        booster.step(0, size, 1)
    booster.step(0, x[0] - booster.parameters[0], 1)
    assert booster.log_risk == pytest.approx(before, rel=1e-9)
    for size in (math.inf, -math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            booster.step(0, size, 1)


def test_steps_far_in_both_directions() -> None:
    """The risk is that of all paths after each."""
    problem, parameters, _, booster = started(ALL[0], "tight")
    for size in (90.0, -180.0, 60.0, 75.0, -45.0):
        for feature in (0, 1):
            booster.step(feature, size, 1)
        theory = Round(sentences_of(problem, parameters, booster.parameters))
        assert booster.log_risk == pytest.approx(np.log(theory.risk), rel=1e-9)


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_choice_is_that_of_the_theory(bound: str, name: str) -> None:
    """Against the bound of every feature by enumeration, on a grid of steps; with the exact bound Z is least there."""
    inside = 0
    for seed in range(3, 7):
        problem, parameters, _, booster = started(name, bound, seed)
        for _ in range(4):
            theory = Round(sentences_of(problem, parameters, booster.parameters))
            feature, step, log_bound = booster.choose(1)
            least = bounds_of(theory, bound, np.linspace(-LIMIT, LIMIT, 241)).min(axis=1)
            assert least[feature] == pytest.approx(least.min(), abs=1e-3)
            assert np.exp(log_bound) <= least.min() + 1e-9
            if bound != "exact":
                of_step = bounds_of(theory, bound, np.array([step]))[feature, 0]
                assert np.exp(log_bound) == pytest.approx(of_step, rel=1e-9)
                assert theory.z(feature, step) <= of_step * (1 + 1e-11)
            else:
                assert np.exp(log_bound) == pytest.approx(theory.z(feature, step), rel=1e-9)
                inside += abs(step) < LIMIT
                if abs(step) < LIMIT:
                    assert theory.slope(feature, step - 1e-6) < 0 < theory.slope(feature, step + 1e-6)
                else:
                    assert theory.slope(feature, step) * step <= 0
            booster.step(feature, step, 1)
    assert inside > 0 or bound != "exact"


@pytest.mark.parametrize("name", ["order 1", "values", "weights"])
def test_the_loose_step_is_equation_9(name: str) -> None:
    problem, parameters, _, booster = started(name, "loose")
    for _ in range(5):
        feature, step, _ = booster.choose(1)
        theory = Round(sentences_of(problem, parameters, booster.parameters))
        assert step == pytest.approx(theory.loose_step(feature, LIMIT))
        booster.step(feature, step, 1)


# ------------------------------------------------------------ the propositions


@pytest.mark.parametrize("name", [name for name in ALL if name != "nine labels"])
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_risk_is_the_product_of_all_z(bound: str, name: str) -> None:
    """Proposition 2, with D_0 uniform over wrong paths; proposition 1, the rank risk is never above it."""
    problem = problem_of(SPECS[name], 5)
    parameters = Parameters.of(problem, transitions="all", start=True)
    booster = parameters.booster(bound, LIMIT)
    booster.begin(np.zeros(parameters.size), None, 1)
    theory = first = Round(sentences_of(problem, parameters, np.zeros(parameters.size)))
    product = 1.0
    for _ in range(12):
        feature, step, log_bound = booster.choose(1)
        if feature < 0:
            break
        z = theory.z(feature, step)
        assert z <= np.exp(log_bound) * (1 + 1e-9) < 1
        product *= z
        booster.step(feature, step, 1)
        theory = Round(sentences_of(problem, parameters, booster.parameters))
        assert np.exp(booster.log_risk) / first.risk == pytest.approx(product, rel=1e-8)
        ranked = sum(
            start.risk[now.risk >= start.risk * (1 - 1e-12)].sum()
            for start, now in zip(first.sentences, theory.sentences, strict=True)
        )
        assert ranked / first.risk <= product * (1 + 1e-9)


# ------------------------------------------------------------ bookkeeping


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bound", BOUNDS)
def test_bookkeeping_gives_what_a_full_pass_gives(bound: str, name: str) -> None:
    """To the bit: risk, and the next choice."""
    problem = problem_of(SPECS[name], 6)
    parameters = Parameters.of(problem, transitions="all", start=True)
    kept, anew = (parameters.booster(bound, 0.7) for _ in range(2))
    kept.begin(np.zeros(parameters.size), None, 1)
    for _ in range(15):
        chosen = kept.choose(1)
        if chosen[0] < 0:
            break
        kept.step(*chosen[:2], 1)
        anew.begin(kept.parameters, kept.scale, 1)
        assert kept.log_risk == anew.log_risk
        assert kept.choose(1) == anew.choose(1)


class Doubled(Parameters):
    """Weights with a second booster, for full passes."""

    made: ClassVar[list[_core.Booster]] = []

    def booster(self, bound: str, max_step: float) -> _core.Booster:
        self.made[:] = [Parameters.booster(self, bound, max_step) for _ in range(2)]
        return self.made[0]


class Compared(SequenceBoost):
    """A learner of such weights."""

    def layout(self, problem: ChainProblem) -> Parameters:
        parameters = SequenceBoost.layout(self, problem)
        return Doubled(*(getattr(parameters, field.name) for field in fields(Parameters)))


def compare(event: Event) -> None:
    """What a round left behind is what a full pass gives, to the bit."""
    kept, anew = Doubled.made
    anew.begin(kept.parameters, kept.scale, 1)
    assert kept.log_risk == anew.log_risk
    assert kept.choose(1) == anew.choose(1)


@pytest.mark.parametrize("bound", BOUNDS)
def test_bookkeeping_over_many_sentences(bound: str) -> None:
    """Features that occur in hundreds of sentences, of which few change."""
    corpus = random_corpus(2, 300, n_words=40)
    features = ["word[0]", "word[-1]", "suffix(word[0], 1)", "bias"]
    learner = Compared(epochs=40, bound=bound)  # type: ignore[arg-type]
    tagger = trellis.train(corpus, target="label", features=features, learner=learner, observer=compare)
    assert sum(event["updates"] < 200 for event in tagger.training["history"]) > 20


def test_a_risk_that_falls_far_is_measured_anew() -> None:
    """Over a thousand nepers; short sentences wait until the risk of the long one has fallen to theirs."""
    words = [[f"w{i}" for i in range(300)], ["w0", "w1"], [f"w{i}" for i in range(0, 300, 4)]]
    corpus = trellis.read({"word": words, "label": [[f"L{int(w[1:]) % 40}" for w in s] for s in words]})
    learner = Compared(epochs=300, max_step=20.0, bound="tight")
    tagger = trellis.train(corpus, target="label", features=["word[0]"], order=0, learner=learner, observer=compare)
    history = tagger.training["history"]
    assert history[0]["objective"] > 1000 > 1 > history[-1]["objective"]
    assert all(b["objective"] < a["objective"] for a, b in pairwise(history))
    assert tagger.evaluate(corpus).token_accuracy == 1.0
    assert history[0]["updates"] == 1


def test_only_sentences_with_the_feature_are_run_again() -> None:
    corpus = trellis.read({"word": [["a", "b"], ["b", "b", "c"], ["c"]], "label": [["A", "B"], ["B", "B", "C"], ["C"]]})
    events: list[Event] = []
    trellis.train(corpus, target="label", features=["word[0]"], learner=SequenceBoost(epochs=6), observer=events.append)
    sizes = {"word[0]=a": (1, 2), "word[0]=b": (2, 5), "word[0]=c": (2, 4), "label[-1]": (3, 6)}
    assert len(events) == 6
    for event in events:
        assert (event.updates, event.tokens) == sizes[event.feature or ""]


# ------------------------------------------------------------ the learner


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_model_learns(kind: str, bound: str) -> None:
    corpus = KINDS[kind].corpus()
    events: list[Event] = []
    learner = SequenceBoost(bound=bound, epochs=60)  # type: ignore[arg-type]
    tagger = KINDS[kind].train(corpus, learner=learner, observer=events.append)
    assert all(b.objective <= a.objective for a, b in pairwise(events))
    assert tagger.evaluate(corpus).token_accuracy > (0.2 if kind == "many labels" else 0.4)
    assert tagger.model.family == "log-linear"
    assert 0 < tagger.model.weights.n_nonzero <= len(events)


def test_the_history_is_the_model() -> None:
    """The steps of each feature, in order, add up to its weight."""
    corpus = KINDS["edges 2"].corpus()
    tagger = KINDS["edges 2"].train(corpus, learner=SequenceBoost(epochs=60))
    sums: dict[tuple[str, str], float] = {}
    for event in tagger.training["history"]:
        name = (event["feature"], event["label"])
        sums[name] = sums.get(name, 0.0) + event["step"]
    weights = {(w.feature, w.label): w.weight for w in tagger.top_features(1000)}
    assert weights == pytest.approx(sums, rel=1e-5)
    kinds = {feature.partition("=")[0] for feature, _ in sums}
    assert {"label[-1]", "word[0]"} <= kinds


def test_looser_bounds_choose_the_same_feature_again() -> None:
    """The closer the bound, the longer the step, and the fewer rounds a feature needs."""
    corpus, most = random_corpus(4, 60, n_words=30, longest=12), {}
    for bound in BOUNDS:
        learner = SequenceBoost(bound=bound, epochs=60)  # type: ignore[arg-type]
        tagger = trellis.train(corpus, target="label", features=["word[0]", "bias"], learner=learner)
        names = [(event["feature"], event["label"]) for event in tagger.training["history"]]
        most[bound] = max(names.count(name) for name in names)
    assert most["loose"] > most["tight"] >= most["exact"]


@pytest.mark.parametrize("bound", BOUNDS)
def test_threads_give_the_same_bits(bound: str, tmp_path: Path) -> None:
    corpus = random_corpus(1, 80)
    learner = SequenceBoost(bound=bound, epochs=40)  # type: ignore[arg-type]
    for n in (1, 3):
        KINDS["edges"].train(corpus, learner=learner, n_threads=n).save(tmp_path / str(n))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_a_weight_of_two_is_the_sentence_twice() -> None:
    corpus = random_corpus(0, 12)
    weights = np.array([1.0, 2.0, 3.0] * 4)
    copies = corpus.take(np.repeat(np.arange(12), weights.astype(int)))
    one = KINDS["plain"].train(corpus, learner=SequenceBoost(epochs=20), sample_weight=weights)
    other = KINDS["plain"].train(copies, learner=SequenceBoost(epochs=20))
    for a, b in zip(one.training["history"], other.training["history"], strict=True):
        assert (a["feature"], a["label"]) == (b["feature"], b["label"])
        assert (a["step"], a["objective"]) == pytest.approx((b["step"], b["objective"]), rel=1e-6)


def test_it_stops_when_nothing_is_left() -> None:
    words = [["a", "b"], ["b", "a"], ["c"]] * 3
    corpus = trellis.read({"word": words, "label": [[w.upper() for w in s] for s in words]})
    tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=SequenceBoost(epochs=10_000))
    assert 3 <= len(tagger.training["history"]) < 500
    one = trellis.read({"word": words, "label": [["A" for _ in s] for s in words]})
    tagger = trellis.train(one, target="label", features=["word[0]"], learner=SequenceBoost(epochs=5))
    assert tagger.training["history"] == []
    assert tagger.tag(["a", "z"]) == ["A", "A"]


def test_dev_is_looked_at_every_so_many_rounds() -> None:
    corpus, dev = random_corpus(0, 30), random_corpus(1, 30)
    learner = SequenceBoost(epochs=25, score_every=10)
    tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=learner, dev=dev)
    scored = {event["epoch"]: event["dev_score"] for event in tagger.training["history"] if "dev_score" in event}
    assert list(scored) == [10, 20, 25]
    assert tagger.evaluate(dev).token_accuracy == max(scored.values())


# ------------------------------------------------------------ cross-validation


def test_cross_validation_by_hand() -> None:
    """The curve is that of trainings without each part; the model is that of the best number of rounds."""
    corpus = random_corpus(3, 40, n_words=12)
    features, every, rounds = ["word[0]", "word[-1]"], 5, 60
    learner = SequenceBoost(epochs=rounds, folds=4, score_every=every, seed=7)
    tagger = trellis.train(corpus, target="label", features=features, learner=learner)
    order = _core.shuffled(40, 7)
    right = np.zeros(rounds // every)
    for part in range(4):
        out = np.sort(order[part::4])
        rest, held = corpus.take(np.setdiff1d(np.arange(40), out)), corpus.take(out)
        for look in range(len(right)):
            shorter = SequenceBoost(epochs=(look + 1) * every)
            fold = trellis.train(rest, target="label", features=features, learner=shorter)
            report = fold.evaluate(held)
            right[look] += report.token_accuracy * held.n_tokens
    curve = right / corpus.n_tokens
    history = tagger.training["history"]
    assert len(history) == (curve.argmax() + 1) * every
    looked = [event["dev_score"] for event in history if "dev_score" in event]
    assert looked == pytest.approx(curve[: len(looked)], abs=1e-9)
    plain = trellis.train(corpus, target="label", features=features, learner=SequenceBoost(epochs=len(history)))
    assert np.array_equal(plain.model.weights.rows.weights, tagger.model.weights.rows.weights)


def test_cross_validation_resumes(tmp_path: Path) -> None:
    corpus = random_corpus(3, 40, n_words=12)
    learner = SequenceBoost(epochs=30, folds=3, score_every=5)

    class KilledError(Exception):
        pass

    def kill(event: Event) -> None:
        if event.epoch == 4:
            raise KilledError

    options: dict[str, Any] = {"target": "label", "features": ["word[0]"], "learner": learner}
    trellis.train(corpus, **options).save(tmp_path / "whole")
    with pytest.raises(KilledError):
        trellis.train(corpus, **options, checkpoint=tmp_path / "checkpoint", observer=kill)
    trellis.train(corpus, **options, checkpoint=tmp_path / "checkpoint").save(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


# ------------------------------------------------------------ what makes no sense


@pytest.mark.parametrize(
    "parameters",
    [
        {"bound": "near"},
        {"epochs": 0},
        {"max_step": 0.0},
        {"folds": 1},
        {"folds": -1},
        {"score_every": 0},
        {"transitions": "few"},
        {"folds": 2, "seed": -1},
    ],
)
def test_parameters_out_of_range(parameters: dict[str, Any]) -> None:
    with pytest.raises(LearnerError, match="must"):
        SequenceBoost(**parameters)


def test_trainings_that_make_no_sense() -> None:
    corpus = random_corpus(0, 5)
    options: dict[str, Any] = {"target": "label", "features": ["word[0]"]}
    with pytest.raises(LearnerError, match="6 folds need at least 6 sentences"):
        trellis.train(corpus, **options, learner=SequenceBoost(folds=6))
    with pytest.raises(LearnerError, match="dev cannot be combined with folds: both determine the number of rounds"):
        trellis.train(corpus, **options, learner=SequenceBoost(folds=2), dev=corpus)
    problem = problem_of(PARTIAL["partial"], 1)
    with pytest.raises(LearnerError, match="does not support partial labels"):
        SequenceBoost().fit(problem, None)
    problem = problem_of(SPECS["order 1"], 1)
    forbidden = np.full((problem.n_labels + 1, 8), -np.inf, np.float32)
    with pytest.raises(LearnerError, match="forbidden"):
        SequenceBoost().fit(replace(problem, edge_base=forbidden), None)
