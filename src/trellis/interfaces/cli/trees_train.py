"""Train a parser of constituency trees on a file of trees in brackets, and write it to one file.

Traces and function tags are left out. The learner pcfg counts rules; the others learn weights of rules, or with
--features spans (the default) of the words around phrases. Ctrl-C ends training after the epoch and keeps the best
parser so far; a second Ctrl-C gives up.

examples:
  trellis trees train train.trees --dev dev.trees --model trees.model
  trellis trees train train.trees --learner pcfg --vertical 2 --horizontal 1 --model pcfg.model
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from trellis._support.errors import ArgumentError
from trellis.corpus.brackets import read_trees
from trellis.interfaces.cli.interrupts import keeping_the_best
from trellis.interfaces.cli.learner_options import build_learner
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, show_json
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.trees.options import DEFAULT, PCFG
from trellis.tasks.trees.train import train

LEARNERS = (PCFG, "perceptron", "mira", "pa", "arow", "crf", "exponential")  # the others learn chains only


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("trees", metavar="FILE", help="trees in brackets; - is standard input")
    parser.share("model")
    add = parser.add_argument
    learners = f"one of {', '.join(LEARNERS)} (default: perceptron with epochs=6)"
    add("--learner", type=str.lower, choices=LEARNERS, metavar="NAME", help=learners)
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="any parameter of the learner: epochs=5")
    add("--features", metavar="NAME", help="spans, rules, or a file of templates of phrases (default: spans)")
    add("--vertical", type=at_least(1), default=1, metavar="N", help="labels that a phrase's symbol is made of")
    add("--horizontal", type=at_least(0), default=0, metavar="N", help="children that the rest of a phrase remembers")
    add("--prune", type=float, default=1e-4, metavar="P", help="least probability by the coarse grammar")
    add("--tagger", metavar="MODEL", help="tagger for sentences without tags; becomes part of the parser")
    add("--dev", metavar="FILE", help="held-out trees; the epoch that is best on them is kept")
    add("--patience", type=at_least(1), metavar="N", help="stop after N epochs without a better score")
    add("--checkpoint", metavar="FILE", help="written after every epoch; training resumes from it")
    add("--lenient", action="store_true", help="skip what is not a tree, and say how much that was")
    parser.share("threads", "quiet", "json")


def command(given: Namespace) -> None:
    """Train and write."""
    learner: object = PCFG
    if given.learner != PCFG:
        learner = build_learner(given.learner or DEFAULT, {}, given.set)
    elif given.set:
        raise ArgumentError("pcfg counts rules and has no parameters; omit --set")
    check_writable(given.model)
    check_apart(given.model, given.trees, given.dev, given.features, given.tagger)
    trees = read_trees(given.trees, lenient=given.lenient)
    dev = None if given.dev is None else read_trees(given.dev, lenient=given.lenient)
    skipped = len(trees.skipped) + (0 if dev is None else len(dev.skipped))
    if skipped:
        say(f"skipped {skipped:,} that are not trees; the first: {(trees.skipped or dev.skipped)[0]}", given.quiet)  # type: ignore[union-attr]
    with watch_epochs(given.quiet) as shown, keeping_the_best(shown, given.quiet) as observer:
        parser = train(
            trees,
            features=given.features,
            learner=learner,  # type: ignore[arg-type]
            vertical=given.vertical,
            horizontal=given.horizontal,
            prune=given.prune,
            tagger=None if given.tagger is None else Tagger.load(given.tagger),
            dev=dev,
            patience=given.patience,
            checkpoint=given.checkpoint,
            observer=observer,
            n_threads=given.threads,
        )
    parser.save(given.model)
    n_bytes = Path(given.model).stat().st_size
    rules, weights = len(parser.grammar.binary) + len(parser.grammar.unary), len(parser.model.rows.weights)
    say(f"{given.model}: {rules:,} rules, {weights:,} weights of spans, {n_bytes / 1e6:.1f} MB", given.quiet)
    if given.json:
        figures = {"model": given.model, "rules": rules, "weights": weights, "bytes": n_bytes, "skipped": skipped}
        show_json({**figures, "history": parser.training.get("history", [])})
