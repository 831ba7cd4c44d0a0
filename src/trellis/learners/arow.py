"""Adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009) for chains, with a diagonal covariance.

Advantages: weights seen often settle, rare ones still move; few epochs are enough. Disadvantage: r to tune, and one
more number a weight while it trains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trellis.learning.epochs import run_epochs
from trellis.learning.events import Event, Observer
from trellis.learning.online import OnlineRun, check, check_epochs
from trellis.learning.problem import Problem
from trellis.model.weights import ChainWeights


@dataclass(frozen=True, slots=True)
class AROW:
    """Every weight has a variance V, 1 at first; steps go along V and make it smaller.

    With y the best path by score + cost, d = Phi(gold) - Phi(y) and loss = cost(y) - (score(gold) - score(y)) > 0:
    w += loss / (d · V d + r) · V d, then 1 / V += d² / r. Not averaged, unless ``average`` says so: variances
    already keep weights from swinging.
    """

    r: float = 10.0
    epochs: int = 10
    average: bool = False
    shuffle: bool = False
    seed: int = 0

    reads_costs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check("r", self.r)
        check_epochs(self.epochs, self.seed)

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        online = OnlineRun(problem, "AROW", average=self.average, c=self.r)
        return run_epochs(
            problem, online, epochs=self.epochs, shuffle=self.shuffle, seed=self.seed, observer=observer
        )
