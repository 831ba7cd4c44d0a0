"""List the learners with their parameters and defaults; with a name, describe that learner.

examples:
  trellis learners
  trellis learners crf
"""

from __future__ import annotations

import inspect
import sys
from argparse import Namespace

from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import show
from trellis.interfaces.cli.training_options import list_parameters
from trellis.learners import learner_named


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="learner")


def command(options: Namespace) -> None:
    """Show all, or one."""
    if options.name is None:
        show(list_parameters())
        return
    kind = learner_named(options.name)
    module = sys.modules[kind.__module__]
    show(f"{inspect.getdoc(module)}\n\n{inspect.getdoc(kind)}")
