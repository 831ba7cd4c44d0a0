"""The margin infused relaxed algorithm (Crammer and Singer 2003) for chains, by the k best paths (McDonald 2005).

Advantages: steps as large as the margin asks for, a cost for every kind of mistake. Disadvantage: one more constant, C.
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
class MIRA:
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
    seed: int = 0

    reads_costs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check("k", self.k, at_least=1)
        check("C", self.C)
        check_epochs(self.epochs, self.seed)

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        online = OnlineRun(problem, "MIRA", average=self.average, k=self.k, c=self.C)
        return run_epochs(
            problem, online, epochs=self.epochs, shuffle=self.shuffle, seed=self.seed, observer=observer
        )
