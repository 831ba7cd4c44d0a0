"""Evaluate a model of any task on a file with gold outputs, or a file of predictions.

Taggers: token and sentence accuracy; for span labels precision, recall and F1 per type; for labels with parts
(NOUN|Case=Nom) the accuracy of the parts. Rerankers: also the scores of the tagger's first candidate and of the best
candidate (oracle). Dependency parsers: unlabelled and labelled attachment scores. Constituency parsers: labelled
brackets, counted as evalb does. Word segmenters: precision, recall and F1 of words, on a file with spaces between
words. Without a model, --predicted is compared with --gold; in column files, the last column of --predicted holds the
predicted labels.

examples:
  trellis evaluate -m chunk.trellis test.txt --error-analysis --errors mistakes.tsv
  trellis evaluate -m en.parser --tagger upos.trellis en-test.conllu --no-subtypes
  trellis evaluate -m morphology.trellis en-dev.conllu --target upos+feats
  trellis evaluate --gold test.txt --predicted tagged.txt
  trellis evaluate --task parse --gold en-test.conllu --predicted parsed.conllu
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Column, Corpus, labels_of
from trellis.corpus.files import BRACKETS, extension
from trellis.corpus.read import read_file
from trellis.evaluation.error_analysis import error_analysis_of
from trellis.evaluation.tagging import PartNames, evaluate_columns, right_tokens
from trellis.interfaces.cli.files import (
    check_task,
    file_shape,
    given_shape,
    gold_data,
    gold_document,
    open_model,
    read_examples,
    reject_file_options,
)
from trellis.interfaces.cli.options import FILES, Parser, at_least
from trellis.interfaces.cli.outputs import show, show_json, write_mistakes
from trellis.interfaces.cli.progress import say

Parts = dict[str, Any]  # the report, by name in JSON
EITHER = "give --model and a file with gold outputs, or the files --gold and --predicted"


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", nargs="?", metavar="FILE", help="file with gold outputs, for --model; - is standard input")
    parser.take(*FILES, required=False)
    add("--gold", metavar="FILE", help="file with gold outputs, for --predicted")
    add("--predicted", metavar="FILE", help="file with predicted outputs of the same sentences, instead of --model")
    tasks = "task of --predicted: tag, parse, trees, words or pipeline (default: trees for bracketed files, else tag)"
    add("--task", choices=("tag", "parse", "trees", "words", "pipeline"), metavar="TASK", help=tasks)
    parser.share("target", tasks=("tag", "rerank"))
    parser.share("label-parts")
    calibration = "calibration of a tagger's probabilities: ECE and reliability diagram"
    add("--calibration", action="store_true", tasks=("tag",), help=calibration)
    analysis = "scores per label, confusions, accuracy on known and unknown words, partial span matches"
    add("--error-analysis", action="store_true", tasks=("tag",), help=analysis)
    add("--errors", tasks=("tag",), metavar="FILE", help="file for a table of the tokens with a wrong label")
    parser.share("decode", "scheme", "tagger")
    subtypes = "dependency parsers: ignore subtypes of relations (nsubj:pass counts as nsubj)"
    add("--no-subtypes", action="store_true", tasks=("parse",), help=subtypes)
    gold_tokens = "pipelines: predict from the sentences and words of the file, not from its text"
    add("--gold-tokens", action="store_true", tasks=("pipeline",), help=gold_tokens)
    parser.share("no-tags")
    longest = "constituency parsers: evaluate only sentences of at most N words"
    add("--longest", type=at_least(1), tasks=("trees",), metavar="N", help=longest)
    parser.share("lenient", "threads", "quiet", "json")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Show the figures."""
    parts = _of_model(options) if options.model is not None else _of_files(options)
    if options.json:
        report = parts.pop("report")
        show_json({**report.to_dict(), **{name: part.to_dict() for name, part in parts.items()}})
    else:
        show("\n\n".join(map(str, parts.values())))


def _of_model(options: Namespace) -> Parts:
    """The figures of a model on a file."""
    if options.source is None or options.gold or options.predicted or options.task:
        raise ArgumentError(EITHER)
    model, settings = open_model(options), {"n_threads": options.threads}
    if model.task == "pipeline":
        reject_file_options(options, f"{options.source}: pipelines are evaluated on CoNLL-U")
        return {"report": model.evaluate(gold_document(options.source), gold_tokens=options.gold_tokens, **settings)}
    corpus = gold_data(model, options, options.source)
    if model.task == "words":
        return {"report": model.evaluate(corpus, **settings)}
    if model.task == "parse":
        return {"report": model.evaluate(corpus, subtypes=not options.no_subtypes, **settings)}
    if model.task == "trees":
        return {"report": model.evaluate(corpus, tags=not options.no_tags, longest=options.longest, **settings)}
    settings["target"] = options.target
    if model.task == "rerank":
        return {"report": model.evaluate(corpus, **settings)}
    predicted = model.tag_column(corpus, decode=options.decode or "viterbi", n_threads=options.threads)
    gold = labels_of(corpus, options.target or model.target)
    parts = {"report": model._report(corpus, gold, predicted, options.target, options.label_parts)}
    if options.error_analysis:
        parts["error_analysis"] = model._error_analysis(corpus, gold, predicted)
    if options.calibration:
        parts["calibration"] = model.reliability(corpus, **settings)
    _write_errors(options, corpus, model.columns[0], gold, predicted)
    return parts


def _write_errors(options: Namespace, corpus: Corpus, word: str, gold: Column, predicted: Column) -> None:
    """The tokens with a wrong label, for ``--errors``."""
    if options.errors is not None:
        wrong = np.flatnonzero(~right_tokens(gold, predicted)).tolist()
        write_mistakes(options.errors, corpus, word, [("gold", gold), ("predicted", predicted)], wrong)


def _of_files(options: Namespace) -> Parts:
    """The figures of one file by another."""
    if options.gold is None or options.predicted is None or options.source is not None:
        raise ArgumentError(EITHER)
    for name in ("calibration", "scheme", "decode", "tagger", "no_tags", "gold_tokens", "lenient", "threads"):
        if getattr(options, name):
            raise ArgumentError(f"--{name.replace('_', '-')} requires --model")
    task = options.task or ("trees" if extension(options.gold) in BRACKETS else "tag")
    check_task(options, task)
    if task in ("tag", "parse"):
        return _columns(options) if task == "tag" else _attachment(options)
    if task == "pipeline":
        from trellis.evaluation.pipeline import compare_documents

        reject_file_options(options, "documents are CoNLL-U")
        return {"report": compare_documents(*map(gold_document, (options.gold, options.predicted)))}
    from trellis.evaluation.brackets import evaluate_trees
    from trellis.evaluation.words import compare_words

    reject_file_options(options, "bracketed trees and lines of words have no columns")
    gold, predicted = (read_examples(task, path, options) for path in (options.gold, options.predicted))
    if task == "words":
        return {"report": compare_words(gold, predicted, ())}
    return {"report": evaluate_trees(gold, predicted, longest=options.longest)}


def _corpora(options: Namespace) -> tuple[Corpus, Corpus]:
    """The corpora of both files, which have the same sentences."""
    shape = file_shape(options, options.gold, others=[options.predicted])
    gold = read_file(options.gold, shape, options.columns)
    wider = given_shape(options).of(options.predicted, shape)
    columns = options.columns if options.task == "parse" or wider.format != "conll" else None
    predicted = gold if _is_one(options) else read_file(options.predicted, wider, columns)
    if not np.array_equal(gold.starts, predicted.starts):
        raise CorpusError(
            predicted.source, None, f"the sentences differ from those of {options.gold}; compare the same sentences"
        )
    return gold, predicted


def _is_one(options: Namespace) -> bool:
    """Whether gold and predicted labels are in one file."""
    return Path(options.gold).resolve() == Path(options.predicted).resolve()


def _columns(options: Namespace) -> Parts:
    """Labels in columns."""
    gold, predicted = _corpora(options)
    names, others = list(gold.columns), list(predicted.columns)
    is_conllu = "upos" in names and "feats" in names
    target = options.target or ("upos" if is_conllu else names[-2 if _is_one(options) and len(names) > 1 else -1])
    column = target if is_conllu or (target in others and others == names and not _is_one(options)) else others[-1]
    if _is_one(options) and column == target:
        raise CorpusError(options.gold, None, f"column {target!r} cannot be compared with itself; give two files")
    say(f"column {column!r} compared with the gold labels in column {target!r}", options.quiet or options.json)
    truth, guess = gold.column(target), predicted.column(column)
    parts = PartNames.of_column(target, names, options.label_parts)
    _write_errors(options, gold, "form" if is_conllu else names[0], truth, guess)
    extra = {"error_analysis": error_analysis_of(truth, guess, gold.starts)} if options.error_analysis else {}
    return {"report": evaluate_columns(truth, guess, gold.starts, parts=parts), **extra}


def _attachment(options: Namespace) -> Parts:
    """Dependency trees."""
    from trellis.evaluation.attachment import attachment_of
    from trellis.tasks.parsing.treebank import read_dependencies

    corpora = _corpora(options)
    trees = [read_dependencies(corpus) for corpus in corpora]
    names = corpora[0].columns
    words = corpora[0].column(next(name for name in ("form", "word", *names) if name in names))
    pairs = [(tree.heads, None if tree.labels is None else tree.labels.tolist()) for tree in trees]
    return {"report": attachment_of(corpora[0].starts, words, *pairs, subtypes=not options.no_subtypes)}
