"""Measure a model of words: precision, recall and F1, and the recall of words that training had and had not.

The file has one sentence per line, with blanks between words, as in training; the blanks are taken out, and the model
puts its own in.

example:
  trellis segment evaluate --model words.trellis test.txt
"""

from __future__ import annotations

from argparse import Namespace

from trellis.corpus.unspaced import read_segmented
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.progress import say
from trellis.tasks.words.model import Segmenter


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("text", metavar="FILE", help="text with blanks between words; - is standard input")
    parser.share("model", "lenient", "threads", "quiet", "json")


def command(given: Namespace) -> None:
    """Show the figures."""
    segmenter = Segmenter.load(given.model)
    text = read_segmented(given.text, lenient=given.lenient)
    if text.n_skipped:
        say(f"{text.source}: {text.n_skipped:,} lines skipped", given.quiet)
    found = segmenter.evaluate(text, n_threads=given.threads)
    if given.json:
        show_json({**found.to_dict(), "lines_skipped": text.n_skipped})
    else:
        show(str(found))
