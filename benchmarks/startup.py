"""How long it takes to begin: imports and the command line, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.common import Result, Setting, best_of, seconds, verdict

BAR = 2.0  # import trellis against import numpy
SCRIPT = str(Path(sys.executable).parent / "trellis")
COMMANDS = {
    "nothing": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import trellis": [sys.executable, "-c", "import trellis"],
    "trellis.load, ready to call": [sys.executable, "-c", "from trellis import load"],
    "trellis.train, ready to call": [sys.executable, "-c", "from trellis import train"],
    "trellis --version": [SCRIPT, "--version"],
    "trellis tag --help, all imported": [SCRIPT, "tag", "--help"],
}


def run(setting: Setting) -> Result:
    """The best of several processes each, in turn, after one to see that it runs."""
    works = {what: command for what, command in COMMANDS.items() if _runs(command)}
    times = best_of(5 * setting.rounds, *(seconds(lambda c=command: _runs(c)) for command in works.values()))
    best = dict(zip(works, times, strict=True))
    bare, numpy = best["nothing"], best["import numpy"]
    rows = [
        {
            "what": what,
            "ms": 1000 * best[what] if what in best else None,
            "of import numpy": best[what] / numpy if what in best else "does not run",
            "without the interpreter": (best[what] - bare) / (numpy - bare) if what in best else None,
        }
        for what in COMMANDS
    ]
    met = best["import trellis"] <= BAR * numpy
    note = f"import trellis at most {BAR:.0f} times import numpy: {verdict(met)}"
    return Result("time to start", rows, notes=[note])


def _runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
