"""Measure what the perceptron's theorems say of a corpus.

Trains the perceptron and shows its mistakes beside the bounds of Collins 2002: how far outputs lie apart (R), the
margin, and the bounds of theorems 1, 2 and 3. docs/bounds.md explains every line.

example:
  trellis theory train.txt --columns word,pos,chunk --target chunk --held-out test.txt
"""

from __future__ import annotations

from argparse import Namespace

from experiments.theory import study
from trellis.interfaces.cli.file_shape import FileShape
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, show, show_json
from trellis.interfaces.cli.plot import check_picture, draw_mistakes
from trellis.interfaces.cli.progress import watch_epochs


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("corpus", metavar="FILE", help="training file; - is standard input")
    add("--target", metavar="NAME", help="column of labels (default: the last one)")
    add("--features", metavar="NAME", help="a preset or a file of templates (default: default)")
    add("--order", type=int, metavar="N", help="number of previous labels a label depends on")
    add("--epochs", type=at_least(1), default=10, metavar="N", help="passes of the perceptron")
    add("--held-out", metavar="FILE", help="file with true labels, to test a voted perceptron on")
    add("--plot", metavar="FILE", help="draw mistakes and bounds by pass: .png, .svg, .pdf, ...")
    parser.share("threads", "quiet", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Show the table."""
    if given.plot is not None:
        check_writable(given.plot)
        check_apart(given.plot, given.corpus, given.held_out, given.features)
        check_picture(given.plot)
    shape = FileShape.of(given, given.corpus, others=[given.held_out])
    corpus = shape.read(given.corpus, given.columns)
    held_out = shape.read_beside(given.held_out, corpus.columns, given)
    with watch_epochs(given.quiet) as shown:
        found = study(
            corpus,
            target=given.target or list(corpus.columns)[-1],
            features=given.features,
            order=given.order,
            epochs=given.epochs,
            held_out=held_out,
            n_threads=given.threads,
            observer=shown,
        )
    if given.plot is not None:
        draw_mistakes(found, given.plot)
    if given.json:
        show_json(found.to_dict())
    else:
        rows = found.rows()
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        show("\n".join(f"{name:{widths[0]}}  {value:>{widths[1]}}  {what}".rstrip() for name, value, what in rows))
