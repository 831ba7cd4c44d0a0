"""Training problems: n examples of any structure, and the native objects that learn from them.

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
    """Functions that make, change and read native weights of online learners.

    Attributes
    ----------
    make
        Makes new weights, zero or those of a warm start.
    pass_over
        Runs one pass over examples in an order; returns the number of wrong parts and of examples with a step.
    learnt
        Returns the weights to predict with: the last ones, or their average.
    examples
        Identity of the examples, which a checkpoint is checked against.
    """

    make: Callable[[], Any]
    pass_over: Callable[[Any, Longs], Any]
    learnt: Callable[[Any, bool], Any]
    examples: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginWeights(NativeWeights):
    """Native weights with dual variables of every example.

    Attributes
    ----------
    renewed
        Recomputes weights and dual objective from the dual variables, without rounding errors.
    losses
        Computes the hinge loss of every example.
    make
        Makes new weights.
    pass_over
        Runs one pass over examples in an order; its result includes the gaps.
    learnt
        Returns the weights to predict with: the last ones, or their average.
    examples
        Identity of the examples, which a checkpoint is checked against.
    """

    renewed: Callable[[Any], None]
    losses: Callable[[Any], Doubles]


@dataclass(frozen=True, slots=True)
class FlatVector:
    """Weights of a fixed set of features, or of a part of them, as one vector.

    Attributes
    ----------
    first
        Initial values.
    objective_of
        Makes the objective of all weights, or of some.
    weights
        Makes the weights of a model from a vector.
    mask
        Weights that are in the vector; None: all.
    """

    first: Doubles
    objective_of: Callable[[Bools | None], _core.Objective]
    weights: Callable[[Doubles], Any]
    mask: Bools | None = None

    @property
    def size(self) -> int:
        """Number of weights."""
        return len(self.first)

    def start(self) -> Doubles:
        """Get the initial values.

        Returns
        -------
        Doubles
            The vector.
        """
        return self.first.copy()

    def objective(self, *, local: bool, single: bool) -> _core.Objective:
        """Make the objective: losses and gradients as functions of the vector, in double precision.

        Parameters
        ----------
        local
            Ignored; for chains.
        single
            Ignored; for chains.

        Returns
        -------
        _core.Objective
            The objective.
        """
        return self.objective_of(self.mask)

    def only(self, mask: Bools) -> FlatVector:
        """Restrict the vector to some weights.

        Parameters
        ----------
        mask
            For each weight whether it stays.

        Returns
        -------
        FlatVector
            The shorter vector.
        """
        return replace(self, first=self.first[mask], mask=mask)


@dataclass(frozen=True, slots=True)
class Problem:
    """A training problem: examples, their weights, and the work between epochs.

    Attributes
    ----------
    gold
        Gold output, one number per part.
    n_sentences
        Number of examples.
    n_threads
        Number of threads.
    sentence_weights
        [n_sentences] weight of each example.
    score_dev
        Function from weights to a score on held-out data.
    patience
        Number of epochs without a better score after which training stops.
    checkpoint
        File that training resumes from.
    initial
        Weights of a warm start.
    unit
        What examples consist of.
    parts
        With examples in other processes: function that returns the parts of all of them.
    """

    gold: npt.NDArray[np.int32 | np.int64]
    n_sentences: int
    _: KW_ONLY
    n_threads: int = 1
    sentence_weights: Doubles | None = None
    score_dev: Callable[[Any], float] | None = None
    patience: int | None = None
    checkpoint: Checkpoint | None = None
    initial: Any = None
    unit: str = "tokens"
    parts: Callable[[Any], Parts] | None = None

    @property
    def is_stepwise(self) -> bool:
        """Whether outputs are found by a beam search from left to right, which allows early updates."""
        return False

    def online(self, options: OnlineOptions) -> NativeWeights:
        """Make weights for an online learner.

        Parameters
        ----------
        options
            Options of the learner.

        Returns
        -------
        NativeWeights
            The weights.
        """
        raise NotImplementedError

    def margins(self, C: float, zero_one: bool) -> MarginWeights:
        """Make weights and dual variables for Frank-Wolfe.

        Parameters
        ----------
        C
            Weight of the slack variables.
        zero_one
            Whether the cost is 0 or 1.

        Returns
        -------
        MarginWeights
            The weights.
        """
        raise LearnerError("Frank-Wolfe does not train parsers; use another learner")

    def vector(self, learner: BatchLearner) -> Parameters | FlatVector:
        """Make a vector of weights for a batch learner.

        Parameters
        ----------
        learner
            The learner.

        Returns
        -------
        Parameters | FlatVector
            The vector.

        Raises
        ------
        LearnerError
            If the learner has options for chains only.
        """
        for name, value in (("transitions", "all"), ("start", False), ("precision", "single")):
            if getattr(learner, name, None) == value:
                raise LearnerError(f"{name}={value!r} has an effect only for chains; omit it")
        return self.flat_vector()

    def flat_vector(self) -> FlatVector:
        """Make a vector of weights of a structure without label pairs.

        Returns
        -------
        FlatVector
            The vector.
        """
        raise NotImplementedError

    def weights_of(self, tensors: Arrays) -> Any:
        """Read weights from a checkpoint.

        Parameters
        ----------
        tensors
            Arrays by name.

        Returns
        -------
        Any
            The weights.

        Raises
        ------
        ValueError, LookupError
            If they are not weights of this problem.
        """
        raise NotImplementedError

    @property
    def head(self) -> tuple[int, float]:
        """The first examples, up to `HEAD` tokens, and their fraction of all tokens."""
        return self.n_sentences, 1.0

    @property
    def shared(self) -> dict[str, Any]:
        """Facts about all examples that processes with parts of them need."""
        return {}

    def shards(self, n: int) -> list[tuple[int, Longs]]:
        """List the shards that have examples in this process.

        Parameters
        ----------
        n
            Number of shards.

        Returns
        -------
        list[tuple[int, Longs]]
            Number and examples of each.

        Raises
        ------
        LearnerError
            If the problem cannot be split into shards.
        """
        raise LearnerError("shards are supported for taggers, segmenters and structured models only; omit them")

    def weigh(self, losses: Doubles) -> Doubles:
        """Multiply losses by the weights of the examples.

        Parameters
        ----------
        losses
            Loss of each of the first examples.

        Returns
        -------
        Doubles
            Weighted losses.
        """
        return losses if self.sentence_weights is None else losses * self.sentence_weights[: len(losses)]


@dataclass(frozen=True, slots=True)
class SiteProblem(Problem):
    """Sentences with their trees, of either parser; weights are named arrays.

    ``initial``, where there is a warm start, has ``state(state)``, the state of new native weights with its own weights
    in it, and ``vector(learnt)``, these as a vector where ``learnt`` is what a vector of ones stands for.
    """

    gold: Ints  # gold outputs: one number per part
    n_sentences: int
    examples: Any  # the same examples for native code
    native: Callable[[str, int, float], Any]  # makes native weights from an update rule, k and a constant
    objective: Callable[[], tuple[_core.Objective, Callable[[Doubles], Arrays]]]  # and the meaning of its entries

    def online(self, options: OnlineOptions) -> NativeWeights:
        """Weights for an online learner (core/learn/trees.hpp, core/learn/phrases.hpp)."""
        if options.vote:
            raise LearnerError("vote is supported for taggers and structured models only; omit it")

        def make() -> Any:
            native = self.native(*options.rule_settings)
            if self.initial is not None:
                # A pass over no sentences records features of gold trees, such as the attributes of a parser's filter.
                native.epoch(self.examples, np.empty(0, np.int64), None)
                native.restore(self.initial.state(native.state()))
            return native

        def pass_over(native: Any, order: Longs) -> Any:
            return native.epoch(self.examples, order, self.sentence_weights, options.batch, self.n_threads)

        return NativeWeights(make, pass_over, lambda native, average: native.weights(average))

    def flat_vector(self) -> FlatVector:
        """Weights of the features of gold trees (core/learn/tree_sums.hpp, core/learn/phrases.hpp)."""
        native, learnt = self.objective()
        first = np.zeros(native.n_parameters)
        if self.initial is not None:
            first = self.initial.vector(learnt(np.ones(len(first))))
        # Restriction to some weights is only needed for an L1 penalty, which is not supported here.
        return FlatVector(first, lambda mask: native, learnt)

    def weights_of(self, tensors: Arrays) -> Arrays:
        """Weights from a checkpoint."""
        return tensors
