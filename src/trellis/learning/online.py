"""Base class of online learners: weights are updated example by example."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from trellis._support.arrays import Longs
from trellis.learning.learner import (
    ALL_ABILITIES,
    DEFAULT_UPDATE,
    Ability,
    Constraints,
    Learner,
    OnlineOptions,
    check_update,
    flag,
    whole,
)
from trellis.learning.problem import NativeWeights, Problem, State
from trellis.learning.run import Event, Work, sentence_order


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineLearner(Learner):
    """Base class of online learners.

    Parameters
    ----------
    epochs
        Number of passes over the corpus.
    average
        Use the mean of the weights over all steps instead of the last weights.
    shuffle
        Visit the sentences in another order in each epoch.
    seed
        Seed of the order.
    """

    epochs: int = 10
    average: bool = True
    shuffle: bool = True
    seed: int = 0

    constraints: ClassVar[Constraints] = {
        "epochs": whole(1),
        "average": flag(),
        "shuffle": flag(),
        "seed": whole(only=("shuffle=True", lambda p: p["shuffle"])),
    }

    @property
    def abilities(self) -> frozenset[Ability]:
        """All abilities."""
        return ALL_ABILITIES


class NativeRun(Work):
    """A training of weights in native code."""

    def __init__(self, problem: Problem, weights: NativeWeights, epochs: int, average: bool) -> None:
        self.problem, self.native_weights, self.epochs, self.average = problem, weights, epochs, average
        self.native = weights.make()

    def epoch(self, order: Longs) -> Any:
        """Run one pass over the examples in the given order."""
        return self.native_weights.pass_over(self.native, order)

    def weights(self) -> Any:
        """The weights to predict with, were the training over now."""
        return self.native_weights.learnt(self.native, self.average)

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        state: State = self.native.state()
        return state

    def _restore(self, state: State) -> None:
        native = self.native_weights.make()
        native.restore(dict(state), *self.native_weights.examples)
        self.native = native


class OnlineRun(NativeRun):
    """Training of an online learner: an update rule with k outputs and a constant c."""

    def __init__(self, problem: Problem, rule: str, **options: Any) -> None:
        settings, stepwise = OnlineOptions(rule=rule, **options), problem.is_stepwise
        check_update(settings.update, stepwise=stepwise)
        update = settings.update or (DEFAULT_UPDATE if stepwise else "standard")
        self.options = replace(settings, update=update)
        super().__init__(problem, problem.online(self.options), settings.epochs, settings.average)

    def step(self, number: int) -> Event:
        """One pass over all examples."""
        return self.event(number, *self.epoch(sentence_order(self.problem.n_sentences, number, self.options.seed)))

    def event(self, number: int, mistakes: int, updates: int) -> Event:
        """Event of an epoch, with the numbers of wrong parts and of updates."""
        wrong_parts: Any = {"violations" if self.options.is_augmented else "mistakes": mistakes}
        return Event(number, updates=updates, **wrong_parts)
