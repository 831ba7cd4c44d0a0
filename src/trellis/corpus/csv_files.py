"""CSV files with a header and one row per token, as in spreadsheets and on Kaggle.

A column identifies the sentence; it may be empty except in the first row of a sentence. Without such a column, empty
rows separate sentences.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from trellis._support.errors import CorpusError
from trellis.corpus.columns import PLAIN, Layout
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.files import EmptyError, decoded

SENTENCE = ("sentence", "sentence #", "sentence_id", "sentenceid", "sent_id", "sentence_idx", "sent_idx")


def parse_csv(text: bytes, source: str, layout: Layout) -> Corpus:
    """The corpus in the bytes of a CSV file; ``layout.sentence`` is the column that tells sentences apart."""
    rows = _rows(text, source)
    line, head = next(((line, row) for line, row in rows if any(map(str.strip, row))), (0, []))
    if not head:
        raise EmptyError(source)
    numbered = head[0].strip() == "" and len(head) > 1  # row numbers written by pandas
    head = [name.strip() for name in head[numbered:]]
    if len(set(head)) < len(head) or "" in head:
        raise CorpusError(source, line, "the first row must contain the column names, each once")
    key = layout.sentence or next((name for name in head if name.lower() in SENTENCE), None)
    selection = layout.names or head
    for name in (*selection, *((key,) if key else ())):
        if name not in head:
            raise CorpusError(source, line, f"no column {name!r}; the columns are {', '.join(head)}")
    place = head.index(key) if key else 0
    tokens, lines, begins, n_gaps = list[list[str]](), list[int](), dict[object, int](), 0
    previous: object = None
    for line, row in rows:
        if not any(row):
            n_gaps += 1
            continue
        row = row[numbered:]
        if len(row) != len(head):
            reason = f"{len(row)} fields, but the header row has {len(head)}; quote fields that contain commas"
            raise CorpusError(source, line, reason)
        mark: object = n_gaps
        if key:
            mark = row[place] = row[place] or (tokens[-1][place] if tokens else "")
        if mark != previous:
            if mark in begins:
                reason = f"rows of one sentence by {key!r} are not contiguous; sort the table by this column"
                raise CorpusError(source, line, reason)
            begins[mark] = len(tokens)
        previous = mark
        tokens.append(row)
        lines.append(line)
    columns = {name: Column.of([row[head.index(name)] for row in tokens]) for name in selection}
    return Corpus(columns, np.array([*begins.values(), len(tokens)], np.int64), source, np.array(lines, np.int64))


def _rows(text: bytes, source: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of the file, and the line at which each begins."""
    content = decoded(text, source)
    first = content.partition("\n")[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    reader, line = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True), 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError(source, reader.line_num, f"invalid CSV: {error}; quote fields that contain quotes") from None


def format_csv(corpus: Corpus, layout: Layout = PLAIN) -> str:
    """The corpus as CSV; without a column ``layout.sentence``, or one called so, one more numbers the sentences."""
    if bags := [name for name, column in corpus.columns.items() if not isinstance(column, Column)]:
        raise CorpusError(
            corpus.source, None, f"column {bags[0]!r} has attributes, which CSV does not support; use jsonl"
        )
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    quoting = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    lists = {name: corpus.column(name).tolist() for name in corpus.columns}
    if layout.sentence not in lists and not any(name.lower() in SENTENCE for name in lists):
        numbers = np.repeat(np.arange(1, len(corpus) + 1), np.diff(corpus.starts))
        lists = {"sentence": list(map(str, numbers.tolist())), **lists}
    for row in ([*lists], *zip(*lists.values(), strict=True)):
        # csv.writer quotes fields with its own line terminator, but not with other line ends.
        (quoting if any("\r" in field for field in row) else writer).writerow(row)
    return out.getvalue()
