"""Beam search over outputs that are decided step by step, and what a learner updates on where it goes wrong.

A beam holds *states*: hypotheses that everything to come sees alike are one, and its best ones are kept. With one state
per hypothesis it is ordinary beam search; where the states are as many as there can be, it is exact.
"""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from trellis._support.arguments import items
from trellis._support.errors import ArgumentError, LearnerError
from trellis.tasks.structured.problem import Features, StepProblem, Weights, plain_features, same

Steps = tuple[Any, ...]
COMPLETE: Hashable = ()  # the state of all complete outputs: nothing is to come


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What was chosen so far, and its score, with its cost where that was asked for."""

    done: Steps
    score: float
    choices: list[Any]  # what may come next; nothing: it is complete
    # Which of the choices each was, the last first. Among equals the lowest wins: as in chains, the first choice,
    # decided from the last step backwards.
    order: tuple[int, ...] = ()


State = list[Hypothesis]  # best first
Beam = list[State]  # by their best hypotheses, best first


class BeamSearch:
    """A problem of steps with the width of its beam; it answers what a problem with ``argmax`` and ``kbest`` does."""

    def __init__(self, problem: StepProblem[Any, Any], width: int) -> None:
        self.problem, self.width = problem, width
        self._signature = getattr(problem, "signature", None)

    def argmax(self, x: Any, weights: Weights) -> Steps:
        """The best output that the beam finds."""
        return self.kbest(x, weights, 1)[0]

    def kbest(self, x: Any, weights: Weights, k: int) -> list[Steps]:
        """The k best; the first is the one that ``argmax`` gives."""
        *_, last = self.beams(x, weights, k)
        return [one.done for one in best_of(last, k)]

    def features(self, x: Any, y: Sequence[Any], where: str = "x") -> Features:
        """Phi: the sum over all steps; errors say ``where`` they are."""
        total: dict[str, float] = {}
        for t in range(len(y)):
            for name, value in plain_features(self.problem.features(x, tuple(y[:t]), y[t]), where).items():
                total[name] = total.get(name, 0.0) + value
        return total

    def beams(self, x: Any, weights: Weights, k: int, gold: Steps | None = None, where: str = "x") -> Iterator[Beam]:
        """The beam after 0, 1, ... steps until all outputs are complete; with ``gold`` by score + cost."""
        beam: Beam = [[Hypothesis((), 0.0, self.choices(x, (), where))]]
        yield beam
        t = 0
        while any(one.choices for state in beam for one in state):
            beam = self._advance(x, weights, k, beam, None if gold is None else gold[t : t + 1], where)
            t += 1
            yield beam

    def _advance(self, x: Any, weights: Weights, k: int, beam: Beam, right: Steps | None, where: str) -> Beam:
        """One step on; ``right``, where costs count, is the right choice of this step, if it has one."""
        # Equal scores: ranks within states come first, so that the best hypothesis of a state never depends on k.
        found = list[tuple[tuple[float, int, tuple[int, ...]], Hashable, Hypothesis]]()
        for state in beam:
            for r, one in enumerate(state):
                if not one.choices:
                    missed = replace(one, score=one.score + (right is not None and right != ()))
                    found.append(((-missed.score, r, one.order), COMPLETE, missed))
                    continue
                for c, choice in enumerate(one.choices):
                    features = plain_features(self.problem.features(x, one.done, choice), where)
                    score = one.score + weights.score(features)
                    if right is not None and not same((choice,), right):
                        score += 1
                    done = (*one.done, choice)
                    choices, order = self.choices(x, done, where), (c, *one.order)
                    seen = self._seen(x, done, where) if choices else COMPLETE
                    found.append(((-score, r, order), seen, Hypothesis(done, score, choices, order)))
        found.sort(key=lambda one: one[0])
        states: dict[Any, State] = {}
        for i, (_, seen, one) in enumerate(found):
            state = states.setdefault(i if seen is None else seen, [])
            if len(state) < k:
                state.append(one)
        return list(islice(states.values(), self.width))

    def _seen(self, x: Any, done: Steps, where: str) -> Hashable:
        """What is equal for hypotheses of one state; None: each is a state of its own."""
        if self._signature is None:
            return None
        given = self._signature(x, done)
        try:
            hash(given)
        except TypeError:
            raise ArgumentError(
                f"{where}: signature(x, done) must return a hashable value, such as a tuple, not {reprlib.repr(given)}"
            ) from None
        return (given,)

    def choices(self, x: Any, done: Steps, where: str) -> list[Any]:
        """What may come next; ArgumentError if that is no list."""
        given: Any = self.problem.choices(x, done)
        choices = list(given) if isinstance(given, str) else items(given)
        if choices is None:
            why = f"must return a list, empty at the end, not {reprlib.repr(given)}"
            raise ArgumentError(f"{where}: choices(x, done) {why}")
        return choices

    def check_steps(self, x: Any, y: Any, where: str) -> Steps:
        """The steps of a right output; LearnerError if it is not an output of the problem."""
        try:
            gold = tuple(y)
        except TypeError:
            raise ArgumentError(f"{where}: y must be a sequence of choices, not {y!r}") from None
        for t, choice in enumerate(gold):
            if not any(same((choice,), (one,)) for one in self.choices(x, gold[:t], where)):
                raise LearnerError(f"{where}: step {t} of y (counted from 0), {choice!r}, is not among its choices")
        if self.choices(x, gold, where):
            raise LearnerError(f"{where}: y is not complete; choices(x, y) must be empty")
        return gold


def best_of(beam: Beam, k: int) -> list[Hypothesis]:
    """The k best hypotheses."""
    ranked = [((-one.score, r, one.order), one) for state in beam for r, one in enumerate(state)]
    return [one for _, one in sorted(ranked, key=lambda entry: entry[0])[:k]]


def violations(
    search: BeamSearch, x: Any, gold: Steps, weights: Weights, *, update: str, k: int, augmented: bool, where: str = "x"
) -> tuple[Steps, list[Steps]]:
    """A beginning of the right output, and as many steps of others to step away from.

    "standard": all of the k best. "early": what the beam was when the right output first fell out of it. With
    "max-violation": where the best of the beam exceeded the right one most. Where the best output is right, or the
    right one never fell out, all of the outputs.
    """
    beams = list(search.beams(x, weights, k, gold if augmented else None, where))
    t = last = len(beams) - 1
    best = [beam[0][0] for beam in beams]
    if update != "standard" and not same(best[-1].done, gold):
        if update == "early":
            fallen = (t for t, beam in enumerate(beams) if not any(same(state[0].done, gold[:t]) for state in beam))
            t = next(fallen, last)
        else:
            right = [0.0]  # what beginnings of the right output score, summed as the beam sums
            for i, choice in enumerate(gold):
                right.append(right[-1] + weights.score(search.problem.features(x, gold[:i], choice)))
            wrong = [i for i in range(last + 1) if not same(best[i].done, gold[:i])]
            t = max(wrong, key=lambda i: best[i].score - right[min(i, len(gold))])
    return gold[:t], [one.done for one in best_of(beams[t], k) if not same(one.done, gold[:t])]


def n_wrong(gold: Steps, done: Steps) -> int:
    """Steps that differ, and those that one has and the other has not."""
    return sum(not same(gold[t : t + 1], done[t : t + 1]) for t in range(max(len(gold), len(done))))
