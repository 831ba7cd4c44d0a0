"""Draw the prediction for a sentence as a picture (SVG).

Taggers: the trellis, with tokens across, labels down, circles sized by probability, and the best path in red.
Dependency parsers: arcs above the words. Constituency parsers: the tree. If the model reads several columns, write a
word as the/DT. A single word that is the name of a file, such as test.conllu, is read as a file, and its first
sentence is drawn; without words, the sentence is read from standard input.

examples:
  trellis draw -m pos.trellis the man saw the dog --output trellis.svg
  trellis draw -m chunk.trellis the/DT dog/NN --most-labels 6 --output trellis.svg
  trellis draw -m en.parser test.conllu --output tree.svg
"""

from __future__ import annotations

from argparse import Namespace

from trellis.corpus.files import STANDARD_STREAM
from trellis.interfaces.cli.explain import sentences_of
from trellis.interfaces.cli.files import open_model
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_picture, writing


def describe(parser: Parser) -> None:
    """The options."""
    parser.mixed = True
    words = "words of a sentence, or the sentence in quotes, or a file (default: standard input)"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    parser.take("tag", "parse", "trees")
    parser.share("output", help="SVG file (default: standard output)")
    rows = "maximum number of labels in the picture of a tagger (default: 12)"
    parser.add_argument("--most-labels", type=at_least(1), tasks=("tag",), metavar="N", help=rows)
    parser.share("scheme")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Draw it."""
    if options.output not in (None, STANDARD_STREAM):
        check_picture(options.output)
    model = open_model(options)
    if len(options.words) == 1:
        options.words = options.words[0].split()
    limits = {"most_labels": options.most_labels} if options.most_labels else {}
    picture = model.draw(next(iter(sentences_of(model, options))), **limits)
    with writing(options.output) as out:
        out.write(picture.svg.encode())
