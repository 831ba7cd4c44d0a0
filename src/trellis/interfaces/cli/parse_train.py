"""Train a dependency parser and write it to a file.

Trees are read from the columns head and deprel, as CoNLL-U has them. Ctrl-C ends training after the epoch and keeps the
best parser so far; a second Ctrl-C gives up.

examples:
  trellis parse train en-train.conllu --dev en-dev.conllu --model en.parser
  trellis parse train train.tsv --columns word,pos,head --order 1 --learner perceptron --epochs 5 --model wsj.parser
"""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path

from trellis._support.errors import ArgumentError
from trellis.features.arc_presets import ARC_PRESETS
from trellis.interfaces.cli.file_shape import FileShape
from trellis.interfaces.cli.interrupts import keeping_the_best
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, show_json
from trellis.interfaces.cli.parsing_files import tagging
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.interfaces.cli.tagger_options import chosen_learner, describe_learner
from trellis.tasks.parsing.options import DEFAULT, FILTER
from trellis.tasks.parsing.train import train

LEARNERS = ("mira", "perceptron", "pa", "arow", "crf", "exponential")  # the others learn chains only


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("corpus", metavar="FILE", help="training file; - is standard input")
    parser.share("model")
    presets = ", ".join(ARC_PRESETS)
    add(
        "--features",
        metavar="NAME",
        help=f"a preset ({presets}) or a file of templates of arcs (default: those of ud whose columns are there)",
    )
    add("--order", type=int, choices=(1, 2), default=2, help="1: scores of arcs; 2: of siblings too")
    add("--non-projective", action="store_true", help="arcs may cross (order 1)")
    add("--unlabelled", action="store_true", help="leave labels out, even if there is a column deprel")
    add("--filter", default=FILTER, metavar="TEMPLATE", help="arcs must share it with one of training; none: all arcs")
    add("--lenient", action="store_true", help="leave out sentences that have no tree, and say how many")
    add("--tagger", metavar="MODEL", help="a tagger whose labels replace the column of its target")
    add("--checkpoint", metavar="FILE", help="checkpoint file; the same command resumes from it")
    add("--checkpoint-every", type=at_least(1), metavar="N", help="epochs between checkpoints (default: 1)")
    parser.share("threads", "quiet", "json")
    add = parser.add_argument_group("options of the learner").add_argument
    learners = f"one of {', '.join(LEARNERS)} (default: mira with C=0.01, epochs=10, shuffle=False)"
    describe_learner(add, learners, LEARNERS)
    add = parser.add_argument_group("options of the dev file").add_argument
    add("--dev", metavar="FILE", help="held-out file; the epoch that is best on it is kept")
    add("--metric", choices=("auto", "uas", "las"), help="score that compares epochs (default: auto)")
    add("--patience", type=at_least(1), metavar="N", help="stop after N epochs without a better score")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Train a parser and write it to a file."""
    begun = time.perf_counter()
    learner = chosen_learner(given, DEFAULT)
    outputs = [path for path in (given.model, given.checkpoint) if path is not None]
    for path in outputs:
        check_writable(path)
        check_apart(path, given.corpus, given.dev, given.features, given.tagger)
    if given.checkpoint is not None and Path(given.model).resolve() == Path(given.checkpoint).resolve():
        raise ArgumentError("--model and --checkpoint name the same file; name different ones")
    tag = tagging(given.tagger, given.threads)
    shape = FileShape.of(given, given.corpus, others=[given.dev])
    corpus = tag(shape.read(given.corpus, given.columns))
    dev = shape.read_beside(given.dev, corpus.columns, given)
    say(f"{len(corpus):,} sentences, {corpus.n_tokens:,} tokens from {corpus.source}", given.quiet)
    with watch_epochs(given.quiet) as shown, keeping_the_best(shown, given.quiet) as observer:
        parser = train(
            corpus,
            features=given.features,
            learner=learner,
            order=given.order,
            projective=not given.non_projective,
            labelled=False if given.unlabelled else None,
            filter=None if given.filter == "none" else given.filter,
            lenient=given.lenient,
            dev=None if dev is None else tag(dev),
            metric=given.metric,
            patience=given.patience,
            checkpoint=given.checkpoint,
            checkpoint_every=given.checkpoint_every,
            observer=observer,
            n_threads=given.threads,
        )
    parser.training["corpus"] = shape.describe(corpus.columns)
    if skipped := parser.training["skipped"]:
        say(f"{skipped:,} sentences left out: they have no tree", given.quiet)
    parser.save(given.model)
    n_weights, n_bytes = len(parser.weights["values"]), Path(given.model).stat().st_size
    say(f"{given.model}: {len(parser.labels)} labels, {n_weights:,} weights, {n_bytes / 1e6:.1f} MB", given.quiet)
    if given.json:
        figures = {"model": given.model, "labels": len(parser.labels), "weights": n_weights, "bytes": n_bytes}
        told = {name: parser.training[name] for name in ("sentences", "skipped", "history")}
        show_json({**figures, **told, "seconds": time.perf_counter() - begun})
