"""The studio's journal: a file beside the corpus to which every change of labels is appended.

The first line holds the format and the target column. Every other line holds the labels of one sentence, which is
identified by a digest of its words and by its position among sentences of the same words. So labels find their
sentence again after the corpus was edited.
"""

from __future__ import annotations

import json
import os
import weakref
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from trellis._support.arguments import is_text
from trellis._support.errors import CorpusError, file_reason

try:
    import fcntl
except ImportError:  # Windows: no locking
    fcntl = None  # type: ignore[assignment]

FORMAT = 1

Labels = list[str | None]  # None: not labelled yet
Key = tuple[str, int]  # key of a sentence: digest of its words, index among sentences with the same words


def sentence_keys(sentences: list[list[str]]) -> list[Key]:
    """The keys of all sentences of a corpus, all different, by the words of each."""
    keys, counts = list[Key](), Counter[str]()
    for words in sentences:
        digest = blake2b(json.dumps(words).encode(), digest_size=16).hexdigest()
        keys.append((digest, counts[digest]))
        counts[digest] += 1
    return keys


class Journal:
    """The changes of the labels in one column of a corpus. A line is written completely or not at all.

    The corpus is locked; CorpusError if another process has it open.
    """

    def __init__(self, corpus: str, target: str) -> None:
        self.path, self.target = Path(f"{corpus}.studio.jsonl"), target
        self.warnings: list[str] = []
        self._header = (json.dumps({"format": FORMAT, "target": target}, ensure_ascii=False) + "\n").encode()
        self._size = 0  # bytes of whole lines
        self._torn = False  # an incomplete line may follow them
        self.close = _lock(self, corpus)

    def read(self) -> list[tuple[Key, Labels]]:
        """All changes, the oldest first; CorpusError if the file is not a journal, or has labels of another column.

        An incomplete last line, which was never reported as saved, is skipped and overwritten by the next change.
        Other lines that are not changes are skipped and stay in the file. ``warnings`` tells of both.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CorpusError(str(self.path), None, file_reason(self.path, error)[1]) from None
        lines = data.split(b"\n")[:-1]
        self._size = data.rfind(b"\n") + 1
        self._torn = self._size < len(data)
        if lines or not self._header.startswith(data):  # an empty file, or a part of a first line, is a new journal
            self._check_header(lines[0] if lines else data)
        if self._torn:
            self.warnings.append(f"{self.path}: the last line is incomplete (an interrupted write) and is skipped")
        changes = [_change(line) for line in lines[1:]]
        damaged = [number for number, change in enumerate(changes, 2) if change is None]
        if damaged:
            damage = f"{len(damaged)} damaged line{'s' * (len(damaged) > 1)}, the first in line {damaged[0]}"
            self.warnings.append(f"{self.path}: {damage}; skipped, but kept in the file")
        return [change for change in changes if change is not None]

    def append(self, key: Key, labels: Labels) -> None:
        """Write a change to the disk; CorpusError if that fails, and the journal is then as it was before."""
        line = json.dumps({"sentence": key[0], "occurrence": key[1], "labels": labels}, ensure_ascii=False) + "\n"
        data = memoryview((b"" if self._size else self._header) + line.encode())
        try:
            with self.path.open("ab", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._size or (size > self._size and not self._torn):
                    reason = "changed by another program; not saved, restart the studio"
                    raise CorpusError(str(self.path), None, reason)
                self._torn = True
                try:
                    file.truncate(self._size)
                    rest = data
                    while rest:
                        rest = rest[file.write(rest) :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(self._size)  # if that fails, too, the next change does it
                    raise
        except OSError as error:
            raise CorpusError(str(self.path), None, f"cannot be written: {error.strerror}; not saved") from None
        self._size += len(data)
        self._torn = False

    def _check_header(self, first: bytes) -> None:
        header = _record(first)
        target = header.get("target")
        if header.get("format") != FORMAT or not isinstance(target, str):
            text = "not a journal of this studio version; "
        elif target == self.target:
            return
        else:
            text = f"has labels of column {target!r}, not {self.target!r}; open the studio with --target {target}, or "
        raise CorpusError(str(self.path), 1, text + "move the file away to start a new one")


def _record(line: bytes) -> dict[str, Any]:
    """The object in a line of the journal; empty if it is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _change(line: bytes) -> tuple[Key, Labels] | None:
    """Parse a line of the journal; None if it is damaged."""
    digest, occurrence, labels = map(_record(line).get, ("sentence", "occurrence", "labels"))
    if not (isinstance(digest, str) and isinstance(occurrence, int) and isinstance(labels, list)):
        return None
    if not all(label is None or (isinstance(label, str) and label and is_text(label)) for label in labels):
        return None
    return (digest, occurrence), labels


def _lock(owner: object, corpus: str) -> Callable[[], object]:
    """Lock a corpus until the result is called, ``owner`` is gone or the process ends, however it ends."""
    try:
        handle = os.open(corpus, os.O_RDONLY)
    except OSError:  # no file, and no lock
        return lambda: None
    close = weakref.finalize(owner, os.close, handle)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        close()
        raise CorpusError(corpus, None, "opened by another studio; close that studio first") from None
    except OSError:  # the file system does not support locks
        pass
    return close
