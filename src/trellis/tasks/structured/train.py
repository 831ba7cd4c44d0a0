"""From examples to a model: figure 2 of Collins 2002, and every other learner that a problem can answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import trellis
from trellis._support.arguments import items, real_number, thread_count, whole_number
from trellis._support.errors import ArgumentError, LearnerError
from trellis.corpus.corpus import Strings
from trellis.learners.perceptron import Perceptron
from trellis.learning.checkpoint import Checkpoint, fingerprint
from trellis.learning.feature_problem import FeatureProblem, FeatureWeights
from trellis.learning.learner import Learner, check_update
from trellis.learning.options import Schedule, plain
from trellis.learning.run import Observer, check_observer, run
from trellis.tasks.structured.encoding import Encoder, candidate_parts
from trellis.tasks.structured.model import StructuredModel
from trellis.tasks.structured.problem import (
    Features,
    PartsProblem,
    Problem,
    StepProblem,
    check_features,
    check_parts,
    check_problem,
    plain_features,
    same,
)
from trellis.tasks.tagging.train import learner_of

Metric = Callable[[list[Any], list[Any]], float]


def train(
    examples: Iterable[tuple[Any, Any]],
    *,
    problem: Problem,
    learner: Learner | str | None = None,
    beam: int | None = None,
    init: StructuredModel | Features | None = None,
    sample_weight: npt.ArrayLike | None = None,
    dev: Iterable[tuple[Any, Any]] | None = None,
    metric: Metric | None = None,
    patience: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    n_threads: int | None = None,
    observer: Observer | None = None,
) -> StructuredModel:
    """Learn from pairs of an input and its right output.

    ``learner`` (default: the averaged perceptron) is one of those of chains, or its name: the online learners,
    ``CRF``, ``ExponentialLoss``, ``HMSVM(solver="frank-wolfe")``. A problem with ``candidates`` or ``parts`` answers
    all; one with ``argmax`` answers the perceptron and passive-aggressive learners, and with ``augmented`` or
    ``kbest`` MIRA and AROW; one with ``choices`` answers these too, by a beam of ``beam`` states, and the learner's
    ``update`` says on what of a wrong search it updates. ``init`` is a model, or weights by the names of features, for
    a warm start. ``sample_weight`` is how much each example counts. ``observer`` is called after every epoch.

    With ``dev``, held-out pairs, the best epoch on them is kept, by the share of right outputs or by ``metric(outputs,
    right)``, a number from 0 on; with ``patience`` training stops after so many epochs without a better one.
    ``checkpoint`` is a file that is written every ``checkpoint_every`` epochs (default: 1); the same call resumes from
    it, with the same bits as if it had never been stopped. It needs ``candidates`` or ``parts``.
    """
    problem = check_problem(problem)
    learner = structure_learner(learner, stepwise=isinstance(problem, StepProblem))
    pairs = _pairs("example", examples)
    weights = None
    if sample_weight is not None:
        try:
            weights = np.asarray(sample_weight, np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        if weights.shape != (len(pairs),) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ArgumentError(f"sample_weight must be {len(pairs)} finite numbers from 0 on, one per example")
    held_out = None if dev is None else _pairs("dev example", dev)
    schedule = Schedule.of(dev, metric, patience, checkpoint, checkpoint_every)
    if metric is not None and not callable(metric):
        raise LearnerError(f"metric must be a function of outputs and right outputs, not {metric!r}")
    check_observer(observer)
    n_threads = thread_count(n_threads)
    encoder = Encoder(problem, _beam(problem, beam), _initial(init, learner))
    encoded = encoder.encode(pairs, weights, n_threads)
    if held_out is not None:

        def score(weights: FeatureWeights) -> float:
            model = StructuredModel(problem, encoder.names(len(weights.values)), weights, beam)
            return _scored(metric, [model.predict(x) for x, _ in held_out], [y for _, y in held_out])

        encoded = replace(encoded, score_dev=score, patience=schedule.patience)
    if schedule.checkpoint is not None:
        key = _fingerprint(learner, encoder, encoded, held_out, metric)
        encoded = replace(encoded, checkpoint=Checkpoint(schedule.checkpoint, schedule.every, key))
    work: Any = learner.begin(encoded)
    learnt, history = run(encoded, work, observer)
    training = {
        "learner": {"name": type(learner).__name__, **learner.parameters()},
        "problem": type(problem).__name__,
        "examples": len(pairs),
        **({} if beam is None else {"update": work.options.update}),
        "history": [event.to_dict() for event in history],
    }
    return StructuredModel(problem, encoder.names(len(learnt.values)), learnt, beam, training=training)


def structure_learner(given: Learner | str | None, *, stepwise: bool) -> Learner:
    """The learner, or the one of that name; LearnerError if it does not learn such structures."""
    learner = learner_of(Perceptron() if given is None else given)
    if "structures" not in learner.abilities:
        raise LearnerError(
            f"{_named(learner)} learns chains only; choose an online learner, CRF, ExponentialLoss or "
            'HMSVM(solver="frank-wolfe")'
        )
    check_update(getattr(learner, "update", None), stepwise=stepwise)
    return learner


def _initial(init: Any, learner: Learner) -> Features | None:
    """The weights to start with, by name; LearnerError if the learner starts from none."""
    if init is None:
        return None
    if not learner.takes_init:
        raise LearnerError(f"{_named(learner)} cannot start from other weights; leave init out")
    if isinstance(init, StructuredModel):
        return dict(zip(init.names, init.weights.values.tolist(), strict=True))
    return dict(check_features(init, "init"))


def _fingerprint(
    learner: Learner,
    encoder: Encoder,
    encoded: FeatureProblem,
    held_out: list[tuple[Any, Any]] | None,
    metric: Metric | None,
) -> str:
    """What is equal in all of this gives the same weights, for any number of threads."""
    if encoded.graphs is None:
        raise LearnerError("checkpoint needs a problem with candidates(x) or parts(x); omit it")
    return fingerprint(
        trellis.__version__,
        type(learner).__name__,
        json.dumps(learner.epoch_parameters(), default=plain),
        Strings.of(encoder.numbers),
        [(one.heads, one.tail_starts, one.tails, one.n_nodes, one.goal) for one in encoder.graphs],
        (encoded.gold, encoded.features, encoded.right_starts, encoded.costs, encoded.sentence_weights),
        encoded.initial,
        None if held_out is None else [_outputs(encoder.problem, x, y) for x, y in held_out],
        None if metric is None else getattr(metric, "__qualname__", type(metric).__qualname__),
    )


def _outputs(problem: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """What the score of a held-out pair depends on: the features of all outputs, and which of them is right."""
    if isinstance(problem, PartsProblem):
        parts = check_parts(problem.parts(x), "dev")
        try:
            right = sorted(map(int, problem.edges(x, y)))
        except Exception:  # the problem's own: an output that it cannot derive
            right = []
    else:
        candidates, parts = candidate_parts(problem, x, "dev")
        right = [i for i, z in enumerate(candidates) if same(y, z)]
    graph, features = parts.graph, [plain_features(some, "dev") for some in parts.features]
    return graph.heads, graph.tail_starts, graph.tails, graph.n_nodes, graph.goal, features, right


def _pairs(what: str, given: Any) -> list[tuple[Any, Any]]:
    """Pairs of an input and its right output, checked."""
    pairs = items(given)
    if not pairs:
        raise ArgumentError(f"{what}s must be a list of pairs of an input and its right output, not empty")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(f"{what} {i} must be a pair of an input and its right output")
    return [(x, y) for x, y in pairs]


def _scored(metric: Metric | None, outputs: list[Any], right: list[Any]) -> float:
    """How good outputs are."""
    if metric is None:
        return sum(map(same, outputs, right)) / len(right)
    return real_number("what metric(outputs, right) gives", metric(outputs, right), 0.0)


def _beam(problem: Problem, beam: int | None) -> int | None:
    if not isinstance(problem, StepProblem):
        if beam is not None:
            raise ArgumentError("beam has an effect only where a problem has choices(x, done); omit it")
        return None
    if beam is None:
        raise ArgumentError("a problem with choices(x, done) is searched by a beam; give its width, such as beam=8")
    return whole_number("beam", beam, 1, 2**31 - 1)


def _named(learner: Learner) -> str:
    solver = learner.parameters().get("solver")
    return type(learner).__name__ + (f"(solver={solver!r})" if solver is not None else "")
