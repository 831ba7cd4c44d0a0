"""Hidden Markov support vector machines for large data: block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013).

The objective is that of Altun's section 4, ½ |w|² + C sum_i max_y (cost(y) - w · (Phi(gold_i) - Phi(y))), with a linear
kernel. A step costs one decoding, its length is exact, and the duality gap says how far the optimum is at most.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import array_in
from trellis._support.errors import LearnerError
from trellis.engine.weights import ChainWeights, padded
from trellis.learning.online import NGRAMS, ROWS, TABLE, learnt_weights, packed, unpacked
from trellis.learning.run import Event, Problem, State, Work, restoring

_BLOCKS = ("starts", "tokens", "labels", "amounts", "costs")
_PARTS = {
    "rows": ROWS,
    "edge_rows": ROWS,
    "edge": TABLE,
    "tri": TABLE,
    "ngrams": NGRAMS,
    "blocks": _BLOCKS,
}  # of a state


class FrankWolfeRun(Work):
    """Weights and dual variables in training (core/learn/frank_wolfe.hpp).

    It ends when primal less dual is at most ``tolerance`` of the primal. ``average`` gives the mean of the weights over
    all steps, step k weighted by k, instead of the last ones; primal and gap are then the mean's. Both are exact where
    an event has an ``objective``: after the last epoch, and whenever the gaps of single sentences, as they were met,
    sum to little enough; else ``gap`` is that sum. Sentences are taken in the corpus's order where ``seed`` is None.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        C: float,
        cost: str = "hamming",
        epochs: int = 50,
        tolerance: float = 0.01,
        average: bool = True,
        seed: int | None = 0,
    ) -> None:
        if problem.partial is not None:
            raise LearnerError(
                "a margin is one between known paths: labels must not be partial; Perceptron and CRF take them"
            )
        if problem.initial is not None:
            raise LearnerError("Frank-Wolfe starts at zero, where its dual variables are known; leave init out")
        self.problem, self.C, self.zero_one, self.average = problem, C, cost == "zero-one", average
        self.epochs, self.tolerance, self.seed = epochs, tolerance, seed
        self.solved = False  # for certain, not by the estimate
        self.native = self._begin()

    def _begin(self) -> _core.FrankWolfe:
        p = self.problem
        n, stride = p.n_labels, padded(p.n_labels)
        corpus = p.corpus
        parts, sizes = p.label_parts, (corpus.n_attributes, corpus.n_edge_attributes, n)
        given = None if parts is None else parts.arrays
        native = _core.FrankWolfe(*sizes, p.order, p.is_sparse, p.n_sentences, self.C, self.zero_one, given)
        if p.seen is not None:
            native.set_rows((p.seen.starts, p.seen.labels.astype(np.uint32), p.seen.weights))
        edge = np.zeros((n + 1, stride), np.float32) if p.edge_base is None else p.edge_base
        end = np.empty(0, np.float32) if p.end_base is None else p.end_base
        native.set_labels(edge.reshape(-1), end)
        return native

    @property
    def dual(self) -> float:
        """sum_i C_i cost(a_i) - ½ |w|²."""
        return self.native.dual

    def step(self, number: int) -> Event | None:
        """One pass over all sentences, and the exact gap where it may be small enough."""
        if self.solved:
            return None
        violations, updates, met = self.epoch(self.problem.sentence_order(number, self.seed))
        # The last epoch changes nothing that a later one depends on: a checkpoint may be continued with more epochs.
        primal, may_be_solved = None, met <= self.tolerance * (self.dual + met)
        if may_be_solved:
            self.renew()
        if may_be_solved or number == self.epochs:
            primal = self.primal(self.weights())
            met = primal - self.dual
            self.solved = may_be_solved and met <= self.tolerance * primal
        return Event(number, violations=violations, updates=updates, objective=primal, dual=self.dual, gap=met)

    def epoch(self, order: npt.NDArray[np.int64]) -> tuple[int, int, float]:
        """One pass in that order: (tokens mistaken, sentences that made a step, their gaps as they were met)."""
        p = self.problem
        return self.native.epoch(p.corpus, p.gold, order, p.sentence_weights, p.label_costs)

    def renew(self) -> None:
        """Weights and dual anew from the dual variables, without what rounding added."""
        self.native.renew(self.problem.corpus, self.problem.gold, self.problem.sentence_weights)

    def weights(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        return learnt_weights(self.problem, self.native, self.average)

    def primal(self, weights: ChainWeights) -> float:
        """½ |w|² + sum_i C_i H_i(w), of any weights."""
        p, ngrams = self.problem, weights.ngrams
        losses = _core.margin_losses(
            p.corpus,
            weights.native(None if ngrams is None else ngrams.native(p.n_labels, p.order)),
            order=p.order,
            gold=p.gold,
            zero_one=self.zero_one,
            costs=p.label_costs,
            n_threads=p.n_threads,
        )
        factors = np.ones(p.n_sentences) if p.sentence_weights is None else p.sentence_weights
        return 0.5 * weights.squares() + self.C * _core.dot(losses, factors)

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        clock, dual, *parts = self.native.state()
        numbers = {"clock": np.array([clock], np.int64), "dual": np.array([dual])}
        return {**numbers, "solved": np.array([self.solved], np.int64), **packed(_PARTS, parts)}

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        native = self._begin()
        with restoring():
            clock, dual = int(state["clock"][0]), float(state["dual"][0])
            native.restore(self.problem.corpus, clock, dual, *unpacked(_PARTS, state))
            self.solved = bool(array_in(state, "solved", np.int64, 1)[0])
        self.native = native
