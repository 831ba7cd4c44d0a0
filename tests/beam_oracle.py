"""Beam search and the perceptron's updates on it in a few plain lines, over dicts; for problems of steps."""

from __future__ import annotations

from typing import Any


def plain_score(problem: Any, weights: dict[str, float], x: Any, y: Any) -> float:
    """Summed from left to right."""
    score = 0.0
    for t in range(len(y)):
        score += sum(weights.get(f, 0.0) * v for f, v in problem.features(x, y[:t], y[t]).items())
    return score


def plain_beams(problem: Any, weights: dict[str, float], x: Any, width: int) -> list[list[Any]]:
    """All prefixes scored anew each step; the lowest choices win ties, decided from the last one backwards."""
    beams = [[()]]
    while any(problem.choices(x, done) for done in beams[-1]):
        grown = []
        for done in beams[-1]:
            grown += [(*done, c) for c in problem.choices(x, done)] or [done]

        def numbers(done: Any) -> list[int]:
            return [list(problem.choices(x, done[:t])).index(done[t]) for t in range(len(done))][::-1]

        grown.sort(key=lambda done: (-plain_score(problem, weights, x, done), numbers(done)))
        kept: dict[Any, Any] = {}
        for done in grown:
            key = problem.signature(x, done) if hasattr(problem, "signature") else done
            kept.setdefault((key,) if problem.choices(x, done) else "complete", done)
        beams.append(list(kept.values())[:width])
    return beams


def plain_training(problem: Any, examples: Any, width: int, update: str, epochs: int) -> list[dict[str, float]]:
    """The perceptron over dicts: weights after each example."""
    weights: dict[str, float] = {}
    moments = []
    for x, y in examples * epochs:
        beams = plain_beams(problem, weights, x, width)
        t = len(beams) - 1
        if beams[-1][0] != y:
            if update == "early":
                t = next((i for i, beam in enumerate(beams) if y[:i] not in beam), t)
            if update == "max-violation":
                excess = [
                    plain_score(problem, weights, x, beam[0]) - plain_score(problem, weights, x, y[:i])
                    if beam[0] != y[:i]
                    else -1.0
                    for i, beam in enumerate(beams)
                ]
                t = excess.index(max(excess))
            for done, sign in ((y[:t], 1), (beams[t][0], -1)):
                for i in range(len(done)):
                    for f, v in problem.features(x, done[:i], done[i]).items():
                        weights[f] = weights.get(f, 0.0) + sign * v
        moments.append(dict(weights))
    return moments
