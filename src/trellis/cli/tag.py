"""Label a file or standard input.

A file of columns gets one more column; in CoNLL-U, JSON lines and tables the target's own column is filled in.
Columns are known by their position, as in the training file, with or without the target. Standard input is
answered as it comes.

examples:
  trellis tag --model chunk.trellis test.txt --output tagged.txt
  trellis tag --model chunk.trellis test.txt --output tagged.parquet
  echo "the dog ran" | trellis tag --model pos.trellis --text
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis.arguments import thread_count
from trellis.cli.file_shape import FileShape, open_model
from trellis.cli.labelled_files import (
    PIECE_BYTES,
    TABLES,
    Label,
    check_place,
    corpora,
    formatted,
    labelled,
    output_shape,
    write_labelled,
    write_texts,
)
from trellis.cli.options import Parser, at_least
from trellis.cli.outputs import check_apart, standard_output, writing
from trellis.cli.progress import count_tokens
from trellis.corpus.corpus import Column, Corpus, Strings
from trellis.corpus.files import STANDARD_STREAM, message_name, read_bytes, reading
from trellis.corpus.read import format_of
from trellis.errors import ArgumentError, CorpusError

if TYPE_CHECKING:
    from trellis.tagger import Tagger

NO_PATH = "_"  # in the columns of --kbest, where a sentence has fewer label sequences


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", default=STANDARD_STREAM, metavar="FILE", help="what to tag; - is standard input")
    parser.share("model")
    add("--output", "-o", metavar="FILE", help="where to write, in the format of its extension")
    add("--text", action="store_true", help="tag running text: one sentence per line, words between blanks")
    add("--kbest", type=at_least(1), metavar="K", help="the K best label sequences, one column each")
    add("--confidence", action="store_true", help="with --json: how probable each label and each span is")
    parser.share("by", "scheme", "threads", "quiet")
    add("--json", action="store_true", help="one JSON line per sentence; with --kbest also scores")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Label what is given."""
    tagger, shape = open_model(given, given.source)
    wanted = _output_shape(given, shape)
    check_apart(given.output, given.source, given.model)
    _check_asked(given, tagger, wanted.format)
    # Progress and results on the same terminal would be in each other's way.
    shown = not given.quiet and (given.output is not None or not standard_output().isatty())

    with count_tokens(shown) as count:
        if given.json or given.text:
            _write_others(given, tagger, shape, wanted, count)
        else:
            labeller = partial(_label, tagger, given)
            write_labelled(labeller, tagger, given, (shape, wanted), count, thread_count(given.threads))


def _write_others(
    given: Namespace, tagger: Tagger, shape: FileShape, wanted: FileShape, count: Callable[[int], None]
) -> None:
    """Labels of running text, or as JSON lines."""
    label, column = _label(tagger, given, given.threads), tagger.columns[0]
    if wanted.format in TABLES and not given.json:  # written whole
        from trellis.corpus.write import write

        whole = _text_corpus(read_bytes(given.source), column, message_name(given.source), 1)
        write(labelled(label, tagger.target, whole), given.output, format=wanted.format)
        return

    def text(corpus: Corpus) -> str:
        if given.json:
            return _json_lines(tagger, corpus, given)
        return formatted(labelled(label, tagger.target, corpus), wanted)

    pieces = _text_pieces(given.source, column) if given.text else corpora(given.source, given.columns, tagger, shape)
    with writing(given.output) as out:
        write_texts(text, pieces, out, count)


def _output_shape(given: Namespace, shape: FileShape) -> FileShape:
    """What the output looks like; running text becomes columns."""
    if given.text:
        shape = FileShape()
    if not given.json:
        return output_shape(given.output, shape, ", or give --json for the labels alone")
    if given.output not in (None, STANDARD_STREAM) and format_of(given.output) not in ("conll", "jsonl"):
        raise ArgumentError(f"{given.output}: --json writes JSON lines; name a .jsonl file")
    return shape


def _check_asked(given: Namespace, tagger: Tagger, format: str) -> None:
    """ArgumentError for options that do not go together."""
    if given.kbest is not None and (given.by != "path" or given.confidence):
        raise ArgumentError("--kbest gives the best paths with their scores; leave out --by and --confidence")
    if given.confidence and not given.json:
        raise ArgumentError("--confidence has no place in columns; give it with --json")
    if given.text and len(tagger.columns) > 1:
        raise ArgumentError(f"--text: the model reads {', '.join(tagger.columns)}; running text has only words")
    if given.text and (given.columns or given.format):
        raise ArgumentError("--text: running text has no columns; leave out --columns and --format")
    if given.json:
        return
    if given.kbest is not None and format != "conll":
        raise ArgumentError(f"--kbest: {format} has one place for a label; give --json, or write columns")
    check_place(given.output, tagger.target, format, "give --json")


def _text_pieces(path: str, column: str) -> Iterator[Corpus]:
    """The sentences of running text, as many lines at once as are there."""
    with reading(path) as file:
        rest, number = b"", 1
        while block := file.read1(PIECE_BYTES):  # type: ignore[attr-defined]
            text, newline, rest = (rest + block).rpartition(b"\n")
            yield _text_corpus(text + newline, column, message_name(path), number)
            number += text.count(b"\n") + len(newline)
        yield _text_corpus(rest, column, message_name(path), number)


def _text_corpus(text: bytes, column: str, source: str, first_line: int) -> Corpus:
    from trellis.corpus.objects import from_mapping

    try:
        sentences = [line.split() for line in text.decode().splitlines()]
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise CorpusError(source, line, "not valid UTF-8; convert the file, for example with iconv -t UTF-8") from None
    return from_mapping({column: [words for words in sentences if words]}, None)


def _label(tagger: Tagger, given: Namespace, n_threads: int | None) -> Label:
    """A function from sentences to the columns of their labels, best first. It may be called from several threads."""
    if given.kbest is None:
        return lambda corpus: [tagger.tag_corpus(corpus, by=given.by, n_threads=n_threads)]
    k, values = given.kbest, Strings.of((*tagger.labels, NO_PATH))
    number = {label: i for i, label in enumerate(tagger.labels)}

    def label(corpus: Corpus) -> list[Column]:
        codes = np.full((k, corpus.n_tokens), len(number), np.int32)
        begin = 0
        for paths in tagger.kbest_batch(corpus, k, n_threads=n_threads):
            end = begin + len(paths[0][0])
            for rank, (labels, _) in enumerate(paths):
                codes[rank, begin:end] = [number[one] for one in labels]
            begin = end
        return [Column(row, values) for row in codes]

    return label


def _json_lines(tagger: Tagger, corpus: Corpus, given: Namespace) -> str:
    """One line per sentence: its labels (with confidence: how sure they are), or its k best paths with their scores."""
    records: Iterable[dict[str, Any]]
    if given.kbest is not None:
        found = tagger.kbest_batch(corpus, given.kbest, n_threads=given.threads)
        records = ({"kbest": [{"labels": z, "score": score} for z, score in paths]} for paths in found)
    else:
        tagged = tagger.tag_batch(corpus, by=given.by, n_threads=given.threads)
        records = ({"labels": labels} for labels in tagged)
        if given.confidence:
            records = _with_confidence(tagger, corpus, tagged, given)
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def _with_confidence(
    tagger: Tagger, corpus: Corpus, tagged: list[list[str]], given: Namespace
) -> Iterator[dict[str, Any]]:
    """Labels with the probability of each (or confidence, as the model has it), and the same of spans."""
    from trellis.corpus.schemes import guess_scheme

    number = {label: z for z, label in enumerate(tagger.labels)}
    marginals = tagger.marginals_batch(corpus, n_threads=given.threads)
    has_spans = guess_scheme(tagger.labels) is not None
    spans = tagger.tag_spans_batch(corpus, by=given.by, n_threads=given.threads) if has_spans else [[]] * len(tagged)
    for labels, posterior, found in zip(tagged, marginals, spans, strict=True):
        sure = [float(row[number[label]]) for row, label in zip(posterior.node, labels, strict=True)]
        record: dict[str, Any] = {"labels": labels, tagger.measure: sure}
        if has_spans:
            record["spans"] = [{**span._asdict(), tagger.measure: p} for span, p in found]
        yield record
