"""Hidden Markov models by counts (Collins 2002, section 2.1; Grover and Ngo Ho, section 2.1): one pass, no search.

Advantages: trained in the time it takes to read the corpus; sound with little data. Disadvantage: what it looks at is
taken to be independent given the label; the perceptron and the CRF need not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from trellis._support.arrays import Doubles, Longs, starts_of
from trellis._support.errors import LearnerError
from trellis.engine.weights import ChainWeights, Ngrams, Rows, padded
from trellis.features.templates import Template
from trellis.features.vocabulary import is_counted
from trellis.learning.chain_problem import ChainProblem, chains_of
from trellis.learning.learner import Constraints, Learner, choice, flag, real
from trellis.learning.ngram_probabilities import NgramCounts
from trellis.learning.problem import Problem
from trellis.learning.run import Event, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class HMM(Learner):
    """log P(labels, words) = sum_t log P(z | x, y) + sum_t log P(word | z), and log P(end | last label).

    x, y are the labels before, as many as ``order`` says. ``smoothing`` of label n-grams: "interpolated" mixes n-grams
    of all lengths up to order + 1 by deleted interpolation (Brants 2000), "added" adds ``k`` to every count. What a
    template says of a token is drawn from P(value | z), ``k`` added to every count; a product over templates where
    there are several (Altun, section 5.3). Values never seen share the probability of those seen once. Templates
    ``rare_suffix(word[0], n)`` stand for words never seen: by the labels of rare words with the same ending, smoothed
    by ``strength`` from shorter ones. ``end`` has sentences end with a probability.
    """

    smoothing: Literal["interpolated", "added"] = "interpolated"
    k: float = 0.01
    strength: float = 20.0
    end: bool = True

    family = "joint"
    reads_sources = True
    takes_init = False  # counts know nothing of weights to start with
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
            raise LearnerError("an HMM counts labels, so it needs all of them; use CRF")
        if chains.corpus.n_edge_attributes:
            raise LearnerError("an HMM has no use for templates of label pairs; leave label[-1] out")
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
        """The logarithms of all probabilities as weights of a chain; what is forbidden, `train` forbids."""
        problem, learner = self.problem, self.learner
        n = problem.n_labels
        emission = _Emissions(problem, learner.k, learner.strength)
        table = emission.weights.astype(np.float32)
        kept = table != 0
        starts = starts_of(kept.sum(axis=1)).astype(np.uint32)
        rows = Rows(starts, np.nonzero(kept)[1].astype(np.uint16), table[kept])

        chain = label_probabilities(problem, learner.smoothing, learner.k, end=learner.end)
        tables: list[Any] = [chain.edge + emission.constants, chain.tri, chain.end]
        for i, given in enumerate(tables):
            if given is not None:  # rows are padded for the kernels
                tables[i] = np.zeros((*given.shape[:-1], padded(n)), np.float32)
                tables[i][..., :n] = given
        edge, tri, stop = tables
        return ChainWeights(n, rows, None, edge, tri, stop, ngrams=chain.ngrams)


# ------------------------------------------------------------ labels


class LabelLogs(NamedTuple):
    """Log-probabilities of labels given those before, as weights of a chain."""

    edge: Doubles  # [L + 1, L]
    tri: Doubles | None  # [L + 1, L + 1, L]
    end: Doubles | None  # [L]
    ngrams: Ngrams | None = None  # of three labels and more, where they are sparse


def label_probabilities(problem: ChainProblem, smoothing: str, k: float, *, end: bool) -> LabelLogs:
    """log P(z | the labels before), as many as the order says.

    Before every label but the first it is decided whether the sentence ends, by the label before alone.
    """
    n = problem.n_labels
    if problem.is_sparse:  # there is no table of all label triples
        counts = NgramCounts(problem)
        edge, ngrams = counts.weights(counts.interpolated() if smoothing == "interpolated" else counts.added(k))
        chain = LabelLogs(edge, None, None, ngrams)
    else:
        chain = _dense_logs(problem, smoothing, k)
    if not end or problem.order == 0:
        return chain
    amount = problem.token_weights()
    singles = np.bincount(problem.gold, weights=amount, minlength=n)
    lasts = problem.starts[1:][np.diff(problem.starts) > 0] - 1
    ends = np.bincount(problem.gold[lasts], weights=amount[lasts], minlength=n)
    stop = (ends + k) / (singles + 2 * k)
    chain.edge[:n] += np.log1p(-stop)[:, None]
    return chain._replace(end=np.log(stop))


def _dense_logs(problem: ChainProblem, smoothing: str, k: float) -> LabelLogs:
    """At order 2 by a table of triples, at order 1 of pairs."""
    n, order = problem.n_labels, problem.order
    x, y, z = problem.label_triples()
    counts = np.bincount((x * (n + 1) + y) * n + z, weights=problem.token_weights(), minlength=(n + 1) ** 2 * n)
    threes = counts.reshape(n + 1, n + 1, n)
    tables = [threes.sum(axis=(0, 1)), threes.sum(axis=0), threes][: order + 1]  # [z], [y, z], [x, y, z]
    if smoothing == "interpolated":
        last = _interpolated(tables)
    else:
        last = (tables[-1] + k) / (tables[-1].sum(axis=-1, keepdims=True) + k * n)
    edge = np.zeros((n + 1, n))
    tri = None
    if order == 2:
        tri = np.log(last)
        tri[:n, n] = 0.0  # NULL never follows a label
    else:
        edge += np.log(last)
    return LabelLogs(edge, tri, None)


def _interpolated(tables: list[Doubles]) -> Doubles:
    """sum_i lambda_i P_i, P_i the relative frequency given the last i - 1 labels, by deleted interpolation.

    An n-gram votes with its count for the table that predicts it best once it is itself taken out of the counts.
    Every table begins with one vote, so that none is silenced and no probability is zero.
    """
    n = len(tables[0])
    votes = np.ones(len(tables))
    seen = np.argwhere(tables[-1] > 0)
    cases = []
    for table in tables:
        places = tuple(seen[:, seen.shape[1] - table.ndim :].T)
        total = np.broadcast_to(table.sum(axis=-1, keepdims=True), table.shape)[places] - 1
        cases.append(np.where(total > 0, (table[places] - 1) / np.where(total > 0, total, 1), 0.0))
    # The longest history wins a tie.
    winner = len(tables) - 1 - np.argmax(np.array(cases)[::-1], axis=0)
    np.add.at(votes, winner, tables[-1][tuple(seen.T)])
    mixture = votes / votes.sum()
    out = np.zeros(n)
    relative = np.full(n, 1 / n)
    for weight, table in zip(mixture, tables, strict=True):
        total = table.sum(axis=-1, keepdims=True)
        # A history never seen has the probabilities of the shorter one.
        relative = np.where(total > 0, table / np.where(total > 0, total, 1), relative)
        out = out + weight * relative
    return out


# ------------------------------------------------------------ what is seen of a token


class _Emissions:
    """Rows of log P(value | z) less log P(another value | z), which as a constant stands at every token."""

    def __init__(self, problem: ChainProblem, k: float, strength: float) -> None:
        assert problem.sources is not None
        starts, ids, values = problem.corpus.lists
        if (values < 0).any():
            raise LearnerError("an HMM counts, so values of attributes must not be negative")
        self.n, self.k, self.strength = problem.n_labels, k, strength
        self.token = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.ids = ids.astype(np.int64)
        of_token = problem.token_weights()
        n_attributes = problem.corpus.n_attributes
        pairs = self.ids * self.n + problem.gold[self.token]
        amount = None  # every item counts once
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
        here = self.source_of == source
        counts = self.counts[here]
        if len(counts) == 0:  # the same probability, one, whatever the label
            return
        if n_draws == 0:  # free-form attributes, any number per token: there is no other value
            total = counts.sum(axis=0) + self.k * len(counts)
            self.weights[here] = np.log(counts + self.k) - np.log(total)
            return
        silent = np.maximum(n_draws * self.tokens - counts.sum(axis=0), 0.0)
        others = silent + counts[self.times[here] == 1].sum(axis=0) + self.k
        total = counts.sum(axis=0) + self.k * len(counts) + others
        self.weights[here] = np.log(counts + self.k) - np.log(others)
        self.constants += n_draws * (np.log(others) - np.log(total))

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
        # Tokens that share a suffix share all shorter ones, so sums over shorter suffixes are kept by suffix.
        suffixes = np.flatnonzero(np.isin(self.source_of, list(levels.values())))
        place = np.zeros(len(self.source_of), np.int64)  # row of `summed`; row 0 is that of no suffix
        place[suffixes] = np.arange(len(suffixes)) + 1
        summed = np.zeros((len(suffixes) + 1, self.n))  # the weights of a suffix and of all shorter ones
        longest = np.zeros(self.n_tokens, np.int64)  # the place of each token's longest suffix so far
        before = np.zeros(len(self.source_of), np.int64)  # what that was where an attribute stands
        root: Doubles | None = None  # log P(z) of rare words
        for _, source in sorted(levels.items()):
            token, ids, here = self._items(source)
            if len(ids) == 0:
                continue
            counts = self.counts[here]
            if root is None:
                root = np.log((counts.sum(axis=0) + self.k) / (counts.sum() + self.k * self.n))
            before[ids] = longest[token]
            shorter = root + summed[before[here]]  # log P(z | shorter suffix)
            total = counts.sum(axis=1, keepdims=True)
            logs = np.log((counts + self.strength * np.exp(shorter)) / (total + self.strength))
            self.weights[here] = logs - shorter
            summed[place[here]] = summed[before[here]] + self.weights[here]
            longest[token] = place[ids]
        token, ids, here = self._items(word)
        before[ids] = longest[token]
        self.weights[here] -= summed[before[here]]

    def _items(self, source: int) -> tuple[Longs, Longs, Longs]:
        """The tokens at which a source says something, what it says, and all its attributes."""
        items = self.source_of_items == source
        return self.token[items], self.ids[items], np.flatnonzero(self.source_of == source)
