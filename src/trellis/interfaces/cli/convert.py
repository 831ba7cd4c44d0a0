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
from trellis.interfaces.cli.files import open_model
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.progress import say
from trellis.tasks.model import TASKS


def describe(parser: Parser) -> None:
    """The options."""
    parser.take()
    parser.share("output", required=True, help="model file to write")
    parser.share("quiet")


def command(options: Namespace) -> None:
    """Read, and write."""
    model = open_model(options)
    if model.task != "tag" and extension(options.output) == ".crfsuite":
        raise ArgumentError(
            f"{options.output}: CRFsuite has taggers only; {options.model} is a {TASKS[model.task].noun}"
        )
    model.save(options.output)
    say(f"wrote {options.output}: {model}", options.quiet)
