"""Chains as a training problem: the encoded corpus, and native weights of chains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Arrays, Doubles, Floats, Ints, LabelSets, Longs, starts_of
from trellis._support.errors import LearnerError
from trellis.corpus.label_parts import LabelParts
from trellis.engine.weights import MANY_LABELS, ChainWeights, Ngrams, Rows, Votes
from trellis.features.vocabulary import Sources
from trellis.learning.problem import MarginWeights, NativeWeights, Problem

if TYPE_CHECKING:
    from trellis.learning.descent import BatchLearner
    from trellis.learning.learner import Learner, OnlineOptions
    from trellis.learning.parameters import Parameters

HEAD = 1_000_000  # tokens that stochastic passes before a batch method go over
# Relative cost of a pair of listed labels: pairs of a table are summed as vectors.
LISTED_PAIR = 20


@dataclass(frozen=True, slots=True)
class FeatureNames:
    """Names of the labels and attributes that a problem has as numbers."""

    labels: tuple[str, ...]
    attributes: Mapping[int, str]
    edge_attributes: Mapping[int, str]


def is_sparse(n_labels: int, order: int, *, required: bool) -> bool:
    """Whether the dense table of label triples is replaced by observed n-grams.

    It is so above order 2, where it would be large, and where it is ``required``: attributes have weights with triples,
    or pairs of labels are pruned.
    """
    return order > 2 or (order == 2 and (n_labels > MANY_LABELS or required))


@dataclass(frozen=True, slots=True)
class ChainProblem(Problem):
    """A training problem of sentences with labels; ``initial`` are `ChainWeights` in the numbering of this corpus.

    Attributes
    ----------
    gold
        [n_tokens] gold labels, -1 if not fully known (see ``partial``).
    n_sentences
        Number of sentences.
    corpus
        Encoded sentences.
    starts
        [n_sentences + 1] first token of each sentence.
    n_labels
        Number of labels.
    order
        Markov order: number of preceding labels.
    first_token
        With the rest of the corpus in other processes: number of tokens before these.
    block
        Number of tokens of a block of sums.
    n_tokens
        Number of tokens in all processes.
    seen_triples
        Label triples in all processes.
    seen_rows
        Labels and parts that each attribute has weights for (None: all).
    seen_edges
        Label pairs and n-grams that each edge attribute has weights for.
    ngrams
        N-grams that ``seen_edges`` has columns for.
    tag
        Labels some sentences with given weights.
    partial
        Labels that are consistent with partial labels, for each token.
    label_costs
        [n_labels, n_labels] cost of predicting another label.
    edge_base
        [n_labels + 1, stride] 0, or minus infinity for forbidden pairs.
    end_base
        [stride] the same for last labels.
    sources
        Templates of attributes, for learners with ``reads_sources``.
    beam
        Beam width, for learners with the ability ``"beam"``; 0: exact search.
    label_parts
        Parts of labels, for learners with the ability ``"parts"``.
    names
        Names of features, for learners with ``reads_names``.
    n_threads
        Number of threads.
    sentence_weights
        [n_sentences] weight of each sentence.
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
        With sentences in other processes: function that returns the parts of all of them.
    """

    gold: Ints
    n_sentences: int = field(init=False)
    corpus: _core.Encoded
    starts: Longs
    n_labels: int
    order: int
    first_token: int = 0
    block: int | None = None
    n_tokens: int | None = None
    seen_triples: tuple[Longs, Longs, Longs] | None = None
    seen_rows: Rows | None = None
    seen_edges: Rows | None = None
    ngrams: Ngrams | None = None
    tag: Callable[[ChainWeights, Longs], Ints] | None = None
    partial: LabelSets | None = None
    label_costs: Floats | None = None
    edge_base: Floats | None = None
    end_base: Floats | None = None
    sources: Sources | None = None
    beam: int = 0
    label_parts: LabelParts | None = None
    names: FeatureNames | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether only label n-grams of three labels and more that occur in training have weights."""
        pruned = self.corpus.sets is not None and self.corpus.sets.lattice is not None
        return is_sparse(self.n_labels, self.order, required=self.corpus.has_runs or pruned)

    @property
    def has_few_labels(self) -> bool:
        """Whether pruning makes sums over lists of allowed labels faster than over all pairs."""
        if self.corpus.sets is None or self.n_labels <= MANY_LABELS:
            return False
        set_of, starts, *_ = self.corpus.sets
        sizes = np.diff(starts)[set_of].astype(np.float64)
        return bool((sizes[1:] * sizes[:-1]).mean() * LISTED_PAIR < self.n_labels**2) if len(sizes) > 1 else False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_sentences", len(self.starts) - 1)

    @property
    def head(self) -> tuple[int, float]:
        """The first sentences, up to `HEAD` tokens, and their fraction of all tokens."""
        n, n_tokens = int(np.searchsorted(self.starts[:-1], HEAD)), self.n_tokens or int(self.starts[-1])
        return n, float(self.starts[n]) / max(1, n_tokens)

    @property
    def shared(self) -> dict[str, Any]:
        """Facts about all sentences that processes with parts of them need."""
        return {"seen_rows": self.seen_rows, "seen_edges": self.seen_edges, "n_tokens": self.n_tokens}

    def shards(self, n: int) -> list[tuple[int, Longs]]:
        """List the shards that begin in this part of the corpus; they have about equal numbers of tokens.

        Parameters
        ----------
        n
            Number of shards.

        Returns
        -------
        list[tuple[int, Longs]]
            Number and sentences of each; sentences without tokens are in none.
        """
        if self.is_sparse:
            raise LearnerError("shards support label pairs, and label triples of few labels; use a smaller order")
        size = max(1, -(-(self.n_tokens or int(self.starts[-1])) // n))
        examples = np.flatnonzero(np.diff(self.starts))
        shard_of = (self.first_token + self.starts[examples]) // size
        return [(int(shard), examples[shard_of == shard]) for shard in np.unique(shard_of)]

    @property
    def n_columns(self) -> int:
        """Number of columns of weights: labels and parts."""
        return self.n_labels if self.label_parts is None else self.label_parts.n_columns

    @property
    def end(self) -> Floats | None:
        """[stride] constant scores of last labels: minus infinity if forbidden, or those of a warm start."""
        initial: Floats | None = None if self.initial is None else self.initial.end
        if self.end_base is None or initial is None:
            return self.end_base if initial is None else initial
        return self.end_base + initial

    def token_weights(self) -> Doubles:
        """Get the weight of each token: that of its sentence.

        Returns
        -------
        Doubles
            [n_tokens].
        """
        lengths = np.diff(self.starts)
        weights = np.ones(self.n_sentences) if self.sentence_weights is None else self.sentence_weights
        return np.repeat(weights, lengths)

    def label_triples(self, first: int = 0, last: int | None = None) -> tuple[Longs, Longs, Longs]:
        """List the gold label of each token with the two preceding ones (-1: not fully known).

        Parameters
        ----------
        first
            First sentence.
        last
            Sentence after the last one (default: all sentences).

        Returns
        -------
        tuple[Longs, Longs, Longs]
            Three arrays [n_tokens].
        """
        starts = self.starts[first : (last or self.n_sentences) + 1]
        z = self.gold[starts[0] : starts[-1]].astype(np.int64)
        position = np.arange(len(z)) - np.repeat(starts[:-1] - starts[0], np.diff(starts))
        x, y = (np.where(position < back, self.n_labels, np.roll(z, back)) for back in (2, 1))
        return x, y, z

    @property
    def is_stepwise(self) -> bool:
        """Whether attributes depend on labels further back, which needs beam search."""
        return self.corpus.has_far

    def examples(self) -> _core.ChainExamples:
        """Convert sentences and labels to checked native examples.

        Returns
        -------
        _core.ChainExamples
            Native examples.
        """
        return _core.ChainExamples(self.corpus, self.gold, self.partial, self.label_costs)

    def shape(self) -> dict[str, Any]:
        """Get sizes and order of the chains, for native weights.

        Returns
        -------
        dict[str, Any]
            Arguments by name.
        """
        return {
            "n_attributes": self.corpus.n_attributes,
            "n_edge_attributes": self.corpus.n_edge_attributes,
            "n_labels": self.n_labels,
            "order": self.order,
            "sparse": self.is_sparse,
            "parts": self.label_parts,
            "end": self.end,
            "seen": None if self.seen_rows is None else self.seen_rows.of_type(np.uint32),
        }

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
        examples = self.examples()

        def pass_over(native: _core.Online, order: Longs) -> tuple[int, int]:
            return native.epoch(examples, order, self.sentence_weights, options.batch, self.n_threads)

        def learnt(native: _core.Online, average: bool) -> ChainWeights:
            weights = self.learnt(native, average)
            return _voted(weights, native, self.corpus.n_attributes) if options.vote else weights

        return NativeWeights(lambda: _online(self, options), pass_over, learnt)

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
        if self.partial is not None:
            raise LearnerError("max-margin learners do not support partial labels; use Perceptron or CRF")
        examples, weights = self.examples(), self.sentence_weights

        def losses(weights: ChainWeights) -> Doubles:
            ngrams = None if weights.ngrams is None else weights.ngrams.native(self.n_labels, self.order)
            options: Any = {"order": self.order, "zero_one": zero_one, "n_threads": self.n_threads}
            return _core.margin_losses(examples, weights.native(ngrams), **options)

        return MarginWeights(
            lambda: _frank_wolfe(self, examples, C, zero_one),
            lambda native, order: native.epoch(examples, order, weights),
            self.learnt,
            (examples,),
            renewed=lambda native: native.renew(examples, weights),
            losses=losses,
        )

    def vector(self, learner: BatchLearner) -> Parameters:
        """Make a vector of weights for a batch learner.

        Parameters
        ----------
        learner
            The learner.

        Returns
        -------
        Parameters
            The vector.
        """
        return learner.layout(self)

    def weights_of(self, tensors: Arrays) -> ChainWeights:
        """Read weights from a checkpoint.

        Parameters
        ----------
        tensors
            Arrays by name.

        Returns
        -------
        ChainWeights
            The weights.

        Raises
        ------
        ValueError, LookupError
            If they are not weights of this problem.
        """
        weights = ChainWeights.of_tensors(tensors, self.n_labels, self.label_parts)
        weights.check(self.n_labels, self.corpus.n_attributes, self.corpus.n_edge_attributes)
        return weights

    def learnt(self, native: _core.Online | _core.FrankWolfe, average: bool) -> ChainWeights:
        """Convert native weights.

        Parameters
        ----------
        native
            Native weights.
        average
            Whether to return the average over all steps.

        Returns
        -------
        ChainWeights
            The weights.
        """
        weights = native.weights(average)
        ngrams = weights["ngrams"]
        return ChainWeights(
            self.n_labels,
            Rows.native(weights["rows"], np.uint16),
            Rows(**weights["edge_rows"]) if self.corpus.n_edge_attributes else None,
            weights["edge"],
            weights["tri"] if self.order == 2 and ngrams is None else None,
            self.end,
            parts=self.label_parts,
            ngrams=None if ngrams is None else Ngrams(**ngrams),
            beam=self.beam,
        )


def chains_of(problem: Problem, learner: Learner) -> ChainProblem:
    """The problem, if it is one of chains; LearnerError for a learner that trains no other structure."""
    if not isinstance(problem, ChainProblem):
        raise LearnerError(f"{type(learner).__name__} supports chains only; use another learner")
    return problem


def _online(problem: ChainProblem, options: OnlineOptions) -> _core.Online:
    """New native weights, at zero or at those of a warm start (core/learn/chain_learners.hpp)."""
    first = problem.initial
    rule, beam = options.rule_settings, (problem.beam, options.update or "standard")
    native = _core.Online(problem.shape(), *rule, options.vote, *beam)
    if first is None:
        _forbid(problem, native)
        return native
    if first.tri is not None and problem.order < 2:
        raise LearnerError("the initial weights are of order 2; train at order 2, or without init")
    state: dict[str, Any] = native.state()
    # In addition to seen pairs, if only these have weights.
    state |= _row_state("rows", first.rows)
    if first.edge_rows is not None:
        state |= _row_state("edge_rows", first.edge_rows)
    edge = first.edge if problem.edge_base is None else first.edge + problem.edge_base
    state["edge.weights"] = edge.reshape(-1)
    if problem.is_sparse and first.ngrams is not None:
        weights = np.concatenate([np.zeros(problem.n_labels + 2, np.float32), first.ngrams.weights])  # after one label
        state |= {"ngrams.parents": first.ngrams.parents, "ngrams.labels": first.ngrams.labels}
        state |= {"tri.weights": weights, "tri.sums": np.zeros(len(weights)), "tri.variances": np.empty(0, np.float32)}
    elif first.tri is not None and not problem.is_sparse:
        state["tri.weights"] = first.tri.reshape(-1)
    if options.vote:
        state |= _first_update(problem, state)
    native.restore(state)
    return native


def _row_state(name: str, rows: Rows) -> Arrays:
    """Rows as part of the state of native weights, never updated."""
    n, labels = len(rows.weights), rows.of_type(np.uint32).labels
    sums, variances = np.zeros(n), np.ones(n, np.float32)
    arrays = {"starts": rows.starts, "labels": labels, "weights": rows.weights, "sums": sums, "variances": variances}
    return {f"{name}.{key}": array for key, array in arrays.items()}


def _first_update(problem: ChainProblem, state: Mapping[str, Any]) -> Arrays:
    """A log whose first update are all weights, for votes after a warm start."""
    corpus, first_row, parts = problem.corpus, 0, list[tuple[Any, Any, Any]]()
    for name, n in (("rows", corpus.n_attributes), ("edge_rows", corpus.n_edge_attributes)):
        rows = first_row + np.repeat(np.arange(n), np.diff(state[f"{name}.starts"]))
        parts.append((rows, state[f"{name}.labels"], state[f"{name}.weights"]))
        first_row += n
    for name in ("edge", "tri"):
        weights = state[f"{name}.weights"]
        parts.append((np.full(len(weights), first_row), np.arange(len(weights)), weights))
        first_row += 1
    rows, places, changes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    kept = (changes != 0) & np.isfinite(changes)
    log = {"clocks": np.zeros(1, np.int64), "starts": np.array([0, kept.sum()], np.int64), "changes": changes[kept]}
    log |= {"rows": rows[kept].astype(np.uint32), "places": places[kept].astype(np.uint32)}
    return {f"log.{key}": array for key, array in log.items()}


def _forbid(problem: ChainProblem, native: _core.Online | _core.FrankWolfe, *examples: _core.ChainExamples) -> None:
    """Set the weights of forbidden label pairs to minus infinity."""
    if problem.edge_base is not None:
        native.restore({**native.state(), "edge.weights": problem.edge_base.reshape(-1)}, *examples)


def _voted(learnt: ChainWeights, native: _core.Online, n_attributes: int) -> ChainWeights:
    """With all updates: the weights after update u have a vote for every example until the next update."""
    log = native.log()
    counts = np.diff(np.concatenate([[0], log.pop("clocks"), [native.clock]]))
    votes = Votes(counts, **log)
    edge_rows = None if learnt.edge_rows is None else _with_rows_of(learnt.edge_rows, votes, n_attributes)
    return replace(learnt, rows=_with_rows_of(learnt.rows, votes, 0), edge_rows=edge_rows, votes=votes)


def _frank_wolfe(p: ChainProblem, examples: _core.ChainExamples, C: float, zero_one: bool) -> _core.FrankWolfe:
    """New native weights with dual variables, at zero (core/learn/chain_learners.hpp)."""
    native = _core.FrankWolfe(p.shape(), p.n_sentences, C, zero_one)
    _forbid(p, native, examples)
    return native


def _with_rows_of(rows: Rows, votes: Votes, first_row: int) -> Rows:
    """A row for every attribute that some update changed, be its average zero: else it would be dropped."""
    n = rows.n_attributes
    changed = votes.rows[(votes.rows >= first_row) & (votes.rows < first_row + n)]
    sizes = np.diff(rows.starts)
    silent = np.flatnonzero((np.bincount(changed - first_row, minlength=n)[:n] > 0) & (sizes == 0))
    places = rows.starts[silent].astype(np.int64)
    labels: Any = np.insert(rows.labels, places, 0)
    sizes[silent] = 1
    return Rows(starts_of(sizes).astype(np.uint32), labels, np.insert(rows.weights, places, 0))
