"""Encode examples for learners: numbered features; outputs as derivations of hypergraphs, or found by a search."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Doubles, Ints, Lists, Longs, runs_of, starts_of
from trellis._support.errors import ArgumentError, LearnerError
from trellis.engine.hypergraph import Hypergraph, Hypergraphs
from trellis.learning.feature_problem import FeatureProblem, Outputs
from trellis.learning.learner import OnlineOptions
from trellis.tasks.structured.beam import BeamSearch, n_wrong, violations
from trellis.tasks.structured.problem import (
    CandidateProblem,
    Features,
    Parts,
    PartsProblem,
    Problem,
    Weights,
    check_derivation,
    check_parts,
    plain_features,
    same,
)

Example = tuple[Any, Any]


def parts_of(problem: Any, x: Any, place: str) -> tuple[Parts, list[Any] | None]:
    """All outputs of an input as a hypergraph; for candidates also their list, with one edge each."""
    if isinstance(problem, PartsProblem):
        return check_parts(problem.parts(x), place), None
    candidates = list(problem.candidates(x))
    if not candidates:
        raise ArgumentError(f"{place}: candidates(x) returns no output")
    graph = Hypergraph(np.ones(len(candidates), np.int32), np.zeros(len(candidates), np.int32))
    return Parts(graph, [problem.features(x, y) for y in candidates]), candidates


class _Numbers(dict[str, int]):
    """Number of each name; new names get the next number."""

    def __missing__(self, name: str) -> int:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"feature {name!r}: a lone surrogate cannot be saved; omit it") from None
        self[name] = number = len(self)
        return number


class Encoder:
    """Numbers features by name in order of first occurrence."""

    def __init__(self, problem: Problem, beam: int | None = None, init: Features | None = None) -> None:
        self.problem: Any = problem if beam is None else BeamSearch(problem, beam)  # type: ignore[arg-type]
        self.numbers: dict[str, int] = _Numbers()
        self.initial = None if init is None else self._numbered(init, "init")[1]  # of the first features
        self.graphs: list[Hypergraph] = []  # of the examples, if outputs are derivations

    def names(self, n: int) -> tuple[str, ...]:
        """The names of the first n features; a search adds more during training."""
        return tuple(islice(self.numbers, n))

    def encode(self, examples: Sequence[Example], **settings: Any) -> FeatureProblem:
        """Make the training problem; ``settings`` are the common fields of problems."""
        problem, settings["initial"] = self.problem, self.initial
        if isinstance(problem, PartsProblem | CandidateProblem):
            return self._encode_parts(examples, **settings)
        is_stepwise = isinstance(problem, BeamSearch)
        if is_stepwise:
            examples = [(x, problem.check_steps(x, y, f"example {i}")) for i, (x, y) in enumerate(examples)]
        for i, (x, y) in enumerate(examples if getattr(problem, "target", None) is None else ()):
            place = f"example {i}"
            self._numbered(problem.features(x, y, place) if is_stepwise else problem.features(x, y), place)
        return FeatureProblem(
            np.zeros(len(examples), np.int64),
            len(examples),
            len(self.numbers),
            search=(_Steps if is_stepwise else _Search)(self, examples),
            is_stepwise=is_stepwise,
            unit="outputs",
            **settings,
        )

    def _encode_parts(self, examples: Sequence[Example], **settings: Any) -> FeatureProblem:
        ids, values, sizes = array("i"), array("f"), list[int]()
        graphs, right, costs = self.graphs, [], []
        for i, (x, y) in enumerate(examples):
            parts, edges, cost = self._example(x, y, f"example {i}")
            order = np.argsort(parts.graph.heads, kind="stable")
            place = np.argsort(order, kind="stable")
            graphs.append(_sorted(parts.graph, order))
            for e in order.tolist():
                features = plain_features(parts.features[e], f"example {i}, edge {e}")
                ids.extend(map(self.numbers.__getitem__, features))
                values.extend(features.values())
                sizes.append(len(features))
            right.append(place[edges])
            costs.append(None if cost is None else cost[order])
        with_costs = [costs_of for costs_of in costs if costs_of is not None]
        return FeatureProblem(
            np.concatenate([np.empty(0, np.int64), *right]).astype(np.int64),
            len(examples),
            len(self.numbers),
            graphs=Hypergraphs(graphs).native,
            features=Lists(starts_of(sizes), np.array(ids, np.int32), np.array(values, np.float32)),
            right_starts=starts_of([len(edges) for edges in right]),
            costs=np.concatenate(with_costs).astype(np.float32) if with_costs else None,
            unit="parts" if isinstance(self.problem, PartsProblem) else "outputs",
            **settings,
        )

    def _example(self, x: Any, y: Any, place: str) -> tuple[Parts, list[int], Doubles | None]:
        """Parts of an example, edges of its gold output, and the cost of each edge."""
        problem = self.problem
        parts, candidates = parts_of(problem, x, place)
        if candidates is None:
            edges = check_derivation(parts.graph, problem.edges(x, y), place)
            costs = getattr(problem, "costs", None)
            return parts, edges, None if costs is None else _costs(costs(x, y), parts.graph.n_edges, place)
        cost = getattr(problem, "cost", None)
        if cost is None:
            right = next((i for i, z in enumerate(candidates) if same(z, y)), None)
            if right is None:
                raise LearnerError(
                    f"{place}: y is not among the candidates; add it, or define cost(x, y, z) of the problem"
                )
            return parts, [right], None
        # If the gold output is not among the candidates, the one with the lowest cost replaces it.
        values = _costs([cost(x, y, z) for z in candidates], len(candidates), place)
        return parts, [int(values.argmin())], values - values.min()

    def _numbered(self, features: Features, place: str) -> tuple[Ints, Doubles]:
        plain = plain_features(features, place)
        ids = np.array([self.numbers[name] for name in plain], np.int32)
        return ids, np.array(list(plain.values()), np.float64)

    def difference(self, right: Features, other: Features, place: str) -> tuple[Ints, Doubles]:
        """Phi(gold) - Phi(other)."""
        amounts: dict[int, float] = {}
        for features, sign in ((right, 1.0), (other, -1.0)):
            for i, value in zip(*self._numbered(features, place), strict=True):
                amounts[int(i)] = amounts.get(int(i), 0.0) + sign * float(value)
        nonzero = {i: amount for i, amount in sorted(amounts.items()) if amount}
        return np.array(list(nonzero), np.int32), np.array(list(nonzero.values()), np.float64)


class _Search:
    """Finds outputs by the methods of the user's problem."""

    def __init__(self, encoder: Encoder, examples: Sequence[Example]) -> None:
        self.encoder, self.problem, self.examples = encoder, encoder.problem, examples

    def __call__(self, native: _core.FeatureOnline, i: int, options: OnlineOptions) -> Outputs:
        outputs = self.outputs(*self.examples[i], Weights(self.encoder.numbers, native.score), options, f"example {i}")
        native.resize(len(self.encoder.numbers))
        return outputs

    def outputs(self, x: Any, y: Any, weights: Weights, options: OnlineOptions, place: str) -> Outputs:
        """Competing outputs with the current weights."""
        target = getattr(self.problem, "target", None)
        right = y if target is None else target(x, y, weights)
        outputs: Outputs = []
        if right is None and target is not None:
            return outputs
        base = 0.0 if target is None else self._cost(x, y, right, right, place)
        for z in self._best(x, y, weights, options.k, options.is_augmented):
            if same(z, right):
                continue
            extra = self._cost(x, y, z, right, place) - base
            if target is not None and extra <= 0:  # as good as the update target
                continue
            d = self.encoder.difference(self.problem.features(x, right), self.problem.features(x, z), place)
            outputs.append((extra, *d))
        return outputs

    def _cost(self, x: Any, y: Any, z: Any, right: Any, place: str) -> float:
        """The cost of z if y is gold and `right` is the update target."""
        cost = getattr(self.problem, "cost", None)
        if cost is None:
            return float(not same(z, right))
        return float(_costs([cost(x, y, z)], 1, place)[0])

    def _best(self, x: Any, y: Any, weights: Weights, k: int, augmented: bool) -> Sequence[Any]:
        if augmented and k == 1:
            return [self._method("augmented", "needs the best output by score + cost")(x, y, weights)]
        if k > 1:
            return list(self._method("kbest", "needs the k best outputs")(x, weights, k))
        return [self.problem.argmax(x, weights)]

    def _method(self, name: str, reason: str) -> Any:
        method = getattr(self.problem, name, None)
        if method is None:
            raise LearnerError(
                f"this learner {reason}: define the method {name}, candidates(x) or parts(x) of the problem"
            )
        return method


class _Steps(_Search):
    """Finds competing outputs by beam search."""

    def outputs(self, x: Any, y: Any, weights: Weights, options: OnlineOptions, place: str) -> Outputs:
        search = self.problem
        settings: Any = {"update": options.update, "k": options.k, "augmented": options.is_augmented, "place": place}
        prefix, alternatives = violations(search, x, y, weights, **settings)
        right = search.features(x, prefix, place)
        differences = [self.encoder.difference(right, search.features(x, z, place), place) for z in alternatives]
        return [(float(n_wrong(prefix, z)), *d) for z, d in zip(alternatives, differences, strict=True)]


def _sorted(graph: Hypergraph, order: Longs) -> Hypergraph:
    """Copy with the edges in the given order."""
    if (order[1:] > order[:-1]).all():
        return graph
    starts, places = runs_of(graph.tail_starts, order)
    tails = graph.tails[places]
    return Hypergraph(graph.heads[order], tails, tail_starts=starts, n_nodes=graph.n_nodes, goal=graph.goal)


def _costs(values: Any, n: int, place: str) -> Doubles:
    try:
        costs = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        costs = np.empty(0)
    if costs.shape != (n,) or not (np.isfinite(costs) & (costs >= 0)).all():
        raise ArgumentError(f"{place}: costs must be {n} finite non-negative numbers")
    return costs
