"""`Reranker`: a tagger whose k best label sequences are reranked; explanations, model files."""

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
    """K-best lists as a problem of structured learning: an input is a list, its outputs are the ranks.

    Parameters
    ----------
    features
        Features of whole label sequences.
    scale
        Factor of the tagger's score as a feature.
    cost_of
        Cost of a candidate.
    """

    def __init__(self, features: GlobalFeatures, scale: float, cost_of: CostOf) -> None:
        self.features, self.scale, self.cost_of = features, scale, cost_of
        self._last: tuple[KBestList, Parts] | None = None  # outputs are requested list by list

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy starts without the last list."""
        return ListProblem, (self.features, self.scale, self.cost_of)

    def parts(self, x: KBestList) -> Parts:
        """Pack the list as a hypergraph whose last edges are the candidates.

        Parameters
        ----------
        x
            The list.

        Returns
        -------
        Parts
            The hypergraph with features.
        """
        last = self._last
        if last is None or last[0] is not x:
            last = self._last = (x, self.features.parts(x.candidates, self.scale))
        return last[1]

    def edges(self, x: KBestList, y: Sequence[str]) -> list[int]:
        """Get the edges of the candidate with the lowest cost.

        Parameters
        ----------
        x
            The list.
        y
            Gold labels.

        Returns
        -------
        list[int]
            Edges of the hypergraph.
        """
        graph, rank = self.parts(x).graph, int(np.argmin([self.cost_of(y, z) for z in x.candidates]))
        edge = graph.n_edges - len(x.candidates) + rank
        return [edge, *graph.tails_of(edge)]  # node i is the head of edge i

    def costs(self, x: KBestList, y: Sequence[str]) -> Doubles:
        """Compute the cost of each candidate, less that of the cheapest.

        Parameters
        ----------
        x
            The list.
        y
            Gold labels.

        Returns
        -------
        Doubles
            [n_edges].
        """
        costs = np.zeros(self.parts(x).graph.n_edges)
        values = np.array([self.cost_of(y, z) for z in x.candidates])
        costs[len(costs) - len(values) :] = values - values.min()
        return costs

    def output(self, x: KBestList, edges: Sequence[int]) -> int:
        """Get the candidate with these edges.

        Parameters
        ----------
        x
            The list.
        edges
            Edges of the hypergraph.

        Returns
        -------
        int
            Its rank.
        """
        return edges[0] - (self.parts(x).graph.n_edges - len(x.candidates))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reranker(Model):
    """A tagger whose k best label sequences are reranked with features of whole sequences; made by ``Reranker.train``.

    Sentences have the same forms as for the tagger.

    Parameters
    ----------
    tagger
        The tagger that makes the candidates.
    model
        Weights of the features of whole sequences.
    k
        Number of candidates per sentence.
    cost
        Cost of a candidate in training.
    info
        The user's notes.
    training
        The record of training.

    Examples
    --------
    >>> import trellis
    >>> corpus = trellis.read({"word": [["we", "can"], ["the", "can"]] * 5, "label": [["P", "V"], ["D", "N"]] * 5})
    >>> def tagger(part):
    ...     return trellis.train(part, target="label", features=["word[0]"], order=0, learner=trellis.CRF())
    >>> reranker = trellis.Reranker.train(corpus, tagger=tagger, k=4)
    >>> reranker.predict(["we", "can"])
    ['P', 'V']
    """

    task, format, needs = "rerank", FORMAT, ("functions",)

    tagger: Tagger
    model: StructuredModel
    k: int
    cost: Cost = "auto"
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> ListProblem:
        """K-best lists, their features and costs."""
        assert isinstance(self.model.problem, ListProblem)
        return self.model.problem

    def predict_batch(self, sentences: Any, *, n_threads: int | None = None) -> list[list[str]]:
        """Label many sentences; ``tag_batch`` is the same method.

        Parameters
        ----------
        sentences
            List of sentences, as for the tagger.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[list[str]]
            One list of labels per sentence.
        """
        return self.choose(self._lists(sentences, n_threads))

    def predict_corpus(self, corpus: Any, *, n_threads: int | None = None) -> Corpus:
        """Label a corpus; ``tag_corpus`` is the same method.

        Parameters
        ----------
        corpus
            Corpus, file, or anything that ``trellis.read`` accepts.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Corpus
            The corpus with the predicted labels as its column ``target``.
        """
        sentences = read_like(corpus, self.training_file)
        return sentences.with_column(self.tagger.target, column_of(self.predict_batch(sentences, n_threads=n_threads)))

    @property
    def training_file(self) -> TrainingFile:
        """Description of the file that the model was trained on."""
        return self.tagger.training_file

    tag, tag_batch, tag_corpus = Model.predict, predict_batch, predict_corpus

    def kbest(self, sentence: Any, k: int = 5) -> KBest:
        """Rerank the tagger's candidates.

        Parameters
        ----------
        sentence
            Tokens, as for the tagger.
        k
            Number of label sequences.

        Returns
        -------
        KBest
            Pairs (labels, score), best first.
        """
        (x,) = self._lists([sentence], 1)
        return KBest((list(x.candidates[rank].labels), score) for rank, score in self.model.kbest(x, k))

    def explain(self, sentence: Any) -> Explanation:
        """Explain a prediction: the terms of the candidate's score, and the difference to the second-best candidate.

        Parameters
        ----------
        sentence
            Tokens, as for the tagger.

        Returns
        -------
        Explanation
            The explanation.
        """
        (candidates,) = self._lists([sentence], 1)

        def labelled(choice: Explanation) -> Explanation:
            second = None if choice.second is None else labelled(choice.second)
            return replace(choice, output=list(candidates.candidates[choice.output].labels), second=second)

        return labelled(self.model.explain(candidates))

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features of whole label sequences with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first.
        """
        return self.model.top_features(n)

    def evaluate(
        self, corpus: Any, y: Any = None, *, target: str | None = None, n_threads: int | None = None
    ) -> RerankingReport:
        """Compare the labels of the tagger, the reranker and the best candidates (oracle) with gold labels.

        Parameters
        ----------
        corpus
            Corpus, file, or anything that ``trellis.read`` accepts; sentences alone if ``y`` has the labels.
        y
            Gold labels of every sentence.
        target
            Column with the gold labels (default: the column that the model predicts).
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        RerankingReport
            The report of the reranker, with those of the tagger and the oracle.
        """
        gold = read_examples(corpus, y, target=target or self.tagger.target, like=self.training_file)
        lists = kbest_lists(self.tagger, gold, self.k, gold.sentences(target or self.tagger.target), n_threads)
        return report(lists, self.choose(lists), cost=self.cost)

    def choose(self, lists: Sequence[KBestList]) -> list[list[str]]:
        """Choose the best candidate of each list.

        Parameters
        ----------
        lists
            Lists of candidates.

        Returns
        -------
        list[list[str]]
            The labels of the chosen candidates.
        """
        return [list(item.candidates[self.model.predict(item)].labels) for item in lists]

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
        if "lists" in header["info"]:  # files of an older release
            header = {**header, "training": {**header["training"], **header["info"]}, "info": {}}
        info, training = notes_and_record(header)
        tagger, functions = Tagger.from_bytes(tensors["tagger"].tobytes()), _by_name(needs.get("functions", ()))
        features = list[Feature]()
        for name in header["features"]:
            if name.endswith("()") and name not in functions:
                raise ModelError(
                    f"the feature {name} is a function, which files do not contain: call load with functions=[...]"
                )
            features.append(functions.get(name, name))
        if unknown := next((name for name in functions if name not in header["features"]), None):
            raise ModelError(f"the model has no feature {unknown}; remove it from functions")
        k, cost = whole_number("k", header["k"], 1, MAX_K), header["cost"]
        scale = real_number("scale", header["scale"], 1 / LARGEST)
        problem = ListProblem(GlobalFeatures(features, text_columns(tagger)), scale, cost_named(cost, tagger.labels))
        return cls(tagger, StructuredModel(problem, *names_and_weights(tensors)), k, cost, info, training)

    def _outside(self) -> dict[str, Any]:
        functions = [feature for feature in self.problem.features.chosen if callable(feature)]
        return {"functions": functions} if functions else {}

    def _facts(self) -> dict[str, Any]:
        return {"k": f"{self.k}", "tagger": repr(self.tagger), "features": len(self.model.names)}


def _by_name(functions: Any) -> dict[str, Function]:
    """The functions among the features, by their names in a file."""
    elements, functions_by_name = items(functions), dict[str, Function]()
    if elements is None or not all(map(callable, elements)):
        raise ArgumentError(f"functions must be a list of functions, such as [verbs], not {reprlib.repr(functions)}")
    for function in elements:
        if functions_by_name.setdefault(f"{function_name(function)}()", function) is not function:
            raise ArgumentError(f"two functions have the name {function_name(function)}; {RENAME}")
    return functions_by_name
