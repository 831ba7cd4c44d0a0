"""Write all weights of a model as a table: feature, label or labels, weight; the largest first.

example:
  trellis dump -m chunk.trellis --output weights.tsv
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.file_shape import open_model
from trellis.interfaces.cli.mistakes import one_field
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, writing


def describe(parser: Parser) -> None:
    """The options."""
    parser.share("model")
    help = "output file (default: standard output); .gz is compressed"
    parser.add_argument("--output", "-o", metavar="FILE", help=help)
    parser.add_argument("--top", type=at_least(1), metavar="N", help="only the N weights farthest from zero")


def command(options: Namespace) -> None:
    """Write the table."""
    if options.output is not None:
        check_writable(options.output)
        check_apart(options.output, options.model)
    terms = open_model(options, "dump").top_features(options.top)
    with writing(options.output) as file:
        file.write(b"feature\tlabel\tweight\n")
        for term in terms:
            file.write(f"{one_field(term.feature)}\t{one_field(term.label)}\t{term.weight:.6g}\n".encode())
