"""Shared code of HMSVM and KernelPerceptron: chains trained in the dual with kernels (core/papers/dual_chain.hpp)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis._support.arrays import Doubles, Ints, Longs
from trellis._support.errors import LearnerError
from trellis.engine.dual import Dual, Support
from trellis.engine.kernels import Expansion, Kernel, Observations
from trellis.engine.weights import ChainWeights, Rows, padded
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
        name, settings = type(learner).__name__, learner.effective()
        if problem.partial is not None and (problem.gold < 0).any():
            raise LearnerError(f"{name} does not support partial labels; omit sentences with missing labels")
        if problem.seen_rows is not None:
            raise LearnerError(f"{name} does not support pairs='seen'; omit it")
        if problem.corpus.n_edge_attributes:
            raise LearnerError(f"{name} does not support templates of label pairs (label[-1], B lines); omit them")
        self.problem, self.average = problem, average
        self.observations = Observations(**problem.corpus.lists._asdict(), n_attributes=problem.corpus.n_attributes)
        self.kernel = _kernel(settings, self.observations)
        self.memory = min(int(settings.get("memory", 0) * (1 << 20)), 1 << 62)
        self.epochs = settings["epochs"]
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
        """The full kernel matrix of a user-defined kernel, as native code never calls Python."""
        n = len(self.observations)
        if 8 * n * n > self.memory:
            raise LearnerError(
                f"a kernel that is a function needs {8 * n * n >> 20:,} MB for its values on {n:,} tokens; "
                f"memory allows {self.memory >> 20:,}"
            )
        return self.kernel.values(self.observations, self.observations)

    def weights(self) -> ChainWeights:
        """The weights to tag with now: the sum of alpha (Phi(gold) - Phi(path)) over all sequences."""
        p, sequences = self.problem, self._sequences()
        scores, expansion = self._scores(sequences)
        edge, *tri = [sequences.table(p.n_labels, p.order, reach) for reach in range(1, max(2, p.order + 1))]
        if p.edge_base is not None:
            edge = edge + p.edge_base
        return ChainWeights(
            p.n_labels,
            scores,
            None,
            edge.astype(np.float32),
            tri[0].astype(np.float32) if tri else None,
            p.end_base,
            dual=Dual(sequences.support(), expansion),
        )

    def _sequences(self) -> _Sequences:
        """The sequences of all working sets."""
        p, arrays = self.problem, self.native.sequences()
        sentences, alphas, past, paths = (arrays[name] for name in ("sentence", "alpha", "past", "paths"))
        if self.average and self.native.clock:
            alphas = alphas - past / self.native.clock
        sizes = np.diff(p.starts)[sentences]
        position = np.arange(len(paths)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        token = np.repeat(p.starts[:-1][sentences], sizes) + position
        return _Sequences(
            sentences, alphas, np.repeat(np.arange(len(sizes)), sizes), position, token, p.gold[token], paths
        )

    def _scores(self, sequences: _Sequences) -> tuple[Rows, Expansion | None]:
        """Parameters of label scores: rows for the linear kernel, an expansion for other kernels."""
        p, n = self.problem, self.problem.corpus.n_attributes
        tokens, labels, beta = sequences.betas(p.n_labels)
        if self.kernel.name != "linear":
            distinct, first = np.unique(tokens, return_index=True)
            coefs = np.append(first, len(tokens)).astype(np.int64), labels.astype(np.uint16), beta
            # Empty rows keep all attributes in the vocabulary, as the kernel may use any of them.
            rows = Rows(np.arange(n + 1, dtype=np.uint32), np.zeros(n, np.uint16), np.zeros(n, np.float32))
            return rows, Expansion(self.kernel, self.observations.take(distinct), *coefs)
        # w[a, z] = sum over tokens t of beta(t, z) value(a at t)
        observed = self.observations.take(tokens)
        items = np.diff(observed.starts)
        cells = observed.ids.astype(np.int64) * p.n_labels + np.repeat(labels, items)
        cells, sums = _sums(cells, np.repeat(beta, items) * observed.full_values())
        weights = sums.astype(np.float32)
        cells, weights = cells[weights != 0], weights[weights != 0]
        starts = np.searchsorted(cells, np.arange(n + 1) * p.n_labels).astype(np.uint32)
        return Rows(starts, (cells % p.n_labels).astype(np.uint16), weights), None

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        return self.native.state()

    def _restore(self, state: State) -> None:
        self.native.restore(dict(state))

    def restored(self, best: ChainWeights) -> ChainWeights:
        """Weights from a checkpoint, with the kernel function, which cannot be stored in a file."""
        if best.dual is None:
            return best
        return replace(best, dual=best.dual.with_function(self.kernel.function))


@dataclass(frozen=True, slots=True)
class _Sequences:
    """Label sequences, with all their tokens concatenated."""

    sentences: Longs  # [n]
    alphas: Doubles  # [n]
    number: Longs  # [n_tokens] of the sequence
    position: Longs  # [n_tokens] within its sentence
    token: Longs  # [n_tokens] within the corpus
    gold: Ints  # [n_tokens]
    path: Ints  # [n_tokens]

    def support(self) -> Support:
        """The sequences as differences from the gold ones."""
        wrong = np.flatnonzero(self.gold != self.path)
        starts = np.searchsorted(self.number[wrong], np.arange(len(self.alphas) + 1)).astype(np.int64)
        gold, path = self.gold[wrong].astype(np.uint16), self.path[wrong].astype(np.uint16)
        return Support(self.sentences, self.alphas, starts, self.position[wrong].astype(np.int32), gold, path)

    def betas(self, n_labels: int) -> tuple[Longs, Longs, Doubles]:
        """Tokens, labels and beta(t, z), the sum of alpha ([gold is z] - [path has z]), where it is not 0."""
        wrong = self.gold != self.path
        cells = self.token[wrong, None] * n_labels + np.stack([self.gold[wrong], self.path[wrong]], axis=1)
        cells, betas = _sums(cells, self.alphas[self.number[wrong], None] * np.array([1.0, -1.0]))
        return cells // n_labels, cells % n_labels, betas

    def table(self, n_labels: int, order: int, reach: int) -> Doubles:
        """Weights of label pairs, or of triples (reach 2), from counts in each sequence."""
        shape = (*(n_labels + 1,) * reach, padded(n_labels))
        size = math.prod(shape)

        def cells(labels: Ints) -> Longs:
            before = [np.where(self.position < back, n_labels, np.roll(labels, back)) for back in range(reach, -1, -1)]
            return np.asarray(np.ravel_multi_index(before, shape), np.int64)

        right, wrong = cells(self.gold), cells(self.path)
        differ = (right != wrong) & (order > 0)
        keys = self.number[differ, None] * size + np.stack([right[differ], wrong[differ]], axis=1)
        keys, counts = _sums(keys, np.broadcast_to([1.0, -1.0], keys.shape))
        sums = np.bincount(keys % size, counts * self.alphas[keys // size], size)
        return np.asarray(sums.reshape(shape), np.float64)


def _sums(keys: Longs, amounts: Doubles) -> tuple[Longs, Doubles]:
    """Distinct keys, ascending, with the sums of their amounts; zero sums are dropped."""
    once, place = np.unique(keys.ravel(), return_inverse=True)
    sums = np.bincount(place.ravel(), amounts.ravel(), len(once))
    return once[sums != 0], sums[sums != 0]


def _kernel(settings: Mapping[str, Any], observed: Observations) -> Kernel:
    """The kernel with all its parameters. Default gamma: 1, for rbf 1 / mean |x|²."""
    kernel, gamma = settings["kernel"], settings.get("gamma")
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if kernel == "linear":
        return Kernel("linear")
    squares = observed.squares()
    if kernel == "poly":
        kernel = Kernel("poly", settings["degree"], 1.0 if gamma is None else gamma, settings["coef0"])
        largest = kernel.gamma * squares.max(initial=0.0) + kernel.coef0  # bound for all pairs, by Cauchy-Schwarz
        if kernel.degree * math.log10(max(1.0, largest)) > 100:
            raise LearnerError(
                f"kernel='poly' reaches {largest:g}^{kernel.degree} here, more than 1e+100; use a smaller gamma, "
                "coef0 or degree"
            )
        return kernel
    mean = float(np.mean(squares)) if len(observed) else 1.0
    return Kernel("rbf", gamma=1.0 / (mean or 1.0) if gamma is None else gamma)
