"""Measure a reranker: the tagger's own choice, the reranker's, and the best choice there is (oracle).

example:
  trellis rerank evaluate --model chunk.rerank test.txt
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.file_shape import shape_for
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import show, show_json
from trellis.tasks.reranking.model import Reranker


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("source", metavar="FILE", help="file with the true labels; - is standard input")
    parser.share("model")
    parser.add_argument("--gold", metavar="NAME", help="column of true labels (default: the model's target)")
    parser.share("threads", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Show the figures."""
    reranker = Reranker.load(given.model)
    shape = shape_for(reranker.tagger, given, given.source)
    corpus = shape.read_for(given.source, reranker.tagger, given.columns)
    found = reranker.evaluate(corpus, target=given.gold, n_threads=given.threads)
    if given.json:
        show_json(found.to_dict())
    else:
        show(str(found))
