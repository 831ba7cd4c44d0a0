"""Tagging from file to file, a million tokens: the command line here, scripts or commands of the peers."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import works
from benchmarks.arena import Entry, peers_with, train_all
from benchmarks.common import Result, Setting
from benchmarks.compare import OURS, Contender, rotate, rows
from benchmarks.contenders import ours as trellis_side
from benchmarks.peers import absent, present
from benchmarks.rows import labels_of, read_rows, write_rows
from benchmarks.settings import POS_EPOCHS
from benchmarks.works import Work

TOKENS = 1_000_000
CHUNKERS = ("python-crfsuite", "sklearn-crfsuite", "chaine", "Vowpal Wabbit")
TAGGERS = ("NLTK", "hunpos", "MarMoT")
BAR = 4.0  # against the fastest


def run(setting: Setting) -> Result:
    """Chunks from words and parts of speech; parts of speech from words."""
    crfsuite = peers_with("perceptron", *CHUNKERS[:3])
    others = peers_with("one", "Vowpal Wabbit")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = works.chunks(setting, folder)
        out = _race("chunks, file to file", setting, work, folder, [Entry("perceptron"), *crfsuite, *others])
        work = works.conll_pos(setting, folder)
        epochs = {"epochs": POS_EPOCHS}
        entries = [Entry("perceptron", training=epochs), *peers_with("perceptron", *TAGGERS, training=epochs)]
        out += _race("parts of speech, file to file", setting, work, folder, entries)
    return Result(
        f"{TOKENS if not setting.quick else TOKENS // 10:,} tokens from file to file, whole processes",
        out,
        ", ".join(peer.title for peer in present(*CHUNKERS, *TAGGERS)),
        [
            "The words are those of CoNLL-2000, test and training in turn, as often as it takes. The bar is",
            "against the fastest peer. Quality: F1 or accuracy on the part that is the test set, in %.",
            *absent(*CHUNKERS, *TAGGERS),
        ],
    )


def _race(what: str, setting: Setting, work: Work, folder: Path, entries: list[Entry]) -> list[dict[str, Any]]:
    trained = train_all(entries, work, folder, 1)
    entries = [entry for entry in entries if entry.name in trained]
    source = folder / "million.txt"
    n_tokens = write_source(work, source, TOKENS // 10 if setting.quick else TOKENS)
    contenders = []
    for entry in entries:
        files = {"source": str(source), "output": tagged(folder, entry)}
        if entry.peer is None:
            command = trellis_side.command(entry.model(folder), **files, executable=sys.executable)
            contenders.append(Contender(entry.name, command=command))
        else:
            contenders.append(entry.does("tag_file", work, folder, **files))
    turns = rotate(contenders, setting.rounds)
    n_test = len(read_rows(work.test))
    quality = {
        entry.name: work.quality([labels_of(sentence) for sentence in read_rows(tagged(folder, entry))[:n_test]])
        for entry in entries
        if entry.name in turns
    }
    best = {name: min(turn.process_seconds for turn in taken) for name, taken in turns.items() if name != OURS}
    bars = {min(best, key=best.__getitem__): BAR} if best and work.name == "chunks" else {}
    return rows(what, turns, of="process_seconds", tokens=n_tokens, quality=quality, bars=bars)


def tagged(folder: Path, entry: Entry) -> str:
    """Where a contender writes its labels."""
    return f"{entry.model(folder)}.tagged"


def write_source(work: Work, path: Path, n_tokens: int) -> int:
    """The words, without their labels, again and again until there are enough."""
    n_columns = work.columns.count(",")
    sentences = [[token[:n_columns] for token in sentence] for sentence in read_rows(work.test)]
    sentences += [[token[:n_columns] for token in sentence] for sentence in read_rows(work.train)]
    some, count = [], 0
    while count < n_tokens:
        for sentence in sentences:
            some.append(sentence)
            count += len(sentence)
            if count >= n_tokens:
                break
    write_rows(path, some)
    return count
