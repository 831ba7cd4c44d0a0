"""Functions of one value that templates apply, such as ``suffix(word[0], 3)``, and the files that some of them read.

Each is computed once per distinct string. It gives a string, or None where it has nothing to say: no feature fires.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trellis._support.arguments import is_text
from trellis._support.errors import ArgumentError, CorpusError, TemplateError
from trellis.corpus.files import decoded, read_bytes
from trellis.features.regex import match, matches

Function = Callable[[str], str | None]
Lookup = Mapping[str, str]
Lookups = Mapping[tuple[str, str], Lookup]  # (function, path or column) -> content of the file or training counts


def shape(value: str) -> str:
    """Word shape with runs of more than two collapsed: Xx for Rockwell, dd-xx for 25-year, XX for NASA."""
    kinds = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in value)
    return "".join(kind * min(2, sum(1 for _ in run)) for kind, run in itertools.groupby(kinds))


def kind(value: str) -> str:
    """Type of the first character: X for a capital, x for another letter, d for a digit, else the word itself."""
    first = value[:1]
    return "X" if first.isupper() else "x" if first.isalpha() else "d" if first.isdigit() else value


NUMERALS = frozenset("〇○零一二三四五六七八九十百千万亿两")  # digits and powers of ten in Chinese
IDEOGRAPHS = "\u2e80"  # where East Asian scripts begin


def kinds(value: str) -> str:
    """Character classes, runs collapsed: n numeral, d digit, a ASCII letter, c East Asian, l other letter, p other."""
    return "".join(kind for kind, _ in itertools.groupby(map(_kind, value)))


def _kind(c: str) -> str:
    if c in NUMERALS:
        return "n"
    if c.isdigit():
        return "d"
    if not c.isalnum():
        return "p"
    return "a" if c.isascii() else "l" if c < IDEOGRAPHS else "c"


def _says(test: Callable[[str], bool]) -> Function:
    return lambda value: "yes" if test(value) else None


def normal(value: str) -> str:
    """Lower-case the word; words with hyphens, years and other numbers become ``!HYPHEN``, ``!YEAR``, ``!DIGITS``."""
    if "-" in value and value[0] != "-":
        return "!HYPHEN"
    if value.isdigit() and len(value) == 4:
        return "!YEAR"
    return "!DIGITS" if value[:1].isdigit() else value.lower()


def lower_ascii(value: str) -> str:
    """Lower-case the letters A to Z only."""
    return value.translate(_LOWER)


_LOWER = {c: c + 32 for c in range(65, 91)}

# Functions without an argument.
PLAIN: dict[str, Function] = {
    "lower": str.lower,
    "lower_ascii": lower_ascii,
    "shape": shape,
    "kind": kind,
    "has_digit": _says(lambda value: any(c.isdigit() for c in value)),
    "has_hyphen": _says(lambda value: "-" in value),
    "has_upper": _says(lambda value: any(c.isupper() for c in value)),
    "has_dot": _says(lambda value: "." in value),
    "is_capitalized": _says(lambda value: value[:1].isupper()),
    "is_upper": _says(str.isupper),
    "is_punctuation": _says(lambda value: not any(c.isalnum() for c in value)),
    "kinds": kinds,
    "normal": normal,
}

# Functions of a number: suffix(word[0], 3).
SIZED: dict[str, Callable[[int], Function]] = {
    "prefix": lambda k: lambda value: value[:k] if len(value) >= k else None,
    "suffix": lambda k: lambda value: value[-k:] if len(value) >= k else None,
}

# Functions of a file, whose content is stored in the model: cluster(word[0], "paths.txt", 8), listed(word[0], "names").
FILED = ("cluster", "listed")

# Functions of a number that apply only to rare words; the model stores the frequent words.
COUNTED = ("rare_suffix",)
RARE = 10  # maximum count of a rare word in training

# Functions of a token among its neighbours, by a dictionary (features/dictionaries.py): begins(word[0], "cities.txt").
# Without a file it is learned. The number is which of the answers of native code is meant.
MATCHED = {"begins": 0, "ends": 1, "inside": 2, "in_list": 3}

# Functions of a file of word vectors (features/vectors.py), whose values are numbers: vector(word[0], "vectors.txt").
VECTORS = ("vector",)

# Functions of a regular expression as Wapiti has them: match(word[0], "^..").
LONGEST = 200  # letters of such an expression
PATTERNED: dict[str, Callable[[str], Function]] = {"match": match, "matches": matches}
NAMES = (*PLAIN, *SIZED, *FILED, *PATTERNED, *COUNTED, *MATCHED, *VECTORS)


# User-defined functions by name, see register_function. Models store only the name.
OWN: dict[str, Function] = {}


def register_function(name: str, function: Function | None = None, *, replace: bool = False) -> Any:
    """Register a function that templates may apply, such as ``soundex(word[0])``; also a decorator.

    A model stores the name of the function, not its code: register it again before loading such a model.

    Parameters
    ----------
    name
        Name in templates: a letter, then letters, digits and underscores; not that of a built-in function.
    function
        Function from a string to a string, or to None for no feature. It is called once per distinct string, and must
        be deterministic. Without it, a decorator is returned.
    replace
        Whether another function with this name may be replaced.

    Returns
    -------
    Any
        The function, or the decorator.

    Raises
    ------
    ArgumentError
        If the name is invalid or taken.

    Examples
    --------
    >>> import trellis
    >>> @trellis.register_function("first_letter", replace=True)
    ... def first_letter(word):
    ...     return word[:1]
    >>> tagger = trellis.train([["the", "dog"]], [["D", "N"]], features=["first_letter(word[0])"])
    >>> tagger.predict(["that", "door"])
    ['D', 'N']
    """
    if function is None:
        return lambda function: register_function(name, function, replace=replace)
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        raise ArgumentError(f"name must be a letter, then letters, digits and underscores, not {name!r}")
    if name in NAMES or name == "outside":
        raise ArgumentError(f"{name!r} is the name of a built-in function; choose another name")
    if not callable(function):
        raise ArgumentError(f"function must be a function of a string, not {function!r}")
    if not replace and OWN.get(name, function) != function:
        raise ArgumentError(f"{name!r} is already registered; choose another name, or set replace=True")
    OWN[name] = function
    return function


def own_function(name: str) -> Function:
    """A registered function whose results are checked."""
    function = OWN[name]

    def checked(value: str) -> str | None:
        result = function(value)
        if result is not None and not (isinstance(result, str) and is_text(result)):
            raise TemplateError(f"function {name!r} must return a string or None; for {value!r} it returns {result!r}")
        return result

    return checked


def rare_suffix(frequent: Lookup, k: int) -> Function:
    """The last k letters of a word that was rare or absent in training, after how it is written (X, x or d)."""

    def function(value: str) -> str | None:
        if value in frequent or len(value) < k:
            return None
        has_digit = not value.isalpha() and any(c.isdigit() for c in value)
        kind = "d" if has_digit else "X" if value[:1].isupper() else "x"
        return kind + value[len(value) - k :]

    return function


BLANKS = " \t\r"  # ASCII whitespace separates fields; other whitespace may be part of a word


def read_lines(function: str, path: str) -> list[str]:
    """The lines of a file that a function names, gzipped or not."""
    try:
        text = decoded(read_bytes(path), path)
    except CorpusError as error:
        raise TemplateError(f"{function}: {error}") from error
    except ValueError as error:  # a null character in the path
        raise TemplateError(f"{function}: {path!r}: {error}") from error
    return text.replace("\r\n", "\n").split("\n")


def fields_of(line: str) -> list[str]:
    """Split a line at ASCII whitespace; other whitespace may be part of a word."""
    return [field for field in re.split(f"[{BLANKS}]", line) if field]


def read_lookup(function: str, path: str) -> dict[str, str]:
    """The file behind ``cluster`` (``cluster TAB word [TAB count]`` per line) or others (one entry per line)."""
    entries: dict[str, str] = {}
    for number, line in enumerate(read_lines(function, path), 1):
        if not line.strip():
            continue
        if function != "cluster":
            entries[line.strip(BLANKS)] = "yes"
            continue
        fields = line.split("\t")
        if len(fields) < 2:
            raise TemplateError(f"{path}:{number}: no tab; expected 'cluster TAB word' on each line")
        entries[fields[1]] = fields[0]
    return entries


def function_named(name: str, arguments: Sequence[str | int], lookups: Lookups, column: str) -> Function:
    """The function of that name with its arguments, as a function of one value of a column."""
    if name == "outside":  # applies only where there is no token
        return lambda value: None
    if name in MATCHED or name in VECTORS:  # the token as entries and vectors have it
        return lambda value: value
    if name in PLAIN:
        return PLAIN[name]
    if name in OWN:
        return own_function(name)
    if name in SIZED:
        return SIZED[name](int(arguments[0]))
    if name in PATTERNED:
        return PATTERNED[name](str(arguments[0]))
    if name in COUNTED:
        return rare_suffix(lookups[name, column], int(arguments[0]))
    lookup = lookups[name, str(arguments[0])]
    if len(arguments) < 2:
        return lookup.get
    length = int(arguments[1])  # of the prefix of a cluster's bit path
    return lambda value: None if (path := lookup.get(value)) is None else path[:length]
