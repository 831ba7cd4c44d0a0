"""A tagger with a reranker behind it, as their user meets them: labels, k best, explanations, one file."""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trellis._support.arguments import LARGEST, file_path, items, real_number, whole_number
from trellis._support.arrays import Arrays, Doubles, starts_of
from trellis._support.errors import ArgumentError, ModelError
from trellis._support.tensor_file import Tensors, parse_header, read_tensors, write_tensors
from trellis.corpus.corpus import Column, Corpus
from trellis.engine.hypergraph import Hypergraph
from trellis.evaluation.tagging import RerankingReport
from trellis.tasks.reranking.features import RENAME, Feature, Function, GlobalFeatures, function_name
from trellis.tasks.reranking.lists import (
    MAX_K,
    Cost,
    CostOf,
    KBestList,
    column_of,
    cost_named,
    kbest_lists,
    report,
    text_columns,
)
from trellis.tasks.structured.model import FeatureTerm, StructuredModel, model_of_tensors
from trellis.tasks.structured.problem import Parts
from trellis.tasks.tagging.decoding import listed
from trellis.tasks.tagging.model import Tagger

FORMAT = "trellis-reranker-1"


class ListProblem:
    """Lists as a problem of trellis.tasks.structured: an input is a list, its outputs are ranks in it.

    A candidate is an edge into the goal. Features that some candidates share are on an edge of their own, to a node
    that those candidates have as a tail: so a list is encoded and scored without repeating them.
    """

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
            last = self._last = (x, self._parts(x))
        return last[1]

    def _parts(self, x: KBestList) -> Parts:
        found, n = self.features.of(x, self.scale), len(x.candidates)
        n_shared = len(found.shared)
        tails = [[node for node, (who, _) in enumerate(found.shared) if who >> rank & 1] for rank in range(n)]
        graph = Hypergraph.from_arrays(
            [*range(n_shared), *[n_shared] * n],
            starts_of([*[0] * n_shared, *map(len, tails)]),
            np.array([node for some in tails for node in some], np.int32),
            n_nodes=n_shared + 1,
        )
        return Parts(graph, [*(features for _, features in found.shared), *found.own])

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


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate after reranking, and why it is where it is."""

    labels: list[str]
    score: float  # of the reranker
    tagger_score: float
    tagger_rank: int  # from 0
    terms: list[FeatureTerm]  # what the score is made of, without what all candidates share; the greatest first


@dataclass(frozen=True, slots=True, eq=False)
class Reranker:
    """Labels sequences: a tagger offers its k best, and the reranker chooses. Get one from ``rerank.train``.

    Sentences are given as to the tagger.
    """

    tagger: Tagger
    model: StructuredModel
    k: int
    cost: Cost = "auto"  # what a wrong candidate costs in training
    info: Mapping[str, Any] = field(default_factory=dict)  # how it was trained

    def __repr__(self) -> str:
        return f"Reranker({self.k} best of {self.tagger!r}; {len(self.model.names):,} features)"

    @property
    def problem(self) -> ListProblem:
        """Lists, their features and costs."""
        assert isinstance(self.model.problem, ListProblem)
        return self.model.problem

    def tag(self, sentence: Any) -> list[str]:
        """The labels of one sentence."""
        return self.tag_batch([sentence], n_threads=1)[0]

    def tag_batch(self, sentences: Any, *, n_threads: int | None = None) -> list[list[str]]:
        """The labels of many sentences. ``n_threads``: the number of threads of the tagger (default: all cores)."""
        return self.choose(self._lists(sentences, n_threads))

    def tag_corpus(self, corpus: Corpus, *, n_threads: int | None = None) -> Column:
        """The labels of a corpus as a column."""
        return column_of(self.tag_batch(corpus, n_threads=n_threads))

    def kbest(self, sentence: Any, k: int | None = None) -> list[tuple[list[str], float]]:
        """The candidates with their scores, best first: all, or the k best of them."""
        most = self.k if k is None else whole_number("k", k, 1, self.k, ", the length of the lists")
        (found,) = self._lists([sentence], 1)
        return [(list(found.candidates[one.output].labels), one.score) for one in self.model.kbest(found, most)]

    def explain(self, sentence: Any) -> list[Ranked]:
        """Every candidate, best first, with what its score is made of."""
        (found,), weights, out = self._lists([sentence], 1), self.model, list[Ranked]()
        features = self.problem.features.of(found, self.problem.scale)
        for one in weights.kbest(found, self.k):
            z = found.candidates[one.output]
            own = features.of(one.output).items()
            terms = [FeatureTerm(name, value, weights[name], weights[name] * value) for name, value in own]
            terms = sorted((t for t in terms if t.product), key=lambda term: (-abs(term.product), term.feature))
            out.append(Ranked(list(z.labels), one.score, z.score, z.rank, terms))
        return out

    def evaluate(self, corpus: Any, *, target: str | None = None, n_threads: int | None = None) -> RerankingReport:
        """Compare the tagger, the reranker and the best candidates (oracle) with a column of a corpus."""
        from trellis.corpus.read import read_like

        corpus = read_like(
            corpus, self.tagger.model.naming, self.tagger.info.get("corpus", {}), self.tagger.model.n_inputs
        )
        gold = corpus.sentences(target or self.tagger.target)
        lists = kbest_lists(self.tagger, corpus, self.k, gold, n_threads)
        return report(lists, self.choose(lists), cost=self.cost)

    def choose(self, lists: Sequence[KBestList]) -> list[list[str]]:
        """The labels of the best candidate of every list."""
        return [list(one.candidates[self.model.predict(one)].labels) for one in lists]

    def _lists(self, sentences: Any, n_threads: int | None) -> list[KBestList]:
        return kbest_lists(self.tagger, listed(sentences), self.k, n_threads=n_threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write tagger and reranker as one file. Functions among the features are code, and stay outside."""
        tensors: Arrays = {**self.model.tensors(), "tagger": np.frombuffer(self.tagger.to_bytes(), np.uint8)}
        text = {
            "k": self.k,
            "cost": self.cost,
            "scale": self.problem.scale,
            "features": self.problem.features.names,
            "info": self.info,
            "training": self.model.info,
        }
        write_tensors(file_path("path", path), FORMAT, tensors, json.dumps(text, ensure_ascii=False))


def load(path: str | os.PathLike[str], functions: Sequence[Function] = ()) -> Reranker:
    """Read a reranker with its tagger; ModelError if the file is not one, or is damaged.

    ``functions`` are those among its features, which no file can hold.
    """
    found = items(functions)
    if found is None or not all(map(callable, found)):
        raise ArgumentError(f"functions must be a list of functions, such as [verbs], not {reprlib.repr(functions)}")
    given: dict[str, Function] = {}
    for one in found:
        if given.setdefault(f"{function_name(one)}()", one) is not one:
            raise ArgumentError(f"two functions have the name {function_name(one)}; {RENAME}")
    return read_tensors(file_path("path", path), FORMAT, "a trellis reranker").made(
        lambda tensors, text: _reranker(tensors, text, given, path)
    )


def _reranker(tensors: Tensors, text: str, given: Mapping[str, Function], path: str | os.PathLike[str]) -> Reranker:
    header = parse_header(text)
    if not isinstance(header["features"], list) or not all(isinstance(name, str) for name in header["features"]):
        raise ValueError("features that are not names")
    if not isinstance(header["info"], dict):
        raise ValueError("info that is not a dict")
    try:
        tagger = Tagger.from_bytes(tensors["tagger"].tobytes())
        k, cost = whole_number("k", header["k"], 1, MAX_K), header["cost"]
        scale = real_number("scale", header["scale"], 1 / LARGEST)
        chosen = list[Feature]()
        for name in header["features"]:
            if name.endswith("()") and name not in given:
                raise ModelError(f"its feature {name} is a function, which no file can hold: give load functions=[...]")
            chosen.append(given.get(name, name))
        if unknown := next((name for name in given if name not in header["features"]), None):
            raise ModelError(f"it has no feature {unknown}; leave the function out")
        problem = ListProblem(GlobalFeatures(chosen, text_columns(tagger)), scale, cost_named(cost, tagger.labels))
    except (ModelError, ArgumentError) as error:
        raise ModelError(f"{path}: {error}") from error
    return Reranker(tagger, model_of_tensors(tensors, header["training"], problem), k, cost, header["info"])
