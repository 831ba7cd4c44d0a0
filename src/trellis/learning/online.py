"""What all online learners share: weights that change example by example."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from trellis.learning.learner import ALL_ABILITIES, Ability, Constraints, Learner, OnlineOptions, choice, flag, whole
from trellis.learning.problem import Problem, State
from trellis.learning.run import Event, Work, restoring, sentence_order, wrong_parts

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
    streams = True

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

    constraints: ClassVar[Constraints] = {
        **OnlineLearner.constraints,
        "batch": whole(1, 2**16),
        "update": choice(*get_args(Update), default=None),
    }


class OnlineRun(Work):
    """The training of an online learner: a rule for the size of steps, with k outputs and a constant c."""

    def __init__(self, problem: Problem, rule: str, **options: Any) -> None:
        given = OnlineOptions(rule=rule, **options)
        self.problem, self.options = problem, replace(given, update=given.update_of(stepwise=problem.is_stepwise))
        self.epochs, self.seed = given.epochs, given.seed_of_order
        self.native = problem.online(self.options)

    def step(self, number: int) -> Event:
        """One pass over all examples."""
        mistakes = updates = parts = 0
        for block in self.problem.in_blocks():
            wrong, stepped = self.native.epoch(sentence_order(block, number, self.seed), block)
            mistakes, updates, parts = mistakes + wrong, updates + stepped, parts + block.n_parts
            del block  # before the next one is made
        return Event(number, tokens=parts, updates=updates, **wrong_parts(self.options.rule, mistakes))

    def weights(self) -> Any:
        """The weights to predict with, were the training over now."""
        return self.native.weights(self.options.average)

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        return self.native.state()

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        with restoring():
            self.native.restore(state)
