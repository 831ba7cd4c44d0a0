"""Fit the probabilities of a tagger to a held-out file.

Writes the model with another temperature, and shows its calibration before and after. Its labels
stay the same; its probabilities and confidences change.

example:
  trellis calibrate -m chunk.trellis dev.txt --output calibrated.trellis
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.file_shape import open_model, shape_for
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import check_apart, check_writable, show, show_json


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("dev", metavar="FILE", help="held-out file with gold labels")
    parser.share("model")
    add("--output", "-o", required=True, metavar="FILE", help="file to write the calibrated model to")
    parser.share("target", "threads", "quiet", "json")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Write the model with another temperature."""
    tagger = open_model(options, "calibrate", "tag")
    check_writable(options.output)
    check_apart(options.output, options.dev)
    corpus = shape_for(tagger, options, options.dev).read_for(options.dev, tagger, options.columns)
    how = {"target": options.target, "n_threads": options.threads}
    calibrated = tagger.calibrated(corpus, **how)
    before, after = (one.reliability(corpus, **how) for one in (tagger, calibrated))
    calibrated.save(options.output)
    if options.json:
        figures = {"before": before.to_dict(), "after": after.to_dict()}
        show_json({"model": options.output, "temperature": calibrated.temperature, **figures})
    elif not options.quiet:
        show(f"before: {before}\n\nafter: {after}")
