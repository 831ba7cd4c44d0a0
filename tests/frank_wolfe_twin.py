"""A plain twin of core/frank_wolfe.hpp: whole vectors of features instead of shares of labels; and the optimum."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from online_twin import Case, Float, Twin

from experiments import reference
from experiments.reference.margin import frank_wolfe_step, most_violated


class FrankWolfeTwin(Twin):
    """Weights in float32 as the kernel has them, everything of the dual in float64."""

    def __init__(self, given: Case, C: float, cost: str) -> None:
        super().__init__(given, cost)
        n = given.problem.n_sentences
        weights = given.problem.sentence_weights
        self.C = C * (np.ones(n) if weights is None else weights)
        self.blocks = np.zeros((n, len(self.w)))  # v_i = w_i / C_i
        self.costs = np.zeros(n)  # cost(a_i)
        self.gap = 0.0  # as it was met, in the last epoch

    def cost(self, i: int, path: Sequence[int]) -> float:
        gold, costs = self.case.golds[i], self.case.problem.label_costs
        wrong = [(z, y) for z, y in zip(gold, path, strict=True) if z != y]
        if self.rule == "zero-one":
            return float(bool(wrong))
        return float(len(wrong)) if costs is None else sum(float(costs[pair]) for pair in wrong)

    def most_violated(self, i: int, p: reference.Potentials) -> tuple[float, list[int]]:
        """max_y cost(y) - w · (Phi(gold) - Phi(y)), and its path."""
        gold, cost = self.case.golds[i], None
        if self.rule == "hamming":
            L, costs = self.case.n_labels, self.case.problem.label_costs
            cost = (1 - np.eye(L, dtype=Float) if costs is None else costs)[gold]
        path = most_violated(p, gold, cost)
        exact = self.potentials(i, self.w.astype(float))
        lead = reference.path_score(exact, gold) - reference.path_score(exact, path)
        loss = self.cost(i, path) - lead
        return (loss, path) if loss > 0 else (0.0, gold)

    def epoch(self, order: Sequence[int]) -> tuple[int, int]:
        self.gap = 0.0
        return super().epoch(order)

    def learn(self, i: int, _decoder: Float | None = None) -> tuple[int, bool]:
        gold = self.case.golds[i]
        p = self.potentials(i)
        if not gold or self.C[i] == 0 or reference.path_score(p, gold) == -np.inf:
            return 0, False
        _, path = self.most_violated(i, p)
        wrong = sum(y != z for y, z in zip(path, gold, strict=True))
        d, cost = self.phi(i, gold) - self.phi(i, path), self.cost(i, path)
        step, gap = frank_wolfe_step(self.w.astype(float), self.blocks[i], self.costs[i], d, cost, self.C[i])
        if gap <= 1e-7 * (1 + cost):
            return wrong, False
        self.gap += self.C[i] * gap
        direction = d - self.blocks[i]
        self.w += (step * self.C[i] * direction).astype(Float)
        self.blocks[i] += step * direction
        self.costs[i] += step * (cost - self.costs[i])
        return wrong, True

    @property
    def dual(self) -> float:
        w = self.C @ self.blocks
        return float(self.C @ self.costs - 0.5 * w @ w)

    def result(self, average: bool) -> np.ndarray:
        """The weights after the last step, or their mean with step k weighted by k."""
        if not average:
            return self.w
        k = np.arange(1, len(self.moments) + 1)
        return (k @ np.array(self.moments, float) / k.sum()).astype(Float)

    # ------------------------------------------------------------ all paths

    def paths(self, i: int) -> list[list[int]]:
        """Every path that is not forbidden."""
        p = self.potentials(i, np.zeros(len(self.w)))
        every = itertools.product(range(self.case.n_labels), repeat=len(self.case.golds[i]))
        return [list(path) for path in every if reference.path_score(p, path) > -np.inf]

    def learnable(self) -> list[int]:
        """Sentences that count, and of which the gold path is allowed."""
        golds = self.case.golds
        return [i for i, gold in enumerate(golds) if gold and self.C[i] > 0 and gold in self.paths(i)]

    def losses(self, w: np.ndarray) -> np.ndarray:
        """H_i(w) by enumeration."""
        out = np.zeros(len(self.C))
        for i in self.learnable():
            gold = self.phi(i, self.case.golds[i])
            out[i] = max(self.cost(i, y) - w @ (gold - self.phi(i, y)) for y in self.paths(i))
        return out

    def primal(self, w: np.ndarray) -> float:
        return float(0.5 * w @ w + self.C @ self.losses(w))

    def optimum(self) -> float:
        """max c · a - ½ |D a|² over the mixtures a_i of all paths, by accelerated projected gradient.

        Another method than Frank-Wolfe, on the dual written out in full; it certifies itself by primal and dual.
        """
        members = self.learnable()
        paths = [self.paths(i) for i in members]
        golds = [self.phi(i, self.case.golds[i]) for i in members]
        D = [
            self.C[i] * (gold - self.phi(i, y))
            for i, gold, every in zip(members, golds, paths, strict=True)
            for y in every
        ]
        c = np.array([self.C[i] * self.cost(i, y) for i, every in zip(members, paths, strict=True) for y in every])
        ends = np.cumsum([len(every) for every in paths])[:-1]
        columns = np.array(D).T
        gram = columns.T @ columns
        rate = 1 / max(np.linalg.eigvalsh(gram)[-1], 1e-9)
        a = ahead = np.concatenate([simplex(np.zeros(len(every))) for every in paths])
        momentum = 1.0
        for step in range(200_000):
            slope = gram @ ahead - c
            parts = np.split(ahead - rate * slope, ends)
            new = np.concatenate([simplex(part) for part in parts])
            if slope @ (new - a) > 0:  # begin anew where the momentum leads uphill
                momentum = 1.0
            after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / after * (new - a)
            a, momentum = new, after
            if step % 100 == 0 and self.primal(columns @ a) - (c @ a - 0.5 * a @ gram @ a) < 1e-7:
                return float(c @ a - 0.5 * a @ gram @ a)
        raise AssertionError("no optimum was found")


def simplex(x: np.ndarray) -> np.ndarray:
    """The nearest point with x >= 0 and sum 1."""
    falling = np.sort(x)[::-1]
    shifts = (np.cumsum(falling) - 1) / np.arange(1, len(x) + 1)
    return np.maximum(x - shifts[np.flatnonzero(falling > shifts)[-1]], 0)
