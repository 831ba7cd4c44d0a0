"""Text as code points without whitespace, and lines of words for training.

Unicode whitespace and byte order marks separate words. A line ends at a line feed.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis._support.arguments import is_text, items
from trellis._support.arrays import Bools, Ints, Longs, starts_of
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.files import NOT_UTF8, kept, message_name, read_bytes
from trellis.corpus.read import is_table, read

CHARACTER, LABEL, WORD = "character", "label", "word"  # the columns
LABELS = ("B", "M", "E", "S")

Points = npt.NDArray[np.uint32]

_MARK = "\ufeff"
_IS_BLANK = np.zeros(0x110000, bool)
_IS_BLANK[[point for point in range(0x3001) if chr(point).isspace()]] = True  # and U+FEFF
_IS_BLANK[ord(_MARK)] = True
_IS_BLANK[0xDC80:0xDD00] = True  # surrogate escapes of bytes that are not UTF-8
_WIDE = 0xFF01, 0xFF5E, 0xFEE0  # full-width ASCII: first and last code point, distance to ASCII


def to_points(text: str) -> Points:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def to_text(points: Points) -> str:
    """The text of code points."""
    return points.tobytes().decode("utf-32-le", "surrogatepass")


def is_blank(points: Points) -> Bools:
    """Mask of the code points that are whitespace."""
    return _IS_BLANK[points]


def words_of(text: str) -> list[str]:
    """Split at whitespace."""
    return text.replace(_MARK, " ").split()


def narrow(points: Points) -> Points:
    """Replace full-width letters, digits and signs by ASCII."""
    first, last, far = _WIDE
    return np.where((points >= first) & (points <= last), points - np.uint32(far), points)


def characters(points: Points) -> Column:
    """The column of characters that taggers read."""
    points = narrow(points)
    if len(points) < 1 << 14:
        values, codes = np.unique(points, return_inverse=True)
        codes = codes.reshape(-1)
    else:  # faster than sorting all code points
        present = np.zeros(len(_IS_BLANK), bool)
        present[points] = True
        values, codes = np.flatnonzero(present).astype(np.uint32), (np.cumsum(present) - 1)[points]
    return Column(codes.astype(np.int32), Strings.of(map(chr, values.tolist())))


def word_labels(lengths: Longs) -> Ints:
    """Label numbers of the characters of words with these lengths."""
    starts = starts_of(lengths)
    codes = np.full(starts[-1], LABELS.index("M"), np.int32)
    codes[starts[1:] - 1] = LABELS.index("E")
    codes[starts[:-1]] = np.where(lengths == 1, LABELS.index("S"), LABELS.index("B"))
    return codes


@dataclass(frozen=True, slots=True)
class SegmentedText:
    """Lines of words."""

    lines: list[list[str]]
    skipped: list[CorpusError] = field(default_factory=list)  # by lenient reading
    source: str = ""

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def corpus(self) -> Corpus:
        """Characters with labels B, M, E, S."""
        words = [word for line in self.lines for word in line]
        lengths = np.array([len(word) for word in words], np.int64)
        codes = word_labels(lengths)
        distinct, first = np.unique(codes, return_index=True)
        order = np.argsort(first)  # labels by first appearance, as all columns are numbered
        rank = np.zeros(len(LABELS), np.int32)
        rank[distinct[order]] = np.arange(len(distinct))
        labels = Column(rank[codes], Strings.of([LABELS[i] for i in distinct[order]]))
        columns = {CHARACTER: characters(to_points("".join(words))), LABEL: labels}
        return Corpus(columns, starts_of([sum(map(len, line)) for line in self]), self.source)


Source = str | os.PathLike[str] | Iterable[str | Sequence[str]] | Corpus | SegmentedText


def read_segmented(source: Source, *, lenient: bool = False) -> SegmentedText:
    """Lines of words from a file (``-`` is standard input), or from a list of lines or of lists of words.

    Of a corpus or a table, the strings of the column ``word`` are the words, and a sentence is a line.
    Empty lines are ignored. Lines of whitespace only and lines that are not UTF-8 are errors; ``lenient`` skips them.
    """
    if isinstance(source, SegmentedText):
        return source
    if isinstance(source, Corpus) or is_table(source):
        source = read(source).sentences(WORD)
    elements, name = items(source), ""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        text, name = read_bytes(path), message_name(path)
        elements = text.split(b"\n") if text.strip() else []
    if elements is None:
        raise CorpusError("", None, f"text must be a file or a list of lines, not {reprlib.repr(source)}")
    lines, skipped = kept((_line(line, name, number) for number, line in enumerate(elements, 1)), lenient)
    return SegmentedText([words for words in lines if words], skipped, name)


def _line(line: Any, name: str, number: int) -> list[str] | CorpusError:
    try:
        return _words(line)
    except ValueError as error:
        return CorpusError(name, number, str(error))


def _words(line: Any) -> list[str]:
    """The words of a line; ValueError describes an error."""
    if isinstance(line, bytes):
        try:
            line = line.decode()
        except UnicodeDecodeError:
            raise ValueError(NOT_UTF8) from None
    if isinstance(line, str):
        check_encodable(line)
        words = words_of(line)
        if not words and line.strip("\r\n"):
            raise ValueError("a line of whitespace only; delete it, or skip such lines with lenient=True")
        return words
    elements = items(line)
    if elements is None or not all(isinstance(word, str) for word in elements):
        raise ValueError(f"a line is a string or a list of words, not {reprlib.repr(line)}")
    for word in elements:
        check_encodable(word)
        if words_of(word) != [word]:
            raise ValueError(f"{word!r} is not a word: it is empty or contains whitespace")
    return elements


def check_encodable(text: str) -> None:
    """ValueError for an unpaired surrogate."""
    if not is_text(text):
        raise ValueError("a lone surrogate or bytes that are not UTF-8; decode the text as UTF-8")
