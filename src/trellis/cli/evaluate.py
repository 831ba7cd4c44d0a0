"""Measure a model, or a file that has been tagged.

Token accuracy, sentence accuracy, for labels that mark spans precision, recall and F1 per type, and for labels with
parts (NOUN|Case=Nom) the accuracy of the first part and of all others, with precision, recall and F1 per feature.
Without a model two columns of the file are compared.

examples:
  trellis evaluate --model chunk.trellis test.txt
  trellis evaluate tagged.txt --columns word,pos,chunk,label --gold chunk --predicted label
  trellis evaluate --model morphology.trellis en-dev.conllu --gold upos+feats
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from trellis.cli.file_shape import FileShape, open_model
from trellis.cli.options import Parser
from trellis.cli.outputs import show, show_json
from trellis.cli.progress import say
from trellis.errors import CorpusError
from trellis.evaluation.parts import Parts
from trellis.evaluation.report import evaluate_columns

if TYPE_CHECKING:
    from trellis.evaluation.reliability import Calibration
    from trellis.evaluation.report import Report


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", metavar="FILE", help="file with the true labels; - is standard input")
    add("--model", "-m", metavar="MODEL", help="model file")
    add(
        "--gold",
        metavar="NAME",
        help="column of true labels (default: the model's target, or the last but one)",
    )
    add("--predicted", metavar="NAME", help="without a model: column of predicted labels (default: the last)")
    parser.share("label-parts")
    add("--calibration", action="store_true", help="with a model: show how well calibrated it is")
    parser.share("by", "scheme", "threads", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Show the figures."""
    report, calibration = _model_figures(given) if given.model else (_column_figures(given), None)
    if given.json:
        more = {} if calibration is None else {"calibration": calibration.to_dict()}
        show_json({**report.to_dict(), **more})
    else:
        show(f"{report}" if calibration is None else f"{report}\n\n{calibration}")


def _model_figures(given: Namespace) -> tuple[Report, Calibration | None]:
    """How good the model's labels of the file are, and with --calibration its probabilities."""
    if given.predicted is not None:
        raise CorpusError(given.source, None, "give --model or --predicted, not both")
    tagger, shape = open_model(given, given.source)
    corpus = shape.read_for(given.source, tagger, given.columns)
    how = {"target": given.gold, "n_threads": given.threads}
    report = tagger.evaluate(corpus, by=given.by, label_parts=given.label_parts, **how)
    return report, tagger.reliability(corpus, **how) if given.calibration else None


def _column_figures(given: Namespace) -> Report:
    """How good one column of the file is by another."""
    if given.calibration or given.scheme is not None:
        raise CorpusError(given.source, None, "--calibration and --scheme need a model; give --model")
    shape = FileShape.of(given, given.source)
    corpus = shape.read(given.source, given.columns)
    names = list(corpus.columns)
    if shape.format == "conllu" and not (given.gold and given.predicted):
        raise CorpusError(given.source, None, "give --model, or name two columns by --gold and --predicted")
    if len(names) < 2:
        raise CorpusError(given.source, None, "one column alone cannot be compared; give --model")
    gold, predicted = given.gold or names[-2], given.predicted or names[-1]
    truth, guess = corpus.column(gold), corpus.column(predicted)
    say(f"column {predicted!r} compared with the true labels in column {gold!r}", given.json)
    return evaluate_columns(truth, guess, corpus.starts, parts=Parts.of_column(gold, names, given.label_parts))
