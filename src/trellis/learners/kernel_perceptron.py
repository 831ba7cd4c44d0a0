"""The hidden Markov perceptron in the dual (Altun, algorithm 1 and section 4.3), with kernels.

Advantages: kernels over what is observed, and nothing to tune but them. Disadvantage: as slow as HMSVM, without
its margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trellis.engine.kernels import KernelFunction
from trellis.learning.chain_problem import ChainProblem, chains_of
from trellis.learning.dual_run import KERNEL, DualRun
from trellis.learning.learner import Constraints
from trellis.learning.online import OnlineLearner
from trellis.learning.problem import Problem
from trellis.learning.run import Event, sentence_order

AT_ONCE = 16  # sentences between two looks for Ctrl-C, which native code does not see


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPerceptron(OnlineLearner):
    """Decode each sentence; where the best path is wrong, it counts one more among the sequences to be kept away from.

    ``kernel``, ``degree``, ``gamma``, ``coef0`` and ``memory`` are those of HMSVM; ``average``, ``shuffle`` and
    ``seed`` those of Perceptron, which this is with kernel="linear".
    """

    kernel: str | KernelFunction = "poly"
    degree: int = 2
    gamma: float | None = None
    coef0: float = 1.0
    memory: float = 1024.0

    takes_init = False
    streams = False
    constraints: ClassVar[Constraints] = {**KERNEL, **OnlineLearner.constraints}

    abilities = frozenset()  # sequences are kept by labels alone, in triples at most

    def begin(self, problem: Problem) -> _Mistakes:
        """The working sets in training."""
        return _Mistakes(chains_of(problem, self), self)


class _Mistakes(DualRun):
    """Passes of algorithm 1."""

    def __init__(self, problem: ChainProblem, learner: KernelPerceptron) -> None:
        super().__init__(problem, learner, average=learner.average)
        self.seed = learner.effective().get("seed")

    def step(self, number: int) -> Event:
        order, mistakes, updates = sentence_order(self.problem, number, self.seed), 0, 0
        for first in range(0, len(order), AT_ONCE):
            wrong, stepped, *_ = self.native.perceptron_pass(order[first : first + AT_ONCE], self.problem.n_threads)
            mistakes, updates = mistakes + wrong, updates + stepped
        return Event(number, mistakes=mistakes, updates=updates)
