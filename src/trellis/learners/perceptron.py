"""The structured perceptron of Collins 2002 (figure 1), averaged (section 2.5) or voted (section 3.2).

Advantages: nothing to tune but the number of epochs, quick, good. Disadvantage: scores are not probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

from trellis.learning.epochs import run_epochs
from trellis.learning.events import Event, Observer
from trellis.learning.online import OnlineRun, check_epochs
from trellis.learning.problem import Problem
from trellis.model.weights import ChainWeights


@dataclass(frozen=True, slots=True)
class Perceptron:
    """Decode each sentence; where the best path is wrong, add the gold path's features and take away its own.

    ``average`` gives the mean of the weights over all moments of training instead of the last ones: almost always
    better. ``vote`` keeps the weights of all moments and tags with the path that most of them find the best, the one
    first voted for among equals; the other weights are for scores and k best. ``shuffle`` takes the sentences in
    another order each epoch, the same for the same ``seed``.
    """

    epochs: int = 10
    average: bool = True
    vote: bool = False
    shuffle: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_epochs(self.epochs, self.seed)

    def fit(self, problem: Problem, observer: Observer | None) -> tuple[ChainWeights, list[Event]]:
        """Train; gives the weights to tag with and the history."""
        online = OnlineRun(problem, "perceptron", average=self.average, vote=self.vote)
        return run_epochs(
            problem, online, epochs=self.epochs, shuffle=self.shuffle, seed=self.seed, observer=observer
        )
