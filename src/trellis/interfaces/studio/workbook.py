"""A corpus in annotation: every change is written to a journal next to it at once.

The journal is only ever appended to; opening the corpus again reads it. An undone change is one more line of it.
Training uses all labels, including those of partly labelled sentences.
"""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trellis._support.arguments import is_text
from trellis._support.errors import ArgumentError, CorpusError, TrellisError
from trellis.corpus.corpus import Column, Corpus, no_labels
from trellis.corpus.objects import from_mapping
from trellis.corpus.write import write
from trellis.interfaces.studio.journal import Journal, Labels, sentence_keys

if TYPE_CHECKING:
    from trellis.learning.run import Event
    from trellis.tasks.tagging.model import Tagger

EPOCHS = 40  # of training
LEAST_FOR_DEV = 20  # minimum number of fully labelled sentences for holding out every tenth
LOOKED_AT = 2000  # sentences among which the least certain one is searched


@dataclass(slots=True)
class Training:
    """A training in the background."""

    running: bool = False
    epoch: int = 0
    epochs: int = EPOCHS
    held_out: int = 0  # sentences for the scores in the history
    history: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""


class ConflictError(TrellisError):
    """A change of a sentence that another client has changed meanwhile."""

    status = 409  # of HTTP


class Workbook(AbstractContextManager["Workbook"]):
    """The sentences, their labels, and the changes."""

    def __init__(self, path: str, corpus: Corpus, target: str) -> None:
        self.path, self.target = path, target
        columns = corpus.columns.items()
        self.columns = [name for name, column in columns if name != target and isinstance(column, Column)]
        if not is_text(target):
            raise ArgumentError(f"target {target!r} is not valid UTF-8; rename the column")
        if not self.columns:
            raise CorpusError(path, None, "no column of words")
        self._corpus = corpus
        self.words: list[list[str]] = corpus.sentences(self.columns[0])
        gold = corpus.sentences(target) if target in corpus.columns else [[""] * len(words) for words in self.words]
        missing = no_labels(corpus, target)
        self.labels: list[Labels] = [[None if label in missing else label for label in labels] for labels in gold]
        self._changes: list[tuple[str, int, Labels]] = []  # client, sentence and its labels before
        self._lock = threading.Lock()
        self.training = Training()
        self._keys = sentence_keys(self.words)
        self._n_changes = [0] * len(self)  # number of changes of each sentence, over all sessions
        self.journal = Journal(path, target)
        self.warnings = self.journal.warnings  # warnings for the caller
        try:
            self._replay()
        except CorpusError:
            self.close()
            raise

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock of the corpus."""
        self.journal.close()

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
        return list(zip(*(self._corpus[i][name] for name in self.columns), strict=True))

    # ------------------------------------------------------------ changes

    def revision(self, number: int) -> str:
        """The state of a sentence: another one after every change, and for every sequence of words."""
        return f"{self._keys[number][0]}.{self._n_changes[number]}"

    def set(self, number: int, labels: Labels, *, revision: str | None = None, client: str = "") -> str:
        """Label a sentence; it is in the journal when this returns the new revision.

        Parameters
        ----------
        number
            The sentence, from 0.
        labels
            One per word; None where it is not labelled yet.
        revision
            The revision that the change was made to; "" for a sentence that was never changed, None for any. If the
            sentence has another one by now, ConflictError is raised.
        client
            Who makes the change, and may undo it.
        """
        self._check(number, labels)
        with self._lock:
            current = self.revision(number)
            if revision is not None and revision != current and (revision or self._n_changes[number]):
                raise ConflictError(f"sentence {number + 1} was changed in another tab or session; not saved")
            previous = self.labels[number]
            self._write(number, labels)
            self._changes.append((client, number, previous))
            return self.revision(number)

    def undo(self, client: str = "") -> int | None:
        """Take back the last change that a client made in this session, and return the sentence (None: no change).

        If another client has changed the sentence since, ConflictError is raised.
        """
        with self._lock:
            i = next((i for i in reversed(range(len(self._changes))) if self._changes[i][0] == client), None)
            if i is None:
                return None
            _, number, previous = self._changes[i]
            if any(change[1] == number for change in self._changes[i + 1 :]):
                raise ConflictError(f"sentence {number + 1} was changed in another tab since; undo it there first")
            self._write(number, previous)
            del self._changes[i]
            return number

    def _check(self, number: int, labels: Labels) -> None:
        self.check_number(number)
        if len(labels) != len(self.words[number]):
            raise ArgumentError(f"{len(labels)} labels for {len(self.words[number])} words")
        odd = {label for label in labels if label is not None and not _is_plain(label)}
        if odd and odd - set(self.known_labels):  # existing labels of the corpus are always valid
            raise ArgumentError(f"{min(odd)!r} is not a valid label: use one word of at most 100 characters")

    def check_number(self, number: int) -> None:
        """ArgumentError unless the number of a sentence is valid."""
        if not 0 <= number < len(self):
            raise ArgumentError(f"no sentence {number + 1}; there are {len(self)}")

    def _write(self, number: int, labels: Labels) -> None:
        self.journal.append(self._keys[number], labels)
        self.labels[number] = list(labels)
        self._n_changes[number] += 1

    def _replay(self) -> None:
        """Apply the changes of earlier sessions."""
        numbers = {key: number for number, key in enumerate(self._keys)}
        missing = set()
        for key, labels in self.journal.read():
            number = numbers.get(key)
            if number is None or len(labels) != len(self.words[number]):
                missing.add(key)
                continue
            self.labels[number] = labels
            self._n_changes[number] += 1
        if missing:
            loss = f"labels of {len(missing)} sentence{'s' * (len(missing) > 1)} that the corpus no longer has"
            self.warnings.append(f"{self.journal.path}: {loss}; not applied, but kept in the file")

    # ------------------------------------------------------------ next sentence

    def next(self, tagger: Tagger | None, after: int | None, *, uncertain: bool) -> int | None:
        """The next sentence to label: that with the least margin between its two best paths, or the next in order."""
        if after is not None:
            self.check_number(after)
        order = list(range(len(self))) if after is None else [*range(after + 1, len(self)), *range(after + 1)]
        waiting = [i for i in order if self.words[i] and None in self.labels[i]]
        if not waiting or not uncertain or tagger is None:
            return waiting[0] if waiting else None
        candidates = [i for i in waiting if i != after][:LOOKED_AT] or waiting
        try:
            lists = tagger.kbest_batch([self.sentence(i) for i in candidates], 2)
        except TrellisError:  # the model cannot read this corpus
            return candidates[0]
        margins = [paths[0][1] - paths[1][1] if len(paths) > 1 else math.inf for paths in lists]
        return min(zip(margins, candidates, strict=True))[1]

    # ------------------------------------------------------------ training

    def start_training(self, on_done: Callable[[Tagger], None]) -> None:
        """Train in the background; ``on_done`` gets the tagger."""
        with self._lock:
            if self.training.running:
                raise ArgumentError("training is already running; wait until it has finished")
            labelled = [i for i, labels in enumerate(self.labels) if any(label is not None for label in labels)]
            if not labelled:
                raise ArgumentError("no labels to train on; label a sentence first")
            labels = {i: list(self.labels[i]) for i in labelled}
            self.training = Training(running=True)
        thread = threading.Thread(target=self._train, args=(self.training, labels, on_done), daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system cannot start a thread
            self.training = Training(error=_message(error))

    def _train(self, training: Training, labels: dict[int, Labels], on_done: Callable[[Tagger], None]) -> None:
        from trellis.learners.crf import CRF
        from trellis.tasks.tagging import options
        from trellis.tasks.tagging.train import train

        def observe(event: Event) -> None:
            training.epoch = event.epoch
            training.history.append(event.to_dict())

        try:
            complete = [i for i in labels if None not in labels[i]]
            held_out = complete[9::10] if len(complete) >= LEAST_FOR_DEV else []
            training.held_out = len(held_out)
            dev = self._part(labels, held_out) if held_out else None
            training_part = self._part(labels, sorted(labels.keys() - set(held_out)))
            settings: dict[str, Any] = {"learner": CRF(epochs=EPOCHS), "labels": options.Labels(partial="missing")}
            on_done(train(training_part, target=self.target, dev=dev, observer=observe, **settings))
        except Exception as error:  # any error is shown on the page
            training.error = _message(error)
        finally:
            training.running = False

    def _part(self, labels: dict[int, Labels], numbers: list[int]) -> Corpus:
        columns = {name: [self._corpus[i][name] for i in numbers] for name in self.columns}
        return from_mapping({**columns, self.target: [[label or "" for label in labels[i]] for i in numbers]}, None)

    # ------------------------------------------------------------ export

    def export(self, format: str) -> bytes:
        """The sentences without a gap, as a file of any format that is written; CoNLL-U gets form and upos."""
        complete = [i for i, labels in enumerate(self.labels) if labels and None not in labels]
        if not complete:
            raise ArgumentError("no completely labelled sentence to export")
        corpus = self._part(dict(enumerate(self.labels)), complete)
        if format == "conllu":
            columns = {"form": corpus.columns[self.columns[0]], "upos": corpus.columns[self.target]}
            corpus = replace(corpus, columns=columns)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labelled"
            write(corpus, path, format="conll" if format == "tsv" else format, tabs=format == "tsv")
            return path.read_bytes()


def _is_plain(label: str) -> bool:
    """Whether every format can represent a word."""
    return 0 < len(label) <= 100 and not any(c.isspace() or "\ud800" <= c <= "\udfff" for c in label)


def _message(error: Exception) -> str:
    """One-line message; with the type for errors other than trellis exceptions."""
    return str(error) if isinstance(error, TrellisError) else f"{type(error).__name__}: {error}".rstrip(": ")
