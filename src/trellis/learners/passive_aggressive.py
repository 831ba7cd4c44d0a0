"""Passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006) for chains.

Advantages: as quick as the perceptron, with steps as large as the mistake. Disadvantage: C to tune against noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from trellis.errors import LearnerError
from trellis.learning.epochs import run_epochs
from trellis.learning.events import Event, Observer
from trellis.learning.online import OnlineRun, check, check_epochs
from trellis.learning.problem import Problem
from trellis.model.weights import ChainWeights


@dataclass(frozen=True, slots=True)
class PassiveAggressive:
    """Where the best path is wrong, the smallest change by which the gold path beats it by the root of its cost.

    Prediction-based: y is the best path by score alone, loss = sqrt(cost(y)) - (score(gold) - score(y)), and the step
    is a · d, d = Phi(gold) - Phi(y), with a = loss / |d|² (``variant`` "PA"), min(C, loss / |d|²) ("PA-I") or
    loss / (|d|² + 1 / 2C) ("PA-II"). The max-loss update is MIRA(k=1).
    """

    variant: Literal["PA", "PA-I", "PA-II"] = "PA-I"
    C: float = 1.0
    epochs: int = 10
    average: bool = True
    shuffle: bool = False
    seed: int = 0

    reads_costs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.variant not in ("PA", "PA-I", "PA-II"):
            raise LearnerError(f"variant must be PA, PA-I or PA-II, not {self.variant!r}")
        check("C", self.C)
        check_epochs(self.epochs, self.seed)

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        online = OnlineRun(problem, self.variant, average=self.average, c=self.C)
        return run_epochs(
            problem, online, epochs=self.epochs, shuffle=self.shuffle, seed=self.seed, observer=observer
        )
