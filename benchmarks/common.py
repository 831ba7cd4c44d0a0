"""What all benchmarks share: where data is, a fair clock, peak memory, tables and results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import trellis
from experiments.steps import machine

T = TypeVar("T")
RESULTS = Path(__file__).parent / "results"


class MissingDataError(Exception):
    """A corpus was not found."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of a benchmark run."""

    data: Path
    rounds: int  # turns per contender; the best one counts
    quick: bool = False  # less data; the result is not saved

    def file(self, name: str) -> Path:
        """A file of the data folder."""
        path = self.data / name
        if not path.exists():
            raise MissingDataError(f"{path} is absent: name the folder of corpora by --data or TRELLIS_DATA")
        return path


@dataclass(frozen=True, slots=True)
class Result:
    """A table, and what must be known to read it."""

    title: str
    rows: list[dict[str, Any]]
    rival: str = ""  # the rival's version and call
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        cells = [names, *([_cell(row.get(name)) for name in names] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        to_left = [all(isinstance(row.get(name), str | None) for row in self.rows) for name in names]
        against = [f"against {self.rival}"] if self.rival else []
        return "\n".join([self.title, *against, *(_line(row, widths, to_left) for row in cells), *self.notes])

    def save(self, name: str, setting: Setting) -> None:
        """Keep it as results/VERSION/NAME.json."""
        path = RESULTS / trellis.__version__ / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {"version": trellis.__version__, "machine": machine(), "rounds": setting.rounds}
        text = json.dumps(about | asdict(self), indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


def _line(cells: list[str], widths: list[int], to_left: list[bool]) -> str:
    """Format a row: names left-aligned, figures right-aligned."""
    places = zip(cells, widths, to_left, strict=True)
    return "  ".join(cell.ljust(width) if left else cell.rjust(width) for cell, width, left in places).rstrip()


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"


def versus(what: str, ours: float, theirs: float, *, better: str, bar: float | None = None) -> dict[str, Any]:
    """A row of two measurements. ``better`` is "less" or "more"; gain is how many times better ours is."""
    gain = theirs / ours if better == "less" else ours / theirs
    return _row(what, ours, theirs, gain, bar)


def points(what: str, ours: float, theirs: float, *, bar: float) -> dict[str, Any]:
    """A row of two percentages; gain is their difference."""
    return _row(what, ours, theirs, ours - theirs, bar)


def _row(what: str, ours: float, theirs: float, gain: float, bar: float | None) -> dict[str, Any]:
    met = None if bar is None else verdict(gain >= bar)
    return {"what": what, "trellis": ours, "rival": theirs, "gain": gain, "wanted": bar, "met": met}


def verdict(met: bool) -> str:
    """Whether a bar was met, as tables say it."""
    return "yes" if met else "NO"


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Run the work; return seconds and its result."""
    begun = time.perf_counter()
    given = work()
    return time.perf_counter() - begun, given


def best_of(rounds: int, *contenders: Callable[[], float]) -> list[float]:
    """Each contender's least figure over some rounds in which they take turns: A B A B ..."""
    turns = [[contender() for contender in contenders] for _ in range(rounds)]
    return [min(figures) for figures in zip(*turns, strict=True)]


def seconds(work: Callable[[], object]) -> Callable[[], float]:
    """The work as a contender; its result is freed after the clock stops."""
    return lambda: timed(work)[0]
