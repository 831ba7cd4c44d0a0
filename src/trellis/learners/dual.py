"""Dual learners, with kernels over observations: hidden Markov support vector machines, and the kernel perceptron.

Altun, section 4 (maximum margin between gold and other sequences: a convex problem with a duality gap, a model of few
support sequences) and algorithm 1 (no margin, less to tune). With a kernel, time and memory grow with the square of the
number of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from trellis import _core
from trellis._support.errors import LearnerError
from trellis.engine.kernels import KernelFunction
from trellis.learning.chain_problem import ChainProblem, chains_of
from trellis.learning.dual_run import KERNEL, DualRun
from trellis.learning.learner import ALL_ABILITIES, Ability, Constraints, Learner, choice, flag, real, whole
from trellis.learning.online import NativeRun, OnlineLearner
from trellis.learning.problem import MarginWeights, Problem
from trellis.learning.run import Event, Work, sentence_order

AT_ONCE = 16  # sentences between two checks for Ctrl-C, which native code does not handle


@dataclass(frozen=True, slots=True, kw_only=True)
class HMSVM(Learner):
    """Hidden Markov SVM: minimise ½ |w|² + C sum_i xi_i with score(gold) - score(y) >= cost(y) - xi_i for all y.

    Choose it for the best accuracy (``solver="frank-wolfe"`` for large data), or for kernels. It needs fully labelled
    sentences with the dual solver. Its scores are not probabilities.

    Parameters
    ----------
    C
        Weight of the slack variables; larger values fit the training data more closely.
    kernel
        Kernel between the observations of two tokens: ``"linear"``; ``"poly"``, (gamma <a, b> + coef0)^degree;
        ``"rbf"``, exp(-gamma |a - b|²); or a function of two `Observations`.
    degree
        Degree of the polynomial kernel.
    gamma
        Factor of the kernel (default: 1; for ``"rbf"`` one over the mean of |x|²).
    coef0
        Constant of the polynomial kernel.
    cost
        Cost of a wrong sequence: ``"zero-one"``, 1; ``"hamming"``, the number of wrong labels, or the sum of label
        costs.
    solver
        ``"dual"``: working sets of sequences, one quadratic programme per visit (Altun, algorithm 3);
        ``"frank-wolfe"``: block-coordinate Frank-Wolfe, with the linear kernel.
    tolerance
        For ``"dual"``: largest violation of a sentence; for ``"frank-wolfe"``: duality gap relative to the primal
        objective.
    epochs
        Maximum number of passes.
    average
        For ``"frank-wolfe"``: use the mean of the weights over all steps, better after few passes.
    memory
        Memory in MB for cached kernel values.
    seed
        Seed of the order of sentences.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> trellis.train(X, y, learner=trellis.HMSVM()).predict(["a", "dog"])
    ['D', 'N']
    """

    C: float = 1.0
    kernel: str | KernelFunction = "linear"
    degree: int = 2
    gamma: float | None = None
    coef0: float = 1.0
    cost: Literal["zero-one", "hamming"] = "zero-one"
    solver: Literal["dual", "frank-wolfe"] = "dual"
    tolerance: float = 0.01
    epochs: int = 1000
    average: bool = True
    memory: float = 1024.0
    seed: int = 0

    reads_costs = True
    takes_init = False
    constraints: ClassVar[Constraints] = {
        "C": real(above=True),
        **KERNEL,
        "cost": choice("zero-one", "hamming"),
        "solver": choice("dual", "frank-wolfe"),
        "tolerance": real(above=True),
        "epochs": whole(1),
        "average": flag(only=("solver='frank-wolfe'", lambda p: p["solver"] == "frank-wolfe")),
        "seed": whole(),
    }

    def __post_init__(self) -> None:
        Learner.__post_init__(self)
        if self.solver == "frank-wolfe" and self.kernel != "linear":
            raise LearnerError('solver="frank-wolfe" requires kernel="linear"')

    @property
    def abilities(self) -> frozenset[Ability]:
        """Abilities, by solver: the dual solver is limited to orders 0 to 2 and exact search."""
        return ALL_ABILITIES - {"beam", "trees"} if self.solver == "frank-wolfe" else frozenset()

    def begin(self, problem: Problem) -> Work:
        """The working sets, or the weights, in training."""
        if getattr(problem, "label_costs", None) is not None and self.cost != "hamming":
            raise LearnerError('label_costs need cost="hamming"')
        if self.solver == "dual":
            return _Margins(chains_of(problem, self), self)
        return FrankWolfeRun(problem, self)


class _Margins(DualRun):
    """Passes of algorithm 3; it ends with a pass that changes nothing."""

    def __init__(self, problem: ChainProblem, learner: HMSVM) -> None:
        super().__init__(problem, learner)
        self.learner = learner

    def step(self, number: int) -> Event:
        learner, problem = self.learner, self.problem
        violations, updates, violation, gap = self.native.margin_pass(
            sentence_order(problem.n_sentences, number, learner.seed),
            learner.C,
            learner.tolerance,
            learner.cost == "hamming",
            problem.n_threads,
        )
        self.solved = updates == 0
        # The primal in the last pass, which changes nothing; before, the dual and the violations at each visit.
        primal = self.native.dual + gap
        return Event(number, violations=violations, updates=updates, objective=primal, gradient_norm=violation)


class FrankWolfeRun(NativeRun):
    """Weights and dual variables in training: block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013).

    A step costs one decoding, its length is exact. It ends when primal less dual is at most ``tolerance`` of it.
    Averaged weights are the mean over all steps, step k weighted by k; primal and gap are then the mean's. Both are
    exact where an event has an ``objective``: after the last epoch, and whenever the gaps of single examples, as they
    were met, sum to little enough; else ``gap`` is that sum.
    """

    native_weights: MarginWeights

    def __init__(self, problem: Problem, learner: HMSVM) -> None:
        if problem.initial is not None:
            raise LearnerError("init cannot be combined with solver='frank-wolfe', which starts at zero")
        margins = problem.margins(learner.C, learner.cost == "zero-one")
        super().__init__(problem, margins, learner.epochs, learner.average)
        self.learner = learner

    @property
    def dual(self) -> float:
        """sum_i C_i cost(a_i) - ½ |w|²."""
        return float(self.native.dual)

    def step(self, number: int) -> Event:
        """One pass over all examples, and the exact gap where it may be small enough."""
        problem, tolerance = self.problem, self.learner.tolerance
        violations, updates, gap = self.epoch(sentence_order(problem.n_sentences, number, self.learner.seed))
        # The last epoch does not affect later ones: training may be resumed from a checkpoint with more epochs.
        primal, may_be_solved = None, gap <= tolerance * (self.dual + gap)
        if may_be_solved:
            self.native_weights.renewed(self.native)
        if may_be_solved or number == self.epochs:
            primal = self.primal(self.weights())
            gap = primal - self.dual
            self.solved = may_be_solved and gap <= tolerance * primal
        return Event(number, violations=violations, updates=updates, objective=primal, dual=self.dual, gap=gap)

    def primal(self, weights: Any) -> float:
        """½ |w|² + sum_i C_i H_i(w), of any weights."""
        losses, factors = self.native_weights.losses(weights), self.problem.sentence_weights
        squares: float = weights.squares()
        return 0.5 * squares + self.learner.C * _core.dot(losses, np.ones(len(losses)) if factors is None else factors)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPerceptron(OnlineLearner):
    """Perceptron with a kernel: wrong best paths join a set of sequences that new predictions are compared with.

    Altun, algorithm 1; with ``kernel="linear"`` it is the `Perceptron`. Choose it to try kernels on small data: time
    and memory grow with the square of the number of tokens.

    Parameters
    ----------
    kernel
        Kernel between the observations of two tokens, as for `HMSVM`.
    degree
        Degree of the polynomial kernel.
    gamma
        Factor of the kernel (default: 1; for ``"rbf"`` one over the mean of |x|²).
    coef0
        Constant of the polynomial kernel.
    memory
        Memory in MB for cached kernel values.
    epochs
        Number of passes over the corpus.
    average
        Use the mean of the weights over all steps instead of the last weights.
    shuffle
        Visit the sentences in another order in each epoch.
    seed
        Seed of the order.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> trellis.train(X, y, learner=trellis.KernelPerceptron(epochs=3)).predict(["a", "dog"])
    ['D', 'N']
    """

    kernel: str | KernelFunction = "poly"
    degree: int = 2
    gamma: float | None = None
    coef0: float = 1.0
    memory: float = 1024.0

    takes_init = False
    constraints: ClassVar[Constraints] = {**KERNEL, **OnlineLearner.constraints}

    abilities = frozenset()  # sequences are stored as labels; scores use label triples at most

    def begin(self, problem: Problem) -> _Mistakes:
        """The working sets in training."""
        return _Mistakes(chains_of(problem, self), self)


class _Mistakes(DualRun):
    """Passes of algorithm 1."""

    def __init__(self, problem: ChainProblem, learner: KernelPerceptron) -> None:
        super().__init__(problem, learner, average=learner.average)
        self.seed = learner.effective().get("seed")

    def step(self, number: int) -> Event:
        order, mistakes, updates = sentence_order(self.problem.n_sentences, number, self.seed), 0, 0
        for first in range(0, len(order), AT_ONCE):
            wrong, stepped, *_ = self.native.perceptron_pass(order[first : first + AT_ONCE], self.problem.n_threads)
            mistakes, updates = mistakes + wrong, updates + stepped
        return Event(number, mistakes=mistakes, updates=updates)
