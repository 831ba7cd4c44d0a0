"""Hidden Markov support vector machines for large data: block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013).

The objective is that of Altun's section 4, ½ |w|² + C sum_i max_y (cost(y) - w · (Phi(gold_i) - Phi(y))), with a linear
kernel. A step costs one decoding, its length is exact, and the duality gap says how far the optimum is at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trellis import _core
from trellis._support.arrays import array_in
from trellis._support.errors import LearnerError
from trellis.learning.problem import Problem, State
from trellis.learning.run import Event, Work, restoring, sentence_order


class FrankWolfeRun(Work):
    """Weights and dual variables in training.

    It ends when primal less dual is at most ``tolerance`` of the primal. ``average`` gives the mean of the weights over
    all steps, step k weighted by k, instead of the last ones; primal and gap are then the mean's. Both are exact where
    an event has an ``objective``: after the last epoch, and whenever the gaps of single examples, as they were met,
    sum to little enough; else ``gap`` is that sum. Examples are taken as they stand where ``seed`` is None.
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
        if problem.initial is not None:
            raise LearnerError("Frank-Wolfe starts at zero, where its dual variables are known; leave init out")
        self.problem, self.C, self.average = problem, C, average
        self.epochs, self.tolerance, self.seed = epochs, tolerance, seed
        self.solved = False  # for certain, not by the estimate
        self.native = problem.margins(C, cost == "zero-one")

    @property
    def dual(self) -> float:
        """sum_i C_i cost(a_i) - ½ |w|²."""
        return float(self.native.native.dual)

    def step(self, number: int) -> Event | None:
        """One pass over all examples, and the exact gap where it may be small enough."""
        if self.solved:
            return None
        native, problem = self.native, self.problem
        violations, updates, met = native.epoch(sentence_order(problem, number, self.seed), problem)
        # The last epoch changes nothing that a later one depends on: a checkpoint may be continued with more epochs.
        primal, may_be_solved = None, met <= self.tolerance * (self.dual + met)
        if may_be_solved:
            native.renewed(native.native)
        if may_be_solved or number == self.epochs:
            primal = self.primal(self.weights())
            met = primal - self.dual
            self.solved = may_be_solved and met <= self.tolerance * primal
        return Event(number, violations=violations, updates=updates, objective=primal, dual=self.dual, gap=met)

    def weights(self) -> Any:
        """The weights to predict with, were the training over now."""
        return self.native.weights(self.average)

    def primal(self, weights: Any) -> float:
        """½ |w|² + sum_i C_i H_i(w), of any weights."""
        losses, factors = self.native.losses(weights), self.problem.sentence_weights
        squares: float = weights.squares()
        return 0.5 * squares + self.C * _core.dot(losses, np.ones(len(losses)) if factors is None else factors)

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        return {**self.native.state(), "solved": np.array([self.solved], np.int64)}

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        with restoring():
            self.native.restore(state)
            self.solved = bool(array_in(state, "solved", np.int64, 1)[0])
