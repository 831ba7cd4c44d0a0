"""Functions of one value: what a template can ask about a string. Each is computed once per distinct string.

A function gives a string, or None where it has nothing to say; then no feature fires.
"""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from trellis.errors import TemplateError

Function = Callable[[str], str | None]
Lookup = Mapping[str, str]


def shape(value: str) -> str:
    """Word shape with runs of more than two collapsed: Xx for Rockwell, dd-xx for 25-year, XX for NASA."""
    kinds = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in value)
    return "".join(kind * min(2, sum(1 for _ in run)) for kind, run in itertools.groupby(kinds))


def _says(test: Callable[[str], bool]) -> Function:
    return lambda value: "yes" if test(value) else None


def _at_least(k: int, cut: Callable[[str], str]) -> Function:
    return lambda value: cut(value) if len(value) >= k else None


# Functions without an argument.
PLAIN: dict[str, Function] = {
    "lower": str.lower,
    "shape": shape,
    "has_digit": _says(lambda value: any(c.isdigit() for c in value)),
    "has_hyphen": _says(lambda value: "-" in value),
    "has_upper": _says(lambda value: any(c.isupper() for c in value)),
    "has_dot": _says(lambda value: "." in value),
    "is_capitalized": _says(lambda value: value[:1].isupper()),
    "is_upper": _says(str.isupper),
    "is_punctuation": _says(lambda value: not any(c.isalnum() for c in value)),
}

# Functions of a number: suffix(word[0], 3).
SIZED: dict[str, Callable[[int], Function]] = {
    "prefix": lambda k: _at_least(k, lambda value: value[:k]),
    "suffix": lambda k: _at_least(k, lambda value: value[-k:]),
}

# Functions of a file, whose content goes into the model: cluster(word[0], "paths.txt", 8), listed(word[0], "names").
FILED = ("cluster", "listed")

# Functions of a number that speak only for rare words; which ones were frequent goes into the model.
COUNTED = ("rare_suffix",)
RARE = 10  # times at most that a rare word was seen in training

NAMES = (*PLAIN, *SIZED, *FILED, *COUNTED)


def rare_suffix(frequent: Lookup, k: int) -> Function:
    """The last k letters of a word that was rare or absent in training, after how it is written (X, x or d)."""

    def function(value: str) -> str | None:
        if value in frequent or len(value) < k:
            return None
        kind = "d" if any(c.isdigit() for c in value) else "X" if value[:1].isupper() else "x"
        return kind + value[len(value) - k :]

    return function


def read_lookup(function: str, path: str) -> dict[str, str]:
    """The file behind ``cluster`` (``cluster TAB word [TAB count]`` a line) or ``listed`` (an entry a line)."""
    try:
        raw = Path(path).read_bytes()
        text = (gzip.decompress(raw) if path.endswith(".gz") else raw).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise TemplateError(f"{function} cannot read {path!r}: {error}") from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if function == "listed":
            found[line.strip()] = "yes"
            continue
        fields = line.split("\t")
        if len(fields) < 2:
            raise TemplateError(
                f"{path}:{number}: a cluster file has lines 'cluster TAB word', this one has no tab"
            )
        found[fields[1]] = fields[0]
    return found


def from_lookup(lookup: Lookup, length: int | None) -> Function:
    """What the file says of a value, cut to its first ``length`` characters (a prefix of a cluster's bit path)."""
    if length is None:
        return lookup.get

    def cut(value: str) -> str | None:
        path = lookup.get(value)
        return None if path is None else path[:length]

    return cut
