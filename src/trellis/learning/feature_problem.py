"""Training over any structure: one weight per feature; outputs are found by a hypergraph or by the user's search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Doubles, Floats, Ints, Lists, Longs
from trellis._support.errors import LearnerError
from trellis.learning.problem import NativeWeights, Problem, StateParts
from trellis.learning.run import COST_AUGMENTED

if TYPE_CHECKING:
    from trellis.learning.learner import OnlineOptions

# Outputs of example i by the weights of now, to step away from: each its cost and Phi(right) - Phi(output), as numbers
# of features and amounts; none where the best one is right. How many there may be, and whether by score + cost.
Outputs = list[tuple[float, Ints, Doubles]]
Search = Callable[["FeatureOnline", int, int, bool], Outputs]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureVotes:
    """Every update in turn, for voting: update u changes features[starts[u]:starts[u + 1]]."""

    counts: Longs  # [n_updates + 1] how many examples the weights before each update, and the last ones, stood for
    starts: Longs  # [n_updates + 1]
    features: Ints
    changes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FeatureWeights:
    """What a learner has learnt of any structure."""

    values: Floats  # [n_features]
    votes: FeatureVotes | None = None

    def tensors(self) -> Arrays:
        """As named arrays, for files."""
        out: Arrays = {"weights": self.values}
        if self.votes is not None:
            out |= {f"votes.{one.name}": getattr(self.votes, one.name) for one in fields(FeatureVotes)}
        return out

    def squares(self) -> float:
        """|w|²."""
        values = self.values.astype(np.float64)
        return _core.dot(values, values)

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> FeatureWeights:
        """What ``tensors`` gave; ValueError if the arrays do not fit together."""
        values, votes = tensors["weights"], None
        if values.dtype != np.float32 or values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError("weights that are not one finite number per feature")
        if "votes.counts" in tensors:
            votes = FeatureVotes(*(tensors[f"votes.{one.name}"] for one in fields(FeatureVotes)))
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
class FeatureProblem(Problem):
    """Hypergraphs with features on their edges, or a search; ``initial`` are weights of the first features."""

    gold: Longs  # what stands in right outputs: edges one after the other, or one number per example
    n_examples: int
    n_features: int  # of a search: so far
    graphs: _core.Hypergraphs | None = None
    features: Lists | None = None  # of all edges, which are in the order of their heads
    right_starts: Longs | None = None  # [n_examples + 1], in `gold`
    costs: Floats | None = None  # [n_edges] or None: 1 for every edge that is not in the right derivation
    search: Search | None = None
    unit: str = field(default="parts", kw_only=True)
    is_stepwise: bool = False  # whether the search is a beam from left to right, so that updates may be early

    @property
    def n_sentences(self) -> int:
        """How many examples there are."""
        return self.n_examples

    @property
    def n_parts(self) -> int:
        """How many parts right outputs have."""
        return len(self.gold)

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

    def online(self, options: OnlineOptions) -> FeatureOnline:
        """Weights for an online learner."""
        return FeatureOnline(self, options)

    def margins(self, C: float, zero_one: bool) -> FeatureMargins:
        """Weights and dual variables for Frank-Wolfe."""
        return FeatureMargins(self, C, zero_one)

    def flat_vector(self) -> FeatureVector:
        """Weights for a batch learner."""
        return FeatureVector(self)

    def weights_of(self, tensors: Arrays) -> FeatureWeights:
        """Weights from a checkpoint; ValueError or LookupError if they do not fit together."""
        return FeatureWeights.of_tensors(tensors)


@dataclass(frozen=True, slots=True)
class FeatureVector:
    """The weights of all features, or of some, as one flat vector."""

    problem: FeatureProblem
    kept: Bools | None = None

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.problem.n_features if self.kept is None else int(self.kept.sum())

    def start(self) -> Doubles:
        """Zero, or the weights of a warm start."""
        return self.problem.start if self.kept is None else self.problem.start[self.kept]

    def objective(self, *, local: bool, single: bool) -> _core.Objective:
        """Losses and gradients as functions of the vector, in double precision."""
        return _core.DerivationObjective(self.problem.examples(self.kept))

    def weights(self, vector: Doubles) -> FeatureWeights:
        """What a vector stands for."""
        return FeatureWeights(vector.astype(np.float32))

    def only(self, kept: Bools) -> FeatureVector:
        """Some of the weights."""
        return FeatureVector(self.problem, kept)


_TABLE = ("values", "sums", "variances")
_ONLINE: StateParts = {"clock": int, "table": _TABLE, "log": ("clocks", "starts", "features", "changes")}
_MIXTURES = ("starts", "edges", "amounts", "costs")
_MARGINS: StateParts = {"clock": int, "dual": float, "table": _TABLE, "mixtures": _MIXTURES}


class FeatureOnline(NativeWeights):
    """Weights that change example by example (core/learn/steps.hpp)."""

    parts = _ONLINE
    native: _core.FeatureOnline

    def __init__(self, problem: FeatureProblem, options: OnlineOptions) -> None:
        self.problem, self.options = problem, options
        self.derivations = None if problem.search is not None else problem.examples()
        if problem.search is not None and options.batch > 1:
            raise LearnerError("batch has an effect only where a problem has candidates or parts; omit it")
        self.native = self.begin()

    def begin(self) -> _core.FeatureOnline:
        """New native weights; where updates are kept for voting, those of a warm start are the first."""
        problem = self.problem
        native = _core.FeatureOnline(problem.n_features, *self.options.rule_settings, self.options.vote)
        if problem.initial is not None:
            clock, (_, sums, variances), log = native.state()
            values = problem.start.astype(np.float32)
            if self.options.vote:
                features = np.flatnonzero(values).astype(np.uint32)
                starts = np.array([0, len(features)], np.int64)
                log = (np.zeros(1, np.int64), starts, features, values[features])
            native.restore(clock, (values, sums, variances), log)
        return native

    def epoch(self, order: Longs, block: FeatureProblem) -> tuple[int, int]:
        """One pass over all examples: (wrong parts, examples that made a step)."""
        weights, options = block.sentence_weights, self.options
        if self.derivations is not None:
            return self.native.epoch(self.derivations, order, weights, options.batch, block.n_threads)
        assert block.search is not None
        mistakes = updates = 0
        for i in order.tolist():
            scale = 1.0 if weights is None else float(weights[i])
            outputs = block.search(self, i, options.k, options.rule in COST_AUGMENTED) if scale else []
            mistakes += bool(outputs)
            updates += self.native.take(outputs, scale)
        return mistakes, updates

    def weights(self, average: bool) -> FeatureWeights:
        """The weights to predict with."""
        values = self.native.values(average)
        if not self.options.vote:
            return FeatureWeights(values)
        clocks, starts, features, changes = self.native.log()
        counts = np.diff(np.concatenate([[0], clocks, [self.native.clock]]))
        return FeatureWeights(values, FeatureVotes(counts, starts, features.astype(np.int32), changes))


class FeatureMargins(NativeWeights):
    """Weights with a mixture of outputs for every example (core/learn/mixture_steps.hpp)."""

    parts = _MARGINS
    native: _core.FeatureFrankWolfe

    def __init__(self, problem: FeatureProblem, C: float, zero_one: bool) -> None:
        self.problem, self.C, self.zero_one = problem, C, zero_one
        self.derivations = problem.examples()
        self.examples = (self.derivations,)
        self.native = self.begin()

    def begin(self) -> _core.FeatureFrankWolfe:
        """New native weights, at zero."""
        return _core.FeatureFrankWolfe(self.problem.n_features, self.problem.n_sentences, self.C, self.zero_one)

    @property
    def dual(self) -> float:
        """sum_i C_i cost(a_i) - ½ |w|²."""
        return self.native.dual

    def epoch(self, order: Longs) -> tuple[int, int, float]:
        """One pass: (wrong parts, examples that made a step, their gaps as they were met)."""
        return self.native.epoch(self.derivations, order, self.problem.sentence_weights)

    def renew(self) -> None:
        """Weights and dual anew from the dual variables, without what rounding added."""
        self.native.renew(self.derivations, self.problem.sentence_weights)

    def losses(self, weights: FeatureWeights) -> Doubles:
        """The hinge loss of every example, by any weights."""
        return _core.hinge_losses(self.derivations, weights.values, self.zero_one, self.problem.n_threads)

    def weights(self, average: bool) -> FeatureWeights:
        """The last weights, or their average with step k weighted by k."""
        return FeatureWeights(self.native.values(average))
