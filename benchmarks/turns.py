"""One turn of a contender: a function or a command in a fresh process, with its time, CPU seconds and peak memory."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# A small process stands in between: the peak memory of a child begins at the size of its parent.
_BETWEEN = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
with open(sys.argv[2], "wb") as log:
    code = subprocess.run(sys.argv[3:], stdout=log, stderr=subprocess.STDOUT).returncode
seconds = time.perf_counter() - begun
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
with open(sys.argv[1], "w") as file:
    json.dump([code, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / unit], file)
"""


class TurnError(Exception):
    """A contender failed; says what it printed last."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn took. ``figures`` are what the function gave: its own clock, what it found."""

    figures: dict[str, Any]
    process_seconds: float  # from the start of the interpreter to its end
    process_cpu: float
    peak_mb: float

    @property
    def seconds(self) -> float:
        """By the function's own clock around its work; of the process where it has none."""
        return float(self.figures.get("seconds", self.process_seconds))

    @property
    def cpu(self) -> float:
        """CPU seconds of the same."""
        return float(self.figures.get("cpu", self.process_cpu))


def call(function: str, arguments: dict[str, Any]) -> Turn:
    """A turn of ``module:function``; arguments and what it gives are JSON."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "given.json"
        command = [sys.executable, "-m", "benchmarks.turns", str(given), function, json.dumps(arguments)]
        turn = run(command)
        figures = json.loads(given.read_text(encoding="utf-8"))
    return Turn(figures, turn.process_seconds, turn.process_cpu, turn.peak_mb)


def run(command: Sequence[str | Path]) -> Turn:
    """A turn of a command."""
    with tempfile.TemporaryDirectory() as folder:
        used, log = Path(folder) / "used.json", Path(folder) / "log"
        between = [sys.executable, "-c", _BETWEEN, str(used), str(log), *map(str, command)]
        subprocess.run(between, check=True, cwd=ROOT)
        code, seconds, cpu, peak = json.loads(used.read_text(encoding="utf-8"))
        if code != 0:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            raise TurnError(f"{' '.join(map(str, command))[:200]}: exit code {code}: {' / '.join(said)}")
    return Turn({}, seconds, cpu, peak)


def main() -> None:
    """In the process of its own: call the function and leave what it gives in a file."""
    given, function, arguments = sys.argv[1:]
    module, _, name = function.partition(":")
    figures = getattr(importlib.import_module(module), name)(**json.loads(arguments))
    Path(given).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
