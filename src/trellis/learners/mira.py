"""The margin infused relaxed algorithm (Crammer and Singer 2003) for chains, by the k best paths (McDonald 2005).

Advantages: steps as large as the margin asks for, a cost for every kind of mistake. Disadvantage: one more constant, C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trellis.learning.learner import Constraints, real, whole
from trellis.learning.online import MiniBatchLearner


@dataclass(frozen=True, slots=True, kw_only=True)
class MIRA(MiniBatchLearner):
    """The smallest change after which the gold path beats the k best others by what they cost.

    w' = argmin ½ |w' - w|² + C · xi  with  score(gold) - score(y) >= cost(y) - xi  for each of the ``k`` paths y that
    are the best by score + cost. The cost is the number of wrong labels, or what the costs of labels say. With k = 1
    the step is min(C, loss / |d|²) · d, d = Phi(gold) - Phi(y); else a small quadratic programme, solved to a
    relative 1e-9.
    """

    k: int = 1
    C: float = 0.1
    epochs: int = 15

    rule, constant = "MIRA", "C"
    reads_costs = True
    constraints: ClassVar[Constraints] = {
        "k": whole(1, 2**31 - 1),
        "C": real(above=True),
        **MiniBatchLearner.constraints,
    }
