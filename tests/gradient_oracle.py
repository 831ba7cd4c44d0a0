"""Small training problems of every kind, and their losses by the reference: the oracle of learning by gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gradients import gradient_of
from scipy.optimize import minimize as scipy_minimize

from experiments.reference import Doubles, Potentials, ngram_table, restrict
from experiments.reference.loglinear import crf_loss, local_loss
from trellis import _core
from trellis._support.arrays import LabelSets, Lists
from trellis.corpus.label_parts import LabelParts
from trellis.engine.weights import Ngrams, Rows, padded
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.parameters import Parameters

LENGTHS = (3, 1, 0, 4, 2)


@dataclass(frozen=True)
class Spec:
    """Properties of a problem."""

    order: int = 1
    edges: bool = False  # edge templates
    dictionary: bool = False
    values: bool = False  # attributes with values
    partial: bool = False  # some labels are only partly known
    weights: bool = False  # sentences count differently
    base: bool = False  # forbidden transitions, and last labels with scores
    seen: bool = True  # weights for seen pairs only, or for all
    n_labels: int = 3
    parts: bool = False  # labels share parts, which have weights too


SPECS = {
    "order 0": Spec(order=0),
    "order 1": Spec(),
    "order 2": Spec(order=2),
    "all pairs": Spec(seen=False),
    "edges": Spec(edges=True),
    "edges 2": Spec(order=2, edges=True),
    "dictionary": Spec(dictionary=True),
    "dictionary 2": Spec(order=2, dictionary=True),
    "dictionary of few labels": Spec(dictionary=True, n_labels=20),
    "dictionary of few labels, base": Spec(dictionary=True, values=True, weights=True, base=True, n_labels=20),
    "values": Spec(values=True, seen=False),
    "weights": Spec(weights=True, order=2),
    "base": Spec(base=True),
    "base 2": Spec(base=True, order=2),
    "nine labels": Spec(n_labels=9),
    "everything": Spec(edges=True, dictionary=True, values=True, weights=True, base=True),
    "order 3": Spec(order=3),
    "order 4": Spec(order=4, edges=True, dictionary=True),
    "everything 3": Spec(3, edges=True, dictionary=True, values=True, weights=True, base=True),
    "everything 2": Spec(2, edges=True, dictionary=True, values=True, weights=True, base=True),
}
PARTIAL = {
    "partial": Spec(partial=True),
    "partial 2": Spec(order=2, partial=True),
    "partial dictionary of few labels": Spec(dictionary=True, partial=True, n_labels=20),
    "partial 3": Spec(3, True, True, True, True, True, True),
    "partial everything": Spec(2, True, True, True, True, True, True),
}
PARTS = {
    "parts": Spec(parts=True),
    "parts of all pairs": Spec(parts=True, seen=False),
    "parts of nine labels": Spec(parts=True, n_labels=9),
    "parts 2": Spec(2, True, True, True, False, True, True, parts=True),
}


def parts_of(n_labels: int) -> LabelParts:
    """Labels of which neighbours share parts; some have one, some two, the last three."""
    names = [f"{'x' if z % 2 else 'y'}|k={z // 2}" for z in range(n_labels - 1)]
    found = LabelParts.of([*names, "x|k=0|y"], "|")
    assert found is not None
    return found


def sets_of(labels: list[list[int]]) -> LabelSets:
    starts = np.cumsum([0, *map(len, labels)], dtype=np.int64)
    flat = np.array([z for some in labels for z in some], np.int32)
    return LabelSets(np.arange(len(labels), dtype=np.int32), starts, flat)


def problem_of(spec: Spec, seed: int = 0, n_threads: int = 1) -> ChainProblem:
    """A problem whose gold paths are possible."""
    rng = np.random.default_rng(seed)
    L, stride = spec.n_labels, padded(spec.n_labels)
    starts = np.cumsum([0, *LENGTHS], dtype=np.int64)
    n = int(starts[-1])
    gold = rng.integers(0, L, n).astype(np.int32)

    def lists(n_attributes: int, values: bool) -> Lists:
        chosen = [rng.choice(n_attributes, rng.integers(0, n_attributes), replace=False).tolist() for _ in range(n)]
        ids = np.array([a for some in chosen for a in some], np.int32)
        numbers = rng.uniform(0.1, 2, len(ids)).astype(np.float32) if values else np.empty(0, np.float32)
        return Lists(np.cumsum([0, *map(len, chosen)], dtype=np.int64), ids, numbers)

    some = lists(4, spec.values)
    edge_some = lists(3, False) if spec.edges else None
    dictionary = None
    if spec.dictionary:
        dictionary = sets_of([sorted({int(z), *rng.choice(L, 2).tolist()}) for z in gold])
    before = np.concatenate([[L], gold[:-1]])
    before[starts[:-1][np.diff(starts) > 0]] = L
    edge_base = end_base = None
    if spec.base:
        edge_base = np.where(rng.random((L + 1, stride)) < 0.3, -np.inf, 0).astype(np.float32)
        edge_base[before, gold] = 0
        end_base = rng.normal(size=stride).astype(np.float32)
        last = starts[1:][np.diff(starts) > 0] - 1
        end_base[np.setdiff1d(np.arange(L), gold[last])[:1]] = -np.inf
    partial = None
    if spec.partial:
        known = rng.random(n) < 0.5
        may = [
            [int(z)] if sure else sorted({int(z), *rng.choice(L, 1).tolist()})
            for z, sure in zip(gold, known, strict=True)
        ]
        partial = sets_of(may)
        gold = np.where([len(labels) > 1 for labels in may], -1, gold).astype(np.int32)
    seen = Rows(
        np.array([0, 3, 3, 5, 5 + L], np.uint32),
        np.array([0, 1, 2, 0, 2, *range(L)], np.uint32),
        np.zeros(5 + L, np.float32),
    )
    parts = parts_of(L) if spec.parts else None
    if parts is not None:  # some parts without their labels, and the last attribute with all columns
        columns = np.array([0, 1, 2, L, 0, L + 1, *range(parts.n_columns)], np.uint32)
        seen = Rows(np.array([0, 4, 4, 6, len(columns)], np.uint32), columns, np.zeros(len(columns), np.float32))
    places = [stride * L + 1, 0 * stride + 1, 1 * stride + 2, 2 * stride + 2]
    seen_edges = Rows(np.array([0, 2, 2, 4], np.uint32), np.array(places, np.uint32), np.zeros(4, np.float32))
    encoded = _core.Encoded(starts, some, edge_some, dictionary, 4, 3 if spec.edges else 0, L)
    return ChainProblem(
        gold,
        encoded,
        starts,
        L,
        spec.order,
        n_threads=n_threads,
        seen_rows=seen if spec.seen else None,
        seen_edges=seen_edges if spec.edges else None,
        partial=partial,
        sentence_weights=rng.uniform(0.2, 3, len(LENGTHS)) if spec.weights else None,
        edge_base=edge_base,
        end_base=end_base,
        label_parts=parts,
    )


def allowed_of(sets: tuple[Any, ...], begin: int, end: int) -> list[list[int]]:
    of, starts, labels, *_ = sets
    return [labels[starts[of[t]] : starts[of[t] + 1]].tolist() for t in range(begin, end)]


def ngram_labels(ngrams: Ngrams, n_labels: int) -> list[tuple[int, ...]]:
    """The labels of every n-gram by its number; START is label n_labels."""
    names: list[tuple[int, ...]] = [(), *((z,) for z in range(n_labels + 1))]
    for parent, label in zip(ngrams.parents.tolist(), ngrams.labels.tolist(), strict=True):
        names.append((*names[parent], label))
    return names


def potentials_of(problem: ChainProblem, parameters: Parameters, x: Doubles) -> list[Potentials]:
    """The potentials of every sentence under a flat vector, summed by the definition."""
    L, stride = problem.n_labels, padded(problem.n_labels)
    n_slots = len(parameters.rows.labels)
    n_edge_slots = 0 if parameters.edge_rows is None else len(parameters.edge_rows.labels)
    edge = np.zeros((L + 1) * stride) if problem.edge_base is None else problem.edge_base.astype(float).ravel()
    edge = edge.copy()
    first = n_slots + n_edge_slots
    edge[parameters.edge_places] += x[first : first + len(parameters.edge_places)]
    edge = edge.reshape(L + 1, stride)
    tri = None
    if parameters.ngrams is not None:
        names = ngram_labels(parameters.ngrams, L)
        first_long = first + len(parameters.edge_places)
        tri = ngram_table(
            {names[g]: w for g, w in zip(parameters.tri_places, x[first_long:], strict=True)}, L, problem.order
        )
    elif problem.order == 2:
        flat = np.zeros((L + 1) * (L + 1) * stride)
        flat[parameters.tri_places] = x[first + len(parameters.edge_places) :]
        tri = flat.reshape(L + 1, L + 1, stride)[:, :, :L]
    end = None
    if problem.end_base is not None:
        end = problem.end_base[:L].astype(float)
    starts, ids, values = problem.corpus.lists
    out = []
    for begin, stop in zip(problem.starts[:-1].tolist(), problem.starts[1:].tolist(), strict=True):
        emit, edges = np.zeros((stop - begin, problem.n_columns)), np.tile(edge, (stop - begin, 1, 1))
        for t in range(begin, stop):
            for i in range(starts[t], starts[t + 1]):
                value = values[i] if len(values) else 1.0
                rows = parameters.rows
                for s in range(rows.starts[ids[i]], rows.starts[ids[i] + 1]):
                    emit[t - begin, rows.labels[s]] += value * x[s]
            if parameters.edge_rows is not None:
                edge_starts, edge_ids, _ = problem.corpus.edge_lists
                rows = parameters.edge_rows
                for i in range(edge_starts[t], edge_starts[t + 1]):
                    for s in range(rows.starts[edge_ids[i]], rows.starts[edge_ids[i] + 1]):
                        y, z = divmod(int(rows.labels[s]), stride)
                        edges[t - begin, y, z] += x[n_slots + s]
        if problem.label_parts is not None:
            for z in range(L):
                emit[:, z] += emit[:, problem.label_parts.of_label(z)].sum(1)
        emit = emit[:, :L]
        if problem.corpus.sets is not None:
            emit = restrict(emit, allowed_of(problem.corpus.sets, begin, stop))
        out.append(Potentials(emit, edges[:, :, :L], tri, end))
    return out


def losses_of(problem: ChainProblem, parameters: Parameters, x: Doubles) -> Doubles:
    """-log p(gold | x) of every sentence, partially labelled ones included."""
    out = []
    for i, p in enumerate(potentials_of(problem, parameters, x)):
        begin, stop = int(problem.starts[i]), int(problem.starts[i + 1])
        if problem.partial is None:
            may = [[z] for z in problem.gold[begin:stop].tolist()]
        else:
            may = allowed_of(problem.partial, begin, stop)
        out.append(crf_loss(p, may))
    return np.array(out)


def local_losses_of(problem: ChainProblem, parameters: Parameters, x: Doubles) -> Doubles:
    """-sum_t log p(gold_t | the two gold labels before it) of every sentence."""
    golds = np.split(problem.gold, problem.starts[1:-1])
    each = zip(potentials_of(problem, parameters, x), golds, strict=True)
    return np.array([local_loss(p, gold.tolist()) for p, gold in each])


def slope_of(function: Callable[[Doubles], float], x: Doubles, h: float = 1e-5) -> Doubles:
    """The gradient by central differences."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = h
        out[i] = (function(x + step) - function(x - step)) / (2 * h)
    return out


def scipys_optimum(problem: ChainProblem, *, local: bool) -> tuple[float, Doubles, _core.Objective, Parameters]:
    """The least log loss + 0.3 · |w|² and where it is, by SciPy; the losses as a function, and what its vector is."""
    parameters = Parameters.of(problem, transitions="all", start=True)
    objective = parameters.objective(local=local, single=False)

    def function(x: Doubles) -> tuple[float, Doubles]:
        losses, slope = gradient_of(objective, x, problem.sentence_weights, 1)
        return float(problem.weigh(losses).sum() + 0.3 * (x**2).sum()), slope + 0.6 * x

    peer = scipy_minimize(function, np.zeros(parameters.size), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    return float(peer.fun), peer.x, objective, parameters
