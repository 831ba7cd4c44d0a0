"""Write all weights of a model as a table: feature, label or labels, weight; the heaviest first.

example:
  trellis dump chunk.trellis --output weights.tsv
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.mistakes import one_field
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, writing
from trellis.tasks.tagging.model import Tagger


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="model file")
    add("--output", "-o", metavar="FILE", help="where to write (default: standard output); .gz is compressed")
    add("--top", type=at_least(1), metavar="N", help="only the heaviest")


def command(given: Namespace) -> None:
    """Write the table."""
    if given.output is not None:
        check_writable(given.output)
        check_apart(given.output, given.model)
    tagger = Tagger.load(given.model)
    weights = tagger.top_features(given.top)
    with writing(given.output) as file:
        file.write(b"feature\tlabel\tweight\n")
        for one in weights:
            file.write(f"{one_field(one.feature)}\t{one_field(one.label)}\t{one.weight:.6g}\n".encode())
