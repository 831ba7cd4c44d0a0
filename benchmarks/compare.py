"""Contenders side by side: turns in rotation, the best of each, ratios with their spread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.turns import Turn, TurnError, call, run

OURS = "trellis"
UNITS = {"peak_mb": "MB", "cpu": "CPU s", "process_cpu": "CPU s"}  # of all other figures it is seconds


@dataclass(frozen=True, slots=True)
class Contender:
    """A name and its work: a function ``module:name`` with arguments, or a command."""

    name: str
    function: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    command: Sequence[str] = ()
    rounds: int | None = None  # maximum number of turns, for slow contenders

    def turn(self) -> Turn:
        """Run one turn in a separate process."""
        return run(self.command) if self.command else call(self.function, self.arguments)


def rotate(contenders: Sequence[Contender], rounds: int) -> dict[str, list[Turn]]:
    """Run turns in the order A B C A B C ...; contenders that fail are reported and skipped."""
    turns: dict[str, list[Turn]] = {contender.name: [] for contender in contenders}
    failed = set()
    for turn in range(rounds):
        for contender in contenders:
            if contender.name in failed or turn >= (contender.rounds or rounds):
                continue
            try:
                turns[contender.name].append(contender.turn())
            except TurnError as error:
                failed.add(contender.name)
                print(f"{contender.name} takes no part: {error}", file=sys.stderr, flush=True)
    return {name: taken for name, taken in turns.items() if taken and name not in failed}


def figure(turn: Turn, name: str) -> float:
    """One number of a turn: a field of it, or a figure it gave."""
    return float(getattr(turn, name)) if hasattr(turn, name) else float(turn.figures[name])


def rows(
    what: str,
    turns: dict[str, list[Turn]],
    *,
    of: str = "seconds",
    scale: float = 1.0,
    tokens: int | None = None,
    quality: dict[str, float] | None = None,
    bars: dict[str, float] | None = None,
    ours: str = OURS,
    holds: Callable[[str], bool] = lambda peer: True,
) -> list[dict[str, Any]]:
    """A row a contender: figure ``of`` its best turn, and how many times ours is better.

    The ratio is of the best turns; its spread is over the rounds in which both had a turn. A bar, by the name of a
    peer, holds where the ratio reaches it and ``holds`` says so too (accuracy, objective).
    """
    mine = [figure(turn, of) for turn in turns[ours]]
    out = []
    for name, taken in turns.items():
        figures = [figure(turn, of) for turn in taken]
        best = taken[figures.index(min(figures))]
        row: dict[str, Any] = {"work": what, "contender": name, "best": scale * min(figures)}
        row |= {"worst": scale * max(figures), "unit": UNITS.get(of, "s")}
        if of != "peak_mb":
            row["cpu"] = scale * (best.cpu if of == "seconds" else best.process_cpu)
        if tokens is not None:
            row["tokens/s"] = tokens / min(figures)
        row["peak_mb"] = min(turn.peak_mb for turn in taken)
        row["quality"] = None if quality is None else quality.get(name)
        if name != ours and not name.startswith(OURS):
            ratios = [theirs / us for us, theirs in zip(mine, figures, strict=False)]
            row |= {"times": min(figures) / min(mine), "least": min(ratios), "most": max(ratios)}
            bar = (bars or {}).get(name)
            if bar is not None:
                row |= {"wanted": bar, "met": "yes" if row["times"] >= bar and holds(name) else "NO"}
        out.append(row)
    return out


def qualities(turns: dict[str, list[Turn]], judge: Callable[[list[list[str]]], float]) -> dict[str, float]:
    """Of the labels that each contender's last turn found."""
    return {name: judge(taken[-1].figures["labels"]) for name, taken in turns.items()}
