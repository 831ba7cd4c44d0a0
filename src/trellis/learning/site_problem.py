"""Training over structures that native code knows: features are templates at sites, weights grow as they are met.

`SiteProblem` is to learners what `Problem` is for chains; they run on it through the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from trellis._support.arrays import Arrays, Doubles, Ints, Longs
from trellis._support.errors import LearnerError
from trellis.learning.flat_vector import FlatVector
from trellis.learning.learner import OnlineOptions
from trellis.learning.run import Event, ExampleOrder, State, Work, restoring, wrong_parts

if TYPE_CHECKING:
    from trellis.learning.checkpoint import Checkpoint


class OnlineSites(Protocol):
    """Weights in native code that change example by example."""

    def epoch(self, order: Longs, weights: Doubles | None, batch: int, n_threads: int) -> tuple[int, int]:
        """One pass over the examples: (parts mistaken, examples that stepped)."""

    def weights(self, average: bool) -> Arrays:
        """The weights to predict with, as named arrays."""

    def state(self) -> Arrays:
        """Everything that a later epoch depends on."""

    def restore(self, state: State) -> None:
        """Continue from there; ValueError or LookupError if it is not a state of such weights."""


@dataclass(frozen=True, slots=True)
class SiteWeights:
    """What a learner has learnt, as named arrays."""

    arrays: Mapping[str, npt.NDArray[Any]]

    def tensors(self) -> Arrays:
        """The same, for files."""
        return dict(self.arrays)


@dataclass(frozen=True, slots=True)
class SiteProblem(ExampleOrder):
    """A training problem over examples that native code holds."""

    gold: Ints  # what stands in right outputs, one number per part
    n_examples: int
    n_threads: int
    online: Callable[[str, int, float], OnlineSites]  # by a rule, k outputs and a constant
    vector: Callable[[], FlatVector]  # for learners that go by gradients
    sentence_weights: Doubles | None = None  # [n_examples]
    score_dev: Callable[[SiteWeights], float] | None = None
    patience: int | None = None  # epochs without a better dev score after which to stop
    checkpoint: Checkpoint | None = None  # the file that training resumes from
    unit: str = "words"  # what examples are made of

    @property
    def n_sentences(self) -> int:
        """How many examples there are."""
        return self.n_examples

    @property
    def initial(self) -> None:
        """No warm start: solvers ask, and no structure but chains has it yet."""


class SiteRun(Work):
    """Weights in training by an online learner (core/learn/steps.hpp)."""

    def __init__(self, problem: SiteProblem, rule: str, **options: Any) -> None:
        given = OnlineOptions(**options)
        given.update_of(stepwise=False)
        if given.vote:
            raise LearnerError("vote is for chains and for trellis.tasks.structured; omit it")
        self.problem, self.average, self.batch = problem, given.average, given.batch
        self.epochs, self.seed = given.epochs, given.seed_of_order
        self.rule, self.native = rule, problem.online(rule, given.k, given.c)

    def step(self, number: int) -> Event:
        """One pass over all examples."""
        problem = self.problem
        order = problem.sentence_order(number, self.seed)
        mistakes, updates = self.native.epoch(order, problem.sentence_weights, self.batch, problem.n_threads)
        return Event(number, updates=updates, **wrong_parts(self.rule, mistakes))

    def weights(self) -> SiteWeights:
        """The weights to predict with, were the training over now."""
        return SiteWeights(self.native.weights(self.average))

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        return self.native.state()

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        with restoring():
            self.native.restore(state)
