"""Training over structures that native code knows: features are templates at sites, weights grow as they are met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Doubles, Ints, Longs
from trellis._support.errors import LearnerError
from trellis.learning.problem import NativeWeights, Problem, StateParts

if TYPE_CHECKING:
    from trellis.learning.learner import OnlineOptions

NO_L1 = "a parser is trained without an L1 penalty; leave out c1"


@dataclass(frozen=True, slots=True)
class SiteWeights:
    """What a learner has learnt, as named arrays."""

    arrays: Mapping[str, npt.NDArray[Any]]

    def tensors(self) -> Arrays:
        """The same, for files."""
        return dict(self.arrays)


class SiteStart(Protocol):
    """Weights of a warm start, by attribute."""

    def state(self, state: Any) -> tuple[Any, ...]:
        """The state of new native weights, with these weights in it."""

    def vector(self, learnt: Any) -> Doubles:
        """These weights as a vector; ``learnt`` is what a vector of ones stands for."""


@dataclass(frozen=True, slots=True)
class SiteProblem(Problem):
    """Sentences with their trees, of either parser; ``initial`` is a `SiteStart`."""

    gold: Ints  # what stands in right outputs, one number per part
    n_examples: int
    native: Callable[[str, int, float], Any]  # weights in native code, by a rule, k outputs and a constant
    parts: StateParts  # of the state of such weights
    objective: Callable[[], tuple[_core.Objective, Callable[[Doubles], Any]]]  # and what a vector stands for
    named: Callable[[Any], Arrays]  # weights as native code gives them, as named arrays
    examples: tuple[Any, ...] = ()  # what epochs take of them, where native weights do not hold it

    @property
    def n_sentences(self) -> int:
        """How many examples there are."""
        return self.n_examples

    @property
    def n_parts(self) -> int:
        """How many parts right outputs have."""
        return len(self.gold)

    def online(self, options: OnlineOptions) -> SiteOnline:
        """Weights for an online learner."""
        if options.vote:
            raise LearnerError("vote is for chains and for trellis.tasks.structured; omit it")
        return SiteOnline(self, options)

    def flat_vector(self) -> SiteVector:
        """Weights for a batch learner."""
        return SiteVector(self, *self.objective())

    def weights_of(self, tensors: Arrays) -> SiteWeights:
        """Weights from a checkpoint."""
        return SiteWeights(tensors)


class SiteOnline(NativeWeights):
    """Weights that change sentence by sentence (core/learn/trees.hpp, core/learn/phrases.hpp)."""

    def __init__(self, problem: SiteProblem, options: OnlineOptions) -> None:
        self.problem, self.options, self.parts = problem, options, problem.parts
        self.native = self.begin()

    def begin(self) -> Any:
        """New native weights, at zero or at those of a warm start."""
        problem = self.problem
        native = problem.native(*self.options.rule_settings)
        if problem.initial is not None:
            # A pass over no sentence notes what right trees have, such as the attributes of a parser's filter.
            native.epoch(*problem.examples, np.empty(0, np.int64), None, 1, 1)
            native.restore(*problem.initial.state(native.state()))
        return native

    def epoch(self, order: Longs, block: SiteProblem) -> tuple[int, int]:
        """One pass over the sentences: (wrong parts, sentences that made a step)."""
        settings = (block.sentence_weights, self.options.batch, block.n_threads)
        return self.native.epoch(*block.examples, order, *settings)  # type: ignore[no-any-return]

    def weights(self, average: bool) -> SiteWeights:
        """The weights to predict with."""
        return SiteWeights(self.problem.named(self.native.weights(average)))


@dataclass(frozen=True, slots=True)
class SiteVector:
    """Weights of what right trees have, as one vector (core/learn/tree_sums.hpp, core/learn/phrase_sums.hpp)."""

    problem: SiteProblem
    native: _core.Objective
    learnt: Callable[[Doubles], Any]  # what a vector stands for, as native code gives it

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.native.n_parameters

    def start(self) -> Doubles:
        """Zero, or the weights of a warm start."""
        initial = self.problem.initial
        return np.zeros(self.size) if initial is None else initial.vector(self.learnt(np.ones(self.size)))

    def objective(self, *, local: bool, single: bool) -> _core.Objective:
        """Losses and gradients as functions of the vector."""
        return self.native

    def weights(self, vector: Doubles) -> SiteWeights:
        """What a vector stands for."""
        return SiteWeights(self.problem.named(self.learnt(vector)))

    def only(self, kept: Bools) -> SiteVector:
        """LearnerError: the L1 penalty asks for some of the weights alone."""
        raise LearnerError(NO_L1)
