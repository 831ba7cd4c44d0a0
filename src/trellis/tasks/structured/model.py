"""A model of any structure as its user meets it: predictions, the k best, explanations, one file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trellis._support.arguments import file_path, whole_number
from trellis._support.arrays import Arrays, Doubles, Ints
from trellis._support.errors import LearnerError, ModelError
from trellis._support.tensor_file import Tensors, parse_header, read_tensors, write_tensors
from trellis.corpus.corpus import Strings
from trellis.learning.feature_problem import FeatureVotes, FeatureWeights
from trellis.tasks.structured.beam import BeamSearch
from trellis.tasks.structured.encoding import candidate_parts
from trellis.tasks.structured.problem import (
    CandidateProblem,
    Features,
    Parts,
    PartsProblem,
    Problem,
    StepProblem,
    Weights,
    check_features,
    check_parts,
    check_problem,
    kind_of,
    plain_features,
    same,
)

FORMAT = "trellis structured model 1"


@dataclass(frozen=True, slots=True)
class Prediction:
    """An output and what it scores."""

    output: Any
    score: float


@dataclass(frozen=True, slots=True)
class FeatureTerm:
    """One summand of a score."""

    feature: str
    value: float
    weight: float
    product: float  # what it gives to the score


@dataclass(frozen=True, slots=True, eq=False)
class StructuredModel:
    """Weights of features, and the problem that says what outputs are."""

    problem: Problem
    names: tuple[str, ...]  # of features
    weights: FeatureWeights
    info: Mapping[str, Any] = field(default_factory=dict)  # the learner, the beam if any, the history of training
    _numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _values: list[float] = field(init=False, repr=False, compare=False)  # the weights as Python's own numbers

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {name: i for i, name in enumerate(self.names)})
        object.__setattr__(self, "_values", self.weights.values.tolist())

    def __repr__(self) -> str:
        return f"<model of {type(self.problem).__name__} with {len(self.names):,} features>"

    def __getitem__(self, feature: str) -> float:
        """The weight of a feature; 0 if training never met it."""
        number = self._numbers.get(feature)
        return 0.0 if number is None else self._values[number]

    def score(self, features: Features) -> float:
        """The sum of weight times value."""
        numbers, values = self._numbers, self._values
        given = plain_features(features, "score").items()
        return sum(values[numbers[name]] * value for name, value in given if name in numbers)

    def predict(self, x: Any) -> Any:
        """The best output; of a voted perceptron the one with the most votes."""
        if self.weights.votes is not None:
            return self._most_voted(x, self.weights.votes)
        return self._best(x, 1)[0].output

    def kbest(self, x: Any, k: int) -> list[Prediction]:
        """The ``k`` best outputs with their scores, best first."""
        return self._best(x, whole_number("k", k, 1, 2**31 - 1))

    def explain(self, x: Any) -> list[FeatureTerm]:
        """What the prediction's score is made of, the greatest first."""
        total: dict[str, float] = {}
        for name, value in self._features_of(x):
            total[name] = total.get(name, 0.0) + value
        terms = [FeatureTerm(name, value, self[name], self[name] * value) for name, value in total.items() if value]
        return sorted(terms, key=lambda term: (-abs(term.product), term.feature))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights to one file; it appears whole or not at all. The problem is code, and stays outside."""
        write_tensors(file_path("path", path), FORMAT, self.tensors(), json.dumps(self.info, ensure_ascii=False))

    def tensors(self) -> Arrays:
        """Names and weights, for a file."""
        names = Strings.of(self.names)
        return {"names.data": names.data, "names.starts": names.starts, **self.weights.tensors()}

    # ------------------------------------------------------------ outputs

    @property
    def _searched(self) -> Any:
        """The problem, as one that finds the best output where it is decided step by step."""
        return BeamSearch(self.problem, self.info["beam"]) if isinstance(self.problem, StepProblem) else self.problem

    def _best(self, x: Any, k: int) -> list[Prediction]:
        problem = self._searched
        if isinstance(problem, PartsProblem | CandidateProblem):
            parts, output = self._parts(x)
            found = parts.graph.kbest(self._edge_scores(parts), k)
            return [Prediction(output(one.edges), one.score) for one in found]
        weights = self._view(self.weights.values.astype(np.float64))
        if k > 1 and not hasattr(problem, "kbest"):
            raise LearnerError("the problem finds the best output only; give it a method kbest(x, weights, k)")
        outputs = [problem.argmax(x, weights)] if k == 1 else list(problem.kbest(x, weights, k))
        return [Prediction(y, weights.score(problem.features(x, y))) for y in outputs]

    def _parts(self, x: Any) -> tuple[Parts, Any]:
        """The parts of an input, and the function from edges to an output."""
        problem = self.problem
        if isinstance(problem, PartsProblem):
            return check_parts(problem.parts(x), "x"), lambda edges: problem.output(x, list(edges))
        assert isinstance(problem, CandidateProblem)
        candidates, parts = candidate_parts(problem, x, "x")
        return parts, lambda edges: candidates[edges[0]]

    def _edge_scores(self, parts: Parts) -> Doubles:
        return np.array([self.score(features) for features in parts.features], np.float64)

    def _features_of(self, x: Any) -> Iterable[tuple[str, float]]:
        """Features of the prediction; of parts the same may come more than once."""
        problem = self._searched
        if isinstance(problem, PartsProblem):
            parts = check_parts(problem.parts(x), "x")
            edges = parts.graph.best(self._edge_scores(parts)).edges
            return [pair for e in edges for pair in check_features(parts.features[e], "x")]
        return check_features(problem.features(x, self._best(x, 1)[0].output), "x")

    def _view(self, values: Doubles) -> Weights:
        return Weights(self._numbers, lambda ids, amounts: float(values[ids] @ amounts))

    def _most_voted(self, x: Any, votes: FeatureVotes) -> Any:
        """Weights after each update vote for as many examples as they stood for; the first voted for wins a tie."""
        problem = self._searched
        values = np.zeros(len(self.names))
        ballots: list[tuple[Any, int]] = []
        if isinstance(problem, PartsProblem | CandidateProblem):
            parts, output = self._parts(x)
            ids, amounts, edges = self._sparse(parts)
            scores: Doubles = np.zeros(parts.graph.n_edges)
            own = set(ids.tolist())

            def best() -> Any:
                return parts.graph.best(scores).edges
        else:
            own, output = None, lambda y: y
            weights = self._view(values)

            def best() -> Any:
                return problem.argmax(x, weights)

        now = best()
        for u, count in enumerate(votes.counts.tolist()):
            if u:
                changed = slice(votes.starts[u - 1], votes.starts[u])
                features = votes.features[changed]
                np.add.at(values, features, votes.changes[changed])
                if own is None or not own.isdisjoint(features.tolist()):
                    if own is not None:
                        scores = np.bincount(edges, values[ids] * amounts, parts.graph.n_edges).astype(np.float64)
                    now = best()
            for i, (there, n) in enumerate(ballots):
                if same(there, now):
                    ballots[i] = (there, n + count)
                    break
            else:
                ballots.append((now, count))
        return output(max(ballots, key=lambda ballot: ballot[1])[0])

    def _sparse(self, parts: Parts) -> tuple[Ints, Doubles, Ints]:
        """Features that have weights, their values, and the edges they are on."""
        found = [
            (self._numbers[name], value, e)
            for e, features in enumerate(parts.features)
            for name, value in check_features(features, "x")
            if name in self._numbers
        ]
        ids, values, edges = zip(*found, strict=True) if found else ((), (), ())
        return np.array(ids, np.int32), np.array(values, np.float64), np.array(edges, np.int32)


def load(path: str | os.PathLike[str], problem: Problem) -> StructuredModel:
    """Read a model; ModelError if the file is not one, or is damaged. ``problem`` is the one it was trained on."""
    problem = check_problem(problem)

    def made(tensors: Tensors, text: str) -> StructuredModel:
        info, kind = parse_header(text), kind_of(problem)
        kept = info.get("kind", kind)
        if kept != kind:
            raise ModelError(f"{path}: the model of a problem with the method {kept}, and this one has {kind}")
        return model_of_tensors(tensors, info, problem)

    return read_tensors(file_path("path", path), FORMAT, "a trellis structured model").made(made)


def model_of_tensors(tensors: Tensors, info: Any, problem: Problem) -> StructuredModel:
    """The model in what ``tensors`` gave; ValueError if the arrays do not fit together."""
    names, weights = tuple(Strings(tensors["names.data"], tensors["names.starts"])), FeatureWeights.of_tensors(tensors)
    if len(weights.values) != len(names):
        raise ValueError("weights that are not one finite number per feature")
    if len(set(names)) != len(names) or not isinstance(info, dict):
        raise ValueError("features with the same name")
    beam = info.get("beam")
    if isinstance(problem, StepProblem):
        if type(beam) is not int or not 1 <= beam < 2**31:
            raise ValueError("no beam, which a problem with choices(x, done) is searched by")
    elif beam is not None:
        raise ValueError("a beam, by which only a problem with choices(x, done) is searched")
    return StructuredModel(problem, names, weights, info)
