"""What HMSVM and KernelPerceptron share: chains learnt in the dual, by kernels (core/dual_chain.hpp)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.errors import LearnerError
from trellis.learning.checks import check_above_zero, check_at_least
from trellis.learning.problem import Problem
from trellis.model.dual import Dual, Support
from trellis.model.kernels import Expansion, Kernel, KernelFunction, Observations
from trellis.model.weights import ChainWeights, Rows

NAMES = ("linear", "poly", "rbf")
_SEQUENCES = ("sentence", "alpha", "past", "paths")


def check_kernel(learner: Any) -> None:
    """The parameters of a kernel: kernel, degree, gamma, coef0, memory."""
    if not callable(learner.kernel) and learner.kernel not in NAMES:
        listed = ", ".join(repr(name) for name in NAMES)
        raise LearnerError(f"kernel must be {listed} or a function, not {learner.kernel!r}")
    if not isinstance(learner.degree, int) or not 1 <= learner.degree <= 100:
        raise LearnerError(f"degree must be a whole number from 1 to 100, not {learner.degree!r}")
    if learner.gamma is not None:
        check_above_zero(learner, "gamma")
    check_at_least(learner, 0, "coef0", "memory")
    if not all(np.isfinite(value) for value in (learner.gamma or 1.0, learner.coef0, learner.memory)):
        raise LearnerError("gamma, coef0 and memory must be finite")


def told(learner: Any) -> str:
    """The learner as text that is the same in every process: of a kernel that is a function, its name."""
    parts = []
    for name in (field.name for field in fields(learner)):
        value = getattr(learner, name)
        if callable(value):
            value = (
                f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
            )
        parts.append(f"{name}={value!r}")
    return f"{type(learner).__name__}({', '.join(parts)})"


class DualRun:
    """The working sets of label sequences while training goes on."""

    def __init__(self, problem: Problem, learner: Any, *, average: bool = False) -> None:
        name = type(learner).__name__
        if problem.partial is not None and (problem.gold < 0).any():
            raise LearnerError(f"{name} needs every label; leave sentences with unknown ones out")
        if problem.seen is not None:
            raise LearnerError(f"{name} learns weights of all pairs; leave pairs='seen' out")
        if problem.corpus.n_edge_attributes:
            raise LearnerError(f"{name} has no place for templates of label pairs (label[-1], B lines)")
        self.problem, self.average = problem, average
        self.observations = Observations(*problem.corpus.lists, problem.corpus.n_attributes)
        self.kernel = _kernel(learner.kernel, learner.degree, learner.gamma, learner.coef0, self.observations)
        self.memory = int(learner.memory * (1 << 20))
        self.native = self._begin()

    def _begin(self) -> _core.DualChain:
        problem = self.problem
        return _core.DualChain(
            problem.corpus,
            problem.gold,
            problem.order,
            *self.kernel.native,
            self._whole() if self.kernel.name == "callable" else None,
            self.memory,
            problem.sentence_weights,
            problem.label_costs,
            problem.edge_base,
            problem.end_base,
        )

    def _whole(self) -> npt.NDArray[np.float64]:
        """All values of a kernel that is a function: native code never calls Python."""
        n = len(self.observations)
        if 8 * n * n > self.memory:
            raise LearnerError(
                f"a kernel that is a function needs {8 * n * n >> 20:,} MB for its values on {n:,} tokens; "
                f"memory allows {self.memory >> 20:,}"
            )
        return self.kernel.values(self.observations, self.observations)

    def result(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        p = self.problem
        edge, tri, rows, (tokens, starts_of, labels, coefs) = self.native.result(self.average)
        expansion, own = None, Rows(*rows)
        if self.kernel.name != "linear":
            expansion = Expansion(self.kernel, self.observations.take(tokens), starts_of, labels, coefs)
            # A row for every attribute, with nothing in it: all of them stay known, as a kernel may look at them all.
            n = p.corpus.n_attributes
            starts = np.arange(n + 1, dtype=np.uint32)
            own = Rows(starts, np.zeros(n, np.uint16), np.zeros(n, np.float32))
        return ChainWeights(
            p.n_labels,
            own,
            None,
            edge.astype(np.float32),
            tri.astype(np.float32) if p.order == 2 else None,
            p.end_base,
            dual=Dual(self._support(), expansion),
        )

    def _support(self) -> Support:
        """The sequences as differences from the gold ones."""
        p = self.problem
        sentences, alphas, past, paths = self.native.sequences()
        if self.average and self.native.clock:
            alphas = alphas - past / self.native.clock
        sizes = np.diff(p.starts)[sentences]
        ends = np.cumsum(sizes)
        position = np.arange(len(paths)) - np.repeat(ends - sizes, sizes)
        gold = p.gold[np.repeat(p.starts[:-1][sentences], sizes) + position]
        wrong = np.flatnonzero(gold != paths)
        starts = np.searchsorted(wrong, np.concatenate([[0], ends]))
        return Support(
            sentences,
            alphas,
            starts.astype(np.int64),
            position[wrong].astype(np.int32),
            gold[wrong].astype(np.uint16),
            paths[wrong].astype(np.uint16),
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that is needed to go on later, to the same bits."""
        out: dict[str, npt.NDArray[Any]] = dict(zip(_SEQUENCES, self.native.sequences(), strict=True))
        return out | {"clock": np.array([self.native.clock]), "dual": np.array([self.native.dual])}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from that state; LearnerError if it is not one of such a run."""
        try:
            sentence, alpha, past, paths = (state[name] for name in _SEQUENCES)
            clock, dual = int(state["clock"][0]), float(state["dual"][0])
            self.native.restore(sentence, alpha, past, paths, clock, dual)
        except (LookupError, ValueError, TypeError) as error:
            raise LearnerError(
                f"the state is not one of this training, with these settings on this corpus ({error})"
            ) from error

    def attached(self, weights: ChainWeights) -> ChainWeights:
        """Weights that came from a checkpoint, with the function that no file can hold."""
        if weights.dual is None:
            return weights
        return replace(weights, dual=weights.dual.with_function(self.kernel.function))


def _kernel(
    kernel: str | KernelFunction, degree: int, gamma: float | None, coef0: float, observed: Observations
) -> Kernel:
    """The kernel with all its parameters: gamma, where none is given, is 1, of rbf one over the mean of |x|²."""
    if not isinstance(kernel, str):
        return Kernel("callable", function=kernel)
    if kernel == "linear":
        return Kernel("linear")
    if kernel == "poly":
        return Kernel("poly", degree, 1.0 if gamma is None else gamma, coef0)
    mean = float(np.mean(observed.squares())) if len(observed) else 1.0
    return Kernel("rbf", gamma=1.0 / (mean or 1.0) if gamma is None else gamma)
