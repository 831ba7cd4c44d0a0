"""CRF++ template files, read as they are: ``U01:%x[-1,0]/%x[0,0]`` lines for labels, ``B`` lines for label pairs.

Wapiti's patterns are the same with small letters, and ``*`` for both at once; its ``%t`` and ``%m`` ask regular
expressions, and capitals (``%X``) put what is found into lower case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trellis._support.errors import TemplateError
from trellis.features.regex import escaped
from trellis.features.templates import MAX_OFFSET, Call, Look, Template

# Wapiti reads the two numbers as C's scanf does: whitespace may precede them, and a plus sign.
MACRO = re.compile(
    r'%(?:([xX])\[\s*([-+]?\d+),\s*\+?(\d+)\]|([tTmM])\[\s*([-+]?\d+),\s*\+?(\d+),"((?:[^"\\]|\\.)*)"\])'
)


def looks_like_crfpp(lines: Sequence[str]) -> bool:
    """Whether the first line that is not empty is a CRF++ one: U or B, and not a look at a column of such a name.

    Wapiti's letters are also the first ones of other templates, so that one of its lines must have a macro.
    """
    content = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    first = content[0] if content else ""
    if first[:1] in ("u", "b", "*") and any(MACRO.search(line) for line in content):
        return True
    return re.match(r"[UB]\S*$", first) is not None and ("%" in first or not re.search(r"[\[(&]", first))


def parse_crfpp(lines: Sequence[str], columns: Sequence[str], path: str) -> tuple[list[Template], bool]:
    """The templates, and whether label bigrams are asked for (a B line without an observation)."""
    templates, bigrams = list[tuple[Template, Any]](), False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text[0] in "ub*":  # Wapiti's comments may begin anywhere in a line
            text = text.partition("#")[0].rstrip()
        place = f"{path}:{number}"
        if text[0] not in "UBub*":
            raise TemplateError(f"{place}: a CRF++ template begins with U or B, one of Wapiti with u, b or *")
        looks = tuple(macro_look(match, columns, place) for match in MACRO.finditer(text))
        skeleton = MACRO.sub("%x", text)
        if skeleton.count("%") != len(looks):
            raise TemplateError(f'{place}: {text!r} has a macro that is not %x[row,column], %t or %m with a "pattern"')
        for on_pairs in (False, True) if text[0] == "*" else (text[0] in "Bb",):
            if on_pairs and not looks:
                bigrams = True
                continue
            # CRF++ identifies features by their text only: lines that differ only in positions share features.
            key = on_pairs, skeleton, tuple((look.column, look.calls) for look in looks)
            templates.append((Template(looks, history=int(on_pairs)), key))
    if not templates and not bigrams:
        raise TemplateError(f"{path}: the file has no template")
    counts = Counter(key for _, key in templates)
    names = {key: f"shared{i}" for i, (key, count) in enumerate(counts.items()) if count > 1}
    return [replace(template, name=names.get(key, "")) for template, key in templates], bigrams


def macro_look(match: re.Match[str], columns: Sequence[str], place: str) -> Look:
    """Convert a macro to a look."""
    kind, row, column = match.group(1, 2, 3) if match[1] else match.group(4, 5, 6)
    row, column = int(row), int(column)
    if column >= len(columns):
        inputs = f"input columns 0 to {len(columns) - 1} ({', '.join(columns)})"
        raise TemplateError(f"{place}: {match[0]} reads column {column}, but the corpus has {inputs}")
    if abs(row) > MAX_OFFSET:
        raise TemplateError(f"{place}: {match[0]} has a row offset above {MAX_OFFSET}")
    calls = list[Call]()
    if kind in "tTmM":
        calls.append(Call("matches" if kind in "tT" else "match", (escaped(match[7].replace('\\"', '"')),)))
    if kind.isupper():
        calls.append(Call("lower_ascii"))
    return Look(columns[column], row, tuple(calls))
