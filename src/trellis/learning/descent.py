"""Minimising a function of the weights: AdaGrad's stochastic passes, a quasi-Newton method, or one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from trellis import _core
from trellis._support.arrays import Bools, Doubles, array_in
from trellis._support.errors import LearnerError
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.lbfgs import Function, Minimizer
from trellis.learning.learner import Constraints, Learner, choice, flag
from trellis.learning.parameters import Parameters
from trellis.learning.problem import FlatVector, Problem, State
from trellis.learning.proximal import ProximalMinimizer
from trellis.learning.run import Event, Work, sentence_order
from trellis.learning.sums import Part, Sums

Vector = Parameters | FlatVector  # vectors of weights: of chains, and of other structures


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLearner(Learner):
    """Base class of learners over one flat vector of weights.

    At orders above 2, and at order 2 with more than 60 labels, longer label n-grams have weights if they occur in
    training.

    Parameters
    ----------
    transitions
        Label pairs that have weights: ``"seen"`` in training, or ``"all"``.
    start
        Whether the first label of a sentence has weights of its own.
    """

    transitions: Literal["seen", "all"] = "seen"
    start: bool = True

    family = "log-linear"
    default_pairs = "seen"
    bytes_per_triple = 90  # scale factors, and sums over several chunks in double precision
    constraints: ClassVar[Constraints] = {"transitions": choice("seen", "all"), "start": flag()}

    def layout(self, problem: ChainProblem) -> Parameters:
        """Determine the weights of the model.

        Parameters
        ----------
        problem
            The encoded training problem.

        Returns
        -------
        Parameters
            Positions of all weights in the vector.
        """
        few = problem.order < 2 and problem.has_few_labels and self.family != "local"  # no sums over paths
        sparse = "orders" in self.abilities and (problem.is_sparse or few)
        return Parameters.of(problem, transitions=self.transitions, start=self.start, sparse=sparse)


class VectorWork(Work):
    """A training whose weights are one flat vector."""

    def __init__(self, problem: Problem, parameters: Vector, epochs: int) -> None:
        self.problem, self.parameters, self.epochs = problem, parameters, epochs

    def vector(self) -> Doubles:
        """The weights as they are now."""
        raise NotImplementedError

    def weights(self) -> Any:
        """The weights to predict with, were the training over now."""
        return self.parameters.weights(self.vector())

    def nonzero(self) -> int:
        """Number of nonzero weights."""
        return int(np.count_nonzero(self.vector()))


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes of AdaGrad over the sentences of a problem; ``seed`` shuffles them for every pass.

    Duchi, Hazan and Singer 2011: each weight has a rate of its own. The L1 penalty is taken after the step, so that
    weights become exactly zero. Passes that are followed by something better go over the first sentences only, those
    of `HEAD` tokens, with a share of the penalties that is theirs of the tokens.
    """

    problem: Problem
    first: Part
    c1: float
    c2: float
    rate: float
    seed: int
    n: int  # number of passes
    warming_up: bool  # whether a minimizer follows
    batch: int = 1  # sentences per mini-batch: their gradients are computed with the same weights

    def take(self, number: int, x: Doubles, squares: Doubles) -> float:
        """Pass ``number``, changing x and squares. Gives the objective.

        It is the sum of each sentence's loss as it was met, so more than that of the weights after the pass.
        """
        times, n, share = 1.0, self.problem.n_sentences, 1.0
        if self.warming_up:
            # Long steps first; short steps in the last pass reduce the noise of the others.
            times = 0.5 if number == self.n and number > 1 else 1.5
            n, share = self.problem.head
        c1, c2 = share * self.c1, share * self.c2
        order, problem = sentence_order(n, number, self.seed), self.first.problem
        losses = self.first.objective.one_pass(
            x, squares, order, problem.sentence_weights, times * self.rate, c1, c2, self.batch, problem.n_threads, n
        )
        return float(problem.weigh(losses).sum()) + c2 * _core.dot(x, x) + c1 * float(np.abs(x).sum())


def sparse_minimizer(problem: Problem, vector: Vector, sums: Sums, c1: float) -> ProximalMinimizer:
    """Minimizer of the log loss of whole paths with penalties c2 · |w|² and c1 · |w|_1; not started yet."""

    def measure(x: Doubles) -> Doubles:
        """Approximate curvature of each weight: the sum of squared gradient contributions of its tokens."""
        (n, share), first, squares = problem.head, sums.parts.first, np.zeros(len(x))
        weights, batch = first.problem.sentence_weights, 64  # weights do not change, so the batch may be large
        order = sentence_order(n, 0, None)
        first.objective.one_pass(x.copy(), squares, order, weights, 0.0, 0.0, 0.0, batch, problem.n_threads, n)
        # Full squares overestimate the curvature of frequent weights, which overlap; 0.1 for weights without tokens.
        return (squares / share + 2 * sums.c2 + 0.1) ** 0.75

    def restrict(mask: Bools) -> Function:
        return sums.only(mask).log_loss

    return ProximalMinimizer(vector.start(), c1, measure, restrict, problem.n_threads)


class Descent(VectorWork):
    """First some passes of AdaGrad, then a minimizer until convergence; or passes only.

    From zero L-BFGS takes some forty gradients to get where three stochastic passes get, each of which costs about
    four (docs/performance.md). Passes alone are near the optimum after few, and never quite there. It ends when the
    objective fell by less than ``tolerance`` of itself over ten epochs. The minimizer is L-BFGS unless given.
    """

    def __init__(
        self,
        problem: Problem,
        parameters: Vector,
        function: Function,
        *,
        epochs: int,
        tolerance: float,
        passes: Passes | None = None,
        minimizer: ProximalMinimizer | None = None,
    ) -> None:
        super().__init__(problem, parameters, epochs)
        self.function, self.tolerance, self.passes = function, tolerance, passes
        self.minimizer = minimizer or Minimizer(parameters.start(), problem.n_threads)
        self.squares = np.ones(0 if passes is None else parameters.size)

    def vector(self) -> Doubles:
        """The weights as they are now."""
        return self.minimizer.x

    def step(self, number: int) -> Event | None:
        """A pass, or an iteration of the minimizer; a pass has no single gradient and length."""
        minimizer = self.minimizer
        if self.passes is not None and number <= self.passes.n:
            value = self.passes.take(number, minimizer.x, self.squares)
            _check_finite(value)
            return Event(number, objective=value, nonzero=self.nonzero())
        if not minimizer.values:
            self.squares = np.empty(0)
            minimizer.start(self.function)
            _check_finite(minimizer.value)
        if minimizer.has_converged(self.tolerance):
            return None
        length = minimizer.step(self.function)
        if length == 0:
            return None
        slope = minimizer.slope()
        return Event(
            number,
            objective=minimizer.value,
            gradient_norm=math.sqrt(_core.dot(slope, slope)),
            step=length,
            nonzero=self.nonzero(),
        )

    def state(self) -> State:
        """Weights and state of the solver."""
        if self.minimizer.values:
            return self.minimizer.state()
        return {"x": self.minimizer.x, "squares": self.squares}

    def _restore(self, state: State) -> None:
        if "squares" in state:
            n = self.parameters.size
            self.minimizer.x, self.squares = (array_in(state, name, np.float64, n) for name in ("x", "squares"))
        else:
            self.minimizer.restore(state)


def _check_finite(value: float) -> None:
    if not np.isfinite(value):
        cause = "the gold labels of a sentence are forbidden, or a penalty, learning rate or sample weight is too large"
        raise LearnerError(f"the objective is not finite: {cause}")
