"""Peak memory of training on the Brown corpus, and of a stream of five copies of it by the size of its blocks."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import trellis
from benchmarks.common import Result, Setting
from benchmarks.processes import usage

QUICK = 20  # a quick run has so many times fewer sentences
COPIES = 5
BLOCKS = (1, 4, 16)  # megabytes
PERCEPTRON = "learner=trellis.Perceptron(epochs=1, shuffle=False)"


def run(setting: Setting) -> Result:
    """One process each: memory does not depend on how busy the machine is."""
    corpus = trellis.read(setting.file("brown-pos/train.tsv.gz"))
    corpus = corpus[: len(corpus) // QUICK] if setting.quick else corpus
    many = f"{COPIES} copies, perceptron"
    works = {
        "import trellis.train": "from trellis import train",
        "perceptron": _training("trellis.read('one.txt')", PERCEPTRON),
        "HMM": _training("trellis.read('one.txt')", "learner=trellis.HMM(), features='hmm'"),
        "CRF, 4 epochs": _training("trellis.read('one.txt')", "learner=trellis.CRF(epochs=4)"),
        f"{many}, in memory": _training("trellis.read('many.txt')", PERCEPTRON),
    }
    for size in BLOCKS:
        stream = f"trellis.stream('many.txt', block_bytes={size} << 20)"
        works[f"{many}, blocks of {size} MB"] = _training(stream, PERCEPTRON)
    rows = list[dict[str, object]]()
    with tempfile.TemporaryDirectory() as folder:
        trellis.write(corpus, Path(folder, "one.txt"))
        text = Path(folder, "one.txt").read_bytes()
        Path(folder, "many.txt").write_bytes((text + b"\n") * COPIES)
        for what, code in works.items():
            used = usage([sys.executable, "-c", code], cwd=folder)
            rows.append({"what": what, "MB": used and used.megabytes, "seconds of CPU": used and used.cpu})
    return Result(f"peak memory: {corpus.n_tokens:,} tokens of the Brown corpus, order 1, two threads", rows)


def _training(corpus: str, more: str) -> str:
    return f"import trellis; trellis.train({corpus}, target='label', {more}, n_threads=2)"
