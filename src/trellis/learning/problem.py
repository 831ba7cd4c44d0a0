"""What a learner trains on: n examples, whatever their structure, and native objects that learn from them.

A learner asks a `Problem` for one of three objects, and the one loop (run.py) drives it epoch by epoch:

    problem.online(options)         NativeWeights   change example by example: perceptron, MIRA, AROW, ...
    problem.margins(C, zero_one)    MarginWeights   the same with dual variables: Frank-Wolfe
    problem.vector(learner)         FlatVector      one flat vector with an objective: CRF, exponential loss

`NativeRun` (online.py) drives the first two; checkpoints hold their state as named arrays. The structures are chains
(`ChainProblem`), any structure with named features (`FeatureProblem`), and the trees of parsers (`SiteProblem`).
Learners of chains alone ask ``chains_of`` for a `ChainProblem`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Arrays, Bools, Doubles, Ints, Longs
from trellis._support.errors import LearnerError

if TYPE_CHECKING:
    from trellis.learning.checkpoint import Checkpoint
    from trellis.learning.descent import BatchLearner
    from trellis.learning.learner import OnlineOptions
    from trellis.learning.parameters import Parameters
    from trellis.learning.sums import Parts

State = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class NativeWeights:
    """How weights in native code that change example by example are made, changed and read."""

    make: Callable[[], Any]  # new ones, at zero or at those of a warm start
    # One pass over the examples in that order: (wrong parts, examples that made a step); with dual variables also the
    # gaps as they were met.
    pass_over: Callable[[Any, Longs], Any]
    learnt: Callable[[Any, bool], Any]  # the weights to predict with: the last ones, or their average
    examples: tuple[Any, ...] = ()  # what a state is checked against


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginWeights(NativeWeights):
    """Weights with dual variables of every example: native code has ``dual`` and ``renew``."""

    renewed: Callable[[Any], None]  # weights and dual anew from the dual variables, without what rounding added
    losses: Callable[[Any], Doubles]  # the hinge loss of every example, by any weights


@dataclass(frozen=True, slots=True)
class FlatVector:
    """The weights of a fixed set of features, or some of them, as one vector."""

    first: Doubles  # where training begins
    objective_of: Callable[[Bools | None], _core.Objective]  # of all weights, or of some
    weights: Callable[[Doubles], Any]  # what a vector stands for
    kept: Bools | None = None

    @property
    def size(self) -> int:
        """How many weights there are."""
        return len(self.first)

    def start(self) -> Doubles:
        """Where training begins."""
        return self.first.copy()

    def objective(self, *, local: bool, single: bool) -> _core.Objective:
        """Losses and gradients as functions of the vector, in double precision."""
        return self.objective_of(self.kept)

    def only(self, kept: Bools) -> FlatVector:
        """Some of the weights."""
        return replace(self, first=self.first[kept], kept=kept)


@dataclass(frozen=True, slots=True)
class Problem:
    """A training problem: the examples, how much each counts, and what the loop does between epochs."""

    gold: npt.NDArray[np.int32 | np.int64]  # what stands in right outputs, one number per part
    n_sentences: int  # number of examples
    _: KW_ONLY
    n_threads: int = 1
    sentence_weights: Doubles | None = None  # [n_sentences] how much each example counts
    score_dev: Callable[[Any], float] | None = None  # of weights
    patience: int | None = None  # epochs without a better dev score after which to stop
    checkpoint: Checkpoint | None = None  # the file that training resumes from
    initial: Any = None  # weights of a warm start
    unit: str = "tokens"  # what examples are made of
    # Where other processes have the examples, and this one only the first: the parts of all.
    parts: Callable[[Any], Parts] | None = None

    @property
    def is_stepwise(self) -> bool:
        """Whether outputs are searched from left to right by a beam, so that updates may be early."""
        return False

    def online(self, options: OnlineOptions) -> NativeWeights:
        """Weights for an online learner."""
        raise NotImplementedError

    def margins(self, C: float, zero_one: bool) -> MarginWeights:
        """Weights and dual variables for Frank-Wolfe."""
        raise LearnerError("Frank-Wolfe does not train parsers; use another learner")

    def vector(self, learner: BatchLearner) -> Parameters | FlatVector:
        """Weights for a batch learner; LearnerError for its options of chains."""
        for name, value in (("transitions", "all"), ("start", False), ("precision", "single")):
            if getattr(learner, name, None) == value:
                raise LearnerError(f"{name}={value!r} has an effect only for chains; omit it")
        return self.flat_vector()

    def flat_vector(self) -> FlatVector:
        """Weights of a structure without label pairs."""
        raise NotImplementedError

    def weights_of(self, tensors: Arrays) -> Any:
        """Weights from a checkpoint; ValueError or LookupError if they are not weights of this problem."""
        raise NotImplementedError

    @property
    def head(self) -> tuple[int, float]:
        """The first examples, of `HEAD` tokens, and their share of all tokens."""
        return self.n_sentences, 1.0

    @property
    def shared(self) -> dict[str, Any]:
        """What processes with parts of the examples need to know of all of them."""
        return {}

    def shards(self, n: int) -> list[tuple[int, Longs]]:
        """The shards of ``n`` that have examples here: number and examples of each. LearnerError without shards."""
        raise LearnerError("shards are supported for taggers, segmenters and structured models only; omit them")

    def weigh(self, losses: Doubles) -> Doubles:
        """The loss of the first examples, as much as each counts."""
        return losses if self.sentence_weights is None else losses * self.sentence_weights[: len(losses)]


@dataclass(frozen=True, slots=True)
class SiteProblem(Problem):
    """Sentences with their trees, of either parser; weights are named arrays.

    ``initial``, where there is a warm start, has ``state(state)``, the state of new native weights with its own weights
    in it, and ``vector(learnt)``, these as a vector where ``learnt`` is what a vector of ones stands for.
    """

    gold: Ints  # what stands in right outputs, one number per part
    n_sentences: int
    examples: Any  # the same for native code
    native: Callable[[str, int, float], Any]  # weights in native code, by a rule, k outputs and a constant
    objective: Callable[[], tuple[_core.Objective, Callable[[Doubles], Arrays]]]  # and what a vector stands for

    def online(self, options: OnlineOptions) -> NativeWeights:
        """Weights for an online learner (core/learn/trees.hpp, core/learn/phrases.hpp)."""
        if options.vote:
            raise LearnerError("vote is supported for taggers and structured models only; omit it")

        def make() -> Any:
            native = self.native(*options.rule_settings)
            if self.initial is not None:
                # A pass over no sentence notes what right trees have, such as the attributes of a parser's filter.
                native.epoch(self.examples, np.empty(0, np.int64), None)
                native.restore(self.initial.state(native.state()))
            return native

        def pass_over(native: Any, order: Longs) -> Any:
            return native.epoch(self.examples, order, self.sentence_weights, options.batch, self.n_threads)

        return NativeWeights(make, pass_over, lambda native, average: native.weights(average))

    def flat_vector(self) -> FlatVector:
        """Weights of what right trees have (core/learn/tree_sums.hpp, core/learn/phrases.hpp)."""
        native, learnt = self.objective()
        first = np.zeros(native.n_parameters)
        if self.initial is not None:
            first = self.initial.vector(learnt(np.ones(len(first))))
        # There is no L1 penalty, which would ask for some of the weights.
        return FlatVector(first, lambda kept: native, learnt)

    def weights_of(self, tensors: Arrays) -> Arrays:
        """Weights from a checkpoint."""
        return tensors
