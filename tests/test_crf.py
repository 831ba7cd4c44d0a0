"""Conditional random fields as a user trains them: optima, penalties, optimisers, what a problem may carry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gradient_oracle import PARTIAL, SPECS, Spec, losses_of, problem_of, scipys_optimum
from gradients import gradient_of
from samples import KINDS, random_corpus

import trellis
from trellis import CRF, HMM, ExponentialLoss, MaxEnt, _core
from trellis._support.errors import LearnerError
from trellis.engine.weights import padded
from trellis.interfaces.cli.training_options import build_learner
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.descent import Passes
from trellis.learning.parameters import Parameters
from trellis.learning.run import Event

SLOW = {"tolerance": 1e-12, "epochs": 2000}


@pytest.mark.parametrize("name", [*SPECS, *PARTIAL])
def test_the_optimum_is_scipys(name: str) -> None:
    problem = problem_of((SPECS | PARTIAL)[name], 3)
    least, x, objective, parameters = scipys_optimum(problem, local=False)
    events: list[Event] = []
    learner = CRF(c2=0.3, transitions="all", **SLOW)
    weights, _ = learner.fit(problem, events.append)
    assert events[-1].objective == pytest.approx(least, rel=1e-7)
    found = replace(parameters, problem=replace(problem, initial=weights)).start()
    assert losses_of(problem, parameters, found) == pytest.approx(objective.losses(x, 1), abs=1e-3)


@pytest.mark.parametrize("kind", ["plain", "order 0", "order 2", "edges", "edges 2", "tag dictionary 2", "bag"])
def test_orthant_search_and_wolfe_search_agree(kind: str) -> None:
    ends = []
    for c1 in (0.0, 1e-13):
        events: list[Event] = []
        KINDS[kind].train(learner=CRF(c1=c1, c2=0.5, **SLOW), observer=events.append)
        ends.append(events[-1].objective)
    assert ends[1] == pytest.approx(ends[0], rel=1e-6)


@pytest.mark.parametrize("c1", [0.0, 0.2])
def test_a_warm_start_ends_at_the_same_optimum(c1: float) -> None:
    ends = []
    for warm_up in (0, 3):
        events: list[Event] = []
        KINDS["plain"].train(learner=CRF(c1=c1, c2=0.5, warm_up=warm_up, **SLOW), observer=events.append)
        ends.append(events[-1].objective)
        assert [event.gradient_norm is None for event in events[:4]] == [k < warm_up for k in range(4)]
    assert ends[1] == pytest.approx(ends[0], rel=1e-7)


class Rates:
    """A part whose objective notes the rates of passes."""

    def __init__(self, problem: ChainProblem) -> None:
        self.problem, self.objective = problem, self
        self.rates = list[float]()

    def one_pass(self, x: Any, squares: Any, order: Any, weights: Any, rate: float, *_: Any) -> Any:
        self.rates.append(rate)
        return np.zeros(len(order))


@pytest.mark.parametrize(
    ("n", "warming_up", "rates"), [(3, True, [0.3, 0.3, 0.1]), (1, True, [0.3]), (3, False, [0.2, 0.2, 0.2])]
)
def test_warm_up_has_long_steps_and_a_last_pass_of_short_ones(n: int, warming_up: bool, rates: list[float]) -> None:
    problem = problem_of(Spec(), 3)
    noted = Rates(problem)
    passes = Passes(problem, noted, 0.0, 0.0, 0.2, 0, n, warming_up)  # type: ignore[arg-type]
    for number in range(1, n + 1):
        assert passes.take(number, np.zeros(3), np.ones(3)) == 0
    assert noted.rates == pytest.approx(rates)


def test_single_precision_only_where_it_is_enough() -> None:
    problem = problem_of(Spec(), 3)
    same = [CRF(c2=0.3, precision=p).fit(problem, None)[0].rows.weights for p in ("auto", "single")]
    assert np.array_equal(*same)
    for exact in ({"tolerance": 1e-9}, {"c2": 0.0, "epochs": 20}):
        found = [CRF(precision=p, **exact).fit(problem, None)[0].rows.weights for p in ("auto", "double")]
        assert np.array_equal(*found)


@pytest.mark.parametrize("c2", [0.0, 0.2])
@pytest.mark.parametrize("order", [1, 2])
def test_l1_is_sparse_and_optimal(order: int, c2: float) -> None:
    problem = problem_of(Spec(order=order, edges=True), 5)
    parameters = Parameters.of(problem, transitions="seen", start=True)
    objective = parameters.objective(local=False, single=False)
    c1 = 0.7
    weights, _ = CRF(c1=c1, c2=c2, **SLOW).fit(problem, None)
    x = replace(parameters, problem=replace(problem, initial=weights)).start()
    _, slope = gradient_of(objective, x, None, 1)
    slope += 2 * c2 * x
    zero = x == 0
    assert 0 < zero.sum() < len(x)
    np.testing.assert_allclose(slope[~zero], -c1 * np.sign(x[~zero]), rtol=0, atol=2e-3)
    assert (np.abs(slope[zero]) <= c1 + 2e-3).all()


def test_no_penalty_fits_what_can_be_fitted() -> None:
    corpus = trellis.read({"word": [["a", "b"], ["b", "a"]], "label": [["A", "B"], ["B", "A"]]})
    tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=CRF(c2=0))
    assert tagger.evaluate(corpus).token_accuracy == 1
    assert tagger.training["history"][-1]["objective"] < 0.01


@pytest.mark.parametrize("name", [*SPECS, *PARTIAL])
def test_adagrad_goes_down_and_nears_the_optimum(name: str) -> None:
    problem = problem_of((SPECS | PARTIAL)[name], 4)
    parameters = Parameters.of(problem, transitions="seen", start=True)
    objective = parameters.objective(local=False, single=False)
    found = []
    for learner in (CRF(c2=0.5, **SLOW), CRF(c2=0.5, solver="adagrad", epochs=300, rate=0.3)):
        weights, _ = learner.fit(problem, None)
        x = replace(parameters, problem=replace(problem, initial=weights)).start()
        found.append(float(problem.weigh(objective.losses(x, 1)).sum()) + 0.5 * _core.dot(x, x))
    assert found[0] <= found[1] * (1 + 1e-6)
    assert found[1] < found[0] * 1.05


def test_adagrad_is_the_same_for_the_same_seed() -> None:
    corpus = random_corpus(2, 20)
    taggers = [
        KINDS["edges"].train(corpus, learner=CRF(solver="adagrad", seed=seed), n_threads=n_threads)
        for seed, n_threads in ((1, 1), (1, 3), (2, 1))
    ]
    rows = [tagger.model.weights.rows.weights for tagger in taggers]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


def test_adagrad_with_l1_is_sparse() -> None:
    sizes = [
        KINDS["plain"].train(learner=CRF(c1=c1, c2=0, solver="adagrad", epochs=30)).model.weights.n_nonzero
        for c1 in (0.0, 1.0, 1000.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] == 0


@pytest.mark.parametrize("solver", ["lbfgs", "adagrad"])
def test_sentence_weights_are_repetitions(solver: str) -> None:
    """A sentence that counts twice is a sentence that stands there twice."""
    problem = problem_of(Spec(), 6)
    parameters = Parameters.of(problem, transitions="all", start=True)
    x = np.random.default_rng(0).normal(size=parameters.size)
    objective = parameters.objective(local=False, single=False)
    _, once = gradient_of(objective, x, np.array([1.0, 2, 1, 0, 3]), 1)
    parts = [gradient_of(objective, x, np.eye(5)[i], 1)[1] for i in range(5)]
    np.testing.assert_allclose(once, parts[0] + 2 * parts[1] + parts[2] + 3 * parts[4], atol=1e-12)
    weighted = replace(problem, sentence_weights=np.array([1.0, 0, 1, 0, 0]))
    exact = SLOW if solver == "lbfgs" else {}
    learner = CRF(c2=0.1, solver=solver, transitions="all", **exact)
    weights, _ = learner.fit(weighted, None)
    found = replace(parameters, problem=replace(problem, initial=weights)).start()
    losses = objective.losses(found, 1)
    assert losses[0] < losses[3]


def test_a_warm_start_is_where_it_begins() -> None:
    problem = problem_of(Spec(order=2, edges=True), 7)
    first: list[Event] = []
    weights, _ = CRF(c2=0.3, **SLOW).fit(problem, first.append)
    again: list[Event] = []
    CRF(c2=0.3).fit(replace(problem, initial=weights), again.append)
    assert len(again) < len(first)
    assert again[0].objective == pytest.approx(first[-1].objective, rel=1e-6)


def test_what_is_forbidden_stays_so() -> None:
    problem = problem_of(SPECS["base 2"], 8)
    weights, _ = CRF().fit(problem, None)
    assert np.array_equal(np.isneginf(weights.edge), np.isneginf(problem.edge_base))
    assert np.array_equal(weights.end, problem.end_base)


def test_a_gold_path_that_is_forbidden_is_refused() -> None:
    problem = problem_of(Spec(), 9)
    base = np.full((4, 8), -np.inf, np.float32)
    with pytest.raises(LearnerError, match="forbidden"):
        CRF().fit(replace(problem, edge_base=base), None)


def test_transitions_seen_or_all() -> None:
    corpus = trellis.read({"word": [["a", "b", "c"]], "label": [["A", "B", "C"]]})
    counts = []
    for transitions in ("seen", "all"):
        tagger = trellis.train(corpus, target="label", features=["word[0]"], learner=CRF(transitions=transitions))
        counts.append(np.count_nonzero(tagger.model.weights.edge))
    assert counts[0] == 3
    assert counts[1] == 12
    without = trellis.train(corpus, target="label", features=["word[0]"], learner=CRF(start=False))
    assert np.count_nonzero(without.model.weights.edge) == 2


def test_pairs_seen_is_the_default_and_all_may_be_asked_for() -> None:
    seen, every = KINDS["plain"].train(learner=CRF()), KINDS["plain"].train(learner=CRF(), pairs="all")
    assert seen.model.weights.n_nonzero < every.model.weights.n_nonzero


def test_threads_give_the_same_bits() -> None:
    corpus = random_corpus(1, 80, n_words=30)
    one, three = (KINDS["order 2"].train(corpus, learner=CRF(), n_threads=n) for n in (1, 3))
    assert np.array_equal(one.model.weights.rows.weights, three.model.weights.rows.weights)
    assert np.array_equal(one.model.weights.tri, three.model.weights.tri)


def test_dev_keeps_the_best() -> None:
    corpus, dev = random_corpus(1, 30), random_corpus(2, 30)
    for solver in ("lbfgs", "adagrad"):
        learner = CRF(c2=0.01, solver=solver)
        tagger = KINDS["plain"].train(corpus, learner=learner, dev=dev)
        scores = [event["dev_score"] for event in tagger.training["history"]]
        assert tagger.evaluate(dev).headline == pytest.approx(max(scores))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"c1": -1.0}, r"c1 must be a number from 0 to 1e\+12, not -1.0"),
        ({"c2": float("nan")}, r"c2 must be a number from 0 to 1e\+12, not nan"),
        ({"c2": 1e300}, r"c2 must be a number from 0 to 1e\+12, not 1e\+300"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"solver": "newton"}, "solver must be 'lbfgs' or 'adagrad'"),
        ({"transitions": "some"}, "transitions must be 'seen' or 'all'"),
        ({"precision": "half"}, "precision must be 'auto' or 'single' or 'double'"),
    ],
)
def test_parameters_out_of_range(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(LearnerError, match=message):
        CRF(**parameters)


@pytest.mark.parametrize(
    ("name", "settings", "learner"),
    [
        ("crf", ["c1=0.5", "solver=adagrad"], CRF(c1=0.5, solver="adagrad")),
        ("hmm", ["k=0.5", "smoothing=added", "end=false"], HMM(k=0.5, smoothing="added", end=False)),
        ("maxent", ["solver=gis", "epochs=7"], MaxEnt(solver="gis", epochs=7)),
        ("exponential", ["c2=0"], ExponentialLoss(c2=0.0)),
    ],
)
def test_learners_by_their_names(name: str, settings: list[str], learner: object) -> None:
    assert build_learner(name, {}, settings) == learner


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("crf", "precision=half", "precision must be 'auto' or 'single' or 'double', not 'half'"),
        ("kernel-perceptron", "gamma=x", r"gamma must be a number above 0, at most 1e\+12, not 'x'"),
        ("boost", "epochs=x", "epochs must be a whole number of at least 1, not 'x'"),
    ],
)
def test_settings_that_do_not_fit(name: str, setting: str, message: str) -> None:
    with pytest.raises(LearnerError, match=message):
        build_learner(name, {}, [setting])


def test_an_objective_that_is_not_finite_is_one_line() -> None:
    problem = problem_of(SPECS["order 1"], 3)
    forbidden = np.full((problem.n_labels + 1, padded(problem.n_labels)), -np.inf, np.float32)
    for solver in ("lbfgs", "adagrad"):
        with pytest.raises(
            LearnerError,
            match="the gold labels of a sentence are forbidden, or a penalty, learning rate",
        ):
            CRF(solver=solver).fit(replace(problem, edge_base=forbidden))
