"""Convert models of other tools to trellis models, taggers to CRFsuite models, or models to smaller files.

The type of the input is detected from its content: trellis, CRFsuite, CRF++, Wapiti or NLTK. The output is a CRFsuite
model if its name ends in .crfsuite, else a trellis model.

example:
  trellis convert -m old.crfsuite --output new.trellis
  trellis convert -m en.trellis --compact int8 --output en-small.trellis
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.compact import WEIGHT_TYPES
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
    compact = "compressed file with weights of this type: float32, float16 or int8 (default: not compressed)"
    parser.add_argument("--compact", choices=WEIGHT_TYPES, metavar="TYPE", help=compact)
    parser.share("quiet")


def command(options: Namespace) -> None:
    """Read, and write."""
    model = open_model(options)
    if model.task != "tag" and extension(options.output) == ".crfsuite":
        raise ArgumentError(
            f"{options.output}: the CRFsuite format is for taggers; {options.model} is a {TASKS[model.task].noun}"
        )
    model.save(options.output, compact=options.compact)
    say(f"wrote {options.output}: {model}", options.quiet)
