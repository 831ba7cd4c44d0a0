"""Protocols of user-defined structures: outputs, their features, and the search for the best output.

There are four kinds of problems. Each is an object with certain methods; no base class is required.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from trellis._support.arguments import LARGEST, items, whole_number
from trellis._support.arrays import Doubles, Ints
from trellis._support.errors import ArgumentError, LearnerError
from trellis.engine.hypergraph import Hypergraph

Features = Mapping[str, float]
PLAIN_NAMES, PLAIN_NUMBERS = frozenset({str}), frozenset({int, float})
X = TypeVar("X", contravariant=True)
Y = TypeVar("Y")
C = TypeVar("C")


class Weights:
    """Weights of features by name; 0 for features that did not occur in training.

    Parameters
    ----------
    numbers
        Number of each feature.
    dot
        Function that sums weight times value over feature numbers.
    """

    def __init__(self, numbers: Mapping[str, int], dot: Callable[[Ints, Doubles], float]) -> None:
        self._numbers, self._dot = numbers, dot

    def __getitem__(self, feature: str) -> float:
        return self.score({feature: 1.0})

    def score(self, features: Features) -> float:
        """Score features: the sum of weight times value.

        Parameters
        ----------
        features
            Values by the names of features.

        Returns
        -------
        float
            The score.
        """
        numbers = self._numbers
        pairs = [(numbers[name], value) for name, value in features.items() if name in numbers]
        ids = np.array([number for number, _ in pairs], np.int32)
        return self._dot(ids, np.array([value for _, value in pairs], np.float64))


@dataclass(frozen=True, slots=True)
class Parts:
    """All outputs of an input, packed: derivations of a hypergraph, with features on its edges.

    Parameters
    ----------
    graph
        The hypergraph.
    features
        Features of each edge.
    """

    graph: Hypergraph
    features: Sequence[Features]


@runtime_checkable
class CandidateProblem(Protocol[X, Y]):
    """Protocol of problems whose outputs can be listed.

    Optional method: ``cost(x, y, z)``, the cost of output z if y is correct (default: 1).
    """

    def candidates(self, x: X) -> Sequence[Y]:
        """List all outputs of an input: GEN(x).

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Sequence[Y]
            The outputs.
        """

    def features(self, x: X, y: Y) -> Features:
        """Compute the features of an output: Phi(x, y).

        Parameters
        ----------
        x
            The input.
        y
            The output.

        Returns
        -------
        Features
            Values by the names of features.
        """


@runtime_checkable
class SearchProblem(Protocol[X, Y]):
    """Protocol of problems with a search for the best output.

    Optional methods: ``kbest(x, weights, k)``, the k best outputs; ``augmented(x, y, weights)``, the best by score +
    cost if y is correct; ``cost(x, y, z)`` (default: 1); ``target(x, y, weights)``, the output to update towards with
    the current weights, or None to skip the example, for hidden or unreachable outputs: ``features`` then never gets y.
    """

    def argmax(self, x: X, weights: Weights) -> Y:
        """Find the output with the highest score.

        Parameters
        ----------
        x
            The input.
        weights
            The current weights.

        Returns
        -------
        Y
            The output.
        """

    def features(self, x: X, y: Y) -> Features:
        """Compute the features of an output: Phi(x, y).

        Parameters
        ----------
        x
            The input.
        y
            The output.

        Returns
        -------
        Features
            Values by the names of features.
        """


@runtime_checkable
class PartsProblem(Protocol[X, Y]):
    """Protocol of problems whose outputs are derivations of a hypergraph.

    Optional method: ``costs(x, y)``, the cost of each edge if y is correct (default: 1 for edges that y has not).
    """

    def parts(self, x: X) -> Parts:
        """Pack all outputs of an input.

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Parts
            Hypergraph and features.
        """

    def edges(self, x: X, y: Y) -> Sequence[int]:
        """List the edges of an output.

        Parameters
        ----------
        x
            The input.
        y
            The output.

        Returns
        -------
        Sequence[int]
            Numbers of edges, in any order.
        """

    def output(self, x: X, edges: Sequence[int]) -> Y:
        """Make the output that has these edges.

        Parameters
        ----------
        x
            The input.
        edges
            Numbers of edges, from the goal down.

        Returns
        -------
        Y
            The output.
        """


@runtime_checkable
class StepProblem(Protocol[X, C]):
    """Protocol of problems whose outputs are tuples of choices, found by beam search.

    Optional method: ``signature(x, done)``, a hashable value; hypotheses with the same signature compete, so it must
    only be equal if all further choices and features are equal.
    """

    def choices(self, x: X, done: tuple[C, ...]) -> Sequence[C]:
        """List the next choices.

        Parameters
        ----------
        x
            The input.
        done
            The choices so far.

        Returns
        -------
        Sequence[C]
            The choices; empty if the output is complete.
        """

    def features(self, x: X, done: tuple[C, ...], choice: C) -> Features:
        """Compute the features that a choice adds to Phi.

        Parameters
        ----------
        x
            The input.
        done
            The choices so far.
        choice
            The next choice.

        Returns
        -------
        Features
            Values by the names of features.
        """


Problem = CandidateProblem[Any, Any] | SearchProblem[Any, Any] | PartsProblem[Any, Any] | StepProblem[Any, Any]


KINDS = {"parts": PartsProblem, "candidates": CandidateProblem, "argmax": SearchProblem, "choices": StepProblem}


def kind_of(problem: Any) -> str:
    """The method that determines the kind of a problem, as stored in files; ArgumentError for unknown kinds."""
    if problem is None:
        raise ArgumentError("problem is missing; give problem=..., an object that defines the outputs")
    if isinstance(problem, type):
        raise ArgumentError(f"problem must be an instance, not a class; give {problem.__name__}()")
    kind = next((name for name, kind in KINDS.items() if isinstance(problem, kind)), None)
    if kind is None:
        raise ArgumentError(
            "problem needs the methods features and candidates, features and argmax, features and choices, or parts, "
            f"edges and output; {type(problem).__name__} has none of these sets"
        )
    return kind


def check_beam(problem: Problem, beam: Any) -> int | None:
    """The beam width; ArgumentError if the problem needs one or does not use one."""
    if isinstance(problem, StepProblem):
        if beam is None:
            raise ArgumentError(
                "a problem with choices(x, done) requires beam search; set the beam width, such as beam=8"
            )
        return whole_number("beam", beam, 1, 2**31 - 1)
    if beam is not None:
        raise ArgumentError("beam has an effect only for problems with choices(x, done); omit it")
    return None


def check_pairs(name: str, examples: Any, y: Any = None) -> list[tuple[Any, Any]]:
    """Pairs of an input and its gold output, or inputs and their outputs ``y``, as pairs."""
    pairs = items(examples)
    if y is not None:
        outputs = items(y)
        if pairs is None or outputs is None or len(pairs) != len(outputs):
            raise ArgumentError("y must have one output per input")
        return list(zip(pairs, outputs, strict=True))
    if pairs is None:
        raise ArgumentError(f"{name}s must be a list of pairs of an input and its gold output")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(f"{name} {i} must be a pair of an input and its gold output")
    return [(x, y) for x, y in pairs]


def plain_features(features: Any, place: str) -> dict[str, float]:
    """Features as a dict of strings and Python floats; ArgumentError for other types."""
    if type(features) is dict and PLAIN_NAMES.issuperset(map(type, features)):  # most are, which is seen without a loop
        values = features.values()
        # The sum is NaN if one of them is.
        if PLAIN_NUMBERS.issuperset(map(type, values)) and sum(map(abs, values)) <= LARGEST:
            return features
    if not isinstance(features, Mapping):
        raise ArgumentError(f"{place}: features must be a dict from names to numbers, not {type(features).__name__}")
    plain = dict[str, float]()
    for name, value in features.items():
        if not isinstance(name, str):
            raise ArgumentError(f"{place}: the name of a feature must be a string, not {name!r}")
        try:
            plain[name] = float(value)
        except (TypeError, ValueError, OverflowError):
            plain[name] = np.inf
        if not abs(plain[name]) <= LARGEST or isinstance(value, str):
            raise ArgumentError(
                f"{place}: feature {name!r} must have a number from -{LARGEST:g} to {LARGEST:g} as its value, "
                f"not {value!r}"
            )
    return plain


def check_parts(parts: Any, place: str) -> Parts:
    """Check parts; ArgumentError if they are inconsistent."""
    if not isinstance(parts, Parts) or not isinstance(parts.graph, Hypergraph):
        raise ArgumentError(f"{place}: parts(x) must return trellis.Parts, not {type(parts).__name__}")
    if len(parts.features) != parts.graph.n_edges:
        raise ArgumentError(
            f"{place}: parts(x) must return features for each of the {parts.graph.n_edges} edges, "
            f"not for {len(parts.features)}"
        )
    return parts


def check_derivation(graph: Hypergraph, edges: Any, place: str) -> list[int]:
    """Check edges; LearnerError unless they are a derivation of the goal."""
    try:
        numbers = [int(e) for e in edges]
    except (TypeError, ValueError):
        raise LearnerError(f"{place}: edges(x, y) must return edge indices") from None
    into: dict[int, list[int]] = {}
    for e in numbers:
        if not 0 <= e < graph.n_edges:
            raise LearnerError(f"{place}: edges(x, y) returns edge {e}, but the graph has {graph.n_edges} edges")
        into.setdefault(int(graph.heads[e]), []).append(e)
    open_nodes, n_used = [graph.goal], 0
    heads = set(graph.heads.tolist())
    while open_nodes:
        node = open_nodes.pop()
        if node in heads:
            if not into.get(node):
                raise LearnerError(f"{place}: edges(x, y) has no edge into node {node}, which the derivation needs")
            e = into[node].pop()
            n_used += 1
            open_nodes.extend(graph.tails_of(e))
    if n_used != len(numbers):
        raise LearnerError(
            f"{place}: edges(x, y) returns {len(numbers)} edges, but the derivation of the goal uses {n_used}"
        )
    return numbers


def same(a: Any, b: Any) -> bool:
    """Whether two outputs are equal; arrays too."""
    try:
        return bool(a == b)
    except ValueError:
        return bool(np.array_equal(a, b))


def same_problem(a: Any, b: Any) -> bool:
    """Whether two problems are equal; without their own ``==`` attributes are compared."""
    if a is b or same(a, b):
        return True
    first, second = getattr(a, "__dict__", None), getattr(b, "__dict__", None)
    if type(a) is not type(b) or first is None or second is None:
        return False
    return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
