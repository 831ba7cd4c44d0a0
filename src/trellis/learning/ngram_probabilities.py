"""Probabilities of labels given those before, by counts, as weights of sparse label n-grams: chains of any order."""

from __future__ import annotations

import numpy as np

from trellis import _core
from trellis._support.arrays import Bools, Doubles, Longs
from trellis.engine.weights import Ngrams
from trellis.learning.chain_problem import ChainProblem


class NgramCounts:
    """The label n-grams of a corpus; after every context that occurs, all labels.

    N-grams are numbered as ``Ngrams`` numbers them. A context is an n-gram with something after it: the labels before
    a token, at most ``order`` of them. Those that begin with START stand for longer ones too.
    """

    def __init__(self, problem: ChainProblem) -> None:
        n, self.order = problem.n_labels, problem.order
        found = _core.seen_ngrams(
            n, self.order, problem.gold, problem.starts, null=True, weights=problem.sentence_weights, first=None
        )
        parents, labels, counts = found["parents"], found["labels"], found["counts"]
        seen = Ngrams(parents, labels, np.zeros(len(parents), np.float32))
        contexts = np.unique(parents)
        lengths = np.concatenate([[0], np.ones(n + 1, np.int64), seen.lengths(n)])
        contexts = contexts[np.argsort(lengths[contexts], kind="stable")].astype(np.int64)
        keys = np.repeat(contexts << 16, n) | np.tile(np.arange(n), len(contexts))
        new = keys[~np.isin(keys, parents.astype(np.int64) << 16 | labels)]  # shorter ones first
        self.n_labels = n
        self.parents = np.concatenate([np.zeros(n + 2, np.int64), parents, new >> 16])  # [n_nodes]
        self.labels = np.concatenate([[0xFFFF], np.arange(n + 1), labels, new & 0xFFFF])  # the empty one has none
        self.lengths = np.concatenate([lengths, lengths[new >> 16] + 1])
        self.counts = np.concatenate([counts, np.zeros(len(new))])
        self.shorter = self._shorter()
        after = np.bincount(self.parents[1:], weights=self.counts[1:], minlength=len(self.counts))
        self.totals = after.astype(np.float64)  # what comes after each

    def _levels(self) -> list[Longs]:
        """The n-grams of one label, of two, ..."""
        return [np.flatnonzero(self.lengths == length) for length in range(1, int(self.lengths.max()) + 1)]

    def _shorter(self) -> Longs:
        """Every n-gram without its first label."""
        keys = self.parents << 16 | self.labels
        order = np.argsort(keys, kind="stable")
        shorter = np.zeros(len(keys), np.int64)
        for level in self._levels()[1:]:
            wanted = shorter[self.parents[level]] << 16 | self.labels[level]
            shorter[level] = order[np.searchsorted(keys, wanted, sorter=order)]
        return shorter

    def _from_start(self) -> Bools:
        """Whether an n-gram begins with START."""
        out = np.zeros(len(self.counts), bool)
        out[self.n_labels + 1] = True
        for level in self._levels()[1:]:
            out[level] = out[self.parents[level]]
        return out

    def lambdas(self) -> Doubles:
        """[order + 1] by deleted interpolation (Brants 2000, figure 1).

        Every n-gram of order + 1 labels votes with its count for the length of context that predicts it best once it is
        itself taken out of the counts, the longest of equals. Every length has one vote to begin with.
        """
        whole = ((self.lengths == self.order + 1) | (self._from_start() & (self.lengths > 1))) & (self.counts > 0)
        grams = np.flatnonzero(whole)
        cases, at = np.full((self.order + 1, len(grams)), -1.0), grams
        longest = self.lengths[grams] - 1
        for back in range(self.order + 1):
            rest = self.totals[self.parents[at]] - 1
            case = np.where(rest > 0, (self.counts[at] - 1) / np.where(rest > 0, rest, 1), 0.0)
            here = longest - back >= 0
            cases[(longest - back)[here], np.flatnonzero(here)] = case[here]
            at = self.shorter[at]
        winner = self.order - np.argmax(cases[::-1], axis=0)
        winner[winner == longest] = self.order  # what begins with START is the same at any greater length
        votes = 1.0 + np.bincount(winner, weights=self.counts[grams], minlength=self.order + 1)
        shares: Doubles = votes / votes.sum()
        return shares

    def interpolated(self) -> Doubles:
        """[n_nodes] P(last label | those before it) = sum_n lambda_n P_n, each by relative frequencies.

        A context never seen has the frequencies of the shorter one, so a short n-gram has them at all greater lengths.
        """
        mixture = self.lambdas()
        rest = np.concatenate([np.cumsum(mixture[::-1])[::-1][1:], [0.0]])  # of greater lengths
        relative, mixed, out = (np.zeros(len(self.counts)) for _ in range(3))
        for length, level in enumerate(self._levels()):
            total = self.totals[self.parents[level]]
            share = self.counts[level] / np.where(total > 0, total, 1)
            relative[level] = np.where(total > 0, share, relative[self.shorter[level]])
            mixed[level] = mixed[self.shorter[level]] + mixture[length] * relative[level]
            out[level] = mixed[level] + rest[length] * relative[level]
        return out

    def added(self, k: float) -> Doubles:
        """[n_nodes] P(last label | those before it), k added to every count; contexts never seen have none."""
        whole = (self.lengths == self.order + 1) | self._from_start()
        smoothed: Doubles = (self.counts + k) / (self.totals[self.parents] + k * self.n_labels)
        return np.where(whole, smoothed, 1 / self.n_labels)

    def weights(self, probabilities: Doubles) -> tuple[Doubles, Ngrams]:
        """Their logarithms as weights of label pairs, [L + 1, L], and of what longer n-grams add."""
        n, first = self.n_labels, self.n_labels + 2
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(probabilities)
            more = logs - logs[self.shorter]
        edge = np.tile(logs[1 : n + 1], (n + 1, 1))  # labels with nothing after them
        pairs = np.flatnonzero(self.lengths == 2)
        edge[self.parents[pairs] - 1, self.labels[pairs]] = logs[pairs]
        more[~np.isfinite(more) | (self.lengths < 3)] = 0.0
        parents, labels = self.parents[first:].astype(np.uint32), self.labels[first:].astype(np.uint16)
        return edge, Ngrams(parents, labels, more[first:].astype(np.float32))
