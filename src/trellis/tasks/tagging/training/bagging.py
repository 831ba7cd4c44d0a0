"""Feature bagging: several trainings, each with a random subset of the features, averaged into one model.

Every member omits a random tenth of the attributes and, if its learner shuffles, has its own order of sentences. The
score of the model is the mean of the members' scores. For exponential models that is a product of experts,
p(y | x) ~ prod_i p_i(y | x)^(1/k); and as scores are linear in weights, it is one chain with the mean of the weights,
as large and as fast as any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from trellis import _core
from trellis._support.arrays import Floats, Ragged, starts_of
from trellis._support.errors import LearnerError
from trellis.engine.weights import ChainWeights, Rows
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.learner import Learner
from trellis.learning.run import Event, Observer, Watched

# On the dev sentences of CoNLL-2000, omitting more features lowered F1, and omitting fewer gained nothing.
LEFT_OUT = 0.1
NO_MEAN = (
    "bagging cannot be combined with vote, dual learners, orders above 2, templates of several preceding labels "
    "(label[-2..-1] & word[0]) or several values of prune"
)


def fit_members(
    problem: ChainProblem, learner: Learner, k: int, observer: Observer | None
) -> tuple[ChainWeights, list[Event], int]:
    """Train ``k`` members one after the other, unless stopped; return also the joint history and their number."""
    unfit: dict[str, Any] = {"checkpoint": problem.checkpoint}
    unfit |= {"segments": problem.corpus.segments, "templates such as label[-3]": problem.corpus.has_far or None}
    if option := next((option for option, value in unfit.items() if value is not None), None):
        raise LearnerError(f"bagging cannot be combined with {option}; omit one of them")
    members, history, watched = list[ChainWeights](), list[Event](), Watched(observer)
    seed = learner.effective().get("seed")  # a different seed per member, if the learner has one
    for i in range(k):
        member = learner if seed is None else cast(Learner, replace(cast(Any, learner), seed=(seed + i) % 2**31))
        weights, events = member.fit(_part_of(problem, i), watched)
        if weights.votes is not None or weights.dual is not None or weights.ngrams is not None:
            raise LearnerError(NO_MEAN)
        members.append(weights)
        history += events
        if watched.stopped:
            break
    return mean_of(members), history, len(members)


def _part_of(problem: ChainProblem, i: int) -> ChainProblem:
    """The problem without the attributes omitted by member i."""
    corpus, random = problem.corpus, np.random.default_rng(i)

    def some(lists: tuple[Any, Any, Any], n: int) -> Any:
        numbers = np.where(random.random(n) >= LEFT_OUT, np.arange(n), -1).astype(np.int32)
        return Ragged(*lists).renumber(numbers).arrays

    lists = some(corpus.lists, corpus.n_attributes)
    on_edges = None if corpus.edge_lists is None else some(corpus.edge_lists, corpus.n_edge_attributes)
    sizes = corpus.n_attributes, corpus.n_edge_attributes, corpus.n_labels
    part = _core.Encoded(corpus.starts, lists, on_edges, corpus.sets, *sizes, corpus.histories)
    return replace(problem, corpus=part)


def mean_of(members: Sequence[ChainWeights]) -> ChainWeights:
    """One chain with the mean of the weights; missing weights of a member count as zero."""
    first = members[0]
    return replace(
        first,
        rows=_mean_rows([member.rows for member in members]),
        edge_rows=None if first.edge_rows is None else _mean_rows([m.edge_rows for m in members if m.edge_rows]),
        edge=_mean([member.edge for member in members]),
        tri=None if first.tri is None else _mean([member.tri for member in members]),
        end=None if first.end is None else _mean([member.end for member in members]),
    )


def _mean(tables: Sequence[Any]) -> Floats:
    return np.asarray(np.mean(tables, axis=0, dtype=np.float64), np.float32)


def _mean_rows(members: Sequence[Rows]) -> Rows:
    n, width = members[0].n_attributes, 1 + max(int(rows.labels.max(initial=0)) for rows in members)
    keys = [np.repeat(np.arange(n), np.diff(rows.starts)) * width + rows.labels for rows in members]
    places, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    weights = np.concatenate([rows.weights for rows in members]).astype(np.float64)
    mean = np.bincount(inverse.reshape(-1), weights, len(places)) / len(members)
    starts = starts_of(np.bincount(places // width, minlength=n)).astype(np.uint32)
    labels: Any = (places % width).astype(members[0].labels.dtype)
    return Rows(starts, labels, mean.astype(np.float32))
