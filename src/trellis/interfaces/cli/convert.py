"""Convert a model of another tool to one of ours, or the other way round.

The content of the old file tells its kind: a model of trellis, CRFsuite, CRF++, Wapiti or NLTK. The name of the new one
tells what is written: a name that ends in .crfsuite makes a model of CRFsuite, any other one of trellis.

example:
  trellis convert -m old.crfsuite --output new.trellis
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.corpus.files import extension
from trellis.interfaces.cli.file_shape import load_any
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, check_writable
from trellis.interfaces.cli.progress import say
from trellis.tasks.model import TASKS


def describe(parser: Parser) -> None:
    """The options."""
    parser.share("model")
    parser.add_argument("--output", "-o", required=True, metavar="FILE", help="model file to write")
    parser.share("quiet")


def command(options: Namespace) -> None:
    """Read, and write."""
    check_writable(options.output)
    check_apart(options.output, options.model)
    model = load_any(options.model)
    if model.task != "tag" and extension(options.output) == ".crfsuite":
        raise ArgumentError(
            f"{options.output}: CRFsuite has taggers only; {options.model} is a {TASKS[model.task].noun}"
        )
    model.save(options.output)
    say(f"wrote {options.output}: {model}", options.quiet)
