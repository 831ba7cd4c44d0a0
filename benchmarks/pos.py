"""Parts of speech from words: CoNLL-2000; the larger works are in pos_more.py."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import works
from benchmarks.arena import Entry, peers_with, train_all
from benchmarks.common import Result, Setting
from benchmarks.compare import OURS, qualities, rotate, rows
from benchmarks.peers import absent, present
from benchmarks.settings import POS_EPOCHS, SPACY_EPOCHS
from benchmarks.works import Work

NAMES = ("NLTK", "python-crfsuite", "spaCy", "hunpos", "MarMoT")
# (work, its name, epochs of all but spaCy, peers that take part, most rounds of the peers)
Contest = tuple[Callable[[Setting, Path], Work], str, int, tuple[str, ...], int]


def run(setting: Setting) -> Result:
    """CoNLL-2000, which has the bar."""
    return contests(setting, [(works.conll_pos, "CoNLL-2000", POS_EPOCHS, NAMES, 3)])


def contests(setting: Setting, all_works: list[Contest]) -> Result:
    """Train all in turn, then tag with all in turn."""
    out: list[dict[str, Any]] = []
    for make, name, epochs, peers, rounds in all_works:
        entries = [
            Entry("perceptron", training={"epochs": epochs}),
            *(
                entry
                for peer in peers
                for entry in peers_with(
                    "perceptron",
                    peer,
                    training={"epochs": SPACY_EPOCHS if peer == "spaCy" else epochs},
                    rounds=1 if peer == "spaCy" else rounds,
                )
            ),
        ]
        with tempfile.TemporaryDirectory() as place:
            out += _work(setting, name, epochs, make(setting, Path(place)), Path(place), entries)
    return Result(
        "parts of speech from words, preset `default`",
        out,
        ", ".join(peer.title for peer in present(*NAMES)),
        [
            "Training is from file to model, features included. python-crfsuite: averaged perceptron with the same",
            f"templates; NLTK: its own. All with as many epochs, spaCy {SPACY_EPOCHS}. Quality is accuracy in %.",
            "Tagging: lists of strings to labels, with words trellis never met.",
            *absent(*NAMES),
        ],
    )


def _work(
    setting: Setting, name: str, epochs: int, work: Work, folder: Path, entries: list[Entry]
) -> list[dict[str, Any]]:
    training = train_all(entries, work, folder, min(2, setting.rounds))
    contenders = [entry.does("label", work, folder) for entry in entries if entry.name in training]
    tagging = rotate(contenders, setting.rounds)
    quality = qualities(tagging, work.quality)
    bars = {"NLTK": 30.0} if name == "CoNLL-2000" else {}
    return [
        *rows(f"parts of speech, {name}, training, {epochs} epochs", training, of="total", quality=quality),
        *rows(
            f"parts of speech, {name}, tagging",
            tagging,
            tokens=work.n_tokens(),
            quality=quality,
            bars=bars,
            holds=lambda peer: quality[OURS] > quality[peer],
        ),
    ]
