"""Where the time goes, from a file to a CRF and from lists to labels: shares of each part, one thread.

Parts are told apart by the Python function that calls the native code, with the profiler of the standard library.
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from benchmarks.rows import read_rows, take

# Function names, by the end of their file's name, that stand for a part; whether the part is a kernel.
TRAINING = {
    "reading the file": (False, [("columns.py", None), ("read.py", None)]),
    "features to numbers": (False, [("extraction.py", None), ("encoding.py", None), ("labels.py", None)]),
    "gradients": (True, [("gradients.py", "function")]),
    "stochastic passes": (True, [("stochastic.py", "take")]),
    "directions of L-BFGS": (True, [("lbfgs.py", "direction")]),
    "rest of L-BFGS": (False, [("lbfgs.py", None), ("gradients.py", None)]),
    "laying out weights by token": (False, [("parameters.py", None)]),
}
TAGGING = {
    "strings to word types and their views": (False, [("decoding.py", "encode")]),
    "tables, sums of weights, Viterbi, labels as lists": (True, [("tagger.py", "tag_batch")]),
}
NAMES = {"training": TRAINING, "tagging": TAGGING}


def run(setting: Setting) -> Result:
    """Profile one training and some taggings of text never met."""
    path = str(setting.file("conll2000/train.txt"))
    sentences = take(read_rows(setting.file("conll2000/test.txt")), 0, 1)
    kept: list[trellis.Tagger] = []

    def train() -> None:
        learner = trellis.CRF(c2=1.0, start=False)
        kept.append(trellis.train(path, target="label", features="chunking", learner=learner, n_threads=1))

    rows = _shares("training", train)
    model = kept[0].model

    def tag() -> None:
        for _ in range(10):
            trellis.Tagger(model).tag_batch(sentences, n_threads=1)

    return Result(
        "where the time goes: a CRF (L-BFGS, c2 = 1) from CoNLL-2000's file, and lists to labels, ten new taggers",
        [*rows, *_shares("tagging", tag)],
    )


def _shares(work: str, do: Callable[[], None]) -> list[dict[str, Any]]:
    profile = cProfile.Profile()
    profile.runcall(do)
    seconds = dict.fromkeys([*NAMES[work], "everything else"], 0.0)
    for (file, _, function), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        seconds[_part(work, file, function)] += own
    whole = sum(seconds.values())
    return [
        {
            "work": work,
            "part": part,
            "seconds": spent,
            "% of all": 100 * spent / whole,
            "kernel": "yes" if part in NAMES[work] and NAMES[work][part][0] else "no",
        }
        for part, spent in seconds.items()
    ]


def _part(work: str, file: str, function: str) -> str:
    exact = {(end, name): part for part, (_, places) in NAMES[work].items() for end, name in places if name is not None}
    for (end, name), part in exact.items():
        if file.endswith(end) and function == name:
            return part
    for part, (_, places) in NAMES[work].items():
        if any(name is None and file.endswith(f"/{end}") for end, name in places):
            return part
    return "everything else"
