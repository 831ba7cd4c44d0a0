"""Give every sentence of a file its dependency tree.

Heads and labels are written into the columns head and deprel. Comments, word ranges, empty nodes and all other columns
of CoNLL-U stay as they are.

examples:
  trellis parse run --model en.parser tagged.conllu --output parsed.conllu
  trellis parse run --model en.parser --tagger upos.trellis text.conllu > parsed.conllu
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import STANDARD_STREAM
from trellis.interfaces.cli.file_shape import shape_for
from trellis.interfaces.cli.labelled_files import check_place, formatted, output_shape, write_texts
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, standard_output, writing
from trellis.interfaces.cli.parsing_files import pieces, tagging
from trellis.interfaces.cli.progress import count_tokens
from trellis.tasks.parsing.model import Parser as DependencyParser
from trellis.tasks.parsing.treebank import HEAD


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", default=STANDARD_STREAM, metavar="FILE", help="what to parse; - is standard input")
    parser.share("model")
    add("--output", "-o", metavar="FILE", help="where to write, in the format of its extension")
    add("--tagger", metavar="MODEL", help="a tagger that fills in the column of its target first")
    parser.share("threads", "quiet")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Parse what is given."""
    parser = DependencyParser.load(given.model)
    tag = tagging(given.tagger, given.threads)
    shape = shape_for(parser, given, given.source)
    wanted = output_shape(given.output, shape, "")
    if wanted.format in ("parquet", "feather"):
        raise ArgumentError(
            "trees are written as .conllu, .jsonl or columns; name another format by the extension of --output"
        )
    check_place(given.output, HEAD, wanted.format, "name another format by the extension of --output")
    check_apart(given.output, given.source, given.model, given.tagger)

    def parsed(corpus: Corpus) -> str:
        return formatted(parser.parse_corpus(tag(corpus), n_threads=given.threads), wanted)

    shown = not given.quiet and (given.output is not None or not standard_output().isatty())
    with count_tokens(shown) as count, writing(given.output) as out:
        write_texts(parsed, pieces(given.source, parser, given, shape), out, count)
