"""Adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009) for chains, with a diagonal covariance.

Advantages: weights seen often settle, rare ones still move; few epochs are enough. Disadvantage: r to tune, and one
more number per weight in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trellis.learning.learner import Constraints, real
from trellis.learning.online import MiniBatchLearner


@dataclass(frozen=True, slots=True, kw_only=True)
class AROW(MiniBatchLearner):
    """Every weight has a variance V, 1 at first; steps go along V and make it smaller.

    With y the best path by score + cost, d = Phi(gold) - Phi(y) and loss = cost(y) - (score(gold) - score(y)) > 0:
    w += loss / (d · V d + r) · V d, then 1 / V += d² / r. Not averaged, unless ``average`` says so: variances
    already keep weights from swinging.
    """

    r: float = 10.0
    average: bool = False

    rule, constant = "AROW", "r"
    reads_costs = True
    constraints: ClassVar[Constraints] = {"r": real(above=True), **MiniBatchLearner.constraints}
