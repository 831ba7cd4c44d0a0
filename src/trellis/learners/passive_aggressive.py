"""Passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006) for chains.

Advantages: as quick as the perceptron, with steps as large as the mistake. Disadvantage: C to tune against noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from trellis.learning.learner import Constraints, choice, real
from trellis.learning.online import MiniBatchLearner


@dataclass(frozen=True, slots=True, kw_only=True)
class PassiveAggressive(MiniBatchLearner):
    """Where the best path is wrong, the smallest change by which the gold path beats it by the root of its cost.

    Prediction-based: y is the best path by score alone, loss = sqrt(cost(y)) - (score(gold) - score(y)), and the step
    is a · d, d = Phi(gold) - Phi(y), with a = loss / |d|² (``variant`` "PA"), min(C, loss / |d|²) ("PA-I") or
    loss / (|d|² + 1 / 2C) ("PA-II"). The max-loss update is MIRA(k=1).
    """

    variant: Literal["PA", "PA-I", "PA-II"] = "PA-I"
    C: float = 1.0

    rule, constant = "PA-I", "C"
    reads_costs = True
    constraints: ClassVar[Constraints] = {
        "variant": choice("PA", "PA-I", "PA-II"),
        "C": real(above=True, only=("PA-I and PA-II", lambda p: p["variant"] != "PA")),
        **MiniBatchLearner.constraints,
    }
