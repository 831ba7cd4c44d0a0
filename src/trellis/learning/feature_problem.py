"""Training over any structure: one weight per feature, and outputs found by a hypergraph or by a search of the user's.

`FeatureProblem` is to learners what `Problem` is for chains; they run on it through the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Doubles, Floats, Ints, Lists, Longs
from trellis._support.errors import LearnerError
from trellis.learning.learner import OnlineOptions
from trellis.learning.run import COST_AUGMENTED, Event, ExampleOrder, State, Work, restoring, wrong_parts

if TYPE_CHECKING:
    from trellis.learning.checkpoint import Checkpoint

# Outputs of example i by the weights of now, to step away from: each its cost and Phi(right) - Phi(output), as numbers
# of features and amounts; none where the best one is right. How many there may be, and whether by score + cost.
Outputs = list[tuple[float, Ints, Doubles]]
Search = Callable[["FeatureRun", int, int, bool], Outputs]


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Every update in turn, for voting: update u changes features[starts[u]:starts[u + 1]]."""

    counts: Longs  # [n_updates + 1] how many examples the weights before each update, and the last ones, stood for
    starts: Longs  # [n_updates + 1]
    features: Ints
    changes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FeatureWeights:
    """What a learner has learnt of any structure."""

    values: Floats  # [n_features]
    votes: Votes | None = None

    def tensors(self) -> Arrays:
        """As named arrays, for files."""
        out: Arrays = {"weights": self.values}
        if self.votes is not None:
            out |= {f"votes.{one.name}": getattr(self.votes, one.name) for one in fields(Votes)}
        return out

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> FeatureWeights:
        """What ``tensors`` gave; ValueError if the arrays do not fit together."""
        values, votes = tensors["weights"], None
        if values.dtype != np.float32 or values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError("weights that are not one finite number per feature")
        if "votes.counts" in tensors:
            votes = Votes(*(tensors[f"votes.{one.name}"] for one in fields(Votes)))
            n, m = len(votes.counts), len(votes.features)
            arrays = (votes.counts, votes.starts, votes.features, votes.changes)
            kinds, wanted = [(a.dtype.str, a.ndim) for a in arrays], ("<i8", "<i8", "<i4", "<f4")
            fits = len(votes.starts) == n and len(votes.changes) == m and kinds == [(kind, 1) for kind in wanted]
            ends = fits and n > 0 and votes.starts[0] == 0 and votes.starts[-1] == m
            if not ends or (np.diff(votes.starts) < 0).any():
                raise ValueError("votes that do not fit together")
            if m and not 0 <= votes.features.min() <= votes.features.max() < len(values):
                raise ValueError("votes that do not fit together")
        return cls(values, votes)


@dataclass(frozen=True, slots=True)
class FeatureProblem(ExampleOrder):
    """A training problem over any structure: hypergraphs with features on their edges, or a search."""

    gold: Longs  # what stands in right outputs: edges one after the other, or one number per example
    n_examples: int
    n_features: int  # of a search: so far
    n_threads: int
    graphs: _core.Hypergraphs | None = None
    features: Lists | None = None  # of all edges, which are in the order of their heads
    right_starts: Longs | None = None  # [n_examples + 1], in `gold`
    costs: Floats | None = None  # [n_edges] or None: 1 for every edge that is not in the right derivation
    search: Search | None = None
    is_stepwise: bool = False  # whether the search is a beam from left to right, so that updates may be early
    sentence_weights: Doubles | None = None  # [n_examples]
    initial: Doubles | None = None  # of the first features, to start with; all others start at 0
    score_dev: Callable[[FeatureWeights], float] | None = None
    patience: int | None = None  # epochs without a better dev score after which to stop
    checkpoint: Checkpoint | None = None  # the file that training resumes from

    @property
    def n_sentences(self) -> int:
        """How many examples there are."""
        return self.n_examples

    @property
    def unit(self) -> str:
        """What examples are made of."""
        return "parts"

    @property
    def start(self) -> Doubles:
        """The weights of all features to start with."""
        first = np.zeros(0) if self.initial is None else self.initial
        return np.concatenate([first, np.zeros(self.n_features - len(first))])

    def examples(self, kept: Bools | None = None) -> _core.DerivationExamples:
        """For native code; of some features only where ``kept`` says which. LearnerError if there are no parts."""
        if self.graphs is None or self.features is None or self.right_starts is None:
            how = "is searched by a beam" if self.is_stepwise else "finds best outputs only"
            others = ", PassiveAggressive, MIRA or AROW" if self.is_stepwise else " or PassiveAggressive"
            raise LearnerError(
                f"this learner sums over all outputs, or adds costs to parts, and the problem {how}; give it "
                f"candidates(x) or parts(x), or choose Perceptron{others}"
            )
        features, n = self.features, self.n_features
        if kept is not None:
            rank = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
            features, n = _core.renumber(*features, rank), int(kept.sum())
        return _core.DerivationExamples(self.graphs, features, n, self.right_starts, self.gold, self.costs)


@dataclass(frozen=True, slots=True)
class FeatureVector:
    """The weights of features as the flat vector that gradient learners work on."""

    problem: FeatureProblem

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.problem.n_features

    def objective(self, kept: Bools | None) -> _core.Objective:
        """Losses and gradients as functions of the vector, in double precision."""
        return _core.DerivationObjective(self.problem.examples(kept))

    def weights(self, vector: Doubles) -> FeatureWeights:
        """What a vector stands for."""
        return FeatureWeights(vector.astype(np.float32))


TABLE = ("values", "sums", "variances")
LOG = ("log.clocks", "log.starts", "log.features", "log.changes")
MIXTURES = ("mixtures.starts", "mixtures.edges", "mixtures.amounts", "mixtures.costs")


def _packed(names: Sequence[Sequence[str]], parts: Sequence[Any]) -> Arrays:
    """The parts of a native state as named arrays."""
    return {name: a for ones, part in zip(names, parts, strict=True) for name, a in zip(ones, part, strict=True)}


def _unpacked(names: Sequence[Sequence[str]], state: State) -> list[Any]:
    """The parts again; LookupError if one is missing."""
    return [tuple(state[name] for name in ones) for ones in names]


class FeatureRun(Work):
    """Weights in training by an online learner (core/learn/steps.hpp)."""

    def __init__(self, problem: FeatureProblem, rule: str, **options: Any) -> None:
        given = OnlineOptions(**options)
        self.problem, self.average, self.vote, self.batch = problem, given.average, given.vote, given.batch
        self.epochs, self.seed = given.epochs, given.seed_of_order
        self.update = given.update_of(stepwise=problem.is_stepwise)
        self.rule, self.k, self.augmented = rule, given.k, rule in COST_AUGMENTED
        self.native = _core.FeatureOnline(problem.n_features, rule, given.k, given.c, given.vote)
        if problem.initial is not None:
            self._start(problem.start.astype(np.float32))
        self.examples = None if problem.search is not None else problem.examples()
        if problem.search is not None and given.batch > 1:
            raise LearnerError("batch has an effect only where a problem has candidates or parts; omit it")

    def _start(self, values: Floats) -> None:
        """Begin with weights; where updates are kept for voting, these are the first, before all examples."""
        clock, (_, sums, variances), log = self.native.state()
        if self.vote:
            features = np.flatnonzero(values).astype(np.uint32)
            starts = np.array([0, len(features)], np.int64)
            log = (np.zeros(1, np.int64), starts, features, values[features])
        self.native.restore(clock, (values, sums, variances), log)

    def step(self, number: int) -> Event:
        """One pass over all examples."""
        problem = self.problem
        order = problem.sentence_order(number, self.seed)
        if self.examples is not None:
            found = self.native.epoch(self.examples, order, problem.sentence_weights, self.batch, problem.n_threads)
            return Event(number, updates=found[1], **wrong_parts(self.rule, found[0]))
        assert problem.search is not None
        mistakes = updates = 0
        for i in order.tolist():
            scale = 1.0 if problem.sentence_weights is None else float(problem.sentence_weights[i])
            outputs = problem.search(self, i, self.k, self.augmented) if scale else []
            mistakes += bool(outputs)
            updates += self.native.take(outputs, scale)
        return Event(number, updates=updates, **wrong_parts(self.rule, mistakes))

    def weights(self) -> FeatureWeights:
        """The weights to predict with, were the training over now."""
        values = self.native.values(self.average)
        if not self.vote:
            return FeatureWeights(values)
        clocks, starts, features, changes = self.native.log()
        counts = np.diff(np.concatenate([[0], clocks, [self.native.clock]]))
        return FeatureWeights(values, Votes(counts, starts, features.astype(np.int32), changes))

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        clock, *arrays = self.native.state()
        return {"clock": np.array([clock], np.int64), **_packed((TABLE, LOG), arrays)}

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        with restoring():
            self.native.restore(int(state["clock"][0]), *_unpacked((TABLE, LOG), state))


class FeatureFrankWolfe(Work):
    """Weights and dual variables in training by Frank-Wolfe (core/learn/mixture_steps.hpp)."""

    def __init__(
        self, problem: FeatureProblem, *, C: float, cost: str, epochs: int, tolerance: float, average: bool, seed: int
    ) -> None:
        self.problem, self.C, self.zero_one, self.average = problem, C, cost == "zero-one", average
        self.epochs, self.tolerance, self.seed, self.solved = epochs, tolerance, seed, False
        self.examples = problem.examples()
        self.native = _core.FeatureFrankWolfe(problem.n_features, problem.n_sentences, C, self.zero_one)

    def step(self, number: int) -> Event | None:
        """One pass over all examples, and the exact gap where it may be small enough."""
        if self.solved:
            return None
        problem = self.problem
        order = problem.sentence_order(number, self.seed)
        mistakes, updates, gap = self.native.epoch(self.examples, order, problem.sentence_weights)
        # As of sequences (frank_wolfe.py), the last epoch changes nothing that a later one depends on.
        primal, may_be_solved = None, gap <= self.tolerance * (self.native.dual + gap)
        if may_be_solved:
            self.native.renew(self.examples, problem.sentence_weights)
        if may_be_solved or number == self.epochs:
            values = self.native.values(self.average)
            losses = _core.hinge_losses(self.examples, values, self.zero_one, problem.n_threads)
            squares = values.astype(np.float64)
            primal = 0.5 * _core.dot(squares, squares) + self.C * float(problem.weigh(losses).sum())
            gap = primal - self.native.dual
            self.solved = may_be_solved and gap <= self.tolerance * primal
        return Event(number, violations=mistakes, updates=updates, objective=primal, dual=self.native.dual, gap=gap)

    def weights(self) -> FeatureWeights:
        """The weights to predict with, were the training over now."""
        return FeatureWeights(self.native.values(self.average))

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        clock, dual, *arrays = self.native.state()
        numbers = {"clock": np.array([clock, self.solved], np.int64), "dual": np.array([dual])}
        return {**numbers, **_packed((TABLE, MIXTURES), arrays)}

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        with restoring():
            clock, solved = (int(n) for n in state["clock"])
            parts = _unpacked((TABLE, MIXTURES), state)
            self.native.restore(self.examples, clock, float(state["dual"][0]), *parts)
            self.solved = bool(solved)
