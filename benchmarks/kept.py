"""Results of benchmarks that were kept: benchmarks/results/VERSION/NAME.json."""

from __future__ import annotations

import json
import re
from typing import Any

from benchmarks.common import RESULTS

PEERS = ("crf", "perceptron", "end_to_end", "tagging", "files", "pos", "pos_more", "all_pairs", "udpipe")
Kept = dict[str, Any]


def kept(name: str) -> Kept:
    """The result of the newest version that has it in today's form, or nothing."""
    versions = sorted(RESULTS.glob("*"), key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
    for version in reversed(versions):
        path = version / f"{name}.json"
        if path.exists():
            result: Kept = json.loads(path.read_text(encoding="utf-8"))
            if name not in PEERS or "contender" in result["rows"][0]:
                return result
    return {}
