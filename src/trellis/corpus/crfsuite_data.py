"""CRFsuite's data files: a line per token, its label and its attributes, separated by tabs.

``name:2.5`` is an attribute with a value; ``\\:`` is a colon in a name and ``\\\\`` a backslash. A blank line ends a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from trellis._support.errors import CorpusError
from trellis.corpus.columns import PLAIN, Layout
from trellis.corpus.corpus import BagColumn, Column, Corpus
from trellis.corpus.files import decoded
from trellis.corpus.objects import Origin, from_mapping

COLUMNS = ("attributes", "label")
_ESCAPED = re.compile(r"\\([:\\])")
_VALUE = re.compile(r"(?<!\\)(?:\\\\)*:")  # an unescaped colon


def parse_crfsuite(text: bytes, source: str, layout: Layout) -> Corpus:
    """The corpus in the bytes of a data file; its columns are attributes and label unless two other names are given."""
    names = layout.names or COLUMNS
    if len(names) != 2:
        reason = f"{len(names)} column names; CRFsuite data files have two columns: attributes,label"
        raise CorpusError(source, None, reason)
    attributes, labels = names
    bags, label_lists = list[list[dict[str, float]]](), list[list[str]]()
    lines, ended = list[int](), True
    for number, line in enumerate(decoded(text, source).split("\n"), 1):
        label, *fields = line.removesuffix("\r").split("\t")
        if not label and not fields:
            ended = True
            continue
        if label.startswith("@"):
            reason = f"{label}: sentence weights in the file are not supported; use train(sample_weight=...)"
            raise CorpusError(source, number, reason)
        if ended:
            bags.append([])
            label_lists.append([])
            lines.append(number)
            ended = False
        bags[-1].append(_bag(fields, source, number))
        label_lists[-1].append(label)
    return from_mapping({attributes: bags, labels: label_lists}, None, Origin(source, lines))


def _bag(fields: Sequence[str], source: str, number: int) -> dict[str, float]:
    """The attributes of a token; values of one name add up, as they do in CRFsuite."""
    bag: dict[str, float] = {}
    for field in fields:
        name, value = field, 1.0
        if colon := _VALUE.search(field):
            name, digits = field[: colon.end() - 1], field[colon.end() :]
            try:
                value = float(digits)
            except ValueError:
                reason = f"{digits!r} is not a number, the value of an attribute; escape a colon in a name as \\:"
                raise CorpusError(source, number, reason) from None
        name = _ESCAPED.sub(r"\1", name)
        bag[name] = bag.get(name, 0.0) + value
    return bag


def format_crfsuite(corpus: Corpus, layout: Layout = PLAIN) -> str:
    """The corpus as a data file: its last column of strings as labels, its attributes, else ``column=value``."""
    strings = [name for name, column in corpus.columns.items() if isinstance(column, Column)]
    if not strings:
        raise CorpusError(corpus.source, None, "no column of labels, which a CRFsuite data file needs")
    *others, target = strings
    labels = corpus.column(target).tolist()
    rows = [[_field(label, corpus, first=True)] for label in labels]
    for name, column in corpus.columns.items():
        if isinstance(column, BagColumn):
            for row, bag in zip(rows, column.tolist(), strict=True):
                row += [_field(key, corpus) + ("" if value == 1 else f":{value:.9g}") for key, value in bag.items()]
        elif name in others:
            for row, value in zip(rows, column.tolist(), strict=True):
                row.append(_field(f"{name}={value}", corpus))
    lines = ["\t".join(row) for row in rows]
    return "".join("".join(f"{line}\n" for line in lines[a:b]) + "\n" for a, b in pairwise(corpus.starts.tolist()))


def _field(text: str, corpus: Corpus, *, first: bool = False) -> str:
    """Escape a name for the file; labels are not escaped."""
    if re.search(r"[\t\n\r]", text) or (first and (not text or text.startswith("@"))):
        raise CorpusError(corpus.source, None, f"{text!r} cannot be written to a CRFsuite data file; use jsonl")
    return text if first else text.replace("\\", "\\\\").replace(":", "\\:")
