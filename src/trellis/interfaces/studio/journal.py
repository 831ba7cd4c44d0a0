"""The studio's journal: a file beside the corpus to which every change of labels is appended, and its lock.

The first line holds the format and the target column. Every other line holds the labels of one sentence, which is
identified by a digest of its words and by its position among sentences of the same words. So labels find their
sentence again after the corpus was edited.
"""

from __future__ import annotations

import json
import os
import weakref
from collections import Counter
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from trellis._support.arguments import is_text
from trellis._support.errors import CorpusError, os_reason

try:
    import fcntl
except ImportError:  # Windows, where nothing keeps a second process out
    fcntl = None  # type: ignore[assignment]

FORMAT = 1

Labels = list[str | None]  # None: not labelled yet
Key = tuple[str, int]  # of a sentence: digest of its words, position among sentences of the same words


def sentence_keys(sentences: list[list[str]]) -> list[Key]:
    """The keys of all sentences of a corpus.

    Parameters
    ----------
    sentences
        The words of each sentence.

    Returns
    -------
    list of (digest, occurrence)
        One key per sentence, all different.
    """
    keys, counts = list[Key](), Counter[str]()
    for words in sentences:
        digest = blake2b(json.dumps(words).encode(), digest_size=16).hexdigest()
        keys.append((digest, counts[digest]))
        counts[digest] += 1
    return keys


class Journal:
    """The changes of one corpus. A line is written completely or not at all.

    Parameters
    ----------
    corpus
        Path of the corpus. The journal is ``CORPUS.studio.jsonl``, the lock ``CORPUS.studio.lock``.
    target
        Column of the labels.

    Raises
    ------
    CorpusError
        If another process has the corpus open.
    """

    def __init__(self, corpus: str, target: str) -> None:
        self.path, self.target = Path(f"{corpus}.studio.jsonl"), target
        self.warnings: list[str] = []
        self._size = 0  # bytes of whole lines
        self._torn = False  # an incomplete line may follow them
        self.close = _lock(self, corpus)

    def read(self) -> list[tuple[Key, Labels]]:
        """All changes, the oldest first.

        An incomplete last line, which was never reported as saved, is skipped and overwritten by the next change.
        Other lines that are not changes are skipped and stay in the file. ``warnings`` tells of both.

        Raises
        ------
        CorpusError
            If the file is not a journal, or has labels of another column.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CorpusError(str(self.path), None, os_reason(error)) from None
        self._size = data.rfind(b"\n") + 1
        self._torn = self._size < len(data)
        lines = data[: self._size].split(b"\n")[:-1]
        if lines or not self._header.startswith(
            data
        ):  # an empty file, or a first line that was cut off, is a new journal
            self._check_header(lines[0] if lines else data)
        if self._torn:
            self.warnings.append(f"{self.path}: the last line is incomplete (a write was cut off) and is skipped")
        changes, damaged = list[tuple[Key, Labels]](), list[int]()
        for number, line in enumerate(lines[1:], 2):
            change = _change(line)
            if change is None:
                damaged.append(number)
            else:
                changes.append(change)
        if damaged:
            what = f"{len(damaged)} damaged line{'s' * (len(damaged) > 1)}, the first in line {damaged[0]}"
            self.warnings.append(f"{self.path}: {what}; skipped, and kept in the file")
        return changes

    def append(self, key: Key, labels: Labels) -> None:
        """Write a change to the disk.

        Raises
        ------
        CorpusError
            If that fails; the journal is then as it was before.
        """
        line = json.dumps({"sentence": key[0], "occurrence": key[1], "labels": labels}, ensure_ascii=False) + "\n"
        data = memoryview((b"" if self._size else self._header) + line.encode())
        try:
            with self.path.open("ab", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._size or (size > self._size and not self._torn):
                    why = "another program changed it; not saved, restart the studio"
                    raise CorpusError(str(self.path), None, why)
                self._torn = True
                try:
                    file.truncate(self._size)
                    rest = data
                    while rest:
                        rest = rest[file.write(rest) :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(self._size)  # where that fails too, the next change does it
                    raise
        except OSError as error:
            raise CorpusError(str(self.path), None, f"cannot be written: {error.strerror}; not saved") from None
        self._size += len(data)
        self._torn = False

    @property
    def _header(self) -> bytes:
        return (json.dumps({"format": FORMAT, "target": self.target}, ensure_ascii=False) + "\n").encode()

    def _check_header(self, first: bytes) -> None:
        try:
            header = json.loads(first)
            target = header["target"]
            is_known = header["format"] == FORMAT and isinstance(target, str)
        except (ValueError, TypeError, LookupError, RecursionError):
            is_known, target = False, None
        if not is_known:
            why = "not a journal of this version of the studio; move the file away to start a new one"
        elif target == self.target:
            return
        else:
            why = f"has labels of column {target!r}, not {self.target!r}; open the studio with --target {target}"
            why += ", or move the file away to start a new one"
        raise CorpusError(str(self.path), 1, why)


def _change(line: bytes) -> tuple[Key, Labels] | None:
    """What a line of the journal says; None if it is damaged."""
    try:
        record = json.loads(line)
        digest, occurrence, labels = record["sentence"], record["occurrence"], record["labels"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    if not (isinstance(digest, str) and isinstance(occurrence, int) and isinstance(labels, list)):
        return None
    if not all(label is None or (isinstance(label, str) and label and is_text(label)) for label in labels):
        return None
    return (digest, occurrence), labels


def _lock(owner: object, corpus: str) -> weakref.finalize[..., object]:
    """Lock a corpus until the result is called, ``owner`` is gone or the process ends, however it ends."""
    path, handle = Path(f"{corpus}.studio.lock"), None
    try:
        while fcntl is not None:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                os.ftruncate(handle, 0)
                os.write(handle, f"{os.getpid()}\n".encode())
                break
            os.close(handle)  # its last owner has removed it meanwhile
            handle = None
    except BlockingIOError:
        assert handle is not None
        process = os.read(handle, 20).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise CorpusError(
            corpus, None, f"another studio has it open (process {process}); close that one first"
        ) from None
    except OSError:  # no lock where the folder cannot be written or the file system has none
        pass
    return weakref.finalize(owner, _unlock, handle, path)


def _unlock(handle: int | None, path: Path) -> None:
    if handle is not None:
        with suppress(OSError):
            path.unlink()
        os.close(handle)
