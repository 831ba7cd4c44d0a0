"""Training the averaged perceptron, the same epochs and features: CoNLL-2000 chunks and typos."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import works
from benchmarks.arena import Entry, peers_with, quality_of, train_all
from benchmarks.common import Result, Setting
from benchmarks.compare import rows
from benchmarks.peers import absent, present
from benchmarks.settings import EPOCHS

NAMES = ("python-crfsuite", "sklearn-crfsuite", "chaine")


def run(setting: Setting) -> Result:
    """Train all in turn, then tag once with each for its accuracy."""
    out: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = works.chunks(setting, folder)
        entries = [
            Entry("perceptron"),
            Entry("perceptron-seen", variant="pairs seen"),
            *peers_with("perceptron", *NAMES[:1]),
            *peers_with("perceptron", *NAMES[1:], rounds=1),
        ]
        turns = train_all(entries, work, folder, setting.rounds)
        quality = quality_of(entries, work, folder)
        bars = {"python-crfsuite": 5.0}
        out += rows("chunks, averaged perceptron, an epoch", turns, scale=1 / EPOCHS, quality=quality, bars=bars)
        out += rows("chunks, perceptron, file to model", turns, of="total", quality=quality)
        both = {name: turns[name] for name in ("trellis", "trellis, pairs seen", "python-crfsuite") if name in turns}
        out += rows("chunks, perceptron training, peak memory", both, of="peak_mb", bars={"python-crfsuite": 1.0})
        work = works.typos(setting, folder)
        entries = [Entry("perceptron"), *peers_with("perceptron", NAMES[0])]
        turns = train_all(entries, work, folder, min(2, setting.rounds))
        quality = quality_of(entries, work, folder)
        out += rows("typos, averaged perceptron, an epoch", turns, scale=1 / EPOCHS, quality=quality)
    return Result(
        f"averaged perceptron, {EPOCHS} epochs, one thread",
        out,
        ", ".join(peer.title for peer in present(*NAMES)),
        [
            "Seconds are of learning alone: of trellis all of fit; of CRFsuite what its log counts (CPU",
            "seconds, here brought to the clock); of chaine with its loading of attributes.",
            "Quality is F1 of chunks, accuracy of letters, in %.",
            "With pairs seen, trellis has weights for labels an attribute was seen with, as CRFsuite; else for all.",
            *absent(*NAMES),
        ],
    )
