"""Conditional random fields (Altun, section 2.3): the log loss of whole paths, with L2 and L1 penalties.

Advantages: probabilities, the best accuracy of the chain learners on most data. Disadvantage: slower to train than the
perceptron.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from trellis.learning.descent import BatchLearner, Descent, Passes, sparse_minimizer
from trellis.learning.learner import ALL_ABILITIES, Constraints, choice, real, whole
from trellis.learning.problem import Problem
from trellis.learning.sums import sums_of

_LBFGS = ("solver='lbfgs'", lambda p: p["solver"] == "lbfgs")
_PASSES = ("solver='adagrad' or warm_up above 0", lambda p: p["solver"] == "adagrad" or p["warm_up"] > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CRF(BatchLearner):
    """Minimise -sum_i log p(gold_i | x_i) + c2 · |w|² + c1 · |w|₁ by L-BFGS, or where c1 > 0 by proximal steps.

    ``transitions`` are the label pairs that have weights: those seen in training, or all. ``start`` gives weights to
    the label a sentence begins with. The first ``warm_up`` epochs are passes of stochastic steps of rate ``rate``
    (AdaGrad), over sentences shuffled by ``seed``; the gradients of ``batch`` sentences are of the same weights,
    computed on all threads. ``solver="adagrad"`` takes no other steps: near the optimum in a tenth of the time.
    Training ends when the objective fell by less than ``tolerance`` of itself over ten epochs, or after ``epochs``
    (default 1000; of "adagrad", which has no tolerance, 10). ``precision="auto"`` computes potentials in single
    precision, sums in double, where a penalty keeps weights small and ``tolerance`` is not below what that resolves
    (1e-6).
    """

    c1: float = 0.0
    c2: float = 1.0
    epochs: int | None = None
    tolerance: float = 1e-5
    precision: Literal["auto", "single", "double"] = "auto"
    solver: Literal["lbfgs", "adagrad"] = "lbfgs"
    warm_up: int = 3
    rate: float = 0.2
    seed: int = 0
    batch: int = 8

    constraints: ClassVar[Constraints] = {
        **BatchLearner.constraints,
        "c1": real(),
        "c2": real(),
        "precision": choice("auto", "single", "double"),
        "solver": choice("lbfgs", "adagrad"),
        "epochs": whole(1, default=lambda p: 1000 if p["solver"] == "lbfgs" else 10),
        "tolerance": real(only=_LBFGS),
        "warm_up": whole(only=_LBFGS),
        "rate": real(only=_PASSES),
        "seed": whole(only=_PASSES),
        "batch": whole(1, 2**16, only=_PASSES),
    }

    abilities = ALL_ABILITIES - {"beam"}  # sums go over all paths

    @property
    def on_workers(self) -> bool:
        """L-BFGS asks for sums alone."""
        return self.solver == "lbfgs"

    def begin(self, problem: Problem) -> Descent:
        """The weights in training."""
        parameters = self.effective()
        single = self.precision == "single"
        if self.precision == "auto":
            single = self.c1 + self.c2 > 0 and parameters.get("tolerance", 1.0) >= 1e-6
        vector = problem.vector(self)
        sums, passes = sums_of(problem, vector, self.c2, single=single), None
        # After a warm start no pass is needed before L-BFGS: the older weights are the start.
        if "rate" in parameters and (problem.initial is None or self.solver == "adagrad"):
            n = parameters.get("warm_up", parameters["epochs"])
            rest = (parameters["rate"], parameters["seed"], n, self.solver == "lbfgs", parameters["batch"])
            passes = Passes(problem, sums.parts.first, self.c1, self.c2, *rest)
        sparse = None if self.c1 == 0 else sparse_minimizer(problem, vector, sums, self.c1)
        return Descent(
            problem,
            vector,
            sums.log_loss,
            epochs=parameters["epochs"],
            tolerance=parameters.get("tolerance", 0.0),
            passes=passes,
            minimizer=sparse,
        )
