"""Sequence AdaBoost (Altun, section 3), with all wrong paths of all sentences enumerated.

Boosting lowers the exponential risk R(w) = sum_i sum_{y != gold_i} exp(score(y) - score(gold_i)) one feature at a time.
u(i, y) = Phi_k(y) - Phi_k(gold_i), between L_i and U_i in sentence i, is how much more often feature k occurs on path y
than on the gold path; D(i, y) is the path's share of the risk. A step w along the feature multiplies the risk by

    Z(w) = sum_{i, y} D(i, y) exp(w u(i, y))                                                                       (6)

exp is convex, so that every term lies below the chord of exp(w u) between the ends of u's range:

    Z(w) <= s exp(w L) + (1 - s) exp(w U),                 s = sum D(i, y) (U - u(i, y)) / (U - L)               (7, 8)
    Z(w) <= sum_i D(i) ( s_i exp(w L_i) + (1 - s_i) exp(w U_i) ),  s_i likewise within sentence i              (10, 11)

L and U are the extremes over all sentences; (7) is the loose bound, (10) the tight one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.reference.chains import DenseWeights, Doubles, Tokens, features_of, path_score, potentials


@dataclass(frozen=True, slots=True)
class WrongPaths:
    """All paths of a sentence but the gold one."""

    u: Doubles  # [n_paths, F]  Phi(y) - Phi(gold)
    risk: Doubles  # [n_paths]  exp(score(y) - score(gold)), times the sentence's weight
    low: Doubles  # [F]  L_i: extremes of u, 0 (the gold path) among them
    high: Doubles  # [F]  U_i


def wrong_paths(weights: DenseWeights, tokens: Tokens, gold: Sequence[int]) -> WrongPaths:
    """Phi as one vector: emit, edge, tri."""
    n_features, L = weights.emit.shape
    order, p = (1 if weights.tri is None else 2), potentials(weights, tokens)

    def phi(path: Sequence[int]) -> Doubles:
        tables = features_of(tokens, path, n_features, L, order).tables()
        return np.concatenate([table.ravel() for table in tables])

    wrong = [path for path in itertools.product(range(L), repeat=len(gold)) if path != tuple(gold)]
    u = np.array([phi(path) - phi(gold) for path in wrong])
    risk = np.exp([path_score(p, path) - path_score(p, gold) for path in wrong])
    return WrongPaths(u, risk, np.minimum(u.min(axis=0), 0), np.maximum(u.max(axis=0), 0))


@dataclass(frozen=True, slots=True)
class Round:
    """What the equations say of one moment."""

    sentences: Sequence[WrongPaths]

    @property
    def risk(self) -> float:
        """R."""
        return float(sum(s.risk.sum() for s in self.sentences))

    def d(self, i: int) -> float:
        """D(i), a sentence's share of the risk."""
        return float(self.sentences[i].risk.sum()) / self.risk

    def z(self, k: int, step: float) -> float:
        """Equation 6."""
        return float(sum(s.risk @ np.exp(step * s.u[:, k]) for s in self.sentences)) / self.risk

    def slope(self, k: int, step: float) -> float:
        """dZ / dw."""
        return float(sum(s.risk @ (s.u[:, k] * np.exp(step * s.u[:, k])) for s in self.sentences)) / self.risk

    def range(self, k: int) -> tuple[float, float]:
        """L and U."""
        return min(float(s.low[k]) for s in self.sentences), max(float(s.high[k]) for s in self.sentences)

    def s(self, k: int, low: float, high: float, i: int | None = None) -> float:
        """Equation 8; within sentence i equation 11."""
        some = self.sentences if i is None else [self.sentences[i]]
        return float(sum(s.risk @ (high - s.u[:, k]) for s in some) / sum(s.risk.sum() for s in some)) / (high - low)

    def loose(self, k: int, step: float) -> float:
        """Equation 7."""
        low, high = self.range(k)
        return 1.0 if low == high else chord(self.s(k, low, high), low, high, step)

    def loose_step(self, k: int, limit: float) -> float:
        """Equation 9: where (7) is least, w = log(-L s / (U (1 - s))) / (U - L); no longer than the limit."""
        low, high = self.range(k)
        if low == 0 or high == 0:  # never wrong, or never right: no step is long enough
            return limit if high == 0 else -limit
        s = self.s(k, low, high)
        return float(np.clip(np.log(-low * s / (high * (1 - s))) / (high - low), -limit, limit))

    def tight(self, k: int, step: float) -> float:
        """Equation 10."""
        total = 1.0
        for i, one in enumerate(self.sentences):
            low, high = float(one.low[k]), float(one.high[k])
            if low < high:
                total += self.d(i) * (chord(self.s(k, low, high, i), low, high, step) - 1)
        return total

    def choose(self, bound: str, limit: float) -> tuple[int, float]:
        """The feature whose bound falls lowest, and its step; with "exact" the step is that where Z itself is least."""
        by = self.loose if bound == "loose" else self.tight
        steps = [
            self.loose_step(k, limit) if bound == "loose" else least(lambda w, k=k: by(k, w), limit)  # type: ignore[misc]
            for k in range(self.sentences[0].u.shape[1])
        ]
        k = int(np.argmin([by(k, step) for k, step in enumerate(steps)]))
        return k, least(lambda w: self.z(k, w), limit) if bound == "exact" else steps[k]


def chord(s: float, low: float, high: float, step: float) -> float:
    """s exp(w L) + (1 - s) exp(w U)."""
    return float(s * np.exp(step * low) + (1 - s) * np.exp(step * high))


def least(f: Callable[[float], float], limit: float) -> float:
    """Where a convex function is least between -limit and limit, by ever smaller thirds."""
    low, high = -limit, limit
    while high - low > 1e-9:
        third = (high - low) / 3
        low, high = (low, high - third) if f(low + third) <= f(high - third) else (low + third, high)
    return (low + high) / 2
