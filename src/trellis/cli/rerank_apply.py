"""Label a file by a reranker.

A file of columns gets one more column; in CoNLL-U, JSON lines and tables the target's own column is filled in.

example:
  trellis rerank apply --model chunk.rerank test.txt --output tagged.txt
"""

from __future__ import annotations

from argparse import Namespace

from trellis.cli.file_shape import STREAMED, shape_for
from trellis.cli.labelled_files import (
    PIECE_BYTES,
    TABLES,
    check_place,
    corpora,
    formatted,
    labelled,
    output_shape,
    write_columns,
    write_texts,
)
from trellis.cli.options import Parser
from trellis.cli.outputs import check_apart, standard_output, writing
from trellis.cli.progress import count_tokens
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.files import STANDARD_STREAM
from trellis.corpus.write import write
from trellis.rerank.reranker import load


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", default=STANDARD_STREAM, metavar="FILE", help="what to label; - is standard input")
    parser.share("model")
    add("--output", "-o", metavar="FILE", help="where to write, in the format of its extension")
    parser.share("threads", "quiet")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Label what is given."""
    reranker = load(given.model)
    tagger, shape = reranker.tagger, shape_for(reranker.tagger, given, given.source)
    wanted = output_shape(given.output, shape, "")
    check_place(given.output, tagger.target, wanted.format, "name another format by the extension of --output")
    check_apart(given.output, given.source, given.model)

    def label(corpus: Corpus) -> list[Column]:
        return [reranker.tag_corpus(corpus, n_threads=given.threads)]

    def text(corpus: Corpus) -> str:
        return formatted(labelled(label, tagger.target, corpus), wanted)

    shown = not given.quiet and (given.output is not None or not standard_output().isatty())
    with count_tokens(shown) as count:
        if wanted.format in TABLES:
            corpus = labelled(label, tagger.target, shape.read_for(given.source, tagger, given.columns))
            write(corpus, given.output, format=wanted.format)
            return
        with writing(given.output) as out:
            if wanted == shape and shape.format in STREAMED:
                layout = shape.layout(given.source, tagger, given.columns)
                # One piece at a time: only the tagger's part of the work is native, and threads are of use there.
                write_columns(label, tagger, given.source, layout, 1, out, count, PIECE_BYTES)
            else:
                pieces = corpora(given.source, given.columns, tagger, shape)
                write_texts(text, pieces, out, count)
