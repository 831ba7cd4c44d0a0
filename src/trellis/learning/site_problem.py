"""Training over structures that native code knows: features are templates at sites, weights grow as they are met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Arrays, Doubles, Ints, Longs
from trellis._support.errors import LearnerError
from trellis.learning.online import NativeWeights
from trellis.learning.problem import FlatVector, Problem, StateParts

if TYPE_CHECKING:
    from trellis.learning.learner import OnlineOptions


@dataclass(frozen=True, slots=True)
class SiteProblem(Problem):
    """Sentences with their trees, of either parser; weights are named arrays.

    ``initial``, where there is a warm start, has ``state(state)``, the state of new native weights with its own weights
    in it, and ``vector(learnt)``, these as a vector where ``learnt`` is what a vector of ones stands for.
    """

    gold: Ints  # what stands in right outputs, one number per part
    n_sentences: int
    native: Callable[[str, int, float], Any]  # weights in native code, by a rule, k outputs and a constant
    parts: StateParts  # of the state of such weights
    objective: Callable[[], tuple[_core.Objective, Callable[[Doubles], Any]]]  # and what a vector stands for
    named: Callable[[Any], Arrays]  # weights as native code gives them, as named arrays
    examples: tuple[Any, ...] = ()  # what epochs take of them, where native weights do not hold it

    def online(self, options: OnlineOptions) -> NativeWeights:
        """Weights for an online learner (core/learn/trees.hpp, core/learn/phrases.hpp)."""
        if options.vote:
            raise LearnerError("vote is for taggers and structured models; omit it")

        def make() -> Any:
            native = self.native(*options.rule_settings)
            if self.initial is not None:
                # A pass over no sentence notes what right trees have, such as the attributes of a parser's filter.
                native.epoch(*self.examples, np.empty(0, np.int64), None, 1, 1)
                native.restore(*self.initial.state(native.state()))
            return native

        def pass_over(native: Any, order: Longs, block: SiteProblem) -> Any:
            return native.epoch(*block.examples, order, block.sentence_weights, options.batch, block.n_threads)

        return NativeWeights(make, self.parts, pass_over, lambda native, average: self.named(native.weights(average)))

    def flat_vector(self) -> FlatVector:
        """Weights of what right trees have (core/learn/tree_sums.hpp, core/learn/phrase_sums.hpp)."""
        native, learnt = self.objective()
        first = np.zeros(native.n_parameters)
        if self.initial is not None:
            first = self.initial.vector(learnt(np.ones(len(first))))
        # There is no L1 penalty, which would ask for some of the weights.
        return FlatVector(first, lambda kept: native, lambda vector: self.named(learnt(vector)))

    def weights_of(self, tensors: Arrays) -> Arrays:
        """Weights from a checkpoint."""
        return tensors
