"""Write all weights of a model as a table (TSV): feature, label or labels, weight; the largest first.

example:
  trellis dump -m chunk.trellis --output weights.tsv
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.files import open_model
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import one_field, writing


def describe(parser: Parser) -> None:
    """The options."""
    parser.take()
    parser.share("output")
    parser.add_argument(
        "--top", type=at_least(1), metavar="N", help="only the N weights with the largest absolute values"
    )


def command(options: Namespace) -> None:
    """Write the table."""
    terms = open_model(options).top_features(options.top)
    with writing(options.output) as file:
        file.write(b"feature\tlabel\tweight\n")
        for term in terms:
            file.write(f"{one_field(term.feature)}\t{one_field(term.label)}\t{term.weight:.6g}\n".encode())
