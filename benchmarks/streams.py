"""A CRF on more than memory holds: peak memory and seconds per token of a stream, against a corpus in memory.

Copies of the Brown corpus with its 24 most frequent tags, the others joined. Each training is a process of its own,
from the files to the model.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import Result, Setting, verdict
from benchmarks.growth import with_labels
from benchmarks.processes import usage
from benchmarks.rows import read_rows, write_rows

COPIES = (1, 10)
LABELS, EPOCHS = 25, 40
CODE = """
import functools, operator, pathlib, sys, trellis
files = sorted(pathlib.Path(sys.argv[1]).glob("*.txt"))
corpus = trellis.stream(files) if sys.argv[2] == "stream" else functools.reduce(operator.add, map(trellis.read, files))
tagger = trellis.train(corpus, target="label", learner=trellis.CRF(epochs=int(sys.argv[3])), n_threads=2)
tagger.save(sys.argv[4])
"""
MEMORY, SECONDS = 1.3, 1.25  # the bars: times the memory of one copy, times the seconds of a corpus in memory


def run(setting: Setting) -> Result:
    """Both ways in turn, with the best seconds and the largest memory of a few rounds."""
    sentences = with_labels(read_rows(setting.file("brown-pos/train.tsv.gz")), LABELS)
    sentences = sentences[: len(sentences) // 20] if setting.quick else sentences
    n_tokens = sum(map(len, sentences))
    seconds, memory = dict[tuple[str, int], float](), dict[tuple[str, int], float]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in COPIES:
            (folder / str(n)).mkdir()
            for copy in range(n):
                write_rows(folder / str(n) / f"{copy}.txt", sentences)
        for _ in range(min(2, setting.rounds)):
            for n in COPIES:
                for way in ("stream", "memory"):
                    model = folder / f"{way}.trellis"
                    arguments = [str(folder / str(n)), way, str(EPOCHS), str(model)]
                    began = time.perf_counter()
                    used = usage([sys.executable, "-c", CODE, *arguments])
                    took = time.perf_counter() - began
                    if used is None:
                        raise RuntimeError(f"training on {n} copies as a {way} failed")
                    seconds[way, n] = min(seconds.get((way, n), took), took)
                    memory[way, n] = max(memory.get((way, n), 0.0), used.megabytes)
    rows = list[dict[str, Any]]()
    one, many = COPIES
    for n in COPIES:
        for way in ("stream", "memory"):
            rows.append(
                {
                    "corpus": f"{n * n_tokens / 1e6:.1f} M tokens, {'stream' if way == 'stream' else 'in memory'}",
                    "peak MB": memory[way, n],
                    "µs per token": 1e6 * seconds[way, n] / n / n_tokens,
                }
            )
    for what, ratio, bar in (
        (
            f"peak memory of a stream, {many} copies against {one}",
            memory["stream", many] / memory["stream", one],
            MEMORY,
        ),
        (
            f"seconds of {many} copies, stream against memory",
            seconds["stream", many] / seconds["memory", many],
            SECONDS,
        ),
    ):
        rows.append({"corpus": what, "ratio": ratio, "at most": bar, "met": verdict(ratio <= bar)})
    return Result(f"CRF, {EPOCHS} iterations, {LABELS} labels, two threads", rows)
