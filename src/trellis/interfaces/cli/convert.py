"""Read a model of another tool and write it as one of ours, or the other way round.

What OLD is, its content tells: a model of trellis, CRFsuite, CRF++, Wapiti or NLTK. What NEW becomes, its name tells:
a name that ends in .crfsuite makes a model of CRFsuite, any other one of trellis.

example:
  trellis convert old.crfsuite new.trellis
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, check_writable
from trellis.interfaces.cli.progress import say
from trellis.tasks.tagging.model import Tagger


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("old", metavar="OLD", help="model file to read")
    parser.add_argument("new", metavar="NEW", help="model file to write")
    parser.share("quiet")


def command(given: Namespace) -> None:
    """Read, and write."""
    check_writable(given.new)
    check_apart(given.new, given.old)
    tagger = Tagger.load(given.old)
    tagger.save(given.new)
    say(f"wrote {given.new}: {tagger}", given.quiet)
