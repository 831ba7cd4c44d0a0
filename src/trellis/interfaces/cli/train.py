"""Train a model and write it to a file.

The model remembers the columns and the format of the training file. Ctrl-C ends training after the epoch and keeps
the best model so far; a second Ctrl-C gives up.

examples:
  trellis train train.txt --columns word,pos,chunk --features chunking --model chunk.trellis
  trellis train train.txt --learner crf --epochs 50 --set c2=0.1 --dev dev.txt --model chunk.trellis
  trellis train --stream parts/*.parquet --epochs 5 --model large.trellis
  trellis train en-train.conllu --target upos --dev en-dev.conllu --patience 3 --model upos.trellis
  trellis train en-train.conllu --target upos+feats --label-parts '|' --tag-dictionary 5 --model morphology.trellis
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from trellis._support.errors import ArgumentError
from trellis.corpus.blocks import BLOCK_BYTES, CorpusStream
from trellis.corpus.corpus import columns_named
from trellis.engine.weights import MANY_LABELS
from trellis.features.presets import PRESETS
from trellis.interfaces.cli.file_shape import FileShape
from trellis.interfaces.cli.interrupts import keeping_the_best
from trellis.interfaces.cli.learner_options import list_parameters
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, check_writable, show_json
from trellis.interfaces.cli.plot import check_plot
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.interfaces.cli.tagger_options import (
    chosen_learner,
    describe_learner,
    describe_tagger,
    tagger_options,
)
from trellis.tasks.tagging.model import Tagger
from trellis.tasks.tagging.train import train
from trellis.tasks.tagging.training.encoding import has_too_many_labels

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus
    from trellis.tasks.tagging.model import Tagger

AS_GIVEN = ("partial", "metric", "patience", "checkpoint")


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("corpus", nargs="+", metavar="FILE", help="training file, or several; - is standard input")
    parser.share("model")
    describe_tagger(add)
    add("--partial", action="store_true", help="labels may be empty (unknown) or A|B (one of them)")
    add("--init", metavar="MODEL", help="start from the weights of this model")
    add("--checkpoint", metavar="FILE", help="checkpoint file; the same command resumes from it")
    add("--checkpoint-every", type=at_least(1), metavar="N", help="epochs between checkpoints (default: 1)")
    stream = "read the files in blocks, again in each epoch: for more than memory holds (online learners)"
    add("--stream", action="store_true", help=stream)
    add("--block", type=at_least(1), metavar="MB", help="with --stream: megabytes of text per block (default: 4)")
    add("--note", metavar="TEXT", help="kept in the model; trellis info shows it")
    add("--plot", metavar="FILE", help="draw the learning curve: .png, .svg, .pdf, ...")
    parser.share("threads", "quiet", "json")
    describe_learner(parser.add_argument_group("options of the learner").add_argument, "see below (default: mira)")
    add = parser.add_argument_group("options of the dev file").add_argument
    add("--dev", metavar="FILE", help="held-out file; the epoch that is best on it is kept")
    metrics = "score that compares epochs; auto (default): F1 of spans where labels mark spans, else token accuracy"
    add("--metric", choices=("auto", "token", "sentence", "span"), help=metrics)
    add("--patience", type=at_least(1), metavar="N", help="stop after N epochs without a better score")
    parser.share_file_options()
    parser.more = _more


def _more() -> str:
    return f"""\
learners and their parameters (one without a value depends on the others or on the data):
{list_parameters()}

presets of --features:
  {", ".join(PRESETS)}"""


def command(given: Namespace) -> None:
    """Train a model and write it to a file."""
    begun = time.perf_counter()
    learner = chosen_learner(given)
    outputs = [path for path in (given.model, given.plot, given.checkpoint) if path is not None]
    for path in outputs:
        check_writable(path)
        check_apart(path, *given.corpus, given.dev, given.features)
    if len({Path(path).resolve() for path in outputs}) < len(outputs):
        raise ArgumentError("--model, --plot and --checkpoint name the same file; name different ones")
    if given.plot is not None:
        check_plot(given.plot, learner)
    older = None if given.init is None else Tagger.load(given.init)
    shape = FileShape.of(given, given.corpus[0], others=(*given.corpus[1:], given.dev))
    sentences = _sentences(given, shape)
    dev = shape.read_beside(given.dev, sentences.columns, given)
    target = given.target
    if target is None and older is None:
        is_conllu = shape.format == "conllu" and given.columns is None
        target = "upos" if is_conllu else list(sentences.columns)[-1]
    if not isinstance(sentences, CorpusStream):
        say(f"{len(sentences):,} sentences, {sentences.n_tokens:,} tokens from {sentences.source}", given.quiet)
        _warn_of_many_labels(given, sentences, target or older.target)  # type: ignore[union-attr]
    with watch_epochs(given.quiet) as shown, keeping_the_best(shown, given.quiet) as observer:
        tagger = train(
            sentences,
            target=target,
            learner=learner,
            init=older,
            dev=dev,
            observer=observer,
            checkpoint_every=given.checkpoint_every,
            n_threads=given.threads,
            info={"note": given.note} if given.note else None,
            **tagger_options(given),
            **{name: getattr(given, name) for name in AS_GIVEN},
        )
    tagger.training["corpus"] = shape.describe(sentences.columns)
    _say_what_is_not_read(given, shape, sentences.columns, tagger)
    if left_out := tagger.training.get("segments", {}).get("sentences_left_out"):
        said = "1 sentence" if left_out == 1 else f"{left_out:,} sentences"
        say(f"{said} left out: a segment of more than {given.segments.longest} tokens", given.quiet)
    if given.documents and tagger.model.first is None:
        say("stopped before the second pass over documents: a model of one pass", given.quiet)
    tagger.save(given.model)
    if given.plot is not None:
        tagger.plot_history().savefig(given.plot)
    n_weights, n_bytes = tagger.model.weights.n_nonzero, Path(given.model).stat().st_size
    size = f"{len(tagger.labels)} labels, {n_weights:,} weights, {n_bytes / 1e6:.1f} MB"
    say(f"{given.model}: {size}", given.quiet)
    if given.json:
        show_json(
            {
                "model": given.model,
                "target": tagger.target,
                "labels": len(tagger.labels),
                "weights": n_weights,
                "bytes": n_bytes,
                "sentences": tagger.training["sentences"],
                "tokens": tagger.training["tokens"],
                "seconds": time.perf_counter() - begun,
                "history": tagger.training["history"],
            }
        )


def _sentences(given: Namespace, shape: FileShape) -> Corpus | CorpusStream:
    """The training corpus: in memory, or in blocks."""
    if given.stream:
        return shape.stream(given.corpus, given.columns, given.block or BLOCK_BYTES >> 20)
    if given.block is not None:
        raise ArgumentError("--block is the size of blocks that are read with --stream; give both")
    first, *others = given.corpus
    corpus = shape.read(first, given.columns)
    for path in others:
        corpus += shape.beside(given, path).read(path, given.columns)
    return corpus


def _say_what_is_not_read(given: Namespace, shape: FileShape, columns: Iterable[str], tagger: Tagger) -> None:
    """Report unnamed columns that no feature reads, since users may expect them to be used."""
    targets = columns_named(tagger.target, tuple(columns))
    unread = [name for name in columns if name not in (*tagger.columns, *targets)]
    if unread and shape.format == "conll" and given.columns is None:
        numbers = [str(1 + list(columns).index(name)) for name in unread]
        noun = "column" if len(unread) == 1 else "columns"
        names = "--features says what is read, --columns names the columns"
        say(f"{noun} {', '.join(numbers)} of {given.corpus[0]} not used ({', '.join(unread)}); {names}", given.quiet)


def _warn_of_many_labels(given: Namespace, sentences: Corpus, target: str) -> None:
    n_labels = len(sentences.column(target).values)
    if given.order != 2 or given.tag_dictionary or given.prune or has_too_many_labels(n_labels, 2):
        return  # the library has a warning of its own for too many
    if n_labels > MANY_LABELS:
        say(f"order 2 with {n_labels} labels is slow; --prune makes it fast", given.quiet)
