"""Label a file by a reranker.

A file of columns gets one more column; in CoNLL-U, JSON lines and tables the target's own column is filled in.

example:
  trellis rerank apply --model chunk.rerank test.txt --output tagged.txt
"""

from __future__ import annotations

from argparse import Namespace

from trellis.corpus.files import STANDARD_STREAM
from trellis.interfaces.cli.file_shape import shape_for
from trellis.interfaces.cli.labelled_files import Label, check_place, output_shape, write_labelled
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, standard_output
from trellis.interfaces.cli.progress import count_tokens
from trellis.tasks.reranking.model import Reranker


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
    reranker = Reranker.load(given.model)
    tagger, shape = reranker.tagger, shape_for(reranker.tagger, given, given.source)
    wanted = output_shape(given.output, shape, "")
    check_place(given.output, tagger.target, wanted.format, "name another format by the extension of --output")
    check_apart(given.output, given.source, given.model)

    def labeller(_: int | None) -> Label:
        return lambda corpus: [reranker.tag_corpus(corpus, n_threads=given.threads).column(reranker.tagger.target)]

    shown = not given.quiet and (given.output is not None or not standard_output().isatty())
    with count_tokens(shown) as count:
        # One piece at a time: only the tagger's part of the work is native, and threads are of use there.
        write_labelled(labeller, tagger, given, (shape, wanted), count, 1)
