"""Text as a sequence of characters with the columns that the tokenizer's features read.

Whitespace is one character: a line feed between paragraphs (an empty line), else a space. A *chunk* is text between
whitespace.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from trellis._support.arrays import Bools, Ints, Longs, starts_of
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.unspaced import to_points

SPACE, PARAGRAPH = " ", "\n"
REACH = 12  # characters of a chunk before and after a character that features see
LONG = 300  # a sequence ends at the first space after so many characters,
LONGEST = 1_000  # or after so many

_IS_SPACE = np.zeros(0x110000, bool)
_IS_SPACE[[point for point in range(0x3001) if chr(point).isspace()]] = True
_REPEATED = re.compile(r"(.)\1+")
SHAPE_LENGTH = 12


@cache
def kind(character: str) -> str:
    """Class of a character: letters by case, digits, marks, whitespace; punctuation and symbols are their own class."""
    category = unicodedata.category(character)
    if category[0] == "L":
        return {"Lu": "A", "Lt": "A", "Ll": "a"}.get(category, "x")
    if category[0] in "NMZC" and character not in (SPACE, PARAGRAPH):
        return {"N": "0", "M": "m"}.get(category[0], "c")
    return character


def shape(chunk: str) -> str:
    """Classes of the first characters of a chunk; repetitions become one class and a plus sign."""
    return _REPEATED.sub(r"\1+", "".join(map(kind, chunk[: 2 * SHAPE_LENGTH])))[:SHAPE_LENGTH]


@dataclass(frozen=True, slots=True)
class Characters:
    """The characters of a text, runs of whitespace as one.

    Attributes
    ----------
    starts
        [n] offset of each character in the text.
    is_space
        [n] whether it is whitespace.
    is_paragraph
        [n] whether it is whitespace with an empty line.
    chunks
        Pieces of text between whitespace, in order.
    """

    starts: Longs
    is_space: Bools
    is_paragraph: Bools
    chunks: list[str]

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(cls, text: str, *, lines: bool = False) -> Characters:
        """The characters of a text without whitespace at its ends, and a paragraph mark after them.

        So the end of a text is like that of a paragraph. ``lines``: every line is a paragraph.
        """
        points = to_points(text)
        blank = _IS_SPACE[points]
        letters = np.flatnonzero(~blank)
        if not len(letters):
            return cls(np.empty(0, np.int64), np.empty(0, bool), np.empty(0, bool), [])
        gaps = np.flatnonzero(np.diff(letters) > 1)  # after these letters there is whitespace
        n_lines = np.cumsum(points == ord("\n"))
        in_gap = n_lines[letters[gaps + 1]] - n_lines[letters[gaps]]
        starts = np.append(np.insert(letters, gaps + 1, letters[gaps] + 1), letters[-1] + 1)
        is_space = np.zeros(len(starts), bool)
        places = gaps + 1 + np.arange(len(gaps))
        is_space[places] = is_space[-1] = True
        is_paragraph = np.zeros(len(starts), bool)
        is_paragraph[places[in_gap >= (1 if lines else 2)]] = is_paragraph[-1] = True
        return cls(starts, is_space, is_paragraph, text.split())

    def corpus(self) -> Corpus:
        """The columns of features, in sequences that end at paragraphs or after many characters."""
        n = len(self)
        number = dict[str, int]()
        codes = np.array([number.setdefault(chunk, len(number)) for chunk in self.chunks], np.int64)
        distinct = list(number)
        lengths = np.array([len(chunk) for chunk in distinct] or [0], np.int64)
        flat = starts_of(lengths.tolist())
        letters = ~self.is_space
        # Of each character that is not whitespace: its chunk, and its place among the characters of distinct chunks.
        chunk_of = np.cumsum(np.concatenate([[True], self.is_space[:-1]]))[letters] - 1 if n else np.empty(0, np.int64)
        begins = starts_of(lengths[codes].tolist())[:-1]
        place = flat[codes][chunk_of] + np.arange(len(chunk_of)) - begins[chunk_of]

        def column(values: Iterable[str]) -> Column:
            """A column with a value for every character of the distinct chunks; whitespace has its own."""
            strings = {SPACE: 0, PARAGRAPH: 1}
            numbers = np.array([strings.setdefault(value, len(strings)) for value in values] or [0], np.int32)
            out = self.is_paragraph.astype(np.int32)
            out[letters] = numbers[place]
            return Column(out, Strings.of(strings))

        before = self._neighbours(codes, chunk_of, -1)
        after = self._neighbours(codes, chunk_of, 1)

        def neighbour(numbers: Ints, values: list[str]) -> Column:
            """A column with a value of the chunk before or after; the number of distinct chunks marks a paragraph."""
            strings = dict[str, int]()
            of_chunk = np.array([strings.setdefault(value, len(strings)) for value in [*values, PARAGRAPH]], np.int32)
            return Column(of_chunk[numbers], Strings.of(strings))

        lower, shapes = [chunk.lower() for chunk in distinct], list(map(shape, distinct))
        characters = [character for chunk in distinct for character in chunk]
        columns = {
            "char": column(characters),
            "kind": column(map(kind, characters)),
            "left": column(_left(chunk, j) for chunk in distinct for j in range(len(chunk))),
            "right": column(_right(chunk, j) for chunk in distinct for j in range(len(chunk))),
            "next": neighbour(after, lower),
            "next_shape": neighbour(after, shapes),
            "previous": neighbour(before, lower),
            "previous_shape": neighbour(before, shapes),
        }
        return Corpus(columns, self._sequences())

    def _neighbours(self, codes: Longs, chunk_of: Longs, step: int) -> Ints:
        """[n] number of the chunk before (-1) or after (1) that of each character, or the whitespace there."""
        end = len(set(codes.tolist()))  # number of paragraph marks
        spaces = np.flatnonzero(self.is_space)  # one after every chunk
        following = np.append(codes, end)[1:] if len(codes) else codes
        # Of chunks: the next one unless a paragraph ends between them.
        breaks = self.is_paragraph[spaces]
        beside = np.where(breaks, end, following if step > 0 else codes)
        out = np.empty(len(self), np.int64)
        out[~self.is_space] = (beside if step > 0 else np.insert(beside, 0, end)[:-1])[chunk_of]
        out[spaces] = following if step > 0 else codes
        return out.astype(np.int32)

    def _sequences(self) -> Longs:
        """Starts of the sequences of the tagger, and the end."""
        starts, first = [0], 0
        paragraphs = (np.flatnonzero(self.is_paragraph) + 1).tolist()
        spaces = np.flatnonzero(self.is_space) + 1
        for end in [*paragraphs, len(self)]:
            while end - first > LONG:
                i = int(np.searchsorted(spaces, first + LONG))
                cut = min(int(spaces[i]) if i < len(spaces) else end, first + LONGEST)
                if cut >= end:
                    break
                starts.append(first := cut)
            if end > first:
                starts.append(first := end)
        return np.array(starts, np.int64)


def _left(chunk: str, j: int) -> str:
    """The chunk up to character j, at most some characters; ``^`` marks the start of the chunk."""
    return f"^{chunk[: j + 1]}" if j < REACH else chunk[j + 1 - REACH : j + 1]


def _right(chunk: str, j: int) -> str:
    """The chunk after character j, at most some characters; ``$`` marks its end."""
    rest = chunk[j + 1 : j + 1 + REACH]
    return f"{rest}$" if j + 1 + REACH >= len(chunk) else rest
