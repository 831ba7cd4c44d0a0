"""CSV: a row per token under a row of names, as spreadsheets and Kaggle have it.

A column tells sentences apart. It may be filled on the first row of a sentence only. Without such a column, empty rows
stand between sentences.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.files import EmptyError, decoded
from trellis.corpus.objects import Origin, from_mapping

SENTENCE = ("sentence", "sentence #", "sentence_id", "sentenceid", "sent_id", "sentence_idx", "sent_idx")


def parse_csv(text: bytes, source: str, names: Sequence[str] | None, sentence: str | None) -> Corpus:
    """The corpus in the bytes of a CSV file; ``sentence`` is the column that tells sentences apart."""
    rows, lines = _rows(text, source)
    first = next((number for number, row in enumerate(rows) if any(map(str.strip, row))), len(rows))
    rows, lines = rows[first:], lines[first:]
    if not rows:
        raise EmptyError(source)
    head = [name.strip() for name in rows[0]]
    if head[0] == "" and len(head) > 1:  # the numbers of rows, as pandas writes them
        head, rows = head[1:], [row[1:] for row in rows]
    if len(set(head)) < len(head) or "" in head:
        raise CorpusError(source, lines[0], "the first row must name every column once")
    marked = sentence or next((name for name in head if name.lower() in SENTENCE), None)
    chosen = list(names) if names else head
    for name in (*chosen, *((marked,) if marked else ())):
        if name not in head:
            raise CorpusError(source, lines[0], f"no column {name!r}; the columns are {', '.join(head)}")
    place = head.index(marked) if marked else None
    columns: dict[str, list[list[str]]] = {name: [] for name in chosen}
    begun: list[int] = []
    before, ended, seen = None, True, set[str]()
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if not any(row):
            ended = True
            continue
        if len(row) != len(head):
            why = f"{len(row)} fields, but the first row names {len(head)}; put fields with commas in quotes"
            raise CorpusError(source, line, why)
        mark = row[place] if place is not None else ""
        if (place is None and ended) or (place is not None and (before is None or mark not in ("", before))):
            if mark and mark in seen:
                why = f"rows of one sentence by {marked!r} do not stand together; sort the table by it"
                raise CorpusError(source, line, why)
            seen.add(mark)
            begun.append(line)
            for sentences in columns.values():
                sentences.append([])
        before, ended = mark or before, False
        for name, sentences in columns.items():
            sentences[-1].append(before or "" if name == marked else row[head.index(name)])
    return from_mapping(columns, None, Origin(source, begun))


def _rows(text: bytes, source: str) -> tuple[list[list[str]], list[int]]:
    """The rows of the file, and the line at which each begins."""
    content = decoded(text, source)
    first = content.partition("\n")[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    rows, lines, at = list[list[str]](), list[int](), 1
    try:
        for row in reader:
            rows.append(row)
            lines.append(at)
            at = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError(source, reader.line_num, f"not CSV: {error}; put fields with quotes in quotes") from None
    return rows, lines


def format_csv(corpus: Corpus, sentence: str | None = None) -> str:
    """The corpus as CSV; without a column ``sentence``, or one that is called so, one more numbers the sentences."""
    if bags := [name for name, column in corpus.columns.items() if not isinstance(column, Column)]:
        raise CorpusError(corpus.source, None, f"column {bags[0]!r} has attributes, which CSV cannot hold; write jsonl")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    quoting = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    lists = {name: corpus.column(name).tolist() for name in corpus.columns}
    if sentence not in lists and not any(name.lower() in SENTENCE for name in lists):
        numbers = np.repeat(np.arange(1, len(corpus) + 1), np.diff(corpus.starts))
        lists = {"sentence": list(map(str, numbers.tolist())), **lists}
    for row in ([*lists], *zip(*lists.values(), strict=True)):
        # The writer itself puts fields with its own line ends in quotes, but not those with others.
        (quoting if any("\r" in field for field in row) else writer).writerow(row)
    return out.getvalue()
