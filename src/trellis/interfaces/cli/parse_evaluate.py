"""Measure a parser, or a file that has been parsed.

Unlabelled and labelled attachment scores (UAS, LAS), with and without punctuation, sentence accuracy, and
both scores by label. Without a model the trees of the file are compared with those of --gold.

examples:
  trellis parse evaluate --model en.parser en-test.conllu
  trellis parse evaluate --model en.parser --tagger upos.trellis en-test.conllu --no-subtypes
  trellis parse evaluate parsed.conllu --gold en-test.conllu
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import numpy as np

from trellis._support.errors import ArgumentError, CorpusError
from trellis.evaluation.attachment import attachment_of, is_punctuation
from trellis.interfaces.cli.file_shape import FileShape, shape_for
from trellis.interfaces.cli.options import SWITCH, Parser
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.parsing_files import tagging
from trellis.interfaces.cli.progress import say
from trellis.tasks.parsing.model import Parser as DependencyParser
from trellis.tasks.parsing.treebank import read_dependencies

if TYPE_CHECKING:
    from trellis.evaluation.attachment import AttachmentReport


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", metavar="FILE", help="file with true trees; without --model a file that has been parsed")
    add("--model", "-m", metavar="MODEL", help="parser")
    add("--gold", metavar="FILE", help="without a model: the file with true trees")
    add("--tagger", metavar="MODEL", help="a tagger whose labels replace the column of its target")
    add("--subtypes", action=SWITCH, default=True, help="whether nsubj:pass is another label than nsubj")
    add("--lenient", action="store_true", help="leave out sentences that have no tree, and say how many")
    parser.share("threads", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Show the figures."""
    report = _of_model(given) if given.model else _of_files(given)
    if given.json:
        show_json(report.to_dict())
    else:
        show(str(report))


def _of_model(given: Namespace) -> AttachmentReport:
    if given.gold is not None:
        raise ArgumentError("--gold is compared with a file that has been parsed; omit it, or omit --model")
    parser = DependencyParser.load(given.model)
    shape = shape_for(parser, given, given.source)
    trained = parser.training.get("corpus", {}).get("columns")
    columns = given.columns or (",".join(trained) if trained and shape.format == "conll" else None)
    treebank = read_dependencies(shape.read(given.source, columns), labelled=bool(parser.labels), lenient=given.lenient)
    if treebank.n_skipped:
        say(f"{treebank.n_skipped:,} sentences left out: they have no tree", given.json)
    corpus = tagging(given.tagger, given.threads)(treebank.corpus)
    return parser.evaluate(corpus, n_threads=given.threads, subtypes=given.subtypes)


def _of_files(given: Namespace) -> AttachmentReport:
    if given.gold is None or given.tagger is not None:
        raise ArgumentError("give --model, or a parsed file and the true one by --gold")
    if given.lenient:
        raise ArgumentError("--lenient skips sentences of a file to be parsed; give --model")
    shape = FileShape.of(given, given.source, others=[given.gold])
    found = read_dependencies(shape.read(given.source, given.columns))
    gold = read_dependencies(shape.beside(given, given.gold).read(given.gold, given.columns))
    words = gold.corpus.column(
        next(name for name in ("form", "word", *gold.corpus.columns) if name in gold.corpus.columns)
    )
    if not np.array_equal(found.corpus.starts, gold.corpus.starts):
        raise CorpusError(found.corpus.source, None, f"other sentences than in {given.gold}; compare the same ones")
    marks = np.array([is_punctuation(value) for value in words.values], bool)[words.codes]
    both = [(one.heads, None if one.labels is None else one.labels.tolist()) for one in (gold, found)]
    return attachment_of(gold.corpus.starts, marks, both[0], both[1], subtypes=given.subtypes)
