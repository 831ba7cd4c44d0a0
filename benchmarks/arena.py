"""Who takes part in a work, and with what: from an entry to the contenders of each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.compare import OURS, Contender, qualities, rotate
from benchmarks.peers import CONTENDERS, Peer, present
from benchmarks.turns import Turn
from benchmarks.works import Work


@dataclass(frozen=True, slots=True)
class Entry:
    """trellis, or a peer, with a learner of settings.py."""

    learner: str
    peer: Peer | None = None
    variant: str = ""  # suffix of the name
    training: dict[str, Any] = field(default_factory=dict)  # further arguments of ``train``
    rounds: int | None = None

    @property
    def name(self) -> str:
        """The name in tables."""
        name = OURS if self.peer is None else self.peer.name
        return f"{name}, {self.variant}" if self.variant else name

    def model(self, folder: Path) -> str:
        """Its model file."""
        return str(folder / f"{self.name.replace(' ', '_')}.{self.learner}")

    def call(self, function: str) -> str:
        """The function of the task."""
        return f"{CONTENDERS}.ours:{function}" if self.peer is None else self.peer.call(function)

    def does(self, function: str, work: Work, folder: Path, variant: str = "", **more: Any) -> Contender:
        """The contender of one task."""
        arguments = {"work": work.given(), "model": self.model(folder)} | more
        if function == "train":
            arguments |= {"learner": self.learner} | self.training
        name = f"{self.name}, {variant}" if variant else self.name
        return Contender(name, self.call(function), arguments, rounds=self.rounds)


def peers_with(learner: str, *names: str, **options: Any) -> list[Entry]:
    """An entry for each of the named peers that is here."""
    return [Entry(learner, peer, **options) for peer in present(*names)]


def train_all(entries: Sequence[Entry], work: Work, folder: Path, rounds: int) -> dict[str, list[Turn]]:
    """Train in rotation."""
    return rotate([entry.does("train", work, folder) for entry in entries], rounds)


def quality_of(entries: Sequence[Entry], work: Work, folder: Path) -> dict[str, float]:
    """Tag the test file once with each model."""
    turns = rotate([entry.does("label", work, folder) for entry in entries], 1)
    return qualities(turns, work.quality)
