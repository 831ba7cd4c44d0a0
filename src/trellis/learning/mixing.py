"""Online learners on shards of the examples, mixed after every epoch (McDonald, Hall and Mann 2010).

Every shard takes one epoch from the same weights. Then each weight changes by the mean of its changes: over all shards
("uniform") or over those that changed it ("touched"). The number of shards is part of the training; threads and workers
are not, as changes are added in fixed point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Longs
from trellis._support.errors import LearnerError
from trellis.learning.learner import OnlineOptions
from trellis.learning.online import OnlineRun
from trellis.learning.problem import NativeWeights, Problem, State
from trellis.learning.run import Event, sentence_order
from trellis.learning.sums import UNIT, OnePart, Parts, exponent_of, real_of

KINDS = "ends", "means", "precisions"  # of changes (core/learn/mixing.hpp)


class Pass(NamedTuple):
    """Result of one epoch on one shard."""

    changes: dict[str, Any]
    mistakes: int
    updates: int


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Changes of weights, summed over shards."""

    keys: npt.NDArray[np.uint64]  # ascending
    # [kinds + 1, n_keys]: changes of each kind in units of 2^-(its exponent); last row: number of shards with a change.
    sums: Longs

    def __add__(self, other: Changes) -> Changes:
        """Add two sets of changes."""
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")
        keys, sums = keys[order], np.concatenate([self.sums, other.sums], axis=1)[:, order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
        return Changes(keys[first], np.add.reduceat(sums, first, axis=1) if len(first) else sums)

    def mean(self, exponents: Sequence[int], n_shards: int | None) -> dict[str, Any]:
        """Mean change over ``n_shards``; None: over the shards that changed the weight."""
        amounts = [
            real_of(sums, exponent) / (n_shards or self.sums[-1])
            for sums, exponent in zip(self.sums, exponents, strict=False)
        ]
        return {"keys": self.keys, **dict.fromkeys(KINDS, np.empty(0)), **dict(zip(KINDS, amounts, strict=False))}


@dataclass(slots=True)
class ShardsPart:
    """The shards of one process."""

    problem: Problem
    options: OnlineOptions
    shards: int  # in all processes
    shared: dict[str, Any]
    _about: NativeWeights | None = None
    _done: tuple[int, list[Pass]] | None = None  # (number of the epoch, its results)

    def at(self, problem: Any) -> ShardsPart:
        """Copy with other examples; without examples (None) it can be sent to another process."""
        problem = problem and replace(problem, **self.shared)
        return replace(self, problem=problem, _about=None, _done=None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of changes; only AROW has precisions."""
        return KINDS if self.options.rule == "AROW" else KINDS[:2]

    def largest(self, number: int, start: Any, kind: str) -> float:
        """Largest change of one kind in epoch ``number``, starting from the weights of ``start``."""
        passes = self._passes(number, start)
        return max((float(np.abs(result.changes[kind]).max(initial=0.0)) for result in passes), default=0.0)

    def changes(self, number: int, start: Any, exponents: Sequence[int]) -> tuple[Changes, int, int, int]:
        """Sum of all changes in the epoch, and the numbers of shards, mistakes and updates."""
        passes = self._passes(number, start)
        total = Changes(np.empty(0, np.uint64), np.empty((len(self.kinds) + 1, 0), np.int64))
        for result in passes:
            amounts = [np.ldexp(result.changes[kind], e) for kind, e in zip(self.kinds, exponents, strict=True)]
            sums = np.rint(amounts).astype(np.int64)
            total += Changes(result.changes["keys"], np.vstack([sums, np.ones((1, sums.shape[1]), np.int64)]))
        return total, len(passes), sum(result.mistakes for result in passes), sum(result.updates for result in passes)

    def _passes(self, number: int, start: Any) -> list[Pass]:
        """Results of all shards, starting from a learner or its state; cached until the next epoch."""
        if self._done is None or self._done[0] != number:
            self._done = None
            self._done = number, list(self._run(number, start))
        return self._done[1]

    def _run(self, number: int, start: Any) -> Iterator[Pass]:
        problem, options = self.problem, self.options
        shards, n_threads = problem.shards(self.shards), problem.n_threads
        if n_threads > 1 and len(shards) > 1:
            problem = replace(problem, n_threads=1)
        weights = self._about = self._about or problem.online(options)
        if isinstance(start, dict):
            state, start = start, weights.make()
            start.restore(state, *weights.examples)

        def run(shard: tuple[int, Longs]) -> Pass:
            place, examples = shard
            seed = None if options.seed is None else options.seed * self.shards + place
            native = weights.make()
            native.begin_at(start)
            order = examples[sentence_order(len(examples), number, seed)]
            mistakes, updates = weights.pass_over(native, order)
            return Pass(native.changes_since(start), mistakes, updates)

        if n_threads == 1:
            yield from map(run, shards)
            return
        with ThreadPoolExecutor(n_threads) as threads:
            yield from threads.map(run, shards)


class Mixing(OnlineRun):
    """The training of an online learner on shards."""

    def __init__(self, problem: Problem, rule: str, shards: int, mix: str, **options: Any) -> None:
        super().__init__(problem, rule, **options)
        if self.options.vote:
            raise LearnerError("vote cannot be combined with shards; omit one")
        self.mix, part = mix, ShardsPart(problem, self.options, shards, problem.shared)
        self.kinds = part.kinds
        self.n_shards, self.elsewhere = shards, problem.parts is not None
        self.parts: Parts = OnePart(part) if problem.parts is None else problem.parts(part)

    def step(self, number: int) -> Event:
        """One epoch of every shard."""
        start: State | Any = self.native.state() if self.elsewhere else self.native
        largest = [self.parts.most("largest", number, start, kind) for kind in self.kinds]
        if not np.isfinite(largest).all():
            raise LearnerError("weights diverged; use a smaller C or fewer epochs")
        exponents = [exponent_of(int(bound * self.n_shards * UNIT) + 1) for bound in largest]
        changes, n_shards, mistakes, updates = self.parts.sum("changes", number, start, exponents)
        self.native.add_round(changes.mean(exponents, n_shards if self.mix == "uniform" else None))
        return self.event(number, mistakes, updates)
