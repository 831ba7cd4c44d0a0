"""Run the benchmarks, print their tables and keep them in results/VERSION/NAME.json."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from benchmarks.common import MissingDataError, Setting

# A benchmark is a module here with ``run(setting) -> Result``; it joins by its name.
BENCHMARKS = (
    "startup",
    "reading",
    "chunking",
    "pos",
    "papers_collins",
    "ud",
    "learners",
    "noun_phrases",
    "typos",
    "figure2",
)


def main() -> int:
    """Run one benchmark, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=BENCHMARKS, help="which one; all if left out")
    parser.add_argument("--data", type=Path, default=os.environ.get("TRELLIS_DATA", "../shared/data"))
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many rounds counts")
    parser.add_argument("--quick", action="store_true", help="one round, and the result is not kept")
    asked = parser.parse_args()
    setting = Setting(asked.data, 1 if asked.quick else asked.rounds)
    for name in [asked.name] if asked.name else BENCHMARKS:
        try:
            result = importlib.import_module(f"benchmarks.{name}").run(setting)
        except MissingDataError as error:
            print(error, file=sys.stderr)
            return 2
        except ModuleNotFoundError as error:
            print(f"{name}: {error}; install the extra 'bench'", file=sys.stderr)
            return 2
        print(f"{name}: {result}\n", flush=True)
        if not asked.quick:
            result.save(name, setting)
    return 0


if __name__ == "__main__":
    sys.exit(main())
