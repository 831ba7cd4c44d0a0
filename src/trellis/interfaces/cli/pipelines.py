"""Predict with a pipeline: raw text or CoNLL-U in, CoNLL-U or JSON lines out."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

from trellis._support.errors import ArgumentError
from trellis.corpus.document import Document
from trellis.corpus.files import STANDARD_STREAM
from trellis.corpus.read import format_of
from trellis.interfaces.cli.options import FILE_OPTIONS
from trellis.interfaces.cli.outputs import writing
from trellis.interfaces.cli.pieces import decoded, json_lines, send, text_lines

ENOUGH = 1 << 20  # characters of a piece of text
SENTENCES = 1_000  # of a piece, where each line is one
BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def annotate(pipeline: Any, options: Namespace, count: Callable[[int], None]) -> None:
    """Annotate a file: text piece by piece, CoNLL-U as a whole with its own sentences and words."""
    source, parts = options.source, options.parts
    for name in FILE_OPTIONS:
        if name != "format" and getattr(options, name) is not None:
            raise ArgumentError(f"a pipeline reads text or CoNLL-U, without other columns; omit --{name}")
    shown = format_of(options.output) if options.output not in (None, STANDARD_STREAM) else "conllu"
    as_json = options.json or shown == "jsonl"
    if shown not in ("conllu", "jsonl", "conll"):
        raise ArgumentError(f"{options.output}: a pipeline writes CoNLL-U, or JSON lines with --json")
    n_sentences, begins = 0, "document"
    with writing(options.output) as out:
        for document in _documents(pipeline, options, source, parts):
            if as_json:
                sentences = document.to_json()["sentences"]
                out.write(json_lines({"id": n_sentences + i, **one} for i, one in enumerate(sentences, 1)).encode())
            else:
                out.write(document.to_conllu(first=n_sentences + 1, begins=begins).encode())
            send(out)
            n_sentences += len(document)
            if len(document):
                begins = "paragraph" if ends_paragraph(document) else "sentence"
            count(sum(map(len, document)))


def _documents(pipeline: Any, options: Namespace, source: str, parts: Any) -> Iterator[Document]:
    """The annotated pieces of a file."""
    given = {"parts": parts, "n_threads": options.threads}
    format = options.format or ("conllu" if source != STANDARD_STREAM and format_of(source) == "conllu" else None)
    if format == "conllu":
        yield pipeline(Document.from_conllu(source), **given)
    elif format is not None:
        raise ArgumentError(f"a pipeline reads text or CoNLL-U, not {format}; omit --format")
    elif options.words:
        for text in text_lines(source):
            lines = [words for line in text.splitlines() if (words := line.split())]
            for first in range(0, len(lines), SENTENCES):
                yield from pipeline.predict_batch(lines[first : first + SENTENCES], **given)
    else:
        for text in text_pieces(pipeline, (text_lines if options.lines else decoded)(source), options.lines):
            yield pipeline(text, lines=options.lines, **given)


def text_pieces(pipeline: Any, texts: Iterator[str], lines: bool) -> Iterator[str]:
    """A text in pieces: cut after the empty line that ends the last whole paragraph, else before the last sentence."""
    rest, enough = "", ENOUGH
    for text in texts:
        rest += text
        if len(rest) < enough:
            continue
        cut = len(rest) if lines else max((match.end() for match in BLANK_LINE.finditer(rest)), default=0)
        if not rest[:cut].strip() or not rest[cut:].strip():  # the whitespace may go on
            document = pipeline(rest, parts=["tokens"])
            cut = document.sentences[-1].start if len(document) > 1 else 0
        if cut:
            yield rest[:cut]
            rest, enough = rest[cut:], ENOUGH
        else:
            enough = 2 * len(rest)
    if rest.strip():
        yield rest


def ends_paragraph(document: Document) -> bool:
    """Whether an empty line comes after the last sentence."""
    return BLANK_LINE.search(document.text, document.sentences[-1].end or 0) is not None
