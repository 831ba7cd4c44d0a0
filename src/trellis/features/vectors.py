"""Word vectors: real-valued features from a file, ``vector(word[0], "vectors.txt")``.

A template of vectors has one attribute per dimension; its value at a token is the component of the word's vector. In a
table of conjunctions the dimensions replace the strings of a view (docs/features.md). The view's strings are the words
of the file, so that the id of a word is the row of its vector.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trellis._support.arrays import Floats, Ints, Longs, Ragged, starts_of
from trellis._support.errors import TemplateError, file_reason
from trellis.corpus.corpus import Strings
from trellis.features.functions import fields_of, read_lines

MOST = 4096  # dimensions


class Vectors(NamedTuple):
    """The vectors of a file."""

    words: Strings
    matrix: Floats  # [n_words, n_dimensions]


Files = Mapping[str, Vectors]  # by path


# ------------------------------------------------------------ files


def read_vectors(path: str) -> Vectors:
    """A text file, ``word number number ...`` per line, perhaps after one of two counts; or a matrix in NumPy's format.

    The words of ``vectors.npy`` are the lines of ``vectors.txt`` in the same folder. If a word occurs twice, the first
    vector is used.
    """
    words, matrix = _matrix(path) if path.endswith(".npy") else _text(path)
    if not words:
        raise TemplateError(f"{path}: no vectors in the file")
    if matrix.ndim != 2 or len(matrix) != len(words):
        raise TemplateError(
            f"{path}: {len(words):,} words, but an array of shape {matrix.shape}; expected one row per word"
        )
    if not 1 <= matrix.shape[1] <= MOST:
        raise TemplateError(f"{path}: vectors of {matrix.shape[1]:,} numbers; supported are 1 to {MOST:,}")
    with np.errstate(over="ignore"):  # overflow gives infinity
        matrix = np.asarray(matrix, np.float32)
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise TemplateError(f"{path}: the vector of {words[row]!r} has a number that is too large or not finite")
    first = {word: row for row, word in reversed(list(enumerate(words)))}
    rows = sorted(first.values())
    return Vectors(Strings.of([words[row] for row in rows]), np.ascontiguousarray(matrix[rows]))


def _matrix(path: str) -> tuple[list[str], Floats]:
    names = Path(path).with_suffix(".txt")
    try:
        matrix = np.lib.format.open_memmap(path, mode="r")  # a shape that the file cannot hold is an error
        words = names.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise TemplateError(f"vector: {': '.join(file_reason(error.filename or path, error))}") from error
    except (EOFError, ValueError, OverflowError) as error:
        raise TemplateError(f"vector cannot read {path!r} with its words in {str(names)!r}: {error}") from error
    if not np.issubdtype(matrix.dtype, np.floating):
        raise TemplateError(f"{path}: an array of type {matrix.dtype}; expected floating-point numbers")
    return [word.removesuffix("\r") for word in (words[:-1] if words[-1] == "" else words)], matrix


def _text(path: str) -> tuple[list[str], Floats]:
    split = [(number, fields_of(line)) for number, line in enumerate(read_lines("vector", path), 1)]
    rows = [(number, fields) for number, fields in split if fields]
    if not rows:
        return [], np.empty((0, 1), np.float32)
    width = len(rows[0][1]) - 1
    if len(rows) > 1 and (width_named := _told_width(rows[0][1], len(rows) - 1, rows[1][1])):
        width, rows = width_named, rows[1:]
    words, matrix = list[str](), np.empty((len(rows), width), np.float32)
    for i, (number, fields) in enumerate(rows):
        try:  # a word may contain spaces, numbers do not
            if not 0 < width < len(fields) or (len(fields) > width + 1 and _is_number(fields[-width - 1])):
                raise ValueError
            with np.errstate(over="ignore"):
                matrix[i] = fields[-width:]
        except ValueError:
            expected = f"a word and {width:,} numbers" if width > 0 else "a word and its numbers"
            reason = f"invalid line; expected {expected}, separated by spaces"
            raise TemplateError(f"{path}:{number}: {reason}") from None
        words.append(" ".join(fields[:-width]))
    return words, matrix


def _told_width(first: list[str], n_after: int, second: list[str]) -> int:
    """Number of dimensions if the first line of a file is a header of two counts; otherwise 0."""
    if len(first) != 2 or not all(re.fullmatch(r"[0-9]{1,9}", field) for field in first):
        return 0
    n, width = map(int, first)
    fits = width == len(second) - 1 > 1 or (n == n_after and width < len(second))
    return width if fits else 0


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ------------------------------------------------------------ tokens


def shifted(rows: Ints, starts: Longs, offset: int) -> Ints:
    """Value at ``offset`` tokens from each token; -1 outside the sentence."""
    sizes = np.diff(starts)
    at = np.arange(len(rows)) + offset
    first, last = np.repeat(starts[:-1], sizes), np.repeat(starts[1:], sizes)
    inside = (at >= first) & (at < last)
    out = np.full(len(rows), -1, np.int32)
    out[inside] = rows[at[inside]]
    return out


def value_lists(looks: Sequence[tuple[Ints, Floats, Ints]], n_tokens: int) -> Ragged:
    """Lists of attributes with values, from the row of every token, the matrix and the attributes of its columns."""
    starts = starts_of(sum(((rows >= 0) * len(ids) for rows, _, ids in looks), np.zeros(n_tokens, np.int64)))
    ids, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    at = starts[:-1].copy()
    for rows, matrix, attributes in looks:
        tokens, width = np.flatnonzero(rows >= 0), len(attributes)
        places = (at[tokens, None] + np.arange(width)).reshape(-1)
        ids[places], values[places] = np.tile(attributes, len(tokens)), matrix[rows[tokens]].reshape(-1)
        at[tokens] += width
    return Ragged(starts, ids, values)
