"""What all learners by epochs share: weights that change sentence by sentence (core/online.hpp)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.errors import LearnerError
from trellis.learning.problem import Problem
from trellis.model.votes import Votes
from trellis.model.weights import ChainWeights, Rows, padded

_ROWS = ("starts", "labels", "weights", "sums", "variances")
_TABLE = ("weights", "sums", "variances")
_LOG = ("clocks", "starts", "rows", "places", "changes")


def check(name: str, value: float, *, at_least: int | None = None) -> None:
    """A parameter must be a finite number above zero, or a whole number from some number on."""
    if at_least is not None:
        if not isinstance(value, int) or value < at_least:
            raise LearnerError(f"{name} must be at least {at_least}, not {value!r}")
    elif not 0 < value < float("inf"):
        raise LearnerError(f"{name} must be a number above 0, not {value}")


def check_epochs(epochs: int, seed: int) -> None:
    """The parameters that all learners by epochs have."""
    check("epochs", epochs, at_least=1)
    check("seed", seed, at_least=0)


class OnlineRun:
    """The weights while training goes on; a learner is a rule for the size of steps, with k paths and a constant c."""

    def __init__(
        self, problem: Problem, rule: str, *, average: bool, k: int = 1, c: float = 1.0, vote: bool = False
    ) -> None:
        self.problem, self.average, self.vote = problem, average, vote
        self._rule = (rule, k, c)
        self.end = _sum(problem.end_base, None if problem.initial is None else problem.initial.end)
        self.native = self._begin()

    def _begin(self) -> _core.Online:
        problem, corpus, first = self.problem, self.problem.corpus, self.problem.initial
        native = _core.Online(
            corpus.n_attributes,
            corpus.n_edge_attributes,
            problem.n_labels,
            problem.order,
            *self._rule,
            self.vote,
        )
        if problem.seen is not None:
            native.set_rows(_wide(problem.seen), grows=False)
        if first is not None:
            if first.tri is not None and problem.order < 2:
                raise LearnerError(
                    "the weights to begin with are of order 2; train at order 2, or begin anew"
                )
            native.set_rows(
                _wide(first.rows), grows=True
            )  # beside what was seen, if that is all they may have
            if first.edge_rows is not None:
                native.set_edge_rows(_wide(first.edge_rows))
        n, stride = problem.n_labels, padded(problem.n_labels)
        edge = _sum(None if first is None else first.edge, problem.edge_base)
        tri = None if first is None else first.tri
        if edge is None:
            edge = np.zeros((n + 1, stride), np.float32)
        if tri is None:
            tri = np.zeros((n + 1, n + 1, stride) if problem.order == 2 else 0, np.float32)
        end = np.empty(0, np.float32) if self.end is None else self.end
        if problem.order == 2 and len(end):
            end = np.tile(end, n + 1)
        native.set_labels(edge.reshape(-1), tri.reshape(-1), end)
        if self.vote and first is not None:
            native.log_initial()
        return native

    def epoch(self, order: npt.NDArray[np.int64]) -> tuple[int, int]:
        """One pass over the sentences in that order: (tokens mistaken, sentences that made a step)."""
        p = self.problem
        return self.native.epoch(p.corpus, p.gold, order, p.partial, p.sentence_weights, p.label_costs)

    def result(self) -> ChainWeights:
        """The weights to tag with, were the training over now."""
        (starts, labels, weights), edge_rows, edge, tri = self.native.weights(self.average)
        p = self.problem
        rows = Rows(starts, labels.astype(np.uint16), weights)
        on_edges = Rows(*edge_rows) if p.corpus.n_edge_attributes else None
        votes = self._votes() if self.vote else None
        if votes is not None:
            rows = _with_rows_of(rows, votes, 0)
            if on_edges is not None:
                on_edges = _with_rows_of(on_edges, votes, p.corpus.n_attributes)
        return ChainWeights(p.n_labels, rows, on_edges, edge, tri if p.order == 2 else None, self.end, votes)

    def _votes(self) -> Votes:
        """The weights after update u have a vote for every example until the next update."""
        clocks, starts, rows, places, changes = self.native.log()
        moments = np.concatenate([[0], clocks, [self.native.clock]])
        return Votes(np.diff(moments), starts, rows, places, changes)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that is needed to go on later, to the same bits."""
        clock, rows, edge_rows, edge, tri, log = self.native.state()
        out: dict[str, npt.NDArray[Any]] = {"clock": np.array([clock], np.int64)}
        for name, parts, names in _parts(rows, edge_rows, edge, tri, log):
            out |= {f"{name}.{part}": array for part, array in zip(names, parts, strict=True)}
        return out

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from that state; LearnerError if it is not one of such a run."""
        native = self._begin()
        try:
            parts: list[Any] = [
                tuple(state[f"{name}.{part}"] for part in names)
                for name, _, names in _parts(None, None, None, None, None)
            ]
            native.restore(int(state["clock"][0]), *parts)
        except (LookupError, ValueError, TypeError) as error:
            raise LearnerError(
                f"the state is not one of this training, with these settings on this corpus ({error})"
            ) from error
        self.native = native


def _parts(
    rows: Any, edge_rows: Any, edge: Any, tri: Any, log: Any
) -> list[tuple[str, Any, tuple[str, ...]]]:
    """The parts of a state with their names."""
    return [
        ("rows", rows, _ROWS),
        ("edge_rows", edge_rows, _ROWS),
        ("edge", edge, _TABLE),
        ("tri", tri, _TABLE),
        ("log", log, _LOG),
    ]


def _sum(a: npt.NDArray[np.float32] | None, b: npt.NDArray[np.float32] | None) -> Any:
    """Both, or the one that there is."""
    return b if a is None else a if b is None else a + b


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
