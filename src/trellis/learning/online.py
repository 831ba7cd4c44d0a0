"""What all online learners share: weights that change example by example."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from trellis._support.arrays import Longs
from trellis.learning.learner import (
    ALL_ABILITIES,
    DEFAULT_UPDATE,
    Ability,
    Constraints,
    Learner,
    OnlineOptions,
    check_update,
    choice,
    flag,
    whole,
)
from trellis.learning.problem import NativeWeights, Problem, State
from trellis.learning.run import Event, Work, sentence_order

Update = Literal["standard", "early", "max-violation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineLearner(Learner):
    """What all online learners have. ``shuffle``: sentences in another order in each epoch, the same for a ``seed``."""

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
        """All there are."""
        return ALL_ABILITIES


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBatchLearner(OnlineLearner):
    """Online learners that decode ``batch`` sentences by the same weights, on all threads, then step in order.

    ``update`` says on what they update where a beam search from left to right went wrong: "standard", on the whole
    output; "early", on what it was when the right one first fell out of the beam; "max-violation" (the default), where
    it exceeded the right one most.
    """

    batch: int = 1
    update: Update | None = None

    rule: ClassVar[str]  # of native code, unless there is a parameter ``variant``
    constant: ClassVar[str] = ""  # the parameter that is the constant c of the rule

    constraints: ClassVar[Constraints] = {
        **OnlineLearner.constraints,
        "batch": whole(1, 2**16),
        "update": choice(*get_args(Update), default=None),
    }

    def begin(self, problem: Problem) -> OnlineRun:
        """The weights in training."""
        given = self.effective()  # with a seed where it shuffles
        del given["shuffle"]
        rule = given.pop("variant", None) or self.rule
        return OnlineRun(problem, rule, c=given.pop(self.constant, 1.0), **given)


class NativeRun(Work):
    """A training of weights in native code."""

    def __init__(self, problem: Problem, about: NativeWeights, epochs: int, average: bool) -> None:
        self.problem, self.about, self.epochs, self.average = problem, about, epochs, average
        self.native = about.make()

    def epoch(self, order: Longs, block: Any) -> Any:
        """One pass over the examples of a block in that order."""
        return self.about.pass_over(self.native, order, block)

    def weights(self) -> Any:
        """The weights to predict with, were the training over now."""
        return self.about.learnt(self.native, self.average)

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        state: State = self.native.state()
        return state

    def _restore(self, state: State) -> None:
        native = self.about.make()
        native.restore(dict(state), *self.about.examples)
        self.native = native


class OnlineRun(NativeRun):
    """The training of an online learner: a rule for the size of steps, with k outputs and a constant c."""

    def __init__(self, problem: Problem, rule: str, **options: Any) -> None:
        given, stepwise = OnlineOptions(rule=rule, **options), problem.is_stepwise
        check_update(given.update, stepwise=stepwise)
        update = given.update or (DEFAULT_UPDATE if stepwise else "standard")
        self.options = replace(given, update=update)
        super().__init__(problem, problem.online(self.options), given.epochs, given.average)

    def step(self, number: int) -> Event:
        """One pass over all examples."""
        problem = self.problem
        mistakes, updates = self.epoch(sentence_order(problem.n_sentences, number, self.options.seed), problem)
        wrong_parts: Any = {"violations" if self.options.is_augmented else "mistakes": mistakes}
        return Event(number, updates=updates, **wrong_parts)
