"""Run the benchmarks, print their tables and keep them in results/VERSION/NAME.json."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from benchmarks.bars import bars_of
from benchmarks.common import MissingDataError, Result, Setting
from trellis.learning.run import interrupts_raise

# A benchmark is a module here with ``run(setting) -> Result``; it joins by its name.
PEERS = ("crf", "perceptron", "end_to_end", "tagging", "files", "pos", "pos_more", "all_pairs", "udpipe")
OWN = (
    "startup",
    "memory",
    "reading",
    "presets",
    "epochs",
    "learners",
    "rerank",
    "frank_wolfe",
    "l1",
    "batches",
    "hypergraphs",
    "segments",
    "parsing_peers",
    "crfsuite_models",
    "nltk_models",
    "clusters",
    "serve",
    "serve_soak",
    "streams",
    "cluster_tagging",
    "cluster_faults",
    "scale",
    "shards",
    "segmentation",
    "many_labels",
    "search",
    "growth",
    "roofline",
    "where",
)
GROUPS = {"peers": PEERS, "all": (*PEERS, *OWN)}


def main() -> int:
    """Run one benchmark, a group, or all of them; or write the report from what was kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    choices = (*GROUPS, "report", *PEERS, *OWN)
    parser.add_argument("name", nargs="?", default="all", choices=choices, help="which; all if left out")
    parser.add_argument("--data", type=Path, default=os.environ.get("TRELLIS_DATA", "../shared/data"))
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many rounds counts")
    parser.add_argument("--quick", action="store_true", help="one round, less data; the result is not kept")
    asked = parser.parse_args()
    if asked.name == "report":
        importlib.import_module("benchmarks.report").write()
        return 0
    setting = Setting(Path(asked.data).resolve(), 1 if asked.quick else asked.rounds, asked.quick)
    results: dict[str, Result] = {}
    for name in GROUPS.get(asked.name, (asked.name,)):
        begun = time.monotonic()
        try:
            with interrupts_raise():
                result = importlib.import_module(f"benchmarks.{name}").run(setting)
        except MissingDataError as error:
            print(error, file=sys.stderr)
            return 2
        except ModuleNotFoundError as error:
            print(f"{name}: {error}; run it with make bench", file=sys.stderr)
            return 2
        print(f"{name}: {result}\n{time.monotonic() - begun:.0f} s in all\n", flush=True)
        results[name] = result
        if not asked.quick:
            result.save(name, setting)
    if bars := bars_of({name: result.rows for name, result in results.items()}):
        print(bars)
    return 0


if __name__ == "__main__":
    sys.exit(main())
