"""Train a model of any task and write it to a file; trellis train --task TASK --help lists the options of a task.

Taggers and rerankers learn a column of labels, dependency parsers the columns head and deprel, constituency parsers
bracketed trees, word segmenters lines with spaces between words. The model stores the columns and the format of the
training file. Ctrl-C stops training after the current epoch and saves the best model so far; a second Ctrl-C aborts.

examples:
  trellis train train.txt --columns word,pos,chunk --features chunking -m chunk.trellis
  trellis train train.txt --learner crf --epochs 50 --set c2=0.1 --dev dev.txt -m chunk.trellis
  trellis train --stream parts/*.parquet --epochs 5 -m large.trellis
  trellis train en-train.conllu --target upos --dev en-dev.conllu --patience 3 -m upos.trellis
  trellis train --task parse en-train.conllu --dev en-dev.conllu -m en.parser
  trellis train --task trees train.trees --learner pcfg --vertical 2 --horizontal 1 -m pcfg.model
  trellis train --task words words.txt --segments 10 -m words.trellis
  trellis train --task rerank train.txt --reranker mira --kbest 50 -m chunk.rerank
"""

from __future__ import annotations

import time
from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from trellis._support.errors import ArgumentError, LearnerError
from trellis.corpus.corpus import Corpus, columns_named
from trellis.interfaces.cli.files import training_data
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_picture, show_json
from trellis.interfaces.cli.progress import say, watch_epochs
from trellis.interfaces.cli.training_options import (
    describe_training,
    list_parameters,
    tagger_options,
    training_options,
)
from trellis.tasks.model import class_of

COLUMNS = ("tag", "parse", "rerank")  # tasks that learn from columns


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("corpus", nargs="+", metavar="FILE", help="training files; - is standard input")
    parser.share("model")
    parser.outputs += ("model",)
    task = parser.task()
    add("--note", metavar="TEXT", help="note to store in the model; trellis info shows it")
    add("--plot", metavar="FILE", help="file for a plot of the learning curves, .svg")
    if task in ("tag", "parse"):
        stream = "keep tokens and attributes in temporary files: for corpora larger than memory"
        add("--stream", action="store_true", help=stream)
        add("--block", type=at_least(1), metavar="MB", help="block size of --stream in MB of text (default: 4)")
    if task == "tag":
        add(
            "--workers",
            type=at_least(1),
            metavar="N",
            help="number of Ray workers to train on, each with its own files",
        )
        add("--ray", metavar="ADDRESS", help="Ray cluster: auto or HOST:PORT (default: Ray on this machine)")
    parser.share("threads", "quiet", "json")
    describe_training(parser, task)
    if task in COLUMNS:
        parser.share_file_options()
    parser.more = lambda: f"learners and their parameters:\n{list_parameters()}"


def command(options: Namespace) -> None:
    """Train a model and write it to a file."""
    start, task = time.perf_counter(), options.task
    if options.plot is not None:
        check_picture(options.plot)
    values = training_options(options, task)
    learner = values.get("learner")
    if options.plot is not None and (learner == "pcfg" or "epochs" not in getattr(learner, "constraints", ["epochs"])):
        raise LearnerError("--plot: the learner has no epochs, so there is no learning curve")
    data, values["dev"], layout = training_data(options, task, options.corpus, options.dev)
    with watch_epochs(options.quiet) as observer:
        values |= {"observer": observer, "info": {"note": options.note} if options.note else None}
        with _workers(options) as workers:
            values |= {} if workers is None else {"workers": workers}
            model = trained(options, task, data, layout, values)
    _say_figures(options, layout, model)
    model.save(options.model)
    if options.plot is not None:
        model.plot_history().save(options.plot)
    n_bytes = Path(options.model).stat().st_size
    say(f"{options.model}: {model}, {n_bytes / 1e6:.1f} MB", options.quiet)
    if options.json:
        record = {name: model.training[name] for name in ("skipped", "lists", "history") if name in model.training}
        seconds = time.perf_counter() - start
        show_json({"model": options.model, **model.summary(), "bytes": n_bytes, "seconds": seconds, **record})


def _workers(options: Namespace) -> AbstractContextManager[Any]:
    """The workers that were asked for."""
    if getattr(options, "workers", None) is None:
        if getattr(options, "ray", None) is not None:
            raise ArgumentError("--ray requires --workers")
        return nullcontext()
    from trellis.interfaces.cluster.ray_workers import connect

    return connect(options.ray, options.workers)


def trained(options: Namespace, task: str, data: Any, layout: dict[str, Any] | None, values: dict[str, Any]) -> Any:
    """The model of a training; it remembers the columns and the shape of its file."""
    if task == "rerank":
        settings = tagger_options(options)

        def tagger(part: Corpus) -> Any:
            say(f"training a tagger on {len(part):,} sentences", options.quiet)
            model: Any = class_of("tag").train(part, **settings)
            model.training["corpus"] = layout
            return model

        values = {**values, "tagger": tagger}
    model = class_of(task).train(data, **values)
    if layout is not None:
        model.training["corpus"] = layout
    return model


def _say_figures(options: Namespace, layout: dict[str, Any] | None, model: Any) -> None:
    """Report sentences, passes and columns that the training did without, and the lists of a reranker."""
    if skipped := model.training.get("skipped"):
        say(f"skipped {skipped:,} sentences without a tree", options.quiet)
    if skipped := model.training.get("segments", {}).get("sentences_left_out"):
        longest = options.segments.longest
        say(f"skipped {skipped:,} sentences with a segment of more than {longest} tokens", options.quiet)
    if lists := model.training.get("lists"):
        first, oracle = (f"{100 * lists[name]:.2f}" for name in ("first", "oracle"))
        say(f"candidate lists: score of the first candidates {first}, oracle score {oracle}", options.quiet)
    if model.task != "tag" or layout is None:
        return
    columns = layout["columns"]
    unread = [name for name in columns if name not in (*model.columns, *columns_named(model.target, tuple(columns)))]
    if unread and layout["format"] == "conll" and options.columns is None:
        numbers = ", ".join(str(1 + columns.index(name)) for name in unread)
        noun = "column" if len(unread) == 1 else "columns"
        reason = "select features with --features, name columns with --columns"
        say(f"{noun} {numbers} of {options.corpus[0]} not used ({', '.join(unread)}); {reason}", options.quiet)
