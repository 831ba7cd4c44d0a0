"""Bulk tagging by two workers of Ray against one process: million tokens per CPU second.

Parts of speech of the Brown corpus, in Parquet files with a row per sentence. All CPU seconds of a command and of every
process that it starts count, Ray's own included; the difference of two sizes is without the start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

import trellis
from benchmarks.common import Result, Setting, versus

FILES = 8  # of one copy of the corpus
ROWS = 4096  # of a row group
COPIES = (2, 8)
TICK = os.sysconf("SC_CLK_TCK")


def run(setting: Setting) -> Result:
    """Train, write the tables, and predict them both ways in turn."""
    corpus = trellis.read(setting.file("brown-pos/train.tsv.gz"), columns="word,pos", tabs=True)
    copies = (1, 2) if setting.quick else COPIES
    if find_spec("ray") is None:
        raise ModuleNotFoundError("No module named 'ray'")
    cpu, seconds = dict[tuple[str, int], float](), dict[tuple[str, int], float]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        learner = trellis.Perceptron(epochs=1)  # the cost of tagging depends little on the quality of training
        trellis.train(corpus, target="pos", learner=learner, order=1).save(folder / "pos.trellis")
        for n in copies:
            _write(corpus, folder / str(n), n)
        for turn in range(setting.rounds):
            for n in copies:
                for ours, options in (("one process", ["--threads", "1"]), ("two workers", ["--workers", "2"])):
                    output = folder / f"{ours} {n} {turn}"
                    used, took = _measured(
                        [*_predict(folder), *options, f"{n}/*.parquet", "--output", f"{output}/"], folder
                    )
                    key = ours, n
                    cpu[key], seconds[key] = min(cpu.get(key, used), used), min(seconds.get(key, took), took)
                one, two = (folder / f"{ours} {n} {turn}" for ours in ("one process", "two workers"))
                assert all(path.read_bytes() == (two / path.name).read_bytes() for path in one.iterdir())
    few, many = copies
    n_tokens, who = many * corpus.n_tokens, ("two workers", "one process")
    alone = [(n_tokens - few * corpus.n_tokens) / 1e6 / (cpu[one, many] - cpu[one, few]) for one in who]
    whole = [n_tokens / 1e6 / cpu[one, many] for one in who]
    rows = [
        versus("M tokens per CPU second, without the start", *alone, better="more", bar=0.8),
        versus(f"M tokens per CPU second, {n_tokens:,} tokens", *whole, better="more"),
        versus(f"seconds, {n_tokens:,} tokens", *(seconds[one, many] for one in who), better="less"),
    ]
    return Result("Bulk tagging by two workers of Ray", rows, "one process with one thread; the same bytes")


def _predict(folder: Path) -> list[str]:
    return [sys.executable, "-m", "trellis", "predict", "--quiet", "--model", str(folder / "pos.trellis")]


def _write(corpus: trellis.Corpus, folder: Path, n_copies: int) -> None:
    folder.mkdir()
    words = corpus.sentences("word")
    size = -(-len(words) // FILES)
    for i in range(FILES):
        part = words[i * size : (i + 1) * size]
        table = pa.table({"id": range(len(part)), "word": part})
        for copy in range(n_copies):
            pyarrow.parquet.write_table(table, folder / f"{i}-{copy}.parquet", row_group_size=ROWS)


def _measured(command: list[str], folder: Path) -> tuple[float, float]:
    """CPU and wall seconds of a command and of all processes below it; these are looked at ten times a second."""
    spent = dict[tuple[int, int], int]()  # ticks by process and its start
    begun = time.perf_counter()
    with subprocess.Popen(command, cwd=folder) as process:
        while process.poll() is None:
            _look(process.pid, spent)
            time.sleep(0.1)
    assert process.returncode == 0
    return sum(spent.values()) / TICK, time.perf_counter() - begun


def _look(root: int, spent: dict[tuple[int, int], int]) -> None:
    """Note the CPU time of a process and of all below it."""
    found = dict[int, tuple[int, int, int]]()  # parent, start, ticks
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(stat.parent.name)] = int(fields[1]), int(fields[19]), int(fields[11]) + int(fields[12])
    below = [root]
    for pid in below:
        below += [child for child, (parent, _, _) in found.items() if parent == pid]
        if pid in found:
            _, start, ticks = found[pid]
            spent[pid, start] = ticks
