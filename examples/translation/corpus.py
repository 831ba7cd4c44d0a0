"""Pairs of sentences: two files with a sentence per line, words separated by blanks, line i of one translated by line i
of the other.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from trellis._support.errors import CorpusError

Words = tuple[str, ...]


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: Words
    target: Words


def read_sentences(path: str | Path) -> list[Words]:
    """The sentences of a file, which may be compressed (.gz); CorpusError says what is wrong with it."""
    try:
        with gzip.open(path, "rb") if str(path).endswith(".gz") else Path(path).open("rb") as file:
            lines = file.read().split(b"\n")
    except (OSError, EOFError) as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise CorpusError(str(path), None, why) from None
    if lines[-1] == b"":
        del lines[-1]
    sentences = list[Words]()
    for number, line in enumerate(lines, 1):
        try:
            sentences.append(tuple(line.decode().split()))
        except UnicodeDecodeError as error:
            raise CorpusError(str(path), number, f"not UTF-8 at byte {error.start}") from None
        if not sentences[-1]:
            raise CorpusError(str(path), number, "a line without words; drop it here and in the other language")
    if not sentences:
        raise CorpusError(str(path), None, "no sentences")
    return sentences


def read_pairs(source: str | Path, target: str | Path) -> list[Pair]:
    """The pairs of two files of as many lines; CorpusError where they do not fit together."""
    sentences, translations = read_sentences(source), read_sentences(target)
    if len(sentences) != len(translations):
        why = f"{len(translations)} lines, and {source} has {len(sentences)}; line i must be the translation of line i"
        raise CorpusError(str(target), None, why)
    return list(map(Pair, sentences, translations))


def numbered(sentences: Iterable[Words], first: Iterable[str] = ()) -> dict[str, int]:
    """The number of each word: those of ``first``, then all others from the most frequent on."""
    counts = Counter(word for sentence in sentences for word in sentence)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: i for i, word in enumerate(dict.fromkeys([*first, *ranked]))}
