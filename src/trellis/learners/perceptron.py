"""The structured perceptron of Collins 2002 (figure 1), averaged (section 2.5) or voted (section 3.2).

The loop itself is core/learn/online.cpp; experiments.reference.steps has it in NumPy.

Advantages: nothing to tune but the number of epochs, quick, good. Disadvantage: scores are not probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trellis.learning.learner import ALL_ABILITIES, Ability, Constraints, flag
from trellis.learning.online import MiniBatchLearner


@dataclass(frozen=True, slots=True, kw_only=True)
class Perceptron(MiniBatchLearner):
    """Decode each sentence; where the best path is wrong, add the gold path's features and subtract its own.

    ``average`` gives the mean of the weights over all moments of training instead of the last ones: almost always
    better. ``vote`` keeps the weights of all moments and tags with the path that most of them find the best, the one
    first voted for among equals; the other weights are for scores and k best.
    """

    vote: bool = False

    rule = "perceptron"
    constraints: ClassVar[Constraints] = {**MiniBatchLearner.constraints, "vote": flag()}

    @property
    def abilities(self) -> frozenset[Ability]:
        """Votes are kept by labels alone."""
        return ALL_ABILITIES - {"parts", "histories", "beam", "segments", "trees"} if self.vote else ALL_ABILITIES
