"""The regression guard: has a kernel become slower? ``python -m benchmarks.guard [--update]``.

With valgrind, instructions are counted: the same on a busy machine as on a quiet one. Without it, CPU time is taken
as a multiple of a loop of plain Python in the same process, with a bound so wide that only a blunder crosses it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import Result, verdict
from benchmarks.kernels import kernels

COUNTS = Path(__file__).parent / "instruction_counts.json"
INSTRUCTIONS, MULTIPLES = "instructions", "times the reference loop"
BOUNDS = {INSTRUCTIONS: 1.5, MULTIPLES: 5.0}  # a kernel may need so many times what it needed
TURNS = 9


def count_instructions(names: list[str]) -> dict[str, float]:
    """Of one call of each kernel, by callgrind, which writes its counts at the marks of kernels.py."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        command = ["valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={out}"]
        environment = os.environ | {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(
            [*command, sys.executable, "-m", "benchmarks.kernels"],
            check=True,
            capture_output=True,
            env=environment,
            cwd=Path(__file__).parent.parent,
        )
        # Two marks a kernel: the count at the second is that of the call between them.
        return {name: _total(Path(f"{out}.{2 * i}")) for i, name in enumerate(names, 1)}


def _total(path: Path) -> int:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(("summary:", "totals:")))


def time_multiples(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """CPU seconds of one call, the least of some, as a multiple of those of a fixed loop."""
    reference = min(_cpu(_reference_loop) for _ in range(TURNS))
    return {name: min(_cpu(work) for _ in range(TURNS)) / reference for name, work in works.items()}


def _reference_loop() -> int:
    total = 0
    for i in range(100_000):
        total = (total * 31 + i) & 0xFFFF
    return total


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def compare(kind: str, seen: dict[str, float], known: dict[str, dict[str, float]]) -> Result:
    """A row a kernel; a kernel that is not known yet has no bound."""
    rows: list[dict[str, Any]] = []
    for name, figure in seen.items():
        before = known.get(name, {}).get(kind)
        row: dict[str, Any] = {"kernel": name, kind: figure, "before": before}
        if before is not None:
            ratio = figure / before
            row |= {"ratio": ratio, "at most": BOUNDS[kind], "met": verdict(ratio <= BOUNDS[kind])}
        rows.append(row)
    return Result(f"one call of each kernel, {kind}", rows)


def main() -> int:
    """Compare with what is committed; 1 if a kernel is slower than its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--update", action="store_true", help="commit what is seen now as the measure")
    parser.add_argument("--timed", action="store_true", help="go by time even where valgrind is present")
    asked = parser.parse_args()
    known = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        works = kernels(Path(folder))
        counted = shutil.which("valgrind") is not None and not asked.timed
        seen: dict[str, dict[str, float]] = {}
        if not counted or asked.update:
            seen[MULTIPLES] = time_multiples(works)
        if counted:
            seen[INSTRUCTIONS] = count_instructions(list(works))
    if asked.update:
        fresh = {name: {kind: _rounded(seen[kind][name]) for kind in sorted(seen)} for name in works}
        COUNTS.write_text(json.dumps(fresh, indent=2) + "\n", encoding="utf-8")
        known = fresh
    kind = INSTRUCTIONS if counted else MULTIPLES
    result = compare(kind, seen[kind], known)
    print(result)
    slow = [row["kernel"] for row in result.rows if row.get("met") == verdict(False)]
    if slow:
        print(f"slower than {BOUNDS[kind]} times before: {'; '.join(slow)}", file=sys.stderr)
        print("mend it, or if it must be so: python -m benchmarks.guard --update", file=sys.stderr)
    return 1 if slow else 0


def _rounded(figure: float) -> float:
    return round(figure) if figure > 1000 else float(f"{figure:.3g}")


if __name__ == "__main__":
    sys.exit(main())
