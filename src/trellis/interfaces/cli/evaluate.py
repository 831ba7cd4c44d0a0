"""Measure a model, or a file that has been tagged.

Token accuracy, sentence accuracy, for labels that mark spans precision, recall and F1 per type, and for labels with
parts (NOUN|Case=Nom) the accuracy of the first part and of all others, with precision, recall and F1 per feature.
Without a model two columns of the file are compared.

examples:
  trellis evaluate --model chunk.trellis test.txt
  trellis evaluate tagged.txt --columns word,pos,chunk,label --gold chunk --predicted label
  trellis evaluate --model morphology.trellis en-dev.conllu --gold upos+feats
  trellis evaluate --model ner.trellis test.txt --error-analysis --errors mistakes.tsv
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from trellis._support.errors import CorpusError
from trellis.evaluation.error_analysis import ErrorAnalysis, error_analysis_of
from trellis.evaluation.parts import Parts
from trellis.evaluation.tagging import evaluate_columns, right_tokens
from trellis.interfaces.cli.file_shape import FileShape, open_model
from trellis.interfaces.cli.mistakes import check_mistakes, write_mistakes
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.progress import say

if TYPE_CHECKING:
    from trellis.corpus.corpus import Column, Corpus
    from trellis.evaluation.reliability import Calibration
    from trellis.evaluation.tagging import TaggingReport


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
    add("--error-analysis", action="store_true", help="scores per label, confusions, known words, partial matches")
    add("--errors", metavar="FILE", help="write the tokens that are wrong, as a table")
    parser.share("by", "scheme", "threads", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Show the figures."""
    check_mistakes(given.errors, given.source, given.model)
    found = _model_figures(given) if given.model else _column_figures(given)
    more = found.analysis() if given.error_analysis else None
    if given.errors is not None:
        found.write_errors(given.errors)
    if given.json:
        parts = {"calibration": found.calibration, "error_analysis": more}
        known = {name: part.to_dict() for name, part in parts.items() if part is not None}
        show_json({**found.report.to_dict(), **known})
    else:
        show("\n\n".join(str(part) for part in (found.report, more, found.calibration) if part is not None))


@dataclass(frozen=True, slots=True)
class _Found:
    """What was measured, and what closer looks need."""

    report: TaggingReport
    corpus: Corpus
    gold: Column
    predicted: Callable[[], Column]  # asked only where someone looks closer
    analysis: Callable[[], ErrorAnalysis]
    word: str  # the column that has the words
    calibration: Calibration | None = None

    def write_errors(self, path: str) -> None:
        """The tokens that are wrong."""
        predicted = self.predicted()
        wrong = np.flatnonzero(~right_tokens(self.gold, predicted)).tolist()
        write_mistakes(path, self.corpus, self.word, [("true", self.gold), ("given", predicted)], wrong)


def _model_figures(given: Namespace) -> _Found:
    """How good the model's labels of the file are, and with --calibration its probabilities."""
    if given.predicted is not None:
        raise CorpusError(given.source, None, "give --model or --predicted, not both")
    tagger, shape = open_model(given, given.source)
    corpus = shape.read_for(given.source, tagger, given.columns)
    how = {"target": given.gold, "n_threads": given.threads}
    report = tagger.evaluate(corpus, by=given.by, label_parts=given.label_parts, **how)
    analysis = partial(tagger.error_analysis, corpus, by=given.by, **how)
    calibration = tagger.reliability(corpus, **how) if given.calibration else None
    gold = corpus.column(given.gold or tagger.target)
    tagged = partial(tagger.tag_column, corpus, by=given.by, n_threads=given.threads)
    return _Found(report, corpus, gold, tagged, analysis, tagger.columns[0], calibration)


def _column_figures(given: Namespace) -> _Found:
    """How good one column of the file is by another."""
    if given.calibration or given.scheme is not None or given.by != "path":
        raise CorpusError(given.source, None, "--calibration, --scheme and --by need a model; give --model")
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
    parts = Parts.of_column(gold, names, given.label_parts)
    report = evaluate_columns(truth, guess, corpus.starts, parts=parts)
    analysis = partial(error_analysis_of, truth, guess, corpus.starts)
    return _Found(report, corpus, truth, lambda: guess, analysis, "form" if shape.format == "conllu" else names[0])
