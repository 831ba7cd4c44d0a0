"""Fit the probabilities of a model to a held-out file.

Writes the model with another temperature, and shows how well calibrated it was before and is now. Its labels
stay the same; its probabilities and confidences change.

example:
  trellis calibrate --model chunk.trellis dev.txt --output calibrated.trellis
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.file_shape import open_model
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, check_writable, show, show_json


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("dev", metavar="DEV", help="file with true labels, not that of training")
    parser.share("model")
    add("--output", "-o", required=True, metavar="FILE", help="file to write the calibrated model to")
    losses = "fit the probabilities of single labels or of whole label sequences"
    add("--loss", choices=("labels", "paths"), default="labels", help=losses)
    add("--gold", metavar="NAME", help="column of true labels (default: the model's target)")
    parser.share("threads", "quiet", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Write the model with another temperature."""
    tagger, shape = open_model(given, given.dev)
    check_writable(given.output)
    check_apart(given.output, given.dev)
    corpus = shape.read_for(given.dev, tagger, given.columns)
    how = {"target": given.gold, "n_threads": given.threads}
    calibrated = tagger.calibrated(corpus, loss=given.loss, **how)
    before, after = (one.reliability(corpus, **how) for one in (tagger, calibrated))
    calibrated.save(given.output)
    if given.json:
        figures = {"before": before.to_dict(), "after": after.to_dict()}
        show_json({"model": given.output, "temperature": calibrated.temperature, **figures})
    elif not given.quiet:
        show(f"before: {before}\n\nafter: {after}")
