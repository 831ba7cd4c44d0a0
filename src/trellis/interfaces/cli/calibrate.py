"""Calibrate the probabilities of a tagger on a held-out file (temperature scaling).

Writes the model with a new temperature, and shows its calibration before and after. The predicted labels
stay the same; probabilities and confidences change.

example:
  trellis calibrate -m chunk.trellis dev.txt --output calibrated.trellis
"""

from __future__ import annotations

from argparse import Namespace

from trellis.interfaces.cli.files import open_model, read_for
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import show, show_json


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("dev", metavar="FILE", help="held-out file with gold labels")
    parser.take("tag")
    parser.share("output", required=True, help="file for the calibrated model")
    parser.inputs = ("dev",)  # the model may be replaced: it is read whole first
    parser.share("target", "threads", "quiet", "json")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Write the model with another temperature."""
    tagger = open_model(options)
    corpus = read_for(tagger, options, options.dev)
    options_of = {"target": options.target, "n_threads": options.threads}
    calibrated = tagger.calibrated(corpus, **options_of)
    before, after = (model.reliability(corpus, **options_of) for model in (tagger, calibrated))
    calibrated.save(options.output)
    if options.json:
        figures = {"before": before.to_dict(), "after": after.to_dict()}
        show_json({"model": options.output, "temperature": calibrated.temperature, **figures})
    elif not options.quiet:
        show(f"before: {before}\n\nafter: {after}")
