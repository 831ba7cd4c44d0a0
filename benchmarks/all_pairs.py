"""CRFs with weights for all pairs, as Wapiti and CRF++ have them: training and tagging on one thread, in CPU seconds.

Wapiti and CRF++ give a weight to every pair of an attribute and a label and to every pair of labels. So does trellis
here, and all minimise the same sum; `crf` compares with CRFsuite, which has weights for the pairs seen. CPU seconds,
user and system, do not count the waiting for other programs on the machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks import works
from benchmarks.arena import Entry, peers_with, quality_of, train_all
from benchmarks.common import Result, Setting
from benchmarks.compare import Contender, rotate, rows
from benchmarks.contenders import ours as trellis_side
from benchmarks.files import tagged, write_source
from benchmarks.peers import absent, present
from benchmarks.turns import Turn

NAMES = ("Wapiti", "CRF++")
PART = 4  # a CRF of the whole corpus takes CRF++ many minutes: training has one sentence of so many
TOKENS = 200_000
BAR = 5.0


def run(setting: Setting) -> Result:
    """Train all in turn from file to model, then tag a file with all in turn."""
    entries = [
        Entry("crf-all", training={"n_threads": 1}),
        *peers_with("crf-all", *NAMES, rounds=2),  # a turn takes minutes
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = works.part(works.chunks(setting, folder), PART)
        training = train_all(entries, work, folder, setting.rounds)
        entries = [entry for entry in entries if entry.name in training]
        quality = quality_of(entries, work, folder)
        source = folder / "source.txt"
        n_tokens = write_source(work, source, TOKENS // 10 if setting.quick else TOKENS)
        tagging = rotate([_tagging(entry, work, folder, source) for entry in entries], setting.rounds)
        n_train_tokens = work.n_train_tokens()
    bars = dict.fromkeys(NAMES, BAR)
    objectives = ", ".join(f"{name} {_objective(turns):,.1f}" for name, turns in training.items())
    return Result(
        f"CoNLL-2000 chunks, CRF, c2 = 1, weights for all pairs, {n_train_tokens:,} tokens, one thread",
        [
            *rows("chunks, CRF, all pairs, file to model", training, of="process_cpu", quality=quality, bars=bars),
            *rows(f"chunks, CRF, all pairs, {n_tokens:,} tokens, file to file", tagging, of="cpu", tokens=n_tokens),
        ],
        ", ".join(peer.title for peer in present(*NAMES)),
        [
            "CPU seconds, user and system, of whole processes: reading, features and writing included.",
            f"Each stops by its own rule. Objectives at the end: {objectives}. Quality is F1 in %.",
            *absent(*NAMES),
        ],
    )


def _tagging(entry: Entry, work: works.Work, folder: Path, source: Path) -> Contender:
    files = {"source": str(source), "output": tagged(folder, entry)}
    if entry.peer is not None:
        return entry.does("tag_file", work, folder, **files)
    command = trellis_side.command(entry.model(folder), **files, executable=sys.executable, n_threads=1)
    return Contender(entry.name, command=command)


def _objective(turns: list[Turn]) -> float:
    """At the end of training."""
    figures = turns[-1].figures
    return float(figures["trace"][-1][1] if "trace" in figures else figures["objective"])
