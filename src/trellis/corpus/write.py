"""Write a corpus to a file, atomically."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence

from trellis._support.arguments import file_path, instance
from trellis._support.errors import CorpusError
from trellis.corpus.columns import CONLLU_NAMES, Layout, parse_names
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import extension, is_gzip, write_bytes, writing_whole
from trellis.corpus.read import FORMATS, TABLES, choose, format_of, function_of

BYTE_ORDER_MARK = "\ufeff"


def write(
    corpus: Corpus,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: str | Sequence[str] | None = None,
    tabs: bool | None = None,
    sentence: str | None = None,
) -> None:
    """Write a corpus to a file.

    CoNLL-U keeps the comments, word ranges and empty nodes that were read with the corpus; missing columns are filled
    with numbers (id) and ``_``. Lines end in LF. The name may end in ``.gz``, which compresses text.

    Parameters
    ----------
    corpus
        The corpus.
    path
        Name of the file.
    format
        Format (default: by the extension, as for ``trellis.read``).
    columns
        Columns to write, in this order (default: all).
    tabs
        Whether columns are separated by tabs instead of spaces (default: for ``.tsv``).
    sentence
        For CSV: column that identifies the sentence of each row; it is added with numbers if the corpus has none.
    """
    path = file_path("path", path)
    chosen = choose(instance("corpus", corpus, Corpus, "a Corpus, as returned by trellis.read"), parse_names(columns))
    format = format or format_of(path)
    if format in TABLES:
        from trellis.corpus.tables import write_table

        if is_gzip(path):
            raise CorpusError(path, None, f"{format} files are already compressed; omit .gz")
        with writing_whole(path) as temporary:
            write_table(chosen, str(temporary), format)
    else:
        layout = Layout(tabs=extension(path) == ".tsv" if tabs is None else tabs, sentence=sentence)
        text = format_text(chosen, format, layout, path)
        # A byte order mark at the beginning of a file is dropped on reading.
        write_bytes(path, (BYTE_ORDER_MARK * text.startswith(BYTE_ORDER_MARK) + text).encode())


def format_text(corpus: Corpus, format: str, layout: Layout, path: str = "") -> str:
    """Format the corpus as text of a file."""
    if format not in FORMATS:
        raise CorpusError(path, None, f"no format {format!r}; the formats are {', '.join(FORMATS)}")
    if format == "conllu":
        return format_conllu(corpus)
    return (
        format_columns(corpus, tabs=layout.tabs) if format == "conll" else function_of("format", format)(corpus, layout)
    )


def format_columns(corpus: Corpus, *, tabs: bool = False) -> str:
    """The corpus as CoNLL columns, with its -DOCSTART- lines and the blank lines around them."""
    lists = [_fields(corpus, name, tabs) for name in corpus.columns]
    rows = [("\t" if tabs else " ").join(fields) for fields in zip(*lists, strict=True)]
    if tabs and (row := next((row for row in rows if not row.strip(" \t")), None)) is not None:
        reason = f"a token has the fields {row.split(chr(9))!r}, which would be an empty line; use jsonl"
        raise CorpusError(corpus.source, None, reason)
    return _join(corpus, rows, lambda line: not line.strip() or line.startswith("-DOCSTART-"))


def format_conllu(corpus: Corpus) -> str:
    """The corpus as CoNLL-U, with its comments, word ranges and empty nodes where they were."""
    if unknown := next((name for name in corpus.columns if name not in CONLLU_NAMES), None):
        reason = f"CoNLL-U has no column {unknown!r}; it has {', '.join(CONLLU_NAMES)}; select columns with columns="
        raise CorpusError(corpus.source, None, reason)
    fillers = dict.fromkeys(CONLLU_NAMES, ["_"] * corpus.n_tokens)
    fillers["id"] = [str(i) for a, b in itertools.pairwise(corpus.starts.tolist()) for i in range(1, b - a + 1)]
    lists = fillers | {name: _fields(corpus, name, True) for name in corpus.columns}
    rows = ["\t".join(fields) for fields in zip(*lists.values(), strict=True)]
    return _join(corpus, rows, lambda line: True)


def _fields(corpus: Corpus, name: str, tabs: bool) -> list[str]:
    """A column's strings; none may be read as two fields, as an empty field, or as a line without token."""
    column = corpus.column(name)
    is_single, first = len(corpus.columns) == 1, name == next(iter(corpus.columns))
    cut = re.compile(r"[\t\n\r]" if tabs else r"[ \t\n\r]")
    for value in column.values:
        vanishes = not value.strip(" ") if is_single else not (value or tabs)
        if cut.search(value) or vanishes or (first and value == "-DOCSTART-"):
            reason = f"column {name!r} has the value {value!r}, which a column file cannot represent; use jsonl"
            raise CorpusError(corpus.source, None, reason)
    return column.tolist()


def _join(corpus: Corpus, rows: list[str], is_empty: Callable[[str], bool]) -> str:
    """Merge rows and extras in file order, with a blank line after every sentence."""
    asides: dict[int, list[tuple[int, str]]] = {}
    if corpus.extras is not None:
        extras = corpus.extras
        for i, t, line in zip(extras.sentences.tolist(), extras.tokens.tolist(), extras.lines, strict=True):
            if is_empty(line):
                asides.setdefault(i, []).append((t, line))
    ends = corpus.starts.tolist()
    out: list[str] = []
    for i, (a, b) in enumerate(itertools.pairwise(ends)):
        if a == b:
            raise CorpusError(corpus.source, None, f"sentence {i} (counted from 0) is empty; use jsonl")
        for t, line in asides.get(i, ()):
            out += rows[a:t]
            out.append(line)
            a = t
        out += rows[a:b]
        out.append("")
    out += [line for _, line in asides.get(len(corpus), ())]
    return "".join(f"{line}\n" for line in out)
