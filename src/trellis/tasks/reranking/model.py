"""A tagger with a reranker behind it, as their user meets them: labels, k best, explanations, one file."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from trellis._support.arguments import LARGEST, items, real_number, whole_number
from trellis._support.arrays import Arrays, Doubles
from trellis._support.errors import ArgumentError, ModelError
from trellis._support.tensor_file import Tensors
from trellis.corpus.corpus import Corpus, column_of
from trellis.corpus.read import TrainingFile, read_examples, read_like
from trellis.evaluation.tagging import RerankingReport
from trellis.tasks.explanation import Explanation, Term
from trellis.tasks.model import KBest, Model, notes_and_record
from trellis.tasks.reranking.features import RENAME, Feature, Function, GlobalFeatures, function_name
from trellis.tasks.reranking.lists import MAX_K, Cost, CostOf, KBestList, cost_named, kbest_lists, report, text_columns
from trellis.tasks.structured.model import StructuredModel, names_and_weights
from trellis.tasks.structured.problem import Parts
from trellis.tasks.tagging.decoding import listed
from trellis.tasks.tagging.model import Tagger

FORMAT = "trellis-reranker-1"


class ListProblem:
    """Lists as a problem of trellis.tasks.structured: an input is a list, its outputs are ranks in it."""

    def __init__(self, features: GlobalFeatures, scale: float, cost_of: CostOf) -> None:
        self.features, self.scale, self.cost_of = features, scale, cost_of
        self._last: tuple[KBestList, Parts] | None = None  # what is asked for comes list by list

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy starts without the last list."""
        return ListProblem, (self.features, self.scale, self.cost_of)

    def parts(self, x: KBestList) -> Parts:
        """The list as a hypergraph, the candidates as its last edges."""
        last = self._last
        if last is None or last[0] is not x:
            last = self._last = (x, self.features.parts(x.candidates, self.scale))
        return last[1]

    def edges(self, x: KBestList, y: Sequence[str]) -> list[int]:
        """The cheapest candidate where y are the right labels, and what it shares with others."""
        graph, rank = self.parts(x).graph, int(np.argmin([self.cost_of(y, z) for z in x.candidates]))
        chosen = graph.n_edges - len(x.candidates) + rank
        return [chosen, *graph.tails_of(chosen)]  # node i is the head of edge i

    def costs(self, x: KBestList, y: Sequence[str]) -> Doubles:
        """What each candidate costs more than the cheapest."""
        costs = np.zeros(self.parts(x).graph.n_edges)
        paid = np.array([self.cost_of(y, z) for z in x.candidates])
        costs[len(costs) - len(paid) :] = paid - paid.min()
        return costs

    def output(self, x: KBestList, edges: Sequence[int]) -> int:
        """The rank of the candidate that has these edges."""
        return edges[0] - (self.parts(x).graph.n_edges - len(x.candidates))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reranker(Model):
    """Labels sequences: a tagger offers its k best, and the reranker chooses. Get one from ``Reranker.train``.

    Sentences are given as to the tagger.
    """

    task, format, needs = "rerank", FORMAT, ("functions",)

    tagger: Tagger
    model: StructuredModel
    k: int
    cost: Cost = "auto"  # what a wrong candidate costs in training
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> ListProblem:
        """Lists, their features and costs."""
        assert isinstance(self.model.problem, ListProblem)
        return self.model.problem

    def predict_batch(self, sentences: Any, *, n_threads: int | None = None) -> list[list[str]]:
        """The labels of many sentences. ``n_threads``: the number of threads of the tagger (default: all cores)."""
        return self.choose(self._lists(sentences, n_threads))

    def predict_corpus(self, corpus: Any, *, n_threads: int | None = None) -> Corpus:
        """The corpus, or what ``trellis.read`` takes, with the labels as its column ``target``."""
        sentences = read_like(corpus, self.training_file)
        return sentences.with_column(self.tagger.target, column_of(self.predict_batch(sentences, n_threads=n_threads)))

    @property
    def training_file(self) -> TrainingFile:
        """What it knows of the file that it was trained on."""
        return self.tagger.training_file

    tag, tag_batch, tag_corpus = Model.predict, predict_batch, predict_corpus

    def kbest(self, sentence: Any, k: int = 5) -> KBest:
        """The k best of the tagger's candidates with their scores, best first."""
        (found,) = self._lists([sentence], 1)
        return KBest((list(found.candidates[at].labels), score) for at, score in self.model.kbest(found, k))

    def explain(self, sentence: Any) -> Explanation:
        """Why it chooses a candidate: what its score is made of, and that of the next best."""
        (found,) = self._lists([sentence], 1)

        def labelled(choice: Explanation) -> Explanation:
            second = None if choice.second is None else labelled(choice.second)
            return replace(choice, output=list(found.candidates[choice.output].labels), second=second)

        return labelled(self.model.explain(found))

    def top_features(self, n: int | None = 20) -> list[Term]:
        """The n weights farthest from zero (None: all), of features of whole label sequences."""
        return self.model.top_features(n)

    def evaluate(
        self, corpus: Any, y: Any = None, *, target: str | None = None, n_threads: int | None = None
    ) -> RerankingReport:
        """Compare the tagger, the reranker and the best candidates (oracle) with a column of a corpus, or ``y``."""
        gold = read_examples(corpus, y, target=target or self.tagger.target, like=self.training_file)
        lists = kbest_lists(self.tagger, gold, self.k, gold.sentences(target or self.tagger.target), n_threads)
        return report(lists, self.choose(lists), cost=self.cost)

    def choose(self, lists: Sequence[KBestList]) -> list[list[str]]:
        """The labels of the best candidate of every list."""
        return [list(one.candidates[self.model.predict(one)].labels) for one in lists]

    def _lists(self, sentences: Any, n_threads: int | None) -> list[KBestList]:
        return kbest_lists(self.tagger, listed(sentences), self.k, n_threads=n_threads)

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        tensors: Arrays = {**self.model.tensors(), "tagger": np.frombuffer(self.tagger.to_bytes(), np.uint8)}
        header = {"k": self.k, "cost": self.cost, "scale": self.problem.scale, "features": self.problem.features.names}
        return tensors, header

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        if not isinstance(header["features"], list) or not all(isinstance(name, str) for name in header["features"]):
            raise ValueError("features are not names")
        if "lists" in header["info"]:  # of an older release
            header = {**header, "training": {**header["training"], **header["info"]}, "info": {}}
        info, training = notes_and_record(header)
        tagger, functions = Tagger.from_bytes(tensors["tagger"].tobytes()), _by_name(needs.get("functions", ()))
        chosen = list[Feature]()
        for name in header["features"]:
            if name.endswith("()") and name not in functions:
                raise ModelError(
                    f"the feature {name} is a function, which files do not contain: call load with functions=[...]"
                )
            chosen.append(functions.get(name, name))
        if unknown := next((name for name in functions if name not in header["features"]), None):
            raise ModelError(f"the model has no feature {unknown}; remove it from functions")
        k, cost = whole_number("k", header["k"], 1, MAX_K), header["cost"]
        scale = real_number("scale", header["scale"], 1 / LARGEST)
        problem = ListProblem(GlobalFeatures(chosen, text_columns(tagger)), scale, cost_named(cost, tagger.labels))
        return cls(tagger, StructuredModel(problem, *names_and_weights(tensors)), k, cost, info, training)

    def _outside(self) -> dict[str, Any]:
        functions = [feature for feature in self.problem.features.chosen if callable(feature)]
        return {"functions": functions} if functions else {}

    def _facts(self) -> dict[str, Any]:
        return {"k": f"{self.k}", "tagger": repr(self.tagger), "features": len(self.model.names)}


def _by_name(functions: Any) -> dict[str, Function]:
    """The functions among the features by the names that a file has for them."""
    found, named = items(functions), dict[str, Function]()
    if found is None or not all(map(callable, found)):
        raise ArgumentError(f"functions must be a list of functions, such as [verbs], not {reprlib.repr(functions)}")
    for function in found:
        if named.setdefault(f"{function_name(function)}()", function) is not function:
            raise ArgumentError(f"two functions have the name {function_name(function)}; {RENAME}")
    return named
