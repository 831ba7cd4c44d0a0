"""Train and test on parts of one file in turn: every sentence is tested once, by a model that has not seen it.

Options of the tagger and of its learner are those of trellis train.

example:
  trellis cross-validate train.txt --columns word,pos,chunk --features chunking --learner crf --folds 5
"""

from __future__ import annotations

import statistics
from argparse import Namespace
from typing import Any

from trellis.evaluation.tagging import TaggingReport
from trellis.interfaces.cli.file_shape import FileShape
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.interfaces.cli.tagger_options import chosen_learner, describe_learner, describe_tagger, tagger_options
from trellis.tasks.tagging.train import train


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("corpus", metavar="FILE", help="file with the true labels; - is standard input")
    add("--folds", type=at_least(2), default=5, metavar="N", help="number of parts")
    add("--mix", type=at_least(0), metavar="SEED", help="deal sentences out at random, by this seed (default: in turn)")
    describe_tagger(add)
    parser.share("threads", "quiet", "json")
    describe_learner(parser.add_argument_group("options of the learner").add_argument)
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Show the figures of each part, and their mean."""
    learner, shape = chosen_learner(given), FileShape.of(given, given.corpus)
    corpus = shape.read(given.corpus, given.columns)
    is_conllu = shape.format == "conllu" and given.columns is None
    target = given.target or ("upos" if is_conllu else list(corpus.columns)[-1])
    reports = list[TaggingReport]()
    for number, (some, held_out) in enumerate(corpus.folds(given.folds, seed=given.mix), 1):
        with watch_epochs(given.quiet, f"part {number} of {given.folds}") as observer:
            tagger = train(
                some,
                target=target,
                learner=learner,
                observer=observer,
                n_threads=given.threads,
                **tagger_options(given),
            )
        reports.append(tagger.evaluate(held_out, n_threads=given.threads))
        say(f"part {number} of {given.folds}: {100 * reports[-1].headline:.2f}", given.quiet)
    figures = {
        "token accuracy": [report.token_accuracy for report in reports],
        "sentence accuracy": [report.sentence_accuracy for report in reports],
    }
    if all(report.has_spans for report in reports):
        figures["F1 of spans"] = [report.f1 for report in reports]
    if given.json:
        show_json({name: _summary(values) for name, values in figures.items()})
        return
    rows = [["", "mean", "deviation", *(f"part {i + 1}" for i in range(given.folds))]]
    for name, values in figures.items():
        summary = [statistics.mean(values), statistics.stdev(values), *values]
        rows.append([name, *(f"{100 * value:.2f}" for value in summary)])
    show(align(rows, right=range(1, given.folds + 3)))


def _summary(values: list[float]) -> dict[str, Any]:
    return {"mean": statistics.mean(values), "deviation": statistics.stdev(values), "parts": values}
