"""UDPipe's tagger of parts of speech, and NLTK's, beside trellis on one thread, in CPU seconds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import works
from benchmarks.arena import Entry, peers_with, train_all
from benchmarks.common import Result, Setting
from benchmarks.compare import qualities, rotate, rows
from benchmarks.peers import absent, present
from benchmarks.settings import POS_EPOCHS

NAMES = ("UDPipe", "NLTK")
PART = 4  # UDPipe takes minutes for an epoch of the whole corpus: training has one sentence of so many


def run(setting: Setting) -> Result:
    """Train all in turn from file to model, then tag lists of strings with all in turn."""
    peers = peers_with("perceptron", *NAMES, training={"epochs": POS_EPOCHS}, rounds=2)
    entries = [Entry("perceptron", training={"epochs": POS_EPOCHS, "n_threads": 1}), *peers]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = works.part(works.conll_pos(setting, folder), PART)
        training = train_all(entries, work, folder, setting.rounds)
        entries = [entry for entry in entries if entry.name in training]
        threads = [{"n_threads": 1} if entry.peer is None else {} for entry in entries]
        contenders = [entry.does("label", work, folder, **more) for entry, more in zip(entries, threads, strict=True)]
        tagging = rotate(contenders, setting.rounds)
        quality = qualities(tagging, work.quality)
        n_tokens, n_train_tokens = work.n_tokens(), work.n_train_tokens()
    return Result(
        f"CoNLL-2000 parts of speech from words, {n_train_tokens:,} tokens, one thread",
        [
            *rows("parts of speech, one thread, file to model", training, of="process_cpu", quality=quality),
            *rows("parts of speech, one thread, tagging", tagging, of="cpu", tokens=n_tokens, quality=quality),
        ],
        ", ".join(peer.title for peer in present(*NAMES)),
        [
            "CPU seconds, user and system: training of whole processes, tagging from lists of strings to labels.",
            f"{POS_EPOCHS} epochs each. trellis has the preset `default`, the others their own features; UDPipe's",
            "model is of parts of speech alone. Quality is accuracy in %.",
            *absent(*NAMES),
        ],
    )
