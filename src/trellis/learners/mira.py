"""The margin infused relaxed algorithm (Crammer and Singer 2003) for chains, by the k best paths (McDonald 2005).

Advantages: steps as large as the margin asks for, a cost for every kind of mistake. Disadvantage: one more constant, C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trellis.learning.learner import Constraints, Learner, Real, Whole
from trellis.learning.online import ONLINE, OnlineRun
from trellis.learning.problem import Problem


@dataclass(frozen=True, slots=True)
class MIRA(Learner):
    """The smallest change after which the gold path beats the k best others by what they cost.

    w' = argmin ½ |w' - w|² + C · xi  with  score(gold) - score(y) >= cost(y) - xi  for each of the ``k`` paths y that
    are the best by score + cost. The cost is the number of wrong labels, or what the costs of labels say. With k = 1
    the step is min(C, loss / |d|²) · d, d = Phi(gold) - Phi(y); else a small quadratic programme, solved to a
    relative 1e-9.
    """

    k: int = 1
    C: float = 0.1
    epochs: int = 10
    average: bool = True
    shuffle: bool = False
    seed: int | None = None

    reads_costs = True
    constraints: ClassVar[Constraints] = {"k": Whole(1, 2**31 - 1), "C": Real(above=True), **ONLINE}

    def begin(self, problem: Problem) -> OnlineRun:
        """The weights in training."""
        given = self.effective()
        return OnlineRun(problem, "MIRA", c=given.pop("C"), **given)
