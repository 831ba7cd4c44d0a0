"""From examples to a model: figure 2 of Collins 2002, and every other learner that a problem can answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis.arguments import items, thread_count, whole_number
from trellis.errors import ArgumentError, LearnerError
from trellis.learners.perceptron import Perceptron
from trellis.learning.learner import Learner
from trellis.learning.run import Observer, run
from trellis.structured.encoding import Encoder
from trellis.structured.model import StructuredModel
from trellis.structured.problem import Problem, StepProblem, check_problem


def fit(
    problem: Problem,
    examples: Iterable[tuple[Any, Any]],
    learner: Learner | None = None,
    *,
    beam: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    n_threads: int | None = None,
    observer: Observer | None = None,
) -> StructuredModel:
    """Learn from pairs of an input and its right output.

    ``learner`` (default: the averaged perceptron) is one of those of chains: the online learners, ``CRF``,
    ``ExponentialLoss``, ``HMSVM(solver="frank-wolfe")``. A problem with ``candidates`` or ``parts`` answers all of
    them; one with ``argmax`` answers the perceptron and passive-aggressive learners, and with ``augmented`` or
    ``kbest`` MIRA and AROW; one with ``choices`` answers these too, by a beam of ``beam`` states, and the learner's
    ``update`` says on what of a wrong search it updates. ``sample_weight`` is how much each example counts.
    ``observer`` is called after every epoch.
    """
    problem = check_problem(problem)
    learner = Perceptron() if learner is None else learner
    if not isinstance(learner, Learner):
        raise LearnerError(f"learner must be a learner, such as trellis.Perceptron(), not {learner!r}")
    if "structures" not in learner.abilities:
        raise LearnerError(
            f"{_named(learner)} learns chains only; choose an online learner, CRF, ExponentialLoss or "
            'HMSVM(solver="frank-wolfe")'
        )
    pairs = items(examples)
    if not pairs:
        raise ArgumentError("examples must be a list of pairs of an input and its right output, not empty")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(f"example {i} must be a pair of an input and its right output")
    weights = None
    if sample_weight is not None:
        try:
            weights = np.asarray(sample_weight, np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        if weights.shape != (len(pairs),) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ArgumentError(f"sample_weight must be {len(pairs)} finite numbers from 0 on, one per example")
    encoder = Encoder(problem, _beam(problem, beam))
    encoded = encoder.encode([(x, y) for x, y in pairs], weights, thread_count(n_threads))
    work: Any = learner.begin(encoded)  # type: ignore[arg-type]
    learnt, history = run(encoded, work, observer)
    info = {
        "learner": {"name": type(learner).__name__, **learner.parameters()},
        "problem": type(problem).__name__,
        "examples": len(pairs),
        **({} if beam is None else {"beam": beam, "update": work.update}),
        "history": [event.to_dict() for event in history],
    }
    return StructuredModel(problem, tuple(encoder.numbers), learnt, info)


def _beam(problem: Problem, beam: int | None) -> int | None:
    if not isinstance(problem, StepProblem):
        if beam is not None:
            raise ArgumentError("beam has an effect only where a problem has choices(x, done); leave it out")
        return None
    if beam is None:
        raise ArgumentError("a problem with choices(x, done) is searched by a beam; give its width, such as beam=8")
    return whole_number("beam", beam, 1, 2**31 - 1)


def _named(learner: Learner) -> str:
    solver = learner.parameters().get("solver")
    return type(learner).__name__ + (f"(solver={solver!r})" if solver is not None else "")
