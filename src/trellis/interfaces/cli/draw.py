"""Draw the trellis of a sentence: tokens across, labels down, what is probable large, the best path red.

The words are given as for trellis explain; where the model reads several columns, a word is written as the/DT.

examples:
  trellis draw --model pos.trellis the man saw the dog --output trellis.svg
  trellis draw --model chunk.trellis the/DT dog/NN --most-labels 6 --output trellis.svg
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.corpus.files import STANDARD_STREAM
from trellis.interfaces.cli.explain import typed
from trellis.interfaces.cli.file_shape import load_constrained
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, writing


def describe(parser: Parser) -> None:
    """The options."""
    parser.mixed = True
    parser.add_argument("words", nargs="+", metavar="WORD", help="the words of a sentence, or all of them in quotes")
    parser.share("model")
    parser.add_argument("--output", "-o", metavar="FILE", help="the picture, .svg (default: standard output)")
    parser.add_argument("--most-labels", type=at_least(1), default=12, metavar="N", help="rows, at most")
    parser.share("scheme")


def command(given: Namespace) -> None:
    """Draw it."""
    if given.output not in (None, STANDARD_STREAM):
        if not given.output.lower().endswith(".svg"):
            raise ArgumentError(f"{given.output}: the picture is SVG; name a .svg file")
        check_writable(given.output)
        check_apart(given.output, given.model)
    tagger = load_constrained(given)
    words = given.words[0].split() if len(given.words) == 1 else given.words
    picture = tagger.draw(typed(tagger, words), most_labels=given.most_labels)
    with writing(given.output) as out:
        out.write(picture.to_svg().encode())
