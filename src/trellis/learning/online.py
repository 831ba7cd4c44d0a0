"""What all online learners share: weights that change sentence by sentence (core/learn/online.hpp)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from trellis import _core
from trellis._support.arrays import Longs
from trellis._support.errors import LearnerError
from trellis.engine.weights import ChainWeights, Ngrams, Rows, Votes, padded
from trellis.learning.feature_problem import FeatureProblem, FeatureRun
from trellis.learning.learner import ALL_ABILITIES, Ability, Constraints, Learner, OnlineOptions, choice, flag, whole
from trellis.learning.run import Event, Problem, State, Work, restoring, wrong_parts
from trellis.learning.site_problem import SiteProblem, SiteRun

Update = Literal["standard", "early", "max-violation"]
ROWS = ("starts", "labels", "weights", "sums", "variances")
TABLE = ("weights", "sums", "variances")
_LOG = ("clocks", "starts", "rows", "places", "changes")
NGRAMS = ("parents", "labels")
_PARTS = {"rows": ROWS, "edge_rows": ROWS, "edge": TABLE, "tri": TABLE, "log": _LOG, "ngrams": NGRAMS}  # of a state


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineLearner(Learner):
    """What all online learners have. ``shuffle``: sentences in another order in each epoch, the same for a ``seed``."""

    epochs: int = 10
    average: bool = True
    shuffle: bool = True
    seed: int = 0

    constraints: ClassVar[Constraints] = {
        "epochs": whole(1),
        "average": flag(),
        "shuffle": flag(),
        "seed": whole(only=("shuffle=True", lambda p: p["shuffle"])),
    }
    streams = True

    @property
    def abilities(self) -> frozenset[Ability]:
        """All there are."""
        return ALL_ABILITIES


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBatchLearner(OnlineLearner):
    """Online learners that decode ``batch`` sentences by the same weights, on all threads, then step in order.

    ``update`` says on what they update where a beam search from left to right went wrong: "standard", on the whole
    output; "early", on what it was when the right one first fell out of the beam; "max-violation" (the default), where
    it exceeded the right one most.
    """

    batch: int = 1
    update: Update | None = None

    constraints: ClassVar[Constraints] = {
        **OnlineLearner.constraints,
        "batch": whole(1, 2**16),
        "update": choice(*get_args(Update), default=None),
    }


def online_work(problem: Problem | FeatureProblem | SiteProblem, rule: str, **options: Any) -> Work:
    """The training of an online learner, over chains or any other structure."""
    if isinstance(problem, SiteProblem):
        return SiteRun(problem, rule, **options)
    if isinstance(problem, FeatureProblem):
        return FeatureRun(problem, rule, **options)
    return OnlineRun(problem, rule, **options)


class OnlineRun(Work):
    """The weights in training; a learner is a rule for the size of steps, with k paths and a constant c."""

    def __init__(self, problem: Problem, rule: str, **options: Any) -> None:
        given = OnlineOptions(**options)
        self.problem, self.average, self.vote, self.batch = problem, given.average, given.vote, given.batch
        self.epochs, self.seed = given.epochs, given.seed_of_order
        self._rule = (rule, given.k, given.c)
        self.update = given.update_of(stepwise=problem.corpus.has_far)
        self.native = self._begin()

    def _begin(self) -> _core.Online:
        problem, corpus, first = self.problem, self.problem.corpus, self.problem.initial
        native = _core.Online(
            corpus.n_attributes,
            corpus.n_edge_attributes,
            problem.n_labels,
            problem.order,
            problem.is_sparse,
            *self._rule,
            self.vote,
            None if problem.label_parts is None else problem.label_parts.arrays,
        )
        if problem.seen is not None:
            native.set_rows(_wide(problem.seen), grows=False)
        if first is not None:
            if first.tri is not None and problem.order < 2:
                raise LearnerError("the weights to begin with are of order 2; train at order 2, or begin anew")
            # Beside what was seen, if that is all they may have.
            native.set_rows(_wide(first.rows), grows=True)
            if problem.is_sparse and first.ngrams is not None:
                native.set_ngrams((first.ngrams.parents, first.ngrams.labels), first.ngrams.weights)
            if first.edge_rows is not None:
                native.set_edge_rows(_wide(first.edge_rows))
        n, stride = problem.n_labels, padded(problem.n_labels)
        edge = np.zeros((n + 1, stride), np.float32) if first is None else first.edge
        if problem.edge_base is not None:
            edge = edge + problem.edge_base
        tri = None if first is None else first.tri
        if problem.is_sparse:
            tri = native.state()[4][0]
        elif tri is None:
            tri = np.zeros((n + 1, n + 1, stride) if problem.order == 2 else 0, np.float32)
        end = np.empty(0, np.float32) if problem.end is None else problem.end
        native.set_labels(edge.reshape(-1), tri.reshape(-1), end)
        native.set_beam(problem.beam, self.update)
        if self.vote and first is not None:
            native.log_initial()
        return native

    def step(self, number: int) -> Event:
        """One pass over all sentences."""
        mistakes = updates = tokens = 0
        for block in self.problem.in_blocks():
            wrong, stepped = self.epoch(block.sentence_order(number, self.seed), block)
            mistakes, updates, tokens = mistakes + wrong, updates + stepped, tokens + len(block.gold)
            del block  # before the next one is made
        return Event(number, tokens=tokens, updates=updates, **wrong_parts(self._rule[0], mistakes))

    def epoch(self, order: Longs, block: Problem | None = None) -> tuple[int, int]:
        """One pass over all sentences or those of a block, in that order: (tokens mistaken, sentences that stepped)."""
        p = block or self.problem
        threads = self.problem.n_threads
        return self.native.epoch(
            p.corpus, p.gold, order, p.partial, p.sentence_weights, p.label_costs, self.batch, threads
        )

    def weights(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        learnt = learnt_weights(self.problem, self.native, self.average)
        if not self.vote:
            return learnt
        # The weights after update u have a vote for every example until the next update.
        clocks, starts, rows, places, changes = self.native.log()
        votes = Votes(np.diff(np.concatenate([[0], clocks, [self.native.clock]])), starts, rows, places, changes)
        edge_rows = learnt.edge_rows
        if edge_rows is not None:
            edge_rows = _with_rows_of(edge_rows, votes, self.problem.corpus.n_attributes)
        return replace(learnt, rows=_with_rows_of(learnt.rows, votes, 0), edge_rows=edge_rows, votes=votes)

    def state(self) -> State:
        """Everything that a later epoch depends on."""
        clock, *parts = self.native.state()
        return {"clock": np.array([clock], np.int64), **packed(_PARTS, parts)}

    def restore(self, state: State) -> None:
        """Continue from that state, to the same bits; LearnerError if it is not one of such a training."""
        native = self._begin()
        with restoring():
            native.restore(int(state["clock"][0]), *unpacked(_PARTS, state))
        self.native = native


def learnt_weights(problem: Problem, native: _core.Online | _core.FrankWolfe, average: bool) -> ChainWeights:
    """What native code has learnt so far, or the average over all steps."""
    (starts, labels, weights), edge_rows, edge, tri, ngrams = native.weights(average)
    return ChainWeights(
        problem.n_labels,
        Rows(starts, labels.astype(np.uint16), weights),
        Rows(*edge_rows) if problem.corpus.n_edge_attributes else None,
        edge,
        tri if problem.order == 2 and ngrams is None else None,
        problem.end,
        parts=problem.label_parts,
        ngrams=None if ngrams is None else Ngrams(*ngrams),
        beam=problem.beam,
    )


def packed(names: Mapping[str, Sequence[str]], parts: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The parts of a native state as named arrays."""
    named = zip(names.items(), parts, strict=True)
    return {f"{k}.{one}": a for (k, ones), part in named for one, a in zip(ones, part, strict=True)}


def unpacked(names: Mapping[str, Sequence[str]], state: State) -> list[Any]:
    """The parts again; LookupError if one is missing."""
    return [tuple(state[f"{k}.{one}"] for one in ones) for k, ones in names.items()]


def _wide(rows: Rows) -> tuple[Any, Any, Any]:
    return rows.starts, rows.labels.astype(np.uint32), rows.weights


def _with_rows_of(rows: Rows, votes: Votes, first_row: int) -> Rows:
    """A row for every attribute that some update changed, be its average zero: else it would be dropped."""
    n = rows.n_attributes
    changed = votes.rows[(votes.rows >= first_row) & (votes.rows < first_row + n)]
    sizes = np.diff(rows.starts)
    silent = np.flatnonzero((np.bincount(changed - first_row, minlength=n)[:n] > 0) & (sizes == 0))
    places = rows.starts[silent].astype(np.int64)
    labels: Any = np.insert(rows.labels, places, 0)
    sizes[silent] = 1
    return Rows(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32),
        labels,
        np.insert(rows.weights, places, 0),
    )
