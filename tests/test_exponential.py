"""The exponential loss: its optimum, and what it prefers to the log loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gradient_oracle import PARTIAL, SPECS, losses_of, problem_of
from gradients import gradient_of
from samples import KINDS, random_corpus
from scipy.optimize import minimize as scipy_minimize

from experiments.reference import Doubles
from trellis import CRF, ExponentialLoss
from trellis._support.errors import LearnerError
from trellis.learning.parameters import Parameters
from trellis.learning.run import Event

SLOW = {"tolerance": 1e-13, "epochs": 2000}


@pytest.mark.parametrize("name", ["order 1", "order 2", "edges", "weights", "base 2", "values", *PARTIAL])
def test_the_optimum_is_scipys(name: str) -> None:
    """sum_i D_i / p_i + c2 |w|² itself, no logarithm."""
    problem = problem_of((SPECS | PARTIAL)[name], 2)
    parameters = Parameters.of(problem, transitions="all", start=True)
    objective = parameters.objective(local=False, single=False)

    def function(x: Doubles) -> tuple[float, Doubles]:
        inverse = problem.weigh(np.exp(objective.losses(x, 1)))
        _, slope = gradient_of(objective, x, inverse, 1)
        return float(inverse.sum() + 0.4 * (x**2).sum()), slope + 0.8 * x

    peer = scipy_minimize(function, np.zeros(parameters.size), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    events: list[Event] = []
    ExponentialLoss(c2=0.4, transitions="all", **SLOW).fit(problem, events.append)
    assert np.exp(events[-1].objective) == pytest.approx(peer.fun, rel=1e-6)


@pytest.mark.parametrize("kind", ["plain", "order 0", "order 2", "edges 2", "tag dictionary"])
def test_every_kind_of_model_learns(kind: str) -> None:
    corpus = KINDS[kind].corpus()
    tagger = KINDS[kind].train(corpus, learner=ExponentialLoss(c2=0.1))
    assert tagger.evaluate(corpus).token_accuracy > 0.6
    assert tagger.model.family == "log-linear"


def test_the_worst_sentence_fares_better_than_under_the_log_loss() -> None:
    problem = problem_of(SPECS["nine labels"], 3)
    parameters = Parameters.of(problem, transitions="seen", start=True)
    worst = []
    for learner in (CRF(c2=1.0, **SLOW), ExponentialLoss(c2=1.0, **SLOW)):
        weights, _ = learner.fit(problem, None)
        x = replace(parameters, problem=replace(problem, initial=weights)).start()
        worst.append(losses_of(problem, parameters, x).max())
    assert worst[1] < worst[0]


def test_threads_give_the_same_bits() -> None:
    corpus = random_corpus(1, 60)
    one, three = (KINDS["plain"].train(corpus, learner=ExponentialLoss(), n_threads=n) for n in (1, 3))
    assert np.array_equal(one.model.weights.rows.weights, three.model.weights.rows.weights)


@pytest.mark.parametrize("parameters", [{"c2": -1.0}, {"epochs": 0}, {"transitions": "few"}])
def test_parameters_out_of_range(parameters: dict[str, object]) -> None:
    with pytest.raises(LearnerError, match="must"):
        ExponentialLoss(**parameters)
