"""Online learners over one dense vector of weights: problems of every kind, paths and steps from the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments import reference
from experiments.reference.steps import arow_step, elected, mira_step, passive_aggressive_step
from trellis import _core
from trellis._support.arrays import LabelSets, Lists
from trellis.corpus.label_parts import LabelParts
from trellis.engine.weights import ChainWeights, Rows, padded
from trellis.learning.chain_problem import ChainProblem

Float = np.float32


@dataclass
class Case:
    """A small problem, with everything a twin wants to see of it."""

    order: int
    n_labels: int
    n_attributes: int
    n_edges: int
    tokens: list[list[list[tuple[int, float]]]]  # attributes with values, by sentence and token
    edges: list[list[list[int]]]
    golds: list[list[int]]
    allowed: list[list[list[int]]] | None
    partial: list[list[list[int]]] | None
    problem: ChainProblem
    options: dict[str, Any] = field(default_factory=dict)


def _lists(per_token: Sequence[Sequence[tuple[int, float]]], *, values: bool) -> Any:
    starts = np.concatenate([[0], np.cumsum([len(token) for token in per_token])]).astype(np.int64)
    ids = np.array([a for token in per_token for a, _ in token], np.int32)
    weights = np.array([v for token in per_token for _, v in token] if values else [], np.float32)
    return Lists(starts, ids, weights)


def case(kind: str, order: int, seed: int = 0, n_sentences: int = 10, n_labels: int = 3) -> Case:
    rng = np.random.default_rng([seed, order, len(kind)])
    L, A, stride = n_labels, 7, padded(n_labels)
    E = 3 if kind == "edges" and order else 0
    lengths = [int(rng.integers(0, 5)) for _ in range(n_sentences)]
    lengths[0] = 3

    def some(n: int, most: int) -> list[int]:
        return sorted(rng.choice(n, rng.integers(1, most + 1), replace=False).tolist())

    values = kind == "values"
    tokens = [
        [[(a, float(rng.integers(-6, 7)) / 4 if values else 1.0) for a in some(A, 3)] for _ in range(n)]
        for n in lengths
    ]
    edges = [[some(E, 2) if E else [] for _ in range(n)] for n in lengths]
    golds = [
        [(token[0][0] + (rng.random() < 0.3) * int(rng.integers(L))) % L for token in sentence] for sentence in tokens
    ]
    allowed = partial = None
    if kind == "dictionary":
        allowed = [[sorted({z, *some(L, 2)}) for z in gold] for gold in golds]
    known = [list(gold) for gold in golds]
    if kind == "partial":
        partial = [[[z] if rng.random() < 0.5 else sorted({z, *some(L, L)}) for z in gold] for gold in golds]
        known = [
            [z if len(labels) == 1 else -1 for z, labels in zip(gold, sets, strict=True)]
            for gold, sets in zip(golds, partial, strict=True)
        ]
    extra: dict[str, Any] = {}
    if kind == "weights":
        extra["sentence_weights"] = rng.integers(0, 9, n_sentences) / 4
    if kind == "costs":
        costs = rng.integers(1, 9, (L, L)).astype(np.float32) / 4
        np.fill_diagonal(costs, 0)
        extra["label_costs"] = costs
    if kind == "constraints":
        base = np.zeros((L + 1, stride), np.float32)
        base[0, 1] = base[L, 2] = -np.inf
        end = np.zeros(stride, np.float32)
        end[0] = -np.inf
        extra |= {"edge_base": base, "end_base": end}
    if kind == "seen":
        seen = sorted(
            {(a, z) for s, g in zip(tokens, golds, strict=True) for t, z in zip(s, g, strict=True) for a, _ in t}
        )
        sizes = np.bincount([a for a, _ in seen], minlength=A)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
        extra["seen_rows"] = Rows(starts, np.array([z for _, z in seen], np.uint32), np.zeros(len(seen), np.float32))
    if kind.startswith("parts"):
        extra["label_parts"] = LabelParts.of([*(f"{'xy'[z % 2]}|k={z // 2}" for z in range(L - 1)), "x|k=0|y"], "|")
    if kind == "parts seen":  # every fourth pair of an attribute and a column is missing
        W = extra["label_parts"].n_columns
        exists = [[c for c in range(W) if (a * W + c) % 4] for a in range(A)]
        starts = np.cumsum([0, *map(len, exists)]).astype(np.uint32)
        columns = np.array([c for row in exists for c in row], np.uint32)
        extra["seen_rows"] = Rows(starts, columns, np.zeros(len(columns), np.float32))
    if kind == "initial":
        w = rng.integers(-3, 4, (A, L)).astype(np.float32)
        edge = np.zeros((L + 1, stride), np.float32)
        edge[:, :L] = rng.integers(-2, 3, (L + 1, L))
        tri = None
        if order == 2:
            tri = np.zeros((L + 1, L + 1, stride), np.float32)
            tri[..., :L] = rng.integers(-1, 2, (L + 1, L + 1, L))
        rows = Rows(
            np.arange(A + 1, dtype=np.uint32) * np.uint32(L),
            np.tile(np.arange(L, dtype=np.uint16), A),
            w.reshape(-1),
        )
        extra["initial"] = ChainWeights(L, rows, None, edge if order else edge * 0, tri)
    flat = [token for sentence in tokens for token in sentence]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    encoded = _core.Encoded(
        starts,
        _lists(flat, values=values),
        _lists([[(a, 1.0) for a in token] for s in edges for token in s], values=False) if E else None,
        None if allowed is None else LabelSets.of([labels for s in allowed for labels in s]),
        A,
        E,
        L,
    )
    problem = ChainProblem(
        np.array([z for gold in known for z in gold], np.int32),
        encoded,
        starts,
        L,
        order,
        partial=None if partial is None else LabelSets.of([labels for s in partial for labels in s]),
        **extra,
    )
    return Case(order, L, A, E, tokens, edges, known, allowed, partial, problem)


class Twin:
    """One flat vector of float32 weights: rows, edge rows, label pairs, label triples, all with padded rows.

    Above order 2 a table for every length of label n-grams in place of triples.
    """

    def __init__(self, given: Case, rule: str, k: int = 1, c: float = 1.0) -> None:
        self.case, self.rule, self.k, self.c = given, rule, k, c
        L, self.stride = given.n_labels, padded(given.n_labels)
        parts = given.problem.label_parts
        self.width = L if parts is None else parts.n_columns  # of rows: labels, then parts
        self.columns = [[z, *([] if parts is None else parts.of_label(z))] for z in range(L)]
        self.pairs = (L + 1) * self.stride
        self.at_edges = given.n_attributes * self.width
        self.at_pairs = self.at_edges + given.n_edges * self.pairs
        self.at_tri = self.at_pairs + self.pairs
        self.shapes = [(L + 1,) * (m - 1) + (self.stride,) for m in range(3, given.order + 2)]
        self.at_ngrams = [self.at_tri + sum(map(math.prod, self.shapes[:i])) for i in range(len(self.shapes))]
        self.w = np.zeros(self.at_tri + sum(map(math.prod, self.shapes)), Float)
        self.variance = np.ones(len(self.w), Float)
        self.total = np.zeros(len(self.w))
        self.moments: list[np.ndarray] = []
        self.steps: list[Any] = []
        p = given.problem
        self.exists = np.ones((given.n_attributes, self.width), bool)
        if p.seen_rows is not None:
            self.exists[:] = False
            for a in range(given.n_attributes):
                self.exists[a, p.seen_rows.labels[p.seen_rows.starts[a] : p.seen_rows.starts[a + 1]]] = True
        if p.initial is not None:
            self.w[: self.at_edges] = p.initial.rows.weights
            self.w[self.at_pairs : self.at_tri] = p.initial.edge.reshape(-1)
            if p.initial.tri is not None:
                self.w[self.at_tri :] = p.initial.tri.reshape(-1)

    def potentials(self, i: int, w: Any = None) -> reference.Potentials:
        """In float32, added in the order of the kernel; in float64 if the weights are."""
        given, w = self.case, self.w if w is None else w
        L, p = given.n_labels, given.problem
        emit = np.zeros((len(given.tokens[i]), self.width), w.dtype)
        for t, token in enumerate(given.tokens[i]):
            for a, value in token:
                emit[t] += w.dtype.type(value) * w[a * self.width : (a + 1) * self.width]
        for z, (_, *parts) in enumerate(self.columns):
            for column in parts:
                emit[:, z] += emit[:, column]
        emit = emit[:, :L]
        edge = w[self.at_pairs : self.at_tri].reshape(L + 1, -1)
        if p.edge_base is not None:
            edge = edge + p.edge_base
        if given.n_edges:
            edge = np.repeat(edge[None], len(emit), axis=0)
            for t, token in enumerate(given.edges[i]):
                for a in token:
                    edge[t] += w[self.at_edges + a * self.pairs :][: self.pairs].reshape(L + 1, -1)
        tri = None
        for shape, at in zip(self.shapes, self.at_ngrams, strict=True):  # added from the shortest on
            table = w[at : at + math.prod(shape)].reshape(shape)[..., :L]
            tri = table if tri is None else np.broadcast_to(tri, table.shape) + table
        end = None
        if p.end_base is not None:
            end = p.end_base[:L]
        if given.allowed is not None:
            emit = reference.restrict(emit, given.allowed[i])
        return reference.Potentials(emit, edge[..., :L], tri, end)

    def phi(self, i: int, path: Sequence[int]) -> np.ndarray:
        given, out = self.case, np.zeros(len(self.w))
        L = given.n_labels
        x = y = L
        for t, z in enumerate(path):
            for a, value in given.tokens[i][t]:
                for column in self.columns[z]:
                    if self.exists[a, column]:
                        out[a * self.width + column] += value
            if given.order:
                out[self.at_pairs + y * self.stride + z] += 1
                for a in given.edges[i][t]:
                    out[self.at_edges + a * self.pairs + y * self.stride + z] += 1
            if given.order == 2:
                out[self.at_tri + (x * (L + 1) + y) * self.stride + z] += 1
            else:
                for length in range(3, min(given.order, t + 1) + 2):
                    out[self.ngram([L, *path[: t + 1]][-length:])] += 1
            x, y = y, z
        return out

    def ngram(self, run: Sequence[int]) -> int:
        """The place of a label n-gram of three labels and more."""
        return self.at_ngrams[len(run) - 3] + int(np.ravel_multi_index(tuple(run), self.shapes[len(run) - 3]))

    def epoch(self, order: Sequence[int], batch: int = 1) -> tuple[int, int]:
        mistakes = updates = 0
        for number, i in enumerate(order):
            if number % batch == 0:
                before = self.w.copy()  # which the sentences of a batch are decoded by
            wrong, stepped = self.learn(i, before)
            mistakes, updates = mistakes + wrong, updates + stepped
            self.total += self.w
            self.moments.append(self.w.copy())
        return mistakes, updates

    def learn(self, i: int, decoder: Any = None) -> tuple[int, bool]:
        given, problem = self.case, self.case.problem
        L, known = given.n_labels, given.golds[i]
        weight = 1.0 if problem.sentence_weights is None else float(problem.sentence_weights[i])
        if not known or weight == 0:
            return 0, False
        p = self.potentials(i, decoder)
        gold = known
        if -1 in known:
            assert given.partial is not None
            gold, _ = reference.viterbi(
                reference.Potentials(reference.restrict(p.emit, given.partial[i]), p.edge, p.tri, p.end)
            )
        cost = np.zeros((len(gold), L), Float)
        for t, z in np.ndindex(*cost.shape):
            free = known[t] < 0 and z in given.partial[i][t]  # type: ignore[index]
            if z != gold[t] and not free:
                cost[t, z] = 1 if problem.label_costs is None else problem.label_costs[gold[t], z]
        augmented = self.rule in ("MIRA", "AROW")
        seen = reference.Potentials(p.emit + cost, p.edge, p.tri, p.end) if augmented else p
        paths = [path for path, _ in reference.kbest(seen, self.k)]
        wrong = sum(y != z for y, z in zip(paths[0], gold, strict=True))
        if reference.path_score(p, gold) == -np.inf and given.allowed is None:
            return wrong, False
        paths = [path for path in paths if path != list(gold)]
        if not paths:
            return wrong, False
        d = np.array([self.phi(i, gold) - self.phi(i, path) for path in paths])
        costs = np.array([sum(float(cost[t, z]) for t, z in enumerate(path)) for path in paths])
        if self.rule == "perceptron":
            step = d[0]
        elif self.rule == "MIRA":
            self.steps.append((self.w.copy(), d, costs))
            step = mira_step(self.w, d, costs, self.c)
        elif self.rule == "AROW":
            step, variance = arow_step(self.w, self.variance.astype(float), d[0], costs[0], self.c)
            self.variance = variance.astype(Float)
        else:
            step = passive_aggressive_step(self.w, d[0], costs[0], self.rule, self.c)
        self.w += (weight * step).astype(Float)
        return wrong, self.rule == "perceptron" or bool(step.any())

    def result(self, average: bool) -> np.ndarray:
        return (self.total / len(self.moments)).astype(Float) if average else self.w

    def elected(self, i: int) -> list[int]:
        """The path that the weights of all moments vote for."""
        return elected([self.potentials(i, w.astype(float)) for w in self.moments])


def flat(weights: ChainWeights, twin: Twin) -> np.ndarray:
    """Weights as the twin has them."""
    given = twin.case
    out = np.zeros(len(twin.w), Float)
    for a in range(given.n_attributes):
        for s in range(weights.rows.starts[a], weights.rows.starts[a + 1]):
            out[a * twin.width + weights.rows.labels[s]] = weights.rows.weights[s]
    if weights.edge_rows is not None:
        for a in range(given.n_edges):
            for s in range(weights.edge_rows.starts[a], weights.edge_rows.starts[a + 1]):
                out[twin.at_edges + a * twin.pairs + weights.edge_rows.labels[s]] = weights.edge_rows.weights[s]
    edge = weights.edge if given.problem.edge_base is None else np.where(np.isinf(weights.edge), 0, weights.edge)
    out[twin.at_pairs : twin.at_tri] = edge.reshape(-1)
    if weights.tri is not None:
        out[twin.at_tri :] = weights.tri.reshape(-1)
    if weights.ngrams is not None:
        long = np.flatnonzero(weights.ngrams.lengths(given.n_labels) > 2).tolist()
        for run, i in zip(weights.ngrams.label_runs(long, given.n_labels), long, strict=True):
            out[twin.ngram(run)] = weights.ngrams.weights[i]
    return out


def vote(corpus: Any, weights: ChainWeights, n_threads: int) -> Any:
    """The paths with the most votes."""
    assert weights.votes is not None
    order = 1 if weights.tri is None else 2
    longest = 0 if weights.ngrams is None else int(weights.ngrams.lengths(weights.n_labels).max(initial=3))
    ngrams = None if weights.ngrams is None else weights.ngrams.native(weights.n_labels, longest - 1)
    return weights.votes.native(weights.native(ngrams), order).decode(corpus, n_threads)
