"""How close the hottest loops come to what the machine can do: one thread, CoNLL-2000 chunks.

The loops and the machine's limits are measured by core/bench/roofline.cpp, built here with the project's own flags.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import trellis
from benchmarks.common import Result, Setting
from trellis.engine.weights import padded
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.parameters import Parameters

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "roofline"
# What bounds each loop: the slower of its arithmetic and the place its bytes come from.
PLACES = {
    "emission sums": "read from L2",  # 335 kB of vectors and 1.8 MB of weights, in no order
    "forward and backward": "read from L1",
    "Viterbi": "read from L1",
    "gradient scatter": "read from L2",  # a block's residuals take a megabyte
}


class _Caught(Exception):  # noqa: N818 - not an error: carries the problem out of the training
    def __init__(self, problem: ChainProblem) -> None:
        self.problem = problem


class _Catch(trellis.CRF):
    """A learner that only looks at the problem it gets."""

    def fit(self, problem: ChainProblem, observer: Any) -> Any:
        raise _Caught(problem)


def run(setting: Setting) -> Result:
    """Build, lay out the data, measure, and set the loops against the limits."""
    with tempfile.TemporaryDirectory() as name:
        _write(Path(name), str(setting.file("conll2000/train.txt")))
        lines = subprocess.run([_built(), name], check=True, capture_output=True, text=True).stdout
    seen = {line["what"]: line for line in map(json.loads, lines.splitlines())}
    speeds = {what: line["bytes"] / line["seconds"] / 1e9 for what, line in seen.items() if line["bytes"]}
    most = seen["multiply and add"]["operations"] / seen["multiply and add"]["seconds"] / 1e9
    rows: list[dict[str, Any]] = []
    for what, place in PLACES.items():
        line = seen[what]
        operations = line["operations"] / line["seconds"] / 1e9
        by_bytes, by_operations = speeds[what] / speeds[place], operations / most
        rows.append(
            {
                "loop": what,
                "ms": 1e3 * line["seconds"],
                "GB/s": speeds[what],
                "of what it can read": by_bytes,
                "Gop/s": operations,
                "of what it can compute": by_operations,
                "bound by": place if by_bytes > by_operations else "arithmetic",
            }
        )
    limits = ", ".join(
        f"{what} {speeds[what]:.1f} GB/s" for what in dict.fromkeys(["read from memory", *PLACES.values()])
    )
    return Result(
        "the hottest loops against the machine's limits, one thread, float, all of CoNLL-2000's training tokens",
        rows,
        notes=[f"The machine: {limits}; multiply and add {most:.1f} Gop/s, unfused, eight lanes."],
    )


def _write(folder: Path, path: str) -> None:
    """The arrays of the problem, as the program reads them."""
    learner = trellis.CRF(c2=1.0, start=False, epochs=20)
    caught = _Catch(c2=1.0, start=False)
    try:
        trellis.train(path, target="label", features="chunking", learner=caught)
    except _Caught as one:
        problem = one.problem
    parameters = Parameters.of(problem, transitions="seen", start=False)
    weights, _ = learner.fit(problem, None)
    vector = parameters.start(_with(problem, weights))
    starts, ids, _ = problem.corpus.lists
    arrays = {
        "starts": problem.starts.astype(np.int64),
        "items": starts.astype(np.int64),
        "ids": ids.astype(np.int32),
        "row_starts": parameters.rows.starts.astype(np.uint32),
        "row_labels": parameters.rows.labels.astype(np.uint16),
        "parameters": vector,
        "edge": weights.edge.reshape(problem.n_labels + 1, padded(problem.n_labels)),
        "n_labels": np.array([problem.n_labels], np.int64),
    }
    for name, array in arrays.items():
        (folder / name).write_bytes(np.ascontiguousarray(array).tobytes())


def _with(problem: ChainProblem, weights: Any) -> ChainProblem:
    from dataclasses import replace

    return replace(problem, initial=weights)


def _built() -> str:
    cmake = Path(sys.executable).parent / "cmake"
    tool = str(cmake) if cmake.exists() else "cmake"
    options = ["-DTRELLIS_ROOFLINE=ON", "-DCMAKE_BUILD_TYPE=Release"]
    for command in ([tool, "-S", str(ROOT), "-B", str(BUILD), *options], [tool, "--build", str(BUILD)]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return str(BUILD / "roofline")
