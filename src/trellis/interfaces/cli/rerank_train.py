"""Train a tagger and a reranker of its k best label sequences, and write both to one file.

The corpus is cut into folds; the k best of each fold come from a tagger trained on the others. From these lists the
reranker learns to choose by features of whole sequences. The file is for trellis rerank apply and evaluate. Ctrl-C
ends the reranker's training after the epoch and keeps the best one so far; a second Ctrl-C gives up.

examples:
  trellis rerank train train.txt --columns word,pos,chunk --features chunking --model chunk.rerank
  trellis rerank train train.txt --learner crf --reranker mira --reranker-set C=0.01 --kbest 50 --model chunk.rerank
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from trellis._support.errors import ArgumentError
from trellis.interfaces.cli.file_shape import FileShape
from trellis.interfaces.cli.interrupts import keeping_the_best
from trellis.interfaces.cli.learner_options import build_learner
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, show_json
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.interfaces.cli.tagger_options import chosen_learner, describe_learner, describe_tagger, tagger_options
from trellis.tasks.reranking import FEATURES, train
from trellis.tasks.tagging.train import train as train_tagger

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus
    from trellis.tasks.tagging.model import Tagger

RERANKERS = ("perceptron", "mira", "pa", "arow", "crf", "exponential", "hmsvm")  # the others learn chains only


def describe(parser: Parser) -> None:
    """The options."""
    parser.add_argument("corpus", metavar="FILE", help="training file; - is standard input")
    parser.share("model", "threads", "quiet", "json")
    add = parser.add_argument_group("options of the tagger, as of trellis train").add_argument
    describe_tagger(add)
    describe_learner(add)
    add = parser.add_argument_group("options of the reranker").add_argument
    add("--kbest", type=at_least(1), default=20, metavar="K", help="length of the lists")
    add("--folds", type=at_least(2), default=5, metavar="N", help="folds of cross-validation")
    add(
        "--cost",
        choices=("auto", "tokens", "spans"),
        default="auto",
        help="what a wrong candidate costs: its wrong tokens, or missed and false spans",
    )
    learners = f"learner of the reranker: {', '.join(RERANKERS)} (with --reranker-set solver=frank-wolfe)"
    add("--reranker", type=str.lower, choices=RERANKERS, default="perceptron", metavar="NAME", help=learners)
    add("--reranker-set", action="append", default=[], metavar="NAME=VALUE", help="any parameter of that learner")
    names = f"features of whole sequences, between commas: {', '.join(FEATURES)}, or templates (default: all names)"
    add("--reranker-features", metavar="NAMES", help=names)
    add("--dev", metavar="FILE", help="held-out file; the epoch of the reranker that is best on it is kept")
    add("--patience", type=at_least(1), metavar="N", help="stop after N epochs without a better score")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Train and write."""
    learner = chosen_learner(given)
    reranking = build_learner(given.reranker, {}, given.reranker_set, "--reranker-set")
    if given.patience is not None and given.dev is None:
        raise ArgumentError("--patience compares epochs on a held-out file; give --dev")
    check_writable(given.model)
    check_apart(given.model, given.corpus, given.features, given.dev)
    shape = FileShape.of(given, given.corpus, others=[given.dev])
    corpus = shape.read(given.corpus, given.columns)
    dev = shape.read_beside(given.dev, corpus.columns, given)
    is_conllu = shape.format == "conllu" and given.columns is None
    target = given.target or ("upos" if is_conllu else list(corpus.columns)[-1])
    options = tagger_options(given)

    def tagger(part: Corpus) -> Tagger:
        say(f"training a tagger on {len(part):,} sentences", given.quiet)
        tagger = train_tagger(part, target=target, learner=learner, n_threads=given.threads, **options)
        tagger.training["corpus"] = shape.describe(corpus.columns)
        return tagger

    features = None if given.reranker_features is None else given.reranker_features.split(",")
    with watch_epochs(given.quiet, "reranking") as shown, keeping_the_best(shown, given.quiet) as observer:
        reranker = train(
            corpus,
            tagger=tagger,
            learner=reranking,
            k=given.kbest,
            folds=given.folds,
            features=features,
            cost=given.cost,
            dev=dev,
            patience=given.patience,
            observer=observer,
            n_threads=given.threads,
        )
    reranker.save(given.model)
    lists, n_bytes = reranker.training["lists"], Path(given.model).stat().st_size
    first, oracle = (f"{100 * lists[name]:.2f}" for name in ("first", "oracle"))
    say(f"lists: the first candidates score {first}, the best ones (oracle) {oracle}", given.quiet)
    say(f"{given.model}: {len(reranker.model.names):,} features, {n_bytes / 1e6:.1f} MB", given.quiet)
    if given.json:
        figures = {"model": given.model, "target": target, "features": len(reranker.model.names), "bytes": n_bytes}
        show_json({**figures, "lists": lists, "history": reranker.training["history"]})
