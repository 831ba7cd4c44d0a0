"""Hidden Markov support vector machines for large data: block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013).

The objective is that of Altun's section 4, ½ |w|² + C sum_i max_y (cost(y) - w · (Phi(gold_i) - Phi(y))), with a linear
kernel. A step costs one decoding, its length is exact, and the duality gap says how far the optimum is at most.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.errors import LearnerError
from trellis.learning.events import Event, Observer
from trellis.learning.online import check, check_epochs
from trellis.learning.problem import Problem
from trellis.learning.progress import begin, go_on, stopping
from trellis.model.weights import ChainWeights, Rows, padded

Cost = Literal["zero-one", "hamming"]
_ROWS = ("starts", "labels", "weights", "sums", "variances")
_TABLE = ("weights", "sums", "variances")
_BLOCKS = ("starts", "tokens", "labels", "amounts", "costs")
_PARTS = (("rows", _ROWS), ("edge_rows", _ROWS), ("edge", _TABLE), ("tri", _TABLE), ("blocks", _BLOCKS))


def fit_frank_wolfe(
    problem: Problem,
    *,
    C: float,
    cost: Cost = "hamming",
    epochs: int = 50,
    tolerance: float = 0.01,
    average: bool = True,
    shuffle: bool = True,
    seed: int = 0,
    observer: Observer | None = None,
) -> tuple[ChainWeights, list[Event]]:
    """Train until primal less dual is at most ``tolerance`` of the primal, or for so many epochs.

    ``average`` gives the mean of the weights over all steps, step k weighted by k, instead of the last ones; primal
    and gap are then the mean's. Both are exact where an event has an ``objective``: after the last epoch, and whenever
    the gaps of single sentences, as they were met, sum to little enough; else ``gap`` is that sum.
    """
    check("C", C)
    check("tolerance", tolerance)
    check_epochs(epochs, seed)
    run = FrankWolfeRun(problem, C=C, cost=cost, average=average)
    progress = begin(problem, run.restore)
    last = progress.history[-1] if progress.history else None
    with stopping():
        for number in range(progress.done + 1, epochs + 1):
            if last is not None and _is_small(last, tolerance):
                break
            begun = time.perf_counter()
            order = np.arange(problem.n_sentences, dtype=np.int64)
            if shuffle:
                order = _core.shuffled(problem.n_sentences, (seed * 1_000_003 + number) % 2**64)
            mistakes, updates, met = run.epoch(order)
            primal = None
            if number == epochs or met <= tolerance * (run.dual + met):
                run.renew()
                primal = run.primal(run.result())
                met = primal - run.dual
            last = Event(
                epoch=number,
                epochs=epochs,
                tokens=len(problem.gold),
                seconds=time.perf_counter() - begun,
                mistakes=mistakes,
                updates=updates,
                objective=primal,
                dual=run.dual,
                gap=met,
            )
            if not go_on(problem, progress, last, run.result, run.state, observer):
                break
    return progress.best or run.result(), progress.history


def _is_small(event: Event, tolerance: float) -> bool:
    """Whether the optimum is near enough: for certain, not by the estimate."""
    return event.objective is not None and event.gap is not None and event.gap <= tolerance * event.objective


class FrankWolfeRun:
    """Weights and dual variables while training goes on (core/frank_wolfe.hpp)."""

    def __init__(self, problem: Problem, *, C: float, cost: Cost, average: bool) -> None:
        if cost not in ("zero-one", "hamming"):
            raise LearnerError(f"cost must be 'zero-one' or 'hamming', not {cost!r}")
        if problem.partial is not None:
            raise LearnerError(
                "a margin is one between known paths: labels must not be partial; Perceptron and CRF take them"
            )
        if problem.initial is not None:
            raise LearnerError(
                "Frank-Wolfe begins at zero, where its dual variables are known; leave init out"
            )
        if problem.label_costs is not None and cost == "zero-one":
            raise LearnerError("label_costs are costs of single labels: they need cost='hamming'")
        self.problem, self.C, self.zero_one, self.average = problem, C, cost == "zero-one", average
        self.native = self._begin()

    def _begin(self) -> _core.FrankWolfe:
        p = self.problem
        n, stride = p.n_labels, padded(p.n_labels)
        corpus = p.corpus
        native = _core.FrankWolfe(
            corpus.n_attributes, corpus.n_edge_attributes, n, p.order, p.n_sentences, self.C, self.zero_one
        )
        if p.seen is not None:
            native.set_rows((p.seen.starts, p.seen.labels.astype(np.uint32), p.seen.weights))
        edge = np.zeros((n + 1, stride), np.float32) if p.edge_base is None else p.edge_base
        end = np.empty(0, np.float32) if p.end_base is None else p.end_base
        native.set_labels(edge.reshape(-1), np.tile(end, n + 1) if p.order == 2 else end)
        return native

    @property
    def dual(self) -> float:
        """sum_i C_i cost(a_i) - ½ |w|²."""
        return self.native.dual

    def epoch(self, order: npt.NDArray[np.int64]) -> tuple[int, int, float]:
        """One pass in that order: (tokens mistaken, sentences that made a step, their gaps as they were met)."""
        p = self.problem
        return self.native.epoch(p.corpus, p.gold, order, p.sentence_weights, p.label_costs)

    def renew(self) -> None:
        """Weights and dual anew from the dual variables, without what rounding added."""
        self.native.renew(self.problem.corpus, self.problem.gold, self.problem.sentence_weights)

    def result(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        rows, edge_rows, edge, tri = self.native.weights(self.average)
        p = self.problem
        starts, labels, weights = rows
        on_edges = Rows(*edge_rows) if p.corpus.n_edge_attributes else None
        return ChainWeights(
            p.n_labels,
            Rows(starts, labels.astype(np.uint16), weights),
            on_edges,
            edge,
            tri if p.order == 2 else None,
            p.end_base,
        )

    def primal(self, weights: ChainWeights) -> float:
        """½ |w|² + sum_i C_i H_i(w), of any weights."""
        p = self.problem
        losses = _core.margin_losses(
            p.corpus,
            weights.rows.arrays,
            None if weights.edge_rows is None else weights.edge_rows.arrays,
            weights.edge,
            weights.tri,
            weights.end_rows,
            p.order,
            p.gold,
            self.zero_one,
            p.label_costs,
            p.n_threads,
        )
        factors = np.ones(p.n_sentences) if p.sentence_weights is None else p.sentence_weights
        return 0.5 * _squares(weights) + self.C * _core.dot(losses, factors)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that is needed to go on later, to the same bits."""
        clock, dual, *parts = self.native.state()
        out: dict[str, npt.NDArray[Any]] = {"clock": np.array([clock], np.int64), "dual": np.array([dual])}
        for (name, names), arrays in zip(_PARTS, parts, strict=True):
            out |= {f"{name}.{part}": array for part, array in zip(names, arrays, strict=True)}
        return out

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from that state; LearnerError if it is not one of such a run."""
        native = self._begin()
        try:
            parts: list[Any] = [tuple(state[f"{name}.{part}"] for part in names) for name, names in _PARTS]
            native.restore(self.problem.corpus, int(state["clock"][0]), float(state["dual"][0]), *parts)
        except (LookupError, ValueError, TypeError) as error:
            raise LearnerError(
                f"the state is not one of this training, with these settings on this corpus ({error})"
            ) from error
        self.native = native


def _squares(weights: ChainWeights) -> float:
    """|w|²; what is forbidden has no weight."""
    parts = [weights.rows.weights, weights.edge, *([] if weights.tri is None else [weights.tri])]
    parts += [] if weights.edge_rows is None else [weights.edge_rows.weights]
    flat = np.concatenate([part.reshape(-1) for part in parts]).astype(np.float64)
    flat[np.isinf(flat)] = 0
    return _core.dot(flat, flat)
