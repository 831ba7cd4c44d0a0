"""Beam search over outputs that are built step by step, and the update strategies of learners after search errors.

A beam holds *states*: hypotheses with the same signature share a state, which stores its best ones. With one state per
hypothesis this is ordinary beam search; if the beam has room for all states, it is exact.
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
COMPLETE: Hashable = ()  # the state of all complete outputs


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Choices so far with their score; includes the cost in loss-augmented search."""

    steps: Steps
    score: float
    choices: list[Any]  # next choices; empty: complete
    # Indices of the choices, last one first. The lowest wins ties: as in chains, the first choice, compared from the
    # last step backwards.
    order: tuple[int, ...] = ()


State = list[Hypothesis]  # best first
Beam = list[State]  # sorted by their best hypotheses, best first


class BeamSearch:
    """A step problem with its beam width; it has the methods of a problem with ``argmax`` and ``kbest``."""

    def __init__(self, problem: StepProblem[Any, Any], width: int) -> None:
        self.problem, self.width = problem, width
        self._signature = getattr(problem, "signature", None)

    def argmax(self, x: Any, weights: Weights) -> Steps:
        """The best output in the beam."""
        return self.kbest(x, weights, 1)[0]

    def kbest(self, x: Any, weights: Weights, k: int) -> list[Steps]:
        """The k best outputs; the first is the result of ``argmax``."""
        *_, last = self.beams(x, weights, k)
        return [hypothesis.steps for hypothesis in best_of(last, k)]

    def features(self, x: Any, y: Sequence[Any], place: str = "x") -> Features:
        """Phi: the sum over all steps; errors say ``place`` they are."""
        total: dict[str, float] = {}
        for t in range(len(y)):
            for name, value in plain_features(self.problem.features(x, tuple(y[:t]), y[t]), place).items():
                total[name] = total.get(name, 0.0) + value
        return total

    def beams(self, x: Any, weights: Weights, k: int, gold: Steps | None = None, place: str = "x") -> Iterator[Beam]:
        """The beam after 0, 1, ... steps until all outputs are complete; with ``gold`` by score + cost."""
        beam: Beam = [[Hypothesis((), 0.0, self.choices(x, (), place))]]
        yield beam
        t = 0
        while any(hypothesis.choices for state in beam for hypothesis in state):
            beam = self._advance(x, weights, k, beam, None if gold is None else gold[t : t + 1], place)
            t += 1
            yield beam

    def _advance(self, x: Any, weights: Weights, k: int, beam: Beam, right: Steps | None, place: str) -> Beam:
        """Advance by one step; with costs, ``right`` is the gold choice of this step, if there is one."""
        # Ties: ranks within states come first, so that the best hypothesis of a state never depends on k.
        candidates = list[tuple[tuple[float, int, tuple[int, ...]], Hashable, Hypothesis]]()
        for state in beam:
            for r, hypothesis in enumerate(state):
                if not hypothesis.choices:
                    missed = replace(hypothesis, score=hypothesis.score + (right is not None and right != ()))
                    candidates.append(((-missed.score, r, hypothesis.order), COMPLETE, missed))
                    continue
                for c, choice in enumerate(hypothesis.choices):
                    features = plain_features(self.problem.features(x, hypothesis.steps, choice), place)
                    score = hypothesis.score + weights.score(features)
                    if right is not None and not same((choice,), right):
                        score += 1
                    steps = (*hypothesis.steps, choice)
                    choices, order = self.choices(x, steps, place), (c, *hypothesis.order)
                    signature = self._seen(x, steps, place) if choices else COMPLETE
                    candidates.append(((-score, r, order), signature, Hypothesis(steps, score, choices, order)))
        candidates.sort(key=lambda hypothesis: hypothesis[0])
        states: dict[Any, State] = {}
        for i, (_, signature, hypothesis) in enumerate(candidates):
            state = states.setdefault(i if signature is None else signature, [])
            if len(state) < k:
                state.append(hypothesis)
        return list(islice(states.values(), self.width))

    def _seen(self, x: Any, steps: Steps, place: str) -> Hashable:
        """The signature of hypotheses of one state; None: each hypothesis is a state."""
        if self._signature is None:
            return None
        value = self._signature(x, steps)
        try:
            hash(value)
        except TypeError:
            raise ArgumentError(
                f"{place}: signature(x, done) must return a hashable value, such as a tuple, not {reprlib.repr(value)}"
            ) from None
        return (value,)

    def choices(self, x: Any, steps: Steps, place: str) -> list[Any]:
        """The next choices; ArgumentError if they are not a list."""
        options: Any = self.problem.choices(x, steps)
        choices = list(options) if isinstance(options, str) else items(options)
        if choices is None:
            reason = f"must return a list, empty at the end, not {reprlib.repr(options)}"
            raise ArgumentError(f"{place}: choices(x, done) {reason}")
        return choices

    def check_steps(self, x: Any, y: Any, place: str) -> Steps:
        """The steps of a gold output; LearnerError if it is not an output of the problem."""
        try:
            gold = tuple(y)
        except TypeError:
            raise ArgumentError(f"{place}: y must be a sequence of choices, not {y!r}") from None
        for t, choice in enumerate(gold):
            if not any(same((choice,), (option,)) for option in self.choices(x, gold[:t], place)):
                raise LearnerError(f"{place}: step {t} of y (counted from 0), {choice!r}, is not among its choices")
        if self.choices(x, gold, place):
            raise LearnerError(f"{place}: y is not complete; choices(x, y) must be empty")
        return gold


def best_of(beam: Beam, k: int) -> list[Hypothesis]:
    """The k best hypotheses."""
    ranked = [((-h.score, r, h.order), h) for state in beam for r, h in enumerate(state)]
    return [h for _, h in sorted(ranked, key=lambda entry: entry[0])[:k]]


def violations(
    search: BeamSearch, x: Any, gold: Steps, weights: Weights, *, update: str, k: int, augmented: bool, place: str = "x"
) -> tuple[Steps, list[Steps]]:
    """A prefix of the gold output, and competing prefixes of the same length.

    "standard": complete k best outputs. "early": the beam when the gold output first fell out of it.
    "max-violation": the step at which the best of the beam exceeded the gold prefix most. If the best output is
    correct, or the gold output never fell out, complete outputs.
    """
    beams = list(search.beams(x, weights, k, gold if augmented else None, place))
    t = last = len(beams) - 1
    best = [beam[0][0] for beam in beams]
    if update != "standard" and not same(best[-1].steps, gold):
        if update == "early":
            fallen = (t for t, beam in enumerate(beams) if not any(same(state[0].steps, gold[:t]) for state in beam))
            t = next(fallen, last)
        else:
            right = [0.0]  # scores of prefixes of the gold output, summed in the order of the beam
            for i, choice in enumerate(gold):
                right.append(right[-1] + weights.score(search.problem.features(x, gold[:i], choice)))
            wrong = [i for i in range(last + 1) if not same(best[i].steps, gold[:i])]
            t = max(wrong, key=lambda i: best[i].score - right[min(i, len(gold))])
    return gold[:t], [hypothesis.steps for hypothesis in best_of(beams[t], k) if not same(hypothesis.steps, gold[:t])]


def n_wrong(gold: Steps, steps: Steps) -> int:
    """Number of different steps, including those beyond the shorter output."""
    return sum(not same(gold[t : t + 1], steps[t : t + 1]) for t in range(max(len(gold), len(steps))))
