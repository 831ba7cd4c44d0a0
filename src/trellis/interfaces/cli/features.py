"""List the feature presets; with a name, print the templates of that preset, ready to be saved and edited.

examples:
  trellis features
  trellis features chunking > my.templates
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.features.arcs import ARC_PRESETS
from trellis.features.presets import PRESETS
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import align, show


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="preset")


def command(options: Namespace) -> None:
    """Show all, or one."""
    presets = {**PRESETS, **ARC_PRESETS}
    if options.name is None:
        task = {name: "dependency parsing" if name in ARC_PRESETS else "tagging" for name in presets}
        rows = [["preset", "task", "templates", "first templates"]]
        rows += [[name, task[name], str(len(lines)), ", ".join(lines[:3])] for name, lines in presets.items()]
        show(align(rows, right=(2,)))
    elif options.name in presets:
        show("\n".join(presets[options.name]))
    else:
        raise ArgumentError(f"unknown preset {options.name!r}; the presets are {', '.join(presets)}")
