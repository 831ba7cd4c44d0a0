"""The exponential loss of whole sequences (Altun, section 3.1), which Sequence AdaBoost descends feature by feature.

Advantages: probabilities; works hardest on the sentences it does worst. Disadvantage: one mislabelled sentence can
outweigh all others; prefer the CRF on noisy data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from trellis import _core
from trellis._support.arrays import Doubles
from trellis.learning.descent import BatchLearner, Descent
from trellis.learning.learner import ALL_ABILITIES, Constraints, choice, real, whole
from trellis.learning.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialLoss(BatchLearner):
    """Minimise sum_i (1 / p(gold_i | x_i) - 1) + c2 · |w|² by L-BFGS.

    What is minimised, and reported as the objective, is log(sum_i 1 / p_i + c2 · |w|²): the same minimum, and no
    overflow where some p_i is e^-1000. The other parameters are those of the CRF.
    """

    c2: float = 1.0
    epochs: int = 1000
    tolerance: float = 1e-5
    precision: Literal["single", "double"] = "double"

    constraints: ClassVar[Constraints] = {
        **BatchLearner.constraints,
        "c2": real(),
        "epochs": whole(1),
        "tolerance": real(),
        "precision": choice("single", "double"),
    }

    abilities = ALL_ABILITIES - {"beam"}  # sums go over all paths

    def begin(self, problem: Problem) -> Descent:
        """The weights in training."""
        parameters = problem.vector(self)
        objective = parameters.objective(local=False, single=self.precision == "single")

        def function(x: Doubles) -> tuple[float, Doubles]:
            return log_exponential_loss(objective, x, self.c2, problem.sentence_weights, problem.n_threads)

        return Descent(problem, parameters, function, epochs=self.epochs, tolerance=self.tolerance)


def log_exponential_loss(
    objective: _core.Objective, x: Doubles, c2: float, sentence_weights: Doubles | None, n_threads: int
) -> tuple[float, Doubles]:
    """R = log(sum_i D_i / p_i + c2 · |x|²) and its gradient, that of the sum over exp(R)."""
    logs = objective.losses(x, n_threads)  # -log p_i
    if sentence_weights is not None:
        with np.errstate(divide="ignore"):
            logs = logs + np.log(sentence_weights)
    penalty = c2 * _core.dot(x, x)
    parts = np.append(logs, math.log(penalty)) if penalty > 0 else logs
    top = float(parts.max())
    value = top + math.log(float(np.exp(parts - top).sum()))
    _, gradient = objective.gradient(x, np.exp(logs - value), n_threads)
    if penalty > 0:
        gradient += 2 * c2 * math.exp(-value) * x
    return value, gradient
