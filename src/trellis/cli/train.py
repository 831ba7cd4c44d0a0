"""``trellis train``: from a corpus to a model's file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from trellis.cli.options import Columns, Comments, Format, Json, ModelFile, Quiet, Tabs, Threads

if TYPE_CHECKING:
    from trellis.learning.events import Event, Observer

MANY_LABELS = 60  # from here on the cube of their number hurts


def command(
    corpus: Annotated[str, typer.Argument(help="The training file; - is standard input.")],
    model: ModelFile,
    columns: Columns = None,
    target: Annotated[
        str | None, typer.Option(help="The column to learn; else the last one (upos of CoNLL-U).")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="A preset's name or a file of templates; else the preset default.")
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help="perceptron, mira, pa, arow, crf, maxent, exponential, boost, hmm, hmsvm or kernel-perceptron; "
            "see docs/learners.md."
        ),
    ] = "perceptron",
    order: Annotated[int | None, typer.Option(help="How many labels back a label looks: 0, 1 or 2.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the corpus.")] = None,
    average: Annotated[bool | None, typer.Option(help="Average the weights over training.")] = None,
    shuffle: Annotated[bool | None, typer.Option(help="Take sentences in another order each epoch.")] = None,
    seed: Annotated[int | None, typer.Option(help="For the shuffling.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any parameter of the learner, as key=value.")
    ] = None,
    dev: Annotated[str | None, typer.Option(help="A file by which the best epoch is chosen.")] = None,
    cutoff: Annotated[int, typer.Option(min=0, help="Drop features seen fewer times.")] = 0,
    pairs: Annotated[
        str | None,
        typer.Option(
            help="all, or seen: weights only for labels a feature was seen with; else as the learner likes."
        ),
    ] = None,
    tag_dictionary: Annotated[
        int | None,
        typer.Option(min=1, help="Words seen this often get only labels they were seen with."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="By which figure epochs are compared on dev: auto, token, sentence or span.")
    ] = "auto",
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many epochs without a better one on dev.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Labels may be empty (unknown) or A|B (one of them).")
    ] = False,
    scheme: Annotated[
        str | None, typer.Option(help="Forbid label sequences that are illegal in it: iob2, iobes, ...")
    ] = None,
    init: Annotated[str | None, typer.Option(help="A model to go on from.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="A file to keep training in, so that it can be taken up again.")
    ] = None,
    checkpoint_every: Annotated[int, typer.Option(min=1, help="Epochs between checkpoints.")] = 1,
    plot: Annotated[
        str | None, typer.Option(help="A picture of the learning curve: .png, .svg, .pdf.")
    ] = None,
    format: Format = None,
    comments: Comments = None,
    tabs: Tabs = None,
    threads: Threads = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a model and write it to a file."""
    from pathlib import Path

    from trellis.cli.file_shape import FileShape
    from trellis.cli.interrupts import keeping_the_best
    from trellis.cli.learners import build_learner
    from trellis.cli.outputs import check_writable, print_json
    from trellis.cli.plot import check_plot, draw
    from trellis.cli.progress import say, watch_epochs
    from trellis.tagger import Tagger
    from trellis.training import train

    begun = time.perf_counter()
    given = {"epochs": epochs, "average": average, "shuffle": shuffle, "seed": seed}
    chosen = build_learner(learner, given, settings or ())
    check_writable(model)
    _check_apart(model, corpus, dev, features)
    if plot is not None:
        check_plot(plot)
    older = None if init is None else Tagger.load(init)
    shape = FileShape.of(corpus, format, tabs, comments)
    sentences = shape.read(corpus, columns)
    dev_sentences = None
    if dev is not None:
        names = ",".join(sentences.columns) if columns or shape.format == "conll" else None
        dev_sentences = FileShape.of(dev, format, tabs, comments, like=shape).read(dev, names)
    if target is None and older is None:
        target = "upos" if shape.format == "conllu" and columns is None else list(sentences.columns)[-1]
    say(f"{len(sentences):,} sentences, {sentences.n_tokens:,} tokens from {sentences.source}", quiet)
    n_labels = len(sentences.column(target or older.target).values)  # type: ignore[union-attr]
    if order == 2 and n_labels > MANY_LABELS and not tag_dictionary:
        say(f"order 2 with {n_labels} labels is slow; --tag-dictionary 5 makes it quick", quiet)
    history: list[Event] = []
    with watch_epochs(quiet) as shown, keeping_the_best(_both(history, shown), quiet) as observer:
        tagger = train(
            sentences,
            target=target,
            features=features,
            learner=chosen,
            order=order,
            cutoff=cutoff,
            pairs=pairs,  # type: ignore[arg-type]
            tag_dictionary=tag_dictionary or False,
            scheme=scheme,
            partial=partial,
            init=older,
            dev=dev_sentences,
            metric=metric,
            patience=patience,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            observer=observer,
            n_threads=threads,
            info={"corpus": shape.describe(sentences)},
        )
    tagger.save(model)
    if plot is not None:
        draw(history, plot, f"{tagger.target}: {learner}")
    n_weights, n_bytes = tagger.model.weights.n_nonzero, Path(model).stat().st_size
    say(f"{model}: {len(tagger.labels)} labels, {n_weights:,} weights, {n_bytes / 1e6:.1f} MB", quiet)
    if as_json:
        print_json(
            {
                "model": model,
                "target": tagger.target,
                "labels": len(tagger.labels),
                "weights": n_weights,
                "bytes": n_bytes,
                "sentences": len(sentences),
                "tokens": sentences.n_tokens,
                "seconds": time.perf_counter() - begun,
                "history": tagger.info["history"],
            }
        )


def _both(history: list[Event], shown: Observer | None) -> Observer:
    """An observer that keeps events and shows them."""

    def observe(event: Event) -> None:
        history.append(event)
        if shown is not None:
            shown(event)

    return observe


def _check_apart(model: str, *read: str | None) -> None:
    """A model must not replace a file that training reads."""
    from pathlib import Path

    from trellis.errors import ModelError

    target = Path(model)
    for path in read:
        if path is not None and target.exists() and Path(path).exists() and target.samefile(path):
            raise ModelError(f"{model}: the model would replace {path}, which is read; name another file")
