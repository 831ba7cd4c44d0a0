"""`StructuredModel`: predictions, k best, explanations, model files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trellis._support.arguments import items, thread_count, whole_number
from trellis._support.arrays import Arrays, Doubles, Ints
from trellis._support.errors import ArgumentError, LearnerError, ModelError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Strings
from trellis.learning.feature_problem import FeatureVotes, FeatureWeights
from trellis.tasks.explanation import Explanation, Term, explanation_of, heaviest_first
from trellis.tasks.model import KBest, Model, notes_and_record
from trellis.tasks.structured.beam import BeamSearch
from trellis.tasks.structured.encoding import parts_of
from trellis.tasks.structured.problem import (
    CandidateProblem,
    Features,
    Parts,
    PartsProblem,
    Problem,
    StepProblem,
    Weights,
    check_beam,
    check_pairs,
    kind_of,
    plain_features,
    same,
    same_problem,
)

if TYPE_CHECKING:
    from trellis.evaluation.report import StructuredReport

FORMAT = "trellis structured model 1"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StructuredModel(Model):
    """A model of any structure: weights of features, and a problem that defines the outputs.

    Parameters
    ----------
    problem
        Object that defines the outputs of an input and their features.
    names
        Names of the features.
    weights
        Their weights.
    beam
        Beam width for a problem with ``choices``.
    info
        The user's notes.
    training
        The record of training.

    Examples
    --------
    >>> import trellis
    >>> class Gender:
    ...     def candidates(self, name):
    ...         return ["f", "m"]
    ...     def features(self, name, gender):
    ...         return {f"ends in {name[-1]}, {gender}": 1}
    >>> model = trellis.StructuredModel.train([("Anna", "f"), ("Otto", "m")], problem=Gender())
    >>> model.predict("Maria")
    'f'
    >>> [output for output, score in model.kbest("Maria", 2)]
    ['f', 'm']
    """

    task, format, needs = "structured", FORMAT, ("problem",)

    problem: Problem
    names: tuple[str, ...]
    weights: FeatureWeights
    beam: int | None = None
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    _numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _values: list[float] = field(init=False, repr=False, compare=False)  # the weights as Python floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {name: i for i, name in enumerate(self.names)})
        object.__setattr__(self, "_values", self.weights.values.tolist())

    def __getitem__(self, feature: str) -> float:
        """The weight of a feature; 0 if training never met it."""
        number = self._numbers.get(feature)
        return 0.0 if number is None else self._values[number]

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
        numbers, values = self._numbers, self._values
        pairs = plain_features(features, "score").items()
        return sum(values[numbers[name]] * value for name, value in pairs if name in numbers)

    def predict(self, x: Any) -> Any:
        """Predict the best output of one input; a voted perceptron predicts the output with the most votes.

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Any
            The output.
        """
        if self.weights.votes is not None:
            return self._most_voted(x, self.weights.votes)
        return self._best(x, 1)[0][0]

    def predict_batch(self, xs: Any, *, n_threads: int | None = None) -> list[Any]:
        """Predict the best outputs of many inputs, one after the other.

        Parameters
        ----------
        xs
            The inputs.
        n_threads
            Ignored, because problems are Python code.

        Returns
        -------
        list[Any]
            One output per input.
        """
        thread_count(n_threads)
        inputs = items(xs)
        if inputs is None:
            raise ArgumentError(f"inputs must be a list, not {xs!r}")
        return [self.predict(x) for x in inputs]

    def kbest(self, x: Any, k: int = 5) -> KBest:
        """Find the k best outputs and their scores.

        Parameters
        ----------
        x
            The input.
        k
            Number of outputs.

        Returns
        -------
        KBest
            Pairs (output, score), best first.
        """
        return KBest(self._best(x, whole_number("k", k, 1, 2**31 - 1)))

    def explain(self, x: Any) -> Explanation:
        """Explain a prediction: the terms of its score, and the difference to the second-best output.

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Explanation
            The explanation.
        """
        has_kbest = isinstance(self._searched, PartsProblem | CandidateProblem) or hasattr(self._searched, "kbest")
        ranked = self._with_features(x, 2 if has_kbest else 1)
        return explanation_of((output, score, self._terms(features)) for output, score, features in ranked)

    def _terms(self, features: Iterable[tuple[str, float]]) -> list[Term]:
        total: dict[str, float] = {}
        for name, value in features:
            total[name] = total.get(name, 0.0) + value
        return heaviest_first(Term(name, self[name] * value) for name, value in total.items() if value * self[name])

    def evaluate(self, examples: Any, y: Any = None, *, n_threads: int | None = None) -> StructuredReport:
        """Compare predicted with gold outputs.

        Parameters
        ----------
        examples
            Pairs (input, gold output); inputs alone if ``y`` is given.
        y
            Gold outputs.
        n_threads
            Ignored, because problems are Python code.

        Returns
        -------
        StructuredReport
            Accuracy, and mean cost if the problem has a cost function.
        """
        from trellis.evaluation.report import StructuredReport

        pairs = check_pairs("example", examples, y)
        outputs, cost = self.predict_batch([x for x, _ in pairs]), getattr(self.problem, "cost", None)
        total = cost and sum(float(cost(x, y, z)) for (x, y), z in zip(pairs, outputs, strict=True))
        right = sum(same(z, y) for (_, y), z in zip(pairs, outputs, strict=True))
        return StructuredReport(len(pairs), right, total)

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first.
        """
        limit = None if n is None else whole_number("n", n, 0)
        pairs = zip(self.names, self._values, strict=True)
        return heaviest_first(Term(name, weight) for name, weight in pairs if weight)[:limit]

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        return self.tensors(), {"kind": kind_of(self.problem), "beam": self.beam}

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        if "problem" not in needs:
            raise ModelError("a structured model needs the problem it was trained on: trellis.load(path, problem=...)")
        problem, kind = needs["problem"], kind_of(needs["problem"])
        if header.get("kind", kind) != kind:
            raise ModelError(f"the model's problem has the method {header['kind']}, but the given one has {kind}")
        if "training" not in header:  # files of an older release
            header = {"beam": header.get("beam"), "info": {}, "training": header}
        info, training = notes_and_record(header)
        return cls(problem, *names_and_weights(tensors), check_beam(problem, header["beam"]), info, training)

    def _outside(self) -> dict[str, Any]:
        return {"problem": self.problem}

    def _shares_outside(self, other: Self) -> bool:
        return same_problem(self.problem, other.problem)

    def _facts(self) -> dict[str, Any]:
        return {"problem": type(self.problem).__name__, "features": len(self.names)}

    def tensors(self) -> Arrays:
        """Convert names and weights to named arrays, for a file.

        Returns
        -------
        Arrays
            Arrays by name.
        """
        names = Strings.of(self.names)
        return {"names.data": names.data, "names.starts": names.starts, **self.weights.tensors()}

    # ------------------------------------------------------------ outputs

    @property
    def _searched(self) -> Any:
        """The problem; problems with ``choices`` are wrapped by a beam search."""
        return BeamSearch(self.problem, self.beam or 1) if isinstance(self.problem, StepProblem) else self.problem

    def _best(self, x: Any, k: int) -> list[tuple[Any, float]]:
        return [(output, score) for output, score, _ in self._with_features(x, k)]

    def _with_features(self, x: Any, k: int) -> list[tuple[Any, float, Iterable[tuple[str, float]]]]:
        """The k best outputs with scores and features; with ``parts`` an output may occur more than once."""
        problem = self._searched
        if isinstance(problem, PartsProblem | CandidateProblem):
            parts, output = self._parts(x)
            scores = np.array([self.score(features) for features in parts.features], np.float64)
            return [
                (
                    output(derivation.edges),
                    derivation.score,
                    [pair for edge in derivation.edges for pair in plain_features(parts.features[edge], "x").items()],
                )
                for derivation in parts.graph.kbest(scores, k)
            ]
        weights = self._view(self.weights.values.astype(np.float64))
        if k > 1 and not hasattr(problem, "kbest"):
            raise LearnerError("the problem must define kbest(x, weights, k)")
        outputs = [problem.argmax(x, weights)] if k == 1 else list(problem.kbest(x, weights, k))
        features = [problem.features(x, y) for y in outputs]
        return [(y, weights.score(f), plain_features(f, "x").items()) for y, f in zip(outputs, features, strict=True)]

    def _parts(self, x: Any) -> tuple[Parts, Any]:
        """The parts of an input, and the function from edges to an output."""
        problem: Any = self.problem
        parts, candidates = parts_of(problem, x, "x")
        if candidates is None:
            return parts, lambda edges: problem.output(x, list(edges))
        return parts, lambda edges: candidates[edges[0]]

    def _view(self, values: Doubles) -> Weights:
        return Weights(self._numbers, lambda ids, amounts: float(values[ids] @ amounts))

    def _most_voted(self, x: Any, votes: FeatureVotes) -> Any:
        """Weights after each update vote once per example until the next update; ties: the first output with votes."""
        problem = self._searched
        values = np.zeros(len(self.names))
        ballots: list[tuple[Any, int]] = []
        if isinstance(problem, PartsProblem | CandidateProblem):
            parts, output = self._parts(x)
            ids, amounts, edges = self._sparse(parts)
            ids_here = set(ids.tolist())

            def best() -> Any:
                scores = np.bincount(edges, values[ids] * amounts, parts.graph.n_edges).astype(np.float64)
                return parts.graph.best(scores).edges
        else:
            ids_here, output = None, lambda y: y
            weights = self._view(values)

            def best() -> Any:
                return problem.argmax(x, weights)

        best_now = best()
        for u, count in enumerate(votes.counts.tolist()):
            if u:
                changed = slice(votes.starts[u - 1], votes.starts[u])
                features = votes.features[changed]
                np.add.at(values, features, votes.changes[changed])
                if ids_here is None or not ids_here.isdisjoint(features.tolist()):
                    best_now = best()
            for i, (point, n) in enumerate(ballots):
                if same(point, best_now):
                    ballots[i] = (point, n + count)
                    break
            else:
                ballots.append((best_now, count))
        return output(max(ballots, key=lambda ballot: ballot[1])[0])

    def _sparse(self, parts: Parts) -> tuple[Ints, Doubles, Ints]:
        """Features with weights, their values, and their edges."""
        predictions = [
            (self._numbers[name], value, e)
            for e, features in enumerate(parts.features)
            for name, value in plain_features(features, "x").items()
            if name in self._numbers
        ]
        ids, values, edges = zip(*predictions, strict=True) if predictions else ((), (), ())
        return np.array(ids, np.int32), np.array(values, np.float64), np.array(edges, np.int32)


def names_and_weights(tensors: Tensors) -> tuple[tuple[str, ...], FeatureWeights]:
    """Invert ``tensors``; ValueError if the arrays are inconsistent."""
    names, weights = tuple(Strings(tensors["names.data"], tensors["names.starts"])), FeatureWeights.of_tensors(tensors)
    if len(weights.values) != len(names):
        raise ValueError("weights must be one finite number per feature")
    if len(set(names)) != len(names):
        raise ValueError("features with the same name")
    return names, weights
