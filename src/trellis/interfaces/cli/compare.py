"""Compare two models of one task on a file with gold outputs, with significance tests.

McNemar's test counts what only one model predicts correctly: tokens for taggers, rerankers and dependency parsers,
whole sentences for constituency parsers and word segmenters. Approximate randomisation and bootstrap intervals use
span F1 or token accuracy for labels, attachment scores for dependencies, F1 of brackets, F1 of words. --differences
writes the tokens on which two taggers differ.

example:
  trellis compare -m old.trellis -m new.trellis test.txt --differences differ.tsv
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis._support.arrays import Bools, Longs
from trellis._support.errors import ArgumentError, ModelError
from trellis.corpus.corpus import Column
from trellis.corpus.schemes import guess_scheme
from trellis.evaluation.significance import bootstrap, f1_of, mcnemar, randomisation, sentence_counts
from trellis.evaluation.tagging import right_tokens
from trellis.interfaces.cli.files import gold_data, open_model, tagger_of
from trellis.interfaces.cli.options import FILES, Parser
from trellis.interfaces.cli.outputs import align, show, show_json, write_mistakes
from trellis.interfaces.cli.progress import show_steps
from trellis.tasks.model import TASKS

LABELS = ("tag", "rerank")


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("source", metavar="FILE", help="file with gold outputs")
    tasks = (task for task in FILES if task != "pipeline")
    parser.take(*tasks, action="append", help="model file; two are required: -m A -m B")
    parser.share("target", tasks=LABELS)
    parser.share("tagger", "no-tags", "lenient")
    differences = "file for a table of the tokens that get different labels"
    add("--differences", tasks=LABELS, metavar="FILE", help=differences)
    parser.share("threads", "json")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Predict with both, and test."""
    if len(options.model) != 2:
        raise ArgumentError(f"two models are required, -m A -m B, not {len(options.model)}")
    first, second = models = [open_model(options, path) for path in options.model]
    if first.task != second.task and {first.task, second.task} != set(LABELS):
        nouns = [TASKS[model.task].noun for model in models]
        raise ModelError(
            f"{options.model[0]} is a {nouns[0]} and {options.model[1]} a {nouns[1]}; compare models of one task"
        )
    with show_steps() as step:
        outcomes = list[_Outcome]()
        for path, model in zip(options.model, models, strict=True):
            step(f"predicting with {path}")
            data = gold_data(model, options, options.source)
            outcome = {"parse": _attachment, "trees": _brackets, "words": _words}.get(model.task, _labels)
            outcomes.append(outcome(model, data, options, first))
        a, b = outcomes
        if a.counts.shape != b.counts.shape or len(a.right) != len(b.right):
            names_of = " and ".join(options.model)
            raise ModelError(f"{names_of} read {options.source} differently; give --columns and --format")
        step("approximate randomisation")
        units, score = mcnemar(a.right, b.right), randomisation(a.counts, b.counts)
        step("bootstrap intervals")
        intervals = [bootstrap(outcome.counts) for outcome in outcomes]
    if options.differences is not None:
        differ = np.flatnonzero(~right_tokens(a.labels["predicted"], b.labels["predicted"])).tolist()
        columns = [("gold", a.labels["true"]), ("A", a.labels["predicted"]), ("B", b.labels["predicted"])]
        write_mistakes(options.differences, data, tagger_of(first).columns[0], columns, differ)
    scores = [float(f1_of(outcome.counts.sum(axis=0))) for outcome in outcomes]
    if options.json:
        figures = {"measure": a.measure, "scores": scores, "intervals": intervals}
        test = {"unit": a.unit, "only_a_right": units.a, "only_b_right": units.b, "p": units.p}
        show_json({**figures, "mcnemar": test, "randomisation": {"p": score.p}})
        return
    rows = [["", a.measure, "95% bootstrap interval", f"{a.unit} only it predicts correctly"]]
    for name, value, (low, high), count in zip("AB", scores, intervals, (units.a, units.b), strict=True):
        rows.append([name, f"{100 * value:.2f}", f"{100 * low:.2f} to {100 * high:.2f}", f"{count:.0f}"])
    tests = [
        f"McNemar's test ({a.unit}): p = {units.p:.4g}",
        f"approximate randomisation ({a.measure}): p = {score.p:.4g}",
        "p < 0.05 is conventionally called significant.",
    ]
    show("\n".join([align(rows, right=(1, 3)), "", *tests]))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How good a model is on every sentence."""

    measure: str
    unit: str  # of right
    right: Bools
    counts: Longs  # [n_sentences, 3] correct, predicted, gold
    labels: dict[str, Column]  # of taggers: true and predicted


def _labels(model: Any, corpus: Any, options: Namespace, first: Any) -> _Outcome:
    """Labels of tokens, and the spans that they mark."""
    target, target_of = options.target or tagger_of(first).target, tagger_of(model).target
    if options.target is None and target_of != target:
        names = f"{options.model[0]} predicts {target!r} and {options.model[1]} predicts {target_of!r}"
        raise ModelError(f"{names}; give the column of gold labels with --target")
    gold = corpus.column(target)
    predicted = model.predict_corpus(corpus, n_threads=options.threads).column(target_of)
    spans = guess_scheme(gold.values) is not None
    counts = sentence_counts(gold, predicted, corpus.starts, spans=spans)
    measure, labels = "span F1" if spans else "token accuracy", {"true": gold, "predicted": predicted}
    return _Outcome(measure, "tokens", right_tokens(gold, predicted), counts, labels)


def _attachment(model: Any, corpus: Any, options: Namespace, first: Any) -> _Outcome:
    """Heads, with their labels where both parsers have labels."""
    predicted = model.predict_corpus(corpus, n_threads=options.threads)
    name = "head+deprel" if first.labels and model.labels else "head"
    gold, predictions = corpus.column(name), predicted.column(name)
    measure = "UAS" if name == "head" else "LAS"
    counts = sentence_counts(gold, predictions, corpus.starts, spans=False)
    return _Outcome(measure, "tokens", right_tokens(gold, predictions), counts, {})


def _brackets(model: Any, trees: Any, options: Namespace, first: Any) -> _Outcome:
    """Labelled brackets."""
    from trellis.evaluation.brackets import brackets

    gold = [tree.clean() or tree for tree in trees]
    parses = model.predict_batch([tree.words for tree in gold] if options.no_tags else gold, n_threads=options.threads)
    pairs = [(brackets(tree, tree.pos), brackets(parse, tree.pos)) for tree, parse in zip(gold, parses, strict=True)]
    return _sets("bracket F1", "sentences", pairs)


def _words(model: Any, lines: Any, options: Namespace, first: Any) -> _Outcome:
    """Words, by where they begin and end."""
    from trellis.evaluation.words import places_of

    predictions = model.predict_batch(["".join(words) for words in lines], n_threads=options.threads)
    pairs = [(Counter(places_of(a)), Counter(places_of(b))) for a, b in zip(lines, predictions, strict=True)]
    return _sets("word F1", "lines", pairs)


def _sets(measure: str, unit: str, pairs: list[tuple[Any, Any]]) -> _Outcome:
    """Counts of the intersections of gold and predicted multisets."""
    counts = [((gold & predictions).total(), predictions.total(), gold.total()) for gold, predictions in pairs]
    return _Outcome(measure, unit, np.array([a == b for a, b in pairs], bool), np.array(counts, np.int64), {})
