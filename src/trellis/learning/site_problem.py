"""Training over structures that native code knows: features are templates at sites, weights grow as they are met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Doubles, Ints, Longs
from trellis._support.errors import LearnerError
from trellis.learning.online import NativeWeights
from trellis.learning.problem import FlatVector, Problem

if TYPE_CHECKING:
    from trellis.learning.learner import OnlineOptions


@dataclass(frozen=True, slots=True)
class SiteWeights:
    """What a learner has learnt, as named arrays."""

    arrays: Mapping[str, npt.NDArray[Any]]

    def tensors(self) -> Arrays:
        """The same, for files."""
        return dict(self.arrays)


@dataclass(frozen=True, slots=True)
class SiteProblem(Problem):
    """Sentences with their trees, of either parser.

    ``initial``, where there is a warm start, has ``state(state)``, the state of new native weights with its own weights
    in it, and ``vector(learnt)``, these as a vector where ``learnt`` is what a vector of ones stands for.
    """

    gold: Ints  # what stands in right outputs, one number per part
    n_examples: int
    examples: Any  # the same for native code
    native: Callable[[str, int, float], Any]  # weights in native code, by a rule, k outputs and a constant
    objective: Callable[[], tuple[_core.Objective, Callable[[Doubles], Any]]]  # and what a vector stands for

    @property
    def n_sentences(self) -> int:
        """How many examples there are."""
        return self.n_examples

    def online(self, options: OnlineOptions) -> NativeWeights:
        """Weights for an online learner (core/learn/trees.hpp, core/learn/phrases.hpp)."""
        if options.vote:
            raise LearnerError("vote is for chains and for trellis.tasks.structured; omit it")

        def make() -> Any:
            native = self.native(*options.rule_settings)
            if self.initial is not None:
                # A pass over no sentence notes what right trees have, such as the attributes of a parser's filter.
                native.epoch(self.examples, np.empty(0, np.int64), None)
                native.restore(self.initial.state(native.state()))
            return native

        def pass_over(native: Any, order: Longs, block: SiteProblem) -> Any:
            return native.epoch(block.examples, order, block.sentence_weights, options.batch, block.n_threads)

        return NativeWeights(make, pass_over, lambda native, average: SiteWeights(native.weights(average)))

    def flat_vector(self) -> FlatVector:
        """Weights of what right trees have (core/learn/tree_sums.hpp, core/learn/phrase_sums.hpp)."""
        native, learnt = self.objective()
        first = np.zeros(native.n_parameters)
        if self.initial is not None:
            first = self.initial.vector(learnt(np.ones(len(first))))

        def objective_of(kept: Bools | None) -> _core.Objective:
            if kept is not None:  # as the L1 penalty asks for
                raise LearnerError("a parser is trained without an L1 penalty; leave out c1")
            return native

        return FlatVector(first, objective_of, lambda vector: SiteWeights(learnt(vector)))

    def weights_of(self, tensors: Arrays) -> SiteWeights:
        """Weights from a checkpoint."""
        return SiteWeights(tensors)
