"""Conditional random fields (Altun, section 2.3): the log loss of whole paths, with L2 and L1 penalties.

Advantages: probabilities, the best accuracy of the chain learners on most data. Disadvantage: slower to train than the
perceptron.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from trellis.learning.checks import check_at_least, check_choice
from trellis.learning.events import Event, Observer
from trellis.learning.gradients import log_loss, minimize
from trellis.learning.parameters import Parameters
from trellis.learning.problem import Problem
from trellis.learning.stochastic import Passes, run_passes
from trellis.model.weights import ChainWeights


@dataclass(frozen=True, slots=True)
class CRF:
    """Minimise -sum_i log p(gold_i | x_i) + c2 · |w|² + c1 · |w|₁ by L-BFGS (OWL-QN where c1 > 0).

    ``transitions`` are the label pairs that have weights: those seen in training, or all. ``start`` gives weights to
    the label a sentence begins with. The first ``warm_up`` epochs are passes of stochastic steps by ``rate``
    (AdaGrad), over sentences shuffled by ``seed``; ``solver="adagrad"`` takes no others: near the optimum in a tenth
    of the time. ``epochs`` (default 1000, of "adagrad" 10) is the largest number of epochs. ``precision="auto"``
    computes potentials in single precision, sums in double, where a penalty keeps weights small and ``tolerance`` is
    not below what that resolves (1e-6).
    """

    c1: float = 0.0
    c2: float = 1.0
    tolerance: float = 1e-5
    transitions: Literal["seen", "all"] = "seen"
    start: bool = True
    precision: Literal["auto", "single", "double"] = "auto"
    solver: Literal["lbfgs", "adagrad"] = "lbfgs"
    warm_up: int = 3
    epochs: int | None = None
    rate: float = 0.2
    seed: int = 0

    default_pairs: ClassVar[str] = "seen"
    family: ClassVar[str] = "log-linear"

    def __post_init__(self) -> None:
        check_at_least(self, 0, "c1", "c2", "tolerance", "warm_up", "rate", "seed")
        if self.epochs is not None:
            check_at_least(self, 1, "epochs")
        check_choice(self, "transitions", "seen", "all")
        check_choice(self, "precision", "auto", "single", "double")
        check_choice(self, "solver", "lbfgs", "adagrad")

    def _is_single(self) -> bool:
        if self.precision == "auto":
            return self.c1 + self.c2 > 0 and self.tolerance >= 1e-6
        return self.precision == "single"

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        parameters = Parameters.of(problem, transitions=self.transitions, start=self.start)
        objective = parameters.objective(problem, local=False, single=self._is_single())
        passes = Passes(problem, objective, self.c1, self.c2, self.rate, self.seed)
        if self.solver == "adagrad":
            return run_passes(passes, parameters, self.epochs or 10, observer)

        return minimize(
            problem,
            parameters,
            log_loss(problem, objective, self.c2),
            c1=self.c1,
            epochs=self.epochs or 1000,
            tolerance=self.tolerance,
            observer=observer,
            passes=passes,
            warm_up=self.warm_up,
        )
