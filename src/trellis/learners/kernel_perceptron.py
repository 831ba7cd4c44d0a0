"""The hidden Markov perceptron in the dual (Altun, algorithm 1 and section 4.3), with kernels.

Advantages: kernels over what is observed, and nothing to tune but them. Disadvantage: as slow as HMSVM a pass, without
its margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from trellis.learning.dual_run import DualRun, check_kernel, told
from trellis.learning.epochs import run_epochs
from trellis.learning.events import Event, Observer
from trellis.learning.online import check_epochs
from trellis.learning.problem import Problem
from trellis.model.kernels import KernelFunction
from trellis.model.weights import ChainWeights


@dataclass(frozen=True, slots=True)
class KernelPerceptron:
    """Decode each sentence; where the best path is wrong, it counts one more among the sequences to be kept away from.

    ``kernel``, ``degree``, ``gamma``, ``coef0`` and ``memory`` are those of HMSVM; ``average``, ``shuffle`` and
    ``seed`` those of Perceptron, which this is with kernel="linear".
    """

    epochs: int = 10
    kernel: str | KernelFunction = "poly"
    degree: int = 2
    gamma: float | None = None
    coef0: float = 1.0
    average: bool = True
    shuffle: bool = False
    memory: float = 1024.0
    seed: int = 0

    begins_anew: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_epochs(self.epochs, self.seed)
        check_kernel(self)

    def __repr__(self) -> str:
        return told(self)

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        run = _PerceptronRun(problem, self, average=self.average)
        weights, history = run_epochs(
            problem, run, epochs=self.epochs, shuffle=self.shuffle, seed=self.seed, observer=observer
        )
        return run.attached(weights), history


class _PerceptronRun(DualRun):
    def epoch(self, order: npt.NDArray[np.int64]) -> tuple[int, int]:
        """One pass over the sentences in that order: (tokens mistaken, sentences updated)."""
        mistakes, updates, *_ = self.native.perceptron_pass(order, self.problem.n_threads)
        return mistakes, updates
