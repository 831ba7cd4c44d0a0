"""Evaluate a model of any task on a file with gold outputs, or a file of predictions.

Taggers: token and sentence accuracy, for labels that mark spans precision, recall and F1 per type, for labels with
parts (NOUN|Case=Nom) the accuracy of the parts. Rerankers: the tagger's first choice, the reranker's, and the best
candidate (oracle). Dependency parsers: unlabelled and labelled attachment scores. Constituency parsers: labelled
brackets, counted as evalb counts them. Word segmenters: precision, recall and F1 of words; the file has spaces between
words. Without a model the file of --predicted is compared with that of --gold; in columns, the last column of
--predicted are the predicted labels.

examples:
  trellis evaluate -m chunk.trellis test.txt --error-analysis --errors mistakes.tsv
  trellis evaluate -m en.parser --tagger upos.trellis en-test.conllu --no-subtypes
  trellis evaluate -m morphology.trellis en-dev.conllu --target upos+feats
  trellis evaluate --gold test.txt --predicted tagged.txt
  trellis evaluate --task parse --gold en-test.conllu --predicted parsed.conllu
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.files import extension
from trellis.evaluation.error_analysis import ErrorAnalysis, error_analysis_of
from trellis.evaluation.tagging import PartNames, evaluate_columns, right_tokens
from trellis.interfaces.cli.file_shape import BRACKETS, FILES, FileShape, open_model, reject_file_options
from trellis.interfaces.cli.mistakes import check_mistakes, write_mistakes
from trellis.interfaces.cli.options import Once, Parser, at_least, reject_other_tasks
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.progress import say
from trellis.interfaces.cli.task_files import LENIENT, gold_data

if TYPE_CHECKING:
    from trellis.corpus.corpus import Column, Corpus
    from trellis.evaluation.reliability import Calibration

# The tasks that options are for; all others are for every task.
TASKS_OF = {
    **dict.fromkeys(("label_parts", "calibration", "error_analysis", "errors", "decode", "scheme"), ("tag",)),
    "target": ("tag", "rerank"),
    "tagger": ("parse",),
    "no_subtypes": ("parse",),
    "no_tags": ("trees",),
    "longest": ("trees",),
    "lenient": LENIENT,
}


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", metavar="FILE", help="with --model: file with gold outputs; - is standard input")
    add("--model", "-m", action=Once, metavar="MODEL", help="model file")
    add("--gold", metavar="FILE", help="without a model: file with gold outputs")
    add("--predicted", metavar="FILE", help="without a model: file with predicted outputs of the same sentences")
    tasks = "of --predicted: tag, parse, trees or words (default: trees for files in brackets, else tag)"
    add("--task", choices=("tag", "parse", "trees", "words"), metavar="TASK", help=tasks)
    parser.share("target", "label-parts")
    add("--calibration", action="store_true", help="reliability of a tagger's probabilities")
    add(
        "--error-analysis",
        action="store_true",
        help="scores per label, confusions, known words, partial matches of spans",
    )
    add("--errors", metavar="FILE", help="write the tokens with a wrong label, as a table")
    parser.share("decode", "scheme", "tagger")
    add("--no-subtypes", action="store_true", help="of dependency parsers: nsubj:pass counts as nsubj")
    parser.share("no-tags")
    add("--longest", type=at_least(1), metavar="N", help="of constituency parsers: only sentences of up to N words")
    parser.share("lenient", "threads", "quiet", "json")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Show the figures."""
    check_mistakes(options.errors, options.source, options.model, options.gold, options.predicted)
    outcome = _of_model(options) if options.model is not None else _of_files(options)
    more = outcome.analysis() if options.error_analysis else None
    if options.errors is not None:
        outcome.write_errors(options.errors)
    if options.json:
        parts = {"calibration": outcome.calibration, "error_analysis": more}
        known = {name: part.to_dict() for name, part in parts.items() if part is not None}
        show_json({**outcome.report.to_dict(), **known})
    else:
        show("\n\n".join(str(part) for part in (outcome.report, more, outcome.calibration) if part is not None))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A report; of taggers also what closer looks need."""

    report: Any
    analysis: Callable[[], ErrorAnalysis | None] = lambda: None
    corpus: Corpus | None = None
    gold: Column | None = None
    predicted: Callable[[], Column] | None = None
    word: str = ""  # the column that has the words
    calibration: Calibration | None = None

    def write_errors(self, path: str) -> None:
        """The tokens that are wrong."""
        assert self.predicted is not None
        assert self.gold is not None
        assert self.corpus is not None
        predicted = self.predicted()
        wrong = np.flatnonzero(~right_tokens(self.gold, predicted)).tolist()
        write_mistakes(path, self.corpus, self.word, [("true", self.gold), ("predicted", predicted)], wrong)


def _of_model(options: Namespace) -> _Outcome:
    """The figures of a model on a file."""
    if options.source is None or options.gold or options.predicted or options.task:
        raise ArgumentError("give --model and a file with gold outputs, or --gold and --predicted, two files")
    model = open_model(options, "evaluate", *FILES)
    reject_other_tasks(options, model.task, TASKS_OF)
    corpus, n_threads = gold_data(model, options, options.source), options.threads
    if model.task == "tag":
        return _of_tagger(model, corpus, options)
    own: dict[str, Any] = {}
    if model.task == "parse":
        own = {"subtypes": not options.no_subtypes}
    elif model.task == "trees":
        own = {"tags": not options.no_tags, "longest": options.longest}
    elif model.task == "rerank":
        own = {"target": options.target}
    return _Outcome(model.evaluate(corpus, n_threads=n_threads, **own))


def _of_tagger(tagger: Any, corpus: Corpus, options: Namespace) -> _Outcome:
    how, decode = {"target": options.target, "n_threads": options.threads}, options.decode or "viterbi"
    report = tagger.evaluate(corpus, decode=decode, label_parts=options.label_parts, **how)
    analysis = partial(tagger.error_analysis, corpus, decode=decode, **how)
    calibration = tagger.reliability(corpus, **how) if options.calibration else None
    gold = corpus.column(options.target or tagger.target)
    tagged = partial(tagger.tag_column, corpus, decode=decode, n_threads=options.threads)
    return _Outcome(report, analysis, corpus, gold, tagged, tagger.columns[0], calibration)


def _of_files(options: Namespace) -> _Outcome:
    """The figures of one file by another."""
    if options.gold is None or options.predicted is None or options.source is not None:
        raise ArgumentError("give --model and a file with gold outputs, or --gold and --predicted, two files")
    for name in ("calibration", "scheme", "decode", "tagger", "no_tags", "lenient", "threads"):
        if getattr(options, name):
            raise ArgumentError(f"--{name.replace('_', '-')} needs a model; give --model, or omit it")
    task = options.task or ("trees" if extension(options.gold) in BRACKETS else "tag")
    reject_other_tasks(options, task, TASKS_OF)
    compare = {"tag": _columns, "parse": _attachment, "trees": _brackets, "words": _words}[task]
    return compare(options)


def _corpora(options: Namespace) -> tuple[Corpus, Corpus]:
    """The corpora of both files, which have the same sentences."""
    shape = FileShape.of(options, options.gold, others=[options.predicted])
    gold = shape.read(options.gold, options.columns)
    wider = shape.beside(options, options.predicted)
    named = options.columns if options.task == "parse" or wider.format != "conll" else None
    predicted = gold if _is_one(options) else wider.read(options.predicted, named)
    if not np.array_equal(gold.starts, predicted.starts):
        raise CorpusError(predicted.source, None, f"other sentences than in {options.gold}; compare the same ones")
    return gold, predicted


def _is_one(options: Namespace) -> bool:
    """Whether gold and predicted labels are in one file."""
    return Path(options.gold).resolve() == Path(options.predicted).resolve()


def _columns(options: Namespace) -> _Outcome:
    """Labels in columns."""
    gold, predicted = _corpora(options)
    names, others = list(gold.columns), list(predicted.columns)
    is_conllu = "upos" in names and "feats" in names
    target = options.target or ("upos" if is_conllu else names[-2 if _is_one(options) and len(names) > 1 else -1])
    own = target if is_conllu or (target in others and others == names and not _is_one(options)) else others[-1]
    if _is_one(options) and own == target:
        raise CorpusError(options.gold, None, f"column {target!r} cannot be compared with itself; give two files")
    say(f"column {own!r} compared with the gold labels in column {target!r}", options.quiet or options.json)
    truth, guess = gold.column(target), predicted.column(own)
    parts = PartNames.of_column(target, names, options.label_parts)
    report = evaluate_columns(truth, guess, gold.starts, parts=parts)
    analysis = partial(error_analysis_of, truth, guess, gold.starts)
    return _Outcome(report, analysis, gold, truth, lambda: guess, "form" if is_conllu else names[0])


def _attachment(options: Namespace) -> _Outcome:
    """Dependency trees."""
    from trellis.evaluation.attachment import attachment_of
    from trellis.tasks.parsing.treebank import read_dependencies

    corpora = _corpora(options)
    trees = [read_dependencies(corpus) for corpus in corpora]
    names = corpora[0].columns
    words = corpora[0].column(next(name for name in ("form", "word", *names) if name in names))
    pairs = [(tree.heads, None if tree.labels is None else tree.labels.tolist()) for tree in trees]
    return _Outcome(attachment_of(corpora[0].starts, words, *pairs, subtypes=not options.no_subtypes))


def _brackets(options: Namespace) -> _Outcome:
    """Constituency trees."""
    from trellis.corpus.brackets import read_trees
    from trellis.evaluation.brackets import evaluate_trees

    reject_file_options(options, "trees in brackets have no columns")
    gold, predicted = read_trees(options.gold), read_trees(options.predicted)
    return _Outcome(evaluate_trees(gold, predicted, longest=options.longest))


def _words(options: Namespace) -> _Outcome:
    """Lines of words."""
    from trellis.corpus.unspaced import read_segmented
    from trellis.evaluation.words import compare_words

    reject_file_options(options, "lines of words have no columns")
    gold, predicted = (read_segmented(path).lines for path in (options.gold, options.predicted))
    return _Outcome(compare_words(gold, predicted, ()))
