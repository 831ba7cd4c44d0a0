"""From a file to a trained model at equal F1, by any learner: the whole process, interpreter and imports included."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import works
from benchmarks.arena import Entry, peers_with, quality_of, train_all
from benchmarks.common import Result, Setting
from benchmarks.compare import OURS, rows
from benchmarks.peers import absent, present
from benchmarks.settings import TRELLIS, VOWPAL

NAMES = ("Vowpal Wabbit", "python-crfsuite")


def run(setting: Setting) -> Result:
    """Train all in turn; Vowpal Wabbit with its best F1, and with one pass, which is quicker."""
    entries = [
        Entry("fast"),
        *peers_with("three", "Vowpal Wabbit"),
        *peers_with("one", "Vowpal Wabbit", variant="one pass"),
        *peers_with("perceptron", "python-crfsuite", rounds=1),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = works.chunks(setting, folder)
        turns = train_all(entries, work, folder, setting.rounds)
        quality = quality_of(entries, work, folder)
    return Result(
        "CoNLL-2000 chunks, file to trained model",
        rows(
            "chunks, file to model at equal F1",
            turns,
            of="process_seconds",
            quality=quality,
            bars={"Vowpal Wabbit": 2.0, "Vowpal Wabbit, one pass": 2.0},
            holds=lambda peer: quality[OURS] >= quality[peer],
        ),
        ", ".join(peer.title for peer in present(*NAMES)),
        [
            f"trellis: {TRELLIS['fast'][0]}({TRELLIS['fast'][1]}). Vowpal Wabbit: {' '.join(VOWPAL)}, 3 passes or 1;",
            "its features go to it by a text file, whose writing is its feature extraction. Quality is F1 in %.",
            "A bar holds only where the F1 of trellis is no less than the peer's.",
            *absent(*NAMES),
        ],
    )
