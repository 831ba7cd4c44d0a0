"""Draw the output of a sentence as a picture, SVG.

Of a tagger the trellis: tokens across, labels down, what is probable large, the best path red. Of a dependency parser
arcs above the words, of a constituency parser the tree. Where the model reads several columns, a word is written as
the/DT.

examples:
  trellis draw -m pos.trellis the man saw the dog --output trellis.svg
  trellis draw -m chunk.trellis the/DT dog/NN --most-labels 6 --output trellis.svg
"""

from __future__ import annotations

from argparse import Namespace

from trellis.corpus.files import STANDARD_STREAM
from trellis.interfaces.cli.explain import sentence_of
from trellis.interfaces.cli.file_shape import open_model
from trellis.interfaces.cli.options import Parser, at_least, reject_other_tasks
from trellis.interfaces.cli.outputs import check_apart, check_picture, check_writable, writing


def describe(parser: Parser) -> None:
    """The options."""
    parser.mixed = True
    parser.add_argument("words", nargs="+", metavar="WORD", help="the words of a sentence, or all of them in quotes")
    parser.share("model")
    parser.add_argument("--output", "-o", metavar="FILE", help="the picture, .svg (default: standard output)")
    rows = "largest number of labels in the picture of a tagger (default: 12)"
    parser.add_argument("--most-labels", type=at_least(1), metavar="N", help=rows)
    parser.share("scheme")


def command(options: Namespace) -> None:
    """Draw it."""
    if options.output not in (None, STANDARD_STREAM):
        check_picture(options.output)
        check_writable(options.output)
        check_apart(options.output, options.model)
    model = open_model(options, "draw", "tag", "parse", "trees")
    reject_other_tasks(options, model.task, {"most_labels": ("tag",)})
    words = options.words[0].split() if len(options.words) == 1 else options.words
    limits = {"most_labels": options.most_labels} if options.most_labels else {}
    picture = model.draw(sentence_of(model, words), **limits)
    with writing(options.output) as out:
        out.write(picture.svg.encode())
