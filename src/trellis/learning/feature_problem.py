"""Training over any structure: one weight per feature; outputs are found by a hypergraph or by the user's search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Doubles, Floats, Ints, Lists, Longs, Stored
from trellis._support.errors import LearnerError
from trellis.learning.problem import FlatVector, MarginWeights, NativeWeights, Problem

if TYPE_CHECKING:
    from trellis.learning.learner import OnlineOptions

# Competing outputs of example i with the current weights: cost and Phi(gold) - Phi(output) of each, as numbers of
# features and amounts; empty if the best output is correct.
Outputs = list[tuple[float, Ints, Doubles]]
Search = Callable[[_core.FeatureOnline, int, "OnlineOptions"], Outputs]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureVotes(Stored):
    """Updates of a voted perceptron: update u changes features[starts[u]:starts[u + 1]].

    Attributes
    ----------
    counts
        [n_updates + 1] number of examples that each set of weights was used for.
    starts
        [n_updates + 1].
    features
        Changed features.
    changes
        Changes of their weights.
    """

    counts: Longs
    starts: Longs
    features: Ints
    changes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FeatureWeights:
    """Weights of a structured model.

    Attributes
    ----------
    values
        [n_features].
    votes
        Updates of a voted perceptron.
    """

    values: Floats
    votes: FeatureVotes | None = None

    def tensors(self) -> Arrays:
        """Convert to named arrays, for files.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        out: Arrays = {"weights": self.values}
        if self.votes is not None:
            out |= self.votes.tensors("votes")
        return out

    def squares(self) -> float:
        """Compute |w|².

        Returns
        -------
        float
            The squared norm.
        """
        values = self.values.astype(np.float64)
        return _core.dot(values, values)

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> FeatureWeights:
        """Make the weights from named arrays.

        Parameters
        ----------
        tensors
            Arrays by name.

        Returns
        -------
        FeatureWeights
            The weights.

        Raises
        ------
        ValueError
            If the arrays are inconsistent.
        """
        values, votes = tensors["weights"], None
        if values.dtype != np.float32 or values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError("weights must be one finite number per feature")
        if "votes.counts" in tensors:
            votes = FeatureVotes.of_tensors("votes", tensors)
            n, m = len(votes.counts), len(votes.features)
            arrays = (votes.counts, votes.starts, votes.features, votes.changes)
            kinds, expected = [(a.dtype.str, a.ndim) for a in arrays], ("<i8", "<i8", "<i4", "<f4")
            fits = len(votes.starts) == n and len(votes.changes) == m and kinds == [(kind, 1) for kind in expected]
            ends = fits and n > 0 and votes.starts[0] == 0 and votes.starts[-1] == m
            is_valid = not m or (ends and 0 <= votes.features.min() <= votes.features.max() < len(values))
            if not ends or not is_valid or (np.diff(votes.starts) < 0).any():
                raise ValueError("inconsistent votes")
        return cls(values, votes)


@dataclass(frozen=True, slots=True)
class FeatureProblem(Problem):
    """Hypergraphs with features on their edges, or a search; ``initial`` are weights of the first features."""

    gold: Longs  # gold outputs: edges, concatenated, or one number per example
    n_sentences: int
    n_features: int  # with a search: features met so far
    graphs: _core.Hypergraphs | None = None
    features: Lists | None = None  # of all edges, sorted by head
    right_starts: Longs | None = None  # [n_sentences + 1], in `gold`
    costs: Floats | None = None  # [n_edges]; None: 1 for every edge that is not in the gold derivation
    search: Search | None = None
    is_stepwise: bool = False  # left-to-right beam search, which allows early updates

    @property
    def start(self) -> Doubles:
        """Initial weights of all features."""
        first = np.zeros(0) if self.initial is None else self.initial
        return np.concatenate([first, np.zeros(self.n_features - len(first))])

    def examples(self, mask: Bools | None = None) -> _core.DerivationExamples:
        """Native examples, with ``mask`` restricted to some features. LearnerError if there are no parts."""
        if self.graphs is None or self.features is None or self.right_starts is None:
            search = "is searched by a beam" if self.is_stepwise else "has only a search for the best output"
            alternatives = ", PassiveAggressive, MIRA or AROW" if self.is_stepwise else " or PassiveAggressive"
            raise LearnerError(
                f"this learner sums over all outputs, or adds costs to parts, and the problem {search}; give it "
                f"candidates(x) or parts(x), or use Perceptron{alternatives}"
            )
        features, n = self.features, self.n_features
        if mask is not None:
            rank = np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32)
            features, n = Lists(**_core.renumber(features, rank)), int(mask.sum())
        return _core.DerivationExamples(self.graphs, features, n, self.right_starts, self.gold, self.costs)

    def online(self, options: OnlineOptions) -> NativeWeights:
        """Weights for an online learner (core/learn/steps.hpp)."""
        if self.search is not None and options.batch > 1:
            raise LearnerError("batch has an effect only for problems with candidates or parts; omit it")
        derivations = None if self.search is not None else self.examples()

        def make() -> _core.FeatureOnline:
            native = _core.FeatureOnline(self.n_features, *options.rule_settings, options.vote)
            if self.initial is not None:
                state, values = native.state(), self.start.astype(np.float32)
                state["table.weights"] = values
                if options.vote:  # the weights of a warm start are the first update
                    features = np.flatnonzero(values).astype(np.uint32)
                    state |= {"log.clocks": np.zeros(1, np.int64), "log.starts": np.array([0, len(features)], np.int64)}
                    state |= {"log.rows": features, "log.places": np.zeros_like(features)}
                    state["log.changes"] = values[features]
                native.restore(state)
            return native

        def pass_over(native: _core.FeatureOnline, order: Longs) -> tuple[int, int]:
            weights = self.sentence_weights
            if derivations is not None:
                return native.epoch(derivations, order, weights, options.batch, self.n_threads)
            assert self.search is not None
            mistakes = updates = 0
            for i in order.tolist():
                scale = 1.0 if weights is None else float(weights[i])
                outputs = self.search(native, i, options) if scale else []
                mistakes += bool(outputs)
                updates += native.take(outputs, scale)
            return mistakes, updates

        def learnt(native: _core.FeatureOnline, average: bool) -> FeatureWeights:
            values = native.weights(average)
            if not options.vote:
                return FeatureWeights(values)
            log = native.log()
            counts = np.diff(np.concatenate([[0], log["clocks"], [native.clock]]))
            features = log["rows"].astype(np.int32)
            return FeatureWeights(values, FeatureVotes(counts, log["starts"], features, log["changes"]))

        return NativeWeights(make, pass_over, learnt)

    def shards(self, n: int) -> list[tuple[int, Longs]]:
        """Runs of examples."""
        if self.search is not None:
            raise LearnerError("shards require a problem with parts(x) or candidates(x); omit them")
        runs = np.array_split(np.arange(self.n_sentences), n)
        return [(shard, run) for shard, run in enumerate(runs) if len(run)]

    def margins(self, C: float, zero_one: bool) -> MarginWeights:
        """Weights with a mixture of outputs for every example (core/learn/mixture_steps.hpp)."""
        derivations, n = self.examples(), (self.n_features, self.n_sentences)
        return MarginWeights(
            lambda: _core.FeatureFrankWolfe(*n, C, zero_one),
            lambda native, order: native.epoch(derivations, order, self.sentence_weights),
            lambda native, average: FeatureWeights(native.weights(average)),
            (derivations,),
            renewed=lambda native: native.renew(derivations, self.sentence_weights),
            losses=lambda weights: _core.hinge_losses(derivations, weights.values, zero_one, self.n_threads),
        )

    def flat_vector(self) -> FlatVector:
        """Weights for a batch learner."""
        return FlatVector(
            self.start,
            lambda kept: _core.DerivationObjective(self.examples(kept)),
            lambda vector: FeatureWeights(vector.astype(np.float32)),
        )

    def weights_of(self, tensors: Arrays) -> FeatureWeights:
        """Weights from a checkpoint; ValueError or LookupError if they do not fit together."""
        return FeatureWeights.of_tensors(tensors)
