"""What HMSVM and KernelPerceptron share: chains learnt in the dual, by kernels (core/dual_chain.hpp)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.errors import LearnerError
from trellis.engine.dual import Dual, Support
from trellis.engine.kernels import Expansion, Kernel, Observations
from trellis.engine.weights import ChainWeights, Rows
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.learner import Constraint, Learner, choice, real, whole
from trellis.learning.problem import State
from trellis.learning.run import Work

_POLY = ("kernel='poly'", lambda p: p["kernel"] == "poly")
_SCALED = ("kernel='poly' or kernel='rbf'", lambda p: p["kernel"] in ("poly", "rbf"))
_VALUES = ("a kernel that is not linear", lambda p: p["kernel"] != "linear")
KERNEL: dict[str, Constraint] = {
    "kernel": choice("linear", "poly", "rbf", function=True),
    "degree": whole(1, 100, only=_POLY),
    "gamma": real(above=True, default=None, only=_SCALED),
    "coef0": real(only=_POLY),
    "memory": real(only=_VALUES),
}


class DualRun(Work):
    """The working sets of label sequences in training."""

    def __init__(self, problem: ChainProblem, learner: Learner, *, average: bool = False) -> None:
        name, given = type(learner).__name__, learner.effective()
        if problem.partial is not None and (problem.gold < 0).any():
            raise LearnerError(f"{name} needs every label; leave sentences with unknown ones out")
        if problem.seen is not None:
            raise LearnerError(f"{name} learns weights of all pairs; leave pairs='seen' out")
        if problem.corpus.n_edge_attributes:
            raise LearnerError(f"{name} has no place for templates of label pairs (label[-1], B lines)")
        self.problem, self.average = problem, average
        self.observations = Observations(**problem.corpus.lists._asdict(), n_attributes=problem.corpus.n_attributes)
        self.kernel = _kernel(given, self.observations)
        self.memory = min(int(given.get("memory", 0) * (1 << 20)), 1 << 62)
        self.epochs = given["epochs"]
        self.native = _core.DualChain(
            problem.examples(),
            self.kernel,
            order=problem.order,
            matrix=self._whole() if self.kernel.name == "callable" else None,
            memory=self.memory,
            weights=problem.sentence_weights,
            edge=problem.edge_base,
            end=problem.end_base,
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

    def weights(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        p = self.problem
        found = self.native.result(self.average)
        expansion, own = None, Rows(**found["rows"])
        if self.kernel.name != "linear":
            coefs = found["expansion"]
            expansion = Expansion(self.kernel, self.observations.take(coefs.pop("tokens")), **coefs)
            # A row for every attribute, with nothing in it: all of them stay known, as a kernel may look at them all.
            n = p.corpus.n_attributes
            starts = np.arange(n + 1, dtype=np.uint32)
            own = Rows(starts, np.zeros(n, np.uint16), np.zeros(n, np.float32))
        return ChainWeights(
            p.n_labels,
            own,
            None,
            found["edge"].astype(np.float32),
            found["tri"].astype(np.float32) if p.order == 2 else None,
            p.end_base,
            dual=Dual(self._support(), expansion),
        )

    def _support(self) -> Support:
        """The sequences as differences from the gold ones."""
        p = self.problem
        sequences = self.native.sequences()
        sentences, alphas, past, paths = (sequences[name] for name in ("sentence", "alpha", "past", "paths"))
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

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        return self.native.state()

    def _restore(self, state: State) -> None:
        self.native.restore(dict(state))

    def restored(self, best: ChainWeights) -> ChainWeights:
        """Weights from a checkpoint, with the function that no file can hold."""
        if best.dual is None:
            return best
        return replace(best, dual=best.dual.with_function(self.kernel.function))


def _kernel(given: Mapping[str, Any], observed: Observations) -> Kernel:
    """The kernel with all its parameters: gamma, where none is given, is 1, of rbf one over the mean of |x|²."""
    kernel, gamma = given["kernel"], given.get("gamma")
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if kernel == "linear":
        return Kernel("linear")
    squares = observed.squares()
    if kernel == "poly":
        kernel = Kernel("poly", given["degree"], 1.0 if gamma is None else gamma, given["coef0"])
        largest = kernel.gamma * squares.max(initial=0.0) + kernel.coef0  # of all pairs, by Cauchy and Schwarz
        if kernel.degree * math.log10(max(1.0, largest)) > 100:
            raise LearnerError(
                f"kernel='poly' reaches {largest:g}^{kernel.degree} here, more than 1e+100; take a smaller gamma, "
                "coef0 or degree"
            )
        return kernel
    mean = float(np.mean(squares)) if len(observed) else 1.0
    return Kernel("rbf", gamma=1.0 / (mean or 1.0) if gamma is None else gamma)
