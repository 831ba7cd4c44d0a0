"""Plain command lines of ``trellis tag``, read without typer, whose import takes longer than tagging a small file.

Whatever is not plain (other options, help, mistakes) is left to typer, so there is one place that explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_VALUES = {"-m": "model", "--model": "model", "-o": "output", "--output": "output", "--threads": "threads"}
_FLAGS = {"-q": "quiet", "--quiet": "quiet"}


def plain_tagging(arguments: Sequence[str]) -> dict[str, Any] | None:
    """What ``tag_file`` is to be called with, or None if the command line is not plain."""
    if arguments[:1] != ["tag"]:
        return None
    asked, rest = dict[str, Any](), iter(arguments[1:])
    for argument in rest:
        if argument in _FLAGS:
            asked[_FLAGS[argument]] = True
            continue
        name = _VALUES.get(argument, "source")
        value = argument if name == "source" else next(rest, "")
        if name in asked or not value or (value.startswith("-") and value != "-"):
            return None
        asked[name] = value
    if "threads" in asked:
        if not (asked["threads"].isascii() and asked["threads"].isdecimal() and int(asked["threads"])):
            return None
        asked["threads"] = int(asked["threads"])
    return asked if "model" in asked else None
