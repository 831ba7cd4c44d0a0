"""A corpus that is being labelled: every change goes to a journal beside it at once, so that nothing is lost.

The journal (CORPUS.studio.jsonl) is only ever written at its end; opening the corpus again reads it. An undone change
is one more line of it. Training takes what is labelled, partly labelled sentences too.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.objects import from_mapping
from trellis.corpus.write import write
from trellis.errors import ArgumentError, CorpusError, TrellisError

if TYPE_CHECKING:
    from trellis.learning.run import Event
    from trellis.tagger import Tagger

Labels = list[str | None]  # None: not labelled yet

EPOCHS = 40  # of training
LEAST_FOR_DEV = 20  # whole sentences, of which every tenth is then held out
LOOKED_AT = 2000  # sentences among which the least certain is looked for


@dataclass(slots=True)
class Training:
    """A training in the background."""

    running: bool = False
    epoch: int = 0
    epochs: int = EPOCHS
    history: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        names = ("running", "epoch", "epochs", "history", "error")
        return {name: getattr(self, name) for name in names}


class Workbook:
    """The sentences, their labels, and what was done to them."""

    def __init__(self, path: str, corpus: Corpus, target: str, *, is_new: bool = False) -> None:
        self.path, self.target = path, target
        self.journal = Path(f"{path}.studio.jsonl")
        self.columns = [
            name for name, column in corpus.columns.items() if name != target and isinstance(column, Column)
        ]
        if not self.columns:
            raise CorpusError(path, None, "no column of words to be labelled")
        self._corpus = corpus
        self.words: list[list[str]] = corpus.sentences(self.columns[0])
        has_gold = target in corpus.columns and not is_new
        given: list[list[str]] = corpus.sentences(target) if has_gold else [[""] * len(words) for words in self.words]
        self.labels: list[Labels] = [[label or None for label in labels] for labels in given]
        self._done: list[tuple[int, Labels]] = []  # sentences and what they had before
        self._lock = threading.Lock()
        self.training = Training()
        self._replay()

    def __len__(self) -> int:
        return len(self.words)

    @property
    def known_labels(self) -> list[str]:
        """All labels in use, in alphabetical order."""
        return sorted({label for labels in self.labels for label in labels if label is not None})

    def n_labelled(self) -> int:
        """Sentences without a gap."""
        return sum(bool(labels) and None not in labels for labels in self.labels)

    def sentence(self, i: int) -> Any:
        """A sentence as a tagger reads it."""
        if len(self.columns) == 1:
            return self.words[i]
        lists = [self._corpus[i][name] for name in self.columns]
        return list(zip(*lists, strict=True))

    # ------------------------------------------------------------ changes

    def set(self, number: int, labels: Labels) -> None:
        """Label a sentence; it is in the journal when this returns."""
        self._check(number, labels)
        with self._lock:
            self._done.append((number, self.labels[number]))
            self._write(number, labels)

    def undo(self) -> int | None:
        """Take the last change back; the sentence that it was about."""
        with self._lock:
            if not self._done:
                return None
            number, labels = self._done.pop()
            self._write(number, labels)
            return number

    def _check(self, number: int, labels: Labels) -> None:
        if not 0 <= number < len(self):
            raise ArgumentError(f"no sentence {number}; there are {len(self)}")
        if len(labels) != len(self.words[number]):
            raise ArgumentError(f"{len(labels)} labels for {len(self.words[number])} words")
        for label in labels:
            if label is not None and (not label or len(label) > 100 or any(c.isspace() or c == "|" for c in label)):
                raise ArgumentError(f"{label!r} is no label: one word of up to 100 letters, without |")

    def _write(self, number: int, labels: Labels) -> None:
        line = json.dumps({"sentence": number, "labels": labels}, ensure_ascii=False)
        try:
            with self.journal.open("ab") as file:
                file.write(f"{line}\n".encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CorpusError(str(self.journal), None, f"cannot be written: {error.strerror}") from None
        self.labels[number] = labels

    def _replay(self) -> None:
        """What an earlier session did; a last line that was cut short is not there."""
        if not self.journal.exists():
            return
        data = self.journal.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for i, line in enumerate(whole.splitlines(), 1):
            try:
                record = json.loads(line)
                number, labels = (
                    int(record["sentence"]),
                    [None if one is None else str(one) for one in record["labels"]],
                )
                self._check(number, labels)
            except (ValueError, TypeError, LookupError, TrellisError) as error:
                why = f"not a change of this corpus: {error}; move the file away to begin anew"
                raise CorpusError(str(self.journal), i, why) from None
            self.labels[number] = labels
        if len(whole) < len(data):
            with self.journal.open("r+b") as file:
                file.truncate(len(whole))

    # ------------------------------------------------------------ what next

    def next(self, tagger: Tagger | None, after: int | None, *, uncertain: bool) -> int | None:
        """The next sentence to label: that with the least margin between its two best paths, or the next in order."""
        order = list(range(len(self))) if after is None else [*range(after + 1, len(self)), *range(after + 1)]
        waiting = [i for i in order if self.words[i] and None in self.labels[i]]
        if not waiting or not uncertain or tagger is None:
            return waiting[0] if waiting else None
        some = [i for i in waiting if i != after][:LOOKED_AT] or waiting
        lists = tagger.kbest_batch([self.sentence(i) for i in some], 2)
        margins = [
            (paths[0][1] - paths[1][1] if len(paths) > 1 else float("inf"), i)
            for paths, i in zip(lists, some, strict=True)
        ]
        return min(margins)[1]

    # ------------------------------------------------------------ training

    def start_training(self, done: Callable[[Tagger], None]) -> None:
        """Train in the background; ``done`` gets the tagger."""
        with self._lock:
            if self.training.running:
                raise ArgumentError("a training is under way; wait for it")
            some = [i for i, labels in enumerate(self.labels) if any(label is not None for label in labels)]
            if not some:
                raise ArgumentError("nothing is labelled yet; label a sentence first")
            labels = {i: list(self.labels[i]) for i in some}
            self.training = Training(running=True)
        threading.Thread(target=self._train, args=(labels, done), daemon=True).start()

    def _train(self, labels: dict[int, Labels], done: Callable[[Tagger], None]) -> None:
        from trellis.learners.crf import CRF
        from trellis.training import train

        try:
            whole = [i for i, one in labels.items() if None not in one]
            held_out = set(whole[9::10]) if len(whole) >= LEAST_FOR_DEV else set()
            parts = [self._part(labels, [i for i in labels if (i in held_out) == dev]) for dev in (False, True)]
            tagger = train(
                parts[0],
                target=self.target,
                learner=CRF(epochs=EPOCHS),
                partial=True,
                dev=parts[1] if held_out else None,
                observer=self._note,
            )
            done(tagger)
        except TrellisError as error:
            self.training.error = str(error)
        finally:
            self.training.running = False

    def _part(self, labels: dict[int, Labels], some: list[int]) -> Corpus:
        columns: dict[str, list[list[str]]] = {name: [] for name in (*self.columns, self.target)}
        for i in some:
            for name in self.columns:
                columns[name].append(self._corpus[i][name])
            columns[self.target].append([label or "" for label in labels[i]])
        return from_mapping(columns, None)

    def _note(self, event: Event) -> None:
        self.training.epoch = event.epoch
        self.training.history.append(event.to_dict())

    # ------------------------------------------------------------ out

    def export(self, format: str) -> bytes:
        """The sentences without a gap, as a file of any format that is written; CoNLL-U gets form and upos."""
        some = [i for i, labels in enumerate(self.labels) if labels and None not in labels]
        if not some:
            raise ArgumentError("no sentence is labelled from end to end yet")
        corpus = self._part(dict(enumerate(self.labels)), some)
        if format == "conllu":
            corpus = replace(
                corpus, columns={"form": corpus.columns[self.columns[0]], "upos": corpus.columns[self.target]}
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labelled"
            write(corpus, path, format="conll" if format == "tsv" else format, tabs=format == "tsv")
            return path.read_bytes()
