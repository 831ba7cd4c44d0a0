"""Label a file, or standard input as it comes: what ``trellis tag`` does once its command line is read."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from trellis.cli.sentences import sentences_of

if TYPE_CHECKING:
    from trellis.corpus.columns import Layout
    from trellis.corpus.corpus import Column, Corpus
    from trellis.corpus.stream import Piece
    from trellis.tagger import Tagger

PIECE_BYTES = 1 << 20
NO_PATH = "_"  # in the columns of --kbest, where a sentence has fewer label sequences


def tag_file(
    model: str,
    source: str = "-",
    output: str | None = None,
    *,
    kbest: int | None = None,
    by: str = "path",
    scheme: str | None = None,
    confidence: bool = False,
    columns: str | None = None,
    format: str | None = None,
    comments: bool | None = None,
    tabs: bool | None = None,
    threads: int | None = None,
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Label ``source`` by the model in a file; the options are those of the command."""
    from trellis.cli.file_shape import STREAMED, FileShape
    from trellis.cli.outputs import writing
    from trellis.cli.progress import count_tokens
    from trellis.corpus.stream import pieces_of_path
    from trellis.tagger import load
    from trellis.threads import thread_count

    tagger = load(model)
    if scheme is not None:
        tagger = tagger.constrained(scheme)
    _check_asked(kbest, by, confidence, as_json)
    shape = FileShape.of(source, format, tabs, comments, like=FileShape.of_training(tagger))
    label = _labeller(tagger, kbest, by)
    # A bar and results on the same terminal would be in each other's way.
    with count_tokens(not quiet and not (output is None and sys.stdout.isatty())) as count:
        if as_json:
            corpora: Iterable[Corpus]
            if shape.format in STREAMED:
                layout = shape.layout(source, tagger, columns)
                corpora = (piece.corpus for piece in pieces_of_path(source, layout, PIECE_BYTES))
            else:
                corpora = [shape.read(source, columns)]
            with writing(output) as out:
                write_json(tagger, corpora, kbest, threads, out, count, by=by, confidence=confidence)
        elif shape.format in STREAMED:
            layout = shape.layout(source, tagger, columns)
            _check_fillable(source, tagger, layout, kbest)
            with writing(output) as out:
                n_threads = thread_count(threads)
                write_columns(label, tagger.target, source, layout, n_threads, out, count, PIECE_BYTES)
        else:
            _write_named(tagger, shape.read(source, columns), shape.format, kbest, by, threads, output)


def write_columns(
    label: Callable[[Corpus], list[Column]],
    target: str,
    source: str,
    layout: Layout,
    n_threads: int,
    out: BinaryIO,
    count: Callable[[int], None],
    piece_bytes: int,
) -> None:
    """The text of a file with labels: in the target's column of CoNLL-U, else in new columns."""
    from trellis.corpus.columns import append_labels, replace_labels
    from trellis.corpus.stream import map_pieces

    def labelled(piece: Piece) -> tuple[bytes, int]:
        text, layout = piece.text, piece.layout
        if piece.corpus.n_tokens:
            for labels in label(piece.corpus):
                if layout.ids:
                    text = replace_labels(text, target, labels, layout, first_line=piece.first_line)
                else:
                    text = append_labels(text, labels, layout, first_line=piece.first_line)
        return text, piece.corpus.n_tokens

    for text, n_tokens in map_pieces(labelled, source, layout, n_threads, piece_bytes):
        out.write(text)
        _send(out)
        count(n_tokens)


def _send(out: BinaryIO) -> None:
    """Someone may wait at the other end of a pipe; a compressed file would only become longer."""
    if not isinstance(out, gzip.GzipFile):
        out.flush()


def write_json(
    tagger: Tagger,
    corpora: Iterable[Corpus],
    kbest: int | None,
    threads: int | None,
    out: BinaryIO,
    count: Callable[[int], None],
    *,
    by: Any = "path",
    confidence: bool = False,
) -> None:
    """A line a sentence: its labels (with confidence: how sure they are), or its k best paths with their scores."""
    for corpus in corpora:
        if not corpus.n_tokens:
            continue
        records: Iterator[dict[str, Any]]
        if kbest is None:
            tagged = tagger.tag_batch(corpus, by=by, n_threads=threads)
            records = (
                _with_confidence(tagger, corpus, tagged, by, threads)
                if confidence
                else ({"labels": labels} for labels in tagged)
            )
        else:
            records = (
                {
                    "kbest": [
                        {"labels": labels, "score": score} for labels, score in tagger.kbest(sentence, kbest)
                    ]
                }
                for sentence in sentences_of(tagger, corpus)
            )
        out.write("".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode())
        _send(out)
        count(corpus.n_tokens)


def _with_confidence(
    tagger: Tagger, corpus: Corpus, tagged: list[list[str]], by: Any, threads: int | None
) -> Iterator[dict[str, Any]]:
    """Labels with the probability of each (or confidence, as the model has it), and the same of spans."""
    from trellis.corpus.schemes import guess_scheme

    number = {label: z for z, label in enumerate(tagger.labels)}
    believed = tagger.marginals_batch(corpus, n_threads=threads)
    has_spans = guess_scheme(tagger.labels) is not None
    spans = tagger.tag_spans_batch(corpus, by=by, n_threads=threads) if has_spans else [[]] * len(tagged)
    for labels, posterior, found in zip(tagged, believed, spans, strict=True):
        sure = [float(row[number[label]]) for row, label in zip(posterior.node, labels, strict=True)]
        record: dict[str, Any] = {"labels": labels, tagger.measure: sure}
        if has_spans:
            record["spans"] = [{**span._asdict(), tagger.measure: p} for span, p in found]
        yield record


def _check_asked(kbest: int | None, by: str, confidence: bool, as_json: bool) -> None:
    from trellis.errors import ConstraintError

    if by not in ("path", "label"):
        raise ConstraintError(f"--by {by}: give path or label")
    if kbest is not None and (by != "path" or confidence):
        raise ConstraintError(
            "--kbest gives the best paths with their scores; leave out --by and --confidence"
        )
    if confidence and not as_json:
        raise ConstraintError("--confidence has no place in columns; give it with --json")


def _labeller(tagger: Tagger, kbest: int | None, by: Any = "path") -> Callable[[Corpus], list[Column]]:
    """A function from sentences to the columns of their labels, best first. It is called from several threads."""
    if kbest is None:
        return lambda corpus: [tagger.tag_corpus(corpus, by=by, n_threads=1)]
    from trellis.corpus.corpus import Column
    from trellis.corpus.strings import Strings

    k, values = kbest, Strings.of((*tagger.labels, NO_PATH))
    number = {label: i for i, label in enumerate(tagger.labels)}

    def label(corpus: Corpus) -> list[Column]:
        import numpy as np

        codes = np.full((k, corpus.n_tokens), len(number), np.int32)
        begin = 0
        for sentence in sentences_of(tagger, corpus):
            end = begin + len(next(iter(sentence.values())))
            for rank, (labels, _) in enumerate(tagger.kbest(sentence, k)):
                codes[rank, begin:end] = [number[one] for one in labels]
            begin = end
        return [Column(row, values) for row in codes]

    return label


def _check_fillable(source: str, tagger: Tagger, layout: Layout, kbest: int | None) -> None:
    from trellis.errors import CorpusError

    if layout.ids and kbest is not None:
        raise CorpusError(source, None, "CoNLL-U has one place for a label; give --kbest with --json")
    if layout.ids and tagger.target not in (layout.names or ()):
        why = f"CoNLL-U has no column {tagger.target!r} to be filled in; give --json"
        raise CorpusError(source, None, why)


def _write_named(
    tagger: Tagger,
    corpus: Corpus,
    format: str,
    kbest: int | None,
    by: Any,
    threads: int | None,
    output: str | None,
) -> None:
    """JSON lines and tables: whole, with the target's column filled in."""
    from trellis.cli.outputs import writing
    from trellis.corpus.jsonl import format_jsonl
    from trellis.corpus.write import write
    from trellis.errors import CorpusError

    if kbest is not None:
        raise CorpusError(corpus.source, None, f"--kbest writes columns; of {format} files it needs --json")
    labelled = corpus.with_column(tagger.target, tagger.tag_corpus(corpus, by=by, n_threads=threads))
    if format == "jsonl":
        with writing(output) as out:
            out.write(format_jsonl(labelled).encode())
    elif output is None:
        raise CorpusError(
            corpus.source, None, f"{format} is not for standard output; name a file with --output"
        )
    else:
        write(labelled, output, format=format)
