"""Hidden Markov models by counts (Collins 2002, section 2.1; Grover and Ngo Ho, section 2.1): one pass, no search.

Advantages: one pass over the corpus; good with little data. Disadvantage: features are assumed to be independent given
the label; the perceptron and the CRF do not assume this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from trellis import _core
from trellis._support.arrays import Bools, Doubles, Longs, starts_of
from trellis._support.errors import LearnerError
from trellis.engine.elementary import exp, log
from trellis.engine.weights import ChainWeights, Ngrams, Rows, padded
from trellis.features.templates import Template
from trellis.features.vocabulary import is_counted
from trellis.learning.chain_problem import ChainProblem, chains_of
from trellis.learning.learner import Constraints, Learner, choice, flag, real
from trellis.learning.problem import Problem
from trellis.learning.run import Event, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class HMM(Learner):
    """Hidden Markov model: sum_t log P(label | preceding labels) + log P(word | label), + log P(end | last label).

    The value of each template is generated from P(value | label); of several templates the product (Altun, section
    5.3). Unseen values share the probability of those seen once. Templates ``rare_suffix(word[0], n)`` estimate unseen
    words from rare words with the same ending. Choose it for a model in one pass, or from little data.

    Parameters
    ----------
    smoothing
        Of label n-grams: ``"interpolated"``, deleted interpolation of all lengths up to order + 1 (Brants 2000);
        ``"added"``, ``k`` added to every count.
    k
        Number added to every count.
    strength
        Weight of shorter endings in the smoothing of ``rare_suffix``.
    end
        Whether the end of a sentence has a probability.

    Examples
    --------
    >>> import trellis
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> trellis.train(X, y, learner=trellis.HMM(), features=["word[0]"]).predict(["a", "dog"])
    ['D', 'N']
    """

    smoothing: Literal["interpolated", "added"] = "interpolated"
    k: float = 0.01
    strength: float = 20.0
    end: bool = True

    family = "joint"
    reads_sources = True
    takes_init = False  # counting does not support initial weights
    constraints: ClassVar[Constraints] = {
        "smoothing": choice("interpolated", "added"),
        "k": real(above=True),
        "strength": real(above=True),
        "end": flag(),
    }

    abilities = frozenset({"orders"})  # counts of label n-grams of any length

    def begin(self, problem: Problem) -> _Counting:
        """The one pass that counts."""
        chains = chains_of(problem, self)
        if chains.partial is not None:
            raise LearnerError("HMM does not support partial labels; use CRF")
        if chains.corpus.n_edge_attributes:
            raise LearnerError("HMM does not support templates of label pairs; omit label[-1]")
        return _Counting(self, chains)


class _Counting(Work):
    """One epoch that counts; resumed, it counts again."""

    epochs = 1

    def __init__(self, learner: HMM, problem: ChainProblem) -> None:
        self.learner, self.problem = learner, problem
        self.counted: ChainWeights | None = None

    def step(self, number: int) -> Event:
        self.counted = self._count()
        return Event(number)

    def weights(self) -> ChainWeights:
        return self.counted or self._count()

    def _count(self) -> ChainWeights:
        """Log-probabilities as weights of a chain; `train` adds forbidden transitions."""
        problem, learner = self.problem, self.learner
        n = problem.n_labels
        emission = _Emissions(problem, learner.k, learner.strength)
        table = emission.weights.astype(np.float32)
        nonzero = table != 0
        starts = starts_of(nonzero.sum(axis=1)).astype(np.uint32)
        rows = Rows(starts, np.nonzero(nonzero)[1].astype(np.uint16), table[nonzero])

        edge, tri, stop, ngrams = label_probabilities(problem, learner.smoothing, learner.k, end=learner.end)
        tables: list[Any] = [edge + emission.constants, tri, stop]
        for i, table in enumerate(tables):
            if table is not None:  # rows are padded for the kernels
                tables[i] = np.zeros((*table.shape[:-1], padded(n)), np.float32)
                tables[i][..., :n] = table
        edge, tri, stop = tables
        return ChainWeights(n, rows, None, edge, tri, stop, ngrams=ngrams)


# ------------------------------------------------------------ labels


class NgramCounts:
    """The label n-grams of a corpus; after every context that occurs, all labels.

    N-grams are numbered as in ``Ngrams``. A context is an n-gram with a successor: the labels before a token, at most
    ``order`` of them. Contexts that begin with START also represent longer ones.
    """

    def __init__(self, problem: ChainProblem) -> None:
        n, self.order = problem.n_labels, problem.order
        ngrams, counts = _core.seen_ngrams(
            n, self.order, problem.gold, problem.starts, null=True, weights=problem.sentence_weights, first=None
        )
        parents, labels = ngrams["parents"], ngrams["labels"]
        seen_ngrams = Ngrams(parents, labels, np.zeros(len(parents), np.float32))
        contexts = np.unique(parents)
        lengths = np.concatenate([[0], np.ones(n + 1, np.int64), seen_ngrams.lengths(n)])
        contexts = contexts[np.argsort(lengths[contexts], kind="stable")].astype(np.int64)
        keys = np.repeat(contexts << 16, n) | np.tile(np.arange(n), len(contexts))
        new = keys[~np.isin(keys, parents.astype(np.int64) << 16 | labels)]  # shorter ones first
        self.n_labels = n
        self.parents = np.concatenate([np.zeros(n + 2, np.int64), parents, new >> 16])  # [n_nodes]
        self.labels = np.concatenate([[0xFFFF], np.arange(n + 1), labels, new & 0xFFFF])  # the empty one has none
        self.lengths = np.concatenate([lengths, lengths[new >> 16] + 1])
        self.counts = np.concatenate([counts, np.zeros(len(new))])
        self.shorter = self._shorter()
        sums = np.bincount(self.parents[1:], weights=self.counts[1:], minlength=len(self.counts))
        self.totals = sums.astype(np.float64)  # successors of each

    def _levels(self) -> list[Longs]:
        """The n-grams of one label, of two, ..."""
        return [np.flatnonzero(self.lengths == length) for length in range(1, int(self.lengths.max()) + 1)]

    def _shorter(self) -> Longs:
        """Every n-gram without its first label."""
        keys = self.parents << 16 | self.labels
        order = np.argsort(keys, kind="stable")
        shorter = np.zeros(len(keys), np.int64)
        for level in self._levels()[1:]:
            key = shorter[self.parents[level]] << 16 | self.labels[level]
            shorter[level] = order[np.searchsorted(keys, key, sorter=order)]
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

        Every n-gram of order + 1 labels votes with its count for the context length that predicts it best after one
        occurrence is removed from the counts (ties: the longest). Every length starts with one vote.
        """
        complete = ((self.lengths == self.order + 1) | (self._from_start() & (self.lengths > 1))) & (self.counts > 0)
        grams = np.flatnonzero(complete)
        cases, at = np.full((self.order + 1, len(grams)), -1.0), grams
        longest = self.lengths[grams] - 1
        for back in range(self.order + 1):
            rest = self.totals[self.parents[at]] - 1
            case = np.where(rest > 0, (self.counts[at] - 1) / np.where(rest > 0, rest, 1), 0.0)
            inside = longest - back >= 0
            cases[(longest - back)[inside], np.flatnonzero(inside)] = case[inside]
            at = self.shorter[at]
        winner = self.order - np.argmax(cases[::-1], axis=0)
        winner[winner == longest] = self.order  # n-grams that begin with START are the same at any greater length
        votes = 1.0 + np.bincount(winner, weights=self.counts[grams], minlength=self.order + 1)
        shares: Doubles = votes / votes.sum()
        return shares

    def relative(self) -> Doubles:
        """[n_nodes] relative frequencies of the last label after those before; where these never occur, after fewer."""
        relative = np.zeros(len(self.counts))
        for level in self._levels():
            total = self.totals[self.parents[level]]
            share = self.counts[level] / np.where(total > 0, total, 1)
            relative[level] = np.where(total > 0, share, relative[self.shorter[level]])
        return relative

    def tables(self, values: Doubles) -> list[Doubles]:
        """Values of n-grams as tables [L], [L + 1, L], ...; where there is no n-gram, that of the shorter one."""
        n, tables = self.n_labels, [values[1 : self.n_labels + 1]]
        for level in self._levels()[1:]:
            run, at = [self.labels[level]], self.parents[level]
            while len(run) <= len(tables):
                run, at = [self.labels[at], *run], self.parents[at]
            tables.append(np.tile(tables[-1], (n + 1, *[1] * len(tables))))
            tables[-1][tuple(run)] = values[level]
        return tables

    def interpolated(self) -> Doubles:
        """[n_nodes] P(last label | those before it) = sum_n lambda_n P_n, each by relative frequencies.

        A context never seen has the frequencies of the shorter one, so a short n-gram has them at all greater lengths.
        """
        mixture, relative = self.lambdas(), self.relative()
        rest = np.concatenate([np.cumsum(mixture[::-1])[::-1][1:], [0.0]])  # of greater lengths
        mixed, out = np.zeros(len(self.counts)), np.zeros(len(self.counts))
        for length, level in enumerate(self._levels()):
            mixed[level] = mixed[self.shorter[level]] + mixture[length] * relative[level]
            out[level] = mixed[level] + rest[length] * relative[level]
        return out

    def added(self, k: float) -> Doubles:
        """[n_nodes] P(last label | those before it), k added to every count; contexts never seen have none."""
        complete = (self.lengths == self.order + 1) | self._from_start()
        smoothed: Doubles = (self.counts + k) / (self.totals[self.parents] + k * self.n_labels)
        return np.where(complete, smoothed, 1 / self.n_labels)

    def weights(self, probabilities: Doubles) -> tuple[Doubles, Ngrams]:
        """Their logarithms as weights of label pairs, [L + 1, L], and differences for longer n-grams."""
        n, first = self.n_labels, self.n_labels + 2
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = log(probabilities)
            differences = logs - logs[self.shorter]
        edge = np.tile(logs[1 : n + 1], (n + 1, 1))  # labels without successor
        pairs = np.flatnonzero(self.lengths == 2)
        edge[self.parents[pairs] - 1, self.labels[pairs]] = logs[pairs]
        differences[~np.isfinite(differences) | (self.lengths < 3)] = 0.0
        parents, labels = self.parents[first:].astype(np.uint32), self.labels[first:].astype(np.uint16)
        return edge, Ngrams(parents, labels, differences[first:].astype(np.float32))


def label_probabilities(
    problem: ChainProblem, smoothing: str, k: float, *, end: bool
) -> tuple[Doubles, Doubles | None, Doubles | None, Ngrams | None]:
    """log P(z | the labels before), as many as the order says: weights of pairs, triples, last labels and n-grams.

    These are [L + 1, L]; [L + 1, L + 1, L]; [L]; and of three labels and more, where they are sparse. Before every
    label but the first it is decided whether the sentence ends, by the label before alone.
    """
    n, order, counts = problem.n_labels, problem.order, NgramCounts(problem)
    edge, tri, last, ngrams = np.zeros((n + 1, n)), None, None, None
    if problem.is_sparse:  # there is no table of all label triples
        edge, ngrams = counts.weights(counts.interpolated() if smoothing == "interpolated" else counts.added(k))
    else:
        tables = counts.tables(counts.relative() if smoothing == "interpolated" else counts.added(k))
        longest = tables[-1]
        if smoothing == "interpolated":
            longest = sum(share * table for share, table in zip(counts.lambdas(), tables, strict=True))
        if order == 2:
            tri = log(longest)
            tri[:n, n] = 0.0  # NULL never follows a label
        else:
            edge[:] = log(longest)
    if end and order:
        amount = problem.token_weights()
        singles = np.bincount(problem.gold, weights=amount, minlength=n)
        lasts = problem.starts[1:][np.diff(problem.starts) > 0] - 1
        ends = np.bincount(problem.gold[lasts], weights=amount[lasts], minlength=n)
        stop = (ends + k) / (singles + 2 * k)
        edge[:n] += log(1 - stop)[:, None]
        last = log(stop)
    return edge, tri, last, ngrams


# ------------------------------------------------------------ emissions


class _Emissions:
    """Rows of log P(value | z) less log P(another value | z), which as a constant stands at every token."""

    def __init__(self, problem: ChainProblem, k: float, strength: float) -> None:
        assert problem.sources is not None
        starts, ids, values = problem.corpus.lists
        if (values < 0).any():
            raise LearnerError("HMM needs non-negative attribute values")
        self.n, self.k, self.strength = problem.n_labels, k, strength
        self.token = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.ids = ids.astype(np.int64)
        of_token = problem.token_weights()
        n_attributes = problem.corpus.n_attributes
        pairs = self.ids * self.n + problem.gold[self.token]
        amount = None  # every item has value 1
        if problem.sentence_weights is not None or len(values):
            amount = of_token[self.token] * (values if len(values) else 1.0)
        counts = np.bincount(pairs, weights=amount, minlength=n_attributes * self.n)
        self.counts = counts.astype(np.float64).reshape(n_attributes, self.n)
        self.times = np.bincount(self.ids, minlength=n_attributes)
        self.tokens = np.bincount(problem.gold, weights=of_token, minlength=self.n)
        self.n_tokens = len(problem.gold)
        self.source_of, self.templates = problem.sources.source_of, problem.sources.templates
        self.source_of_items = self.source_of[self.ids]
        self.weights = np.zeros((n_attributes, self.n))
        self.constants = np.zeros(self.n)
        for source, templates in enumerate(self.templates):
            if not any(is_counted(template) for template in templates):
                self._add(source, len(templates))
        for source, templates in enumerate(self.templates):
            self._back_off(source, templates)

    def _add(self, source: int, n_draws: int) -> None:
        """P(a | z) = (count + k) / total, and so for all other values together, seen once each by now."""
        rows = self.source_of == source
        counts = self.counts[rows]
        if len(counts) == 0:  # probability 1 for all labels
            return
        if n_draws == 0:  # free-form attributes, any number per token: there is no other value
            total = counts.sum(axis=0) + self.k * len(counts)
            self.weights[rows] = log(counts + self.k) - log(total)
            return
        silent = np.maximum(n_draws * self.tokens - counts.sum(axis=0), 0.0)
        rest = silent + counts[self.times[rows] == 1].sum(axis=0) + self.k
        total = counts.sum(axis=0) + self.k * len(counts) + rest
        self.weights[rows] = log(counts + self.k) - log(rest)
        self.constants += n_draws * (log(rest) - log(total))

    def _back_off(self, word: int, templates: tuple[Template, ...]) -> None:
        """Of words without a row P(word | z) ~ P(z | suffix) / P(z), as rare words have it; others do without."""
        if len(templates) != 1 or len(templates[0].looks) != 1 or templates[0].looks[0].calls:
            return
        look = templates[0].looks[0]
        levels = {
            int(t[0].looks[0].calls[0].arguments[0]): source
            for source, t in enumerate(self.templates)
            if len(t) == 1
            and len(t[0].looks) == 1
            and is_counted(t[0])
            and (t[0].looks[0].column, t[0].looks[0].offset) == (look.column, look.offset)
        }
        if not levels:
            return
        # Tokens that share a suffix share all shorter ones, so sums over shorter suffixes are stored by suffix.
        suffixes = np.flatnonzero(np.isin(self.source_of, list(levels.values())))
        place = np.zeros(len(self.source_of), np.int64)  # row of `summed`; row 0 is that of no suffix
        place[suffixes] = np.arange(len(suffixes)) + 1
        summed = np.zeros((len(suffixes) + 1, self.n))  # the weights of a suffix and of all shorter ones
        longest = np.zeros(self.n_tokens, np.int64)  # index of each token's longest suffix so far
        previous = np.zeros(len(self.source_of), np.int64)  # the same, at each occurrence of an attribute
        root: Doubles | None = None  # log P(z) of rare words
        for _, source in sorted(levels.items()):
            token, ids, rows = self._items(source)
            if len(ids) == 0:
                continue
            counts = self.counts[rows]
            if root is None:
                root = log((counts.sum(axis=0) + self.k) / (counts.sum() + self.k * self.n))
            previous[ids] = longest[token]
            shorter = root + summed[previous[rows]]  # log P(z | shorter suffix)
            total = counts.sum(axis=1, keepdims=True)
            logs = log((counts + self.strength * exp(shorter)) / (total + self.strength))
            self.weights[rows] = logs - shorter
            summed[place[rows]] = summed[previous[rows]] + self.weights[rows]
            longest[token] = place[ids]
        token, ids, rows = self._items(word)
        previous[ids] = longest[token]
        self.weights[rows] -= summed[previous[rows]]

    def _items(self, source: int) -> tuple[Longs, Longs, Longs]:
        """The tokens at which a source has attributes, these attributes, and all attributes of the source."""
        items = self.source_of_items == source
        return self.token[items], self.ids[items], np.flatnonzero(self.source_of == source)
