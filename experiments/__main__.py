"""Command line: ``python -m experiments`` lists the experiments, runs one or all, or measures bounds on a corpus."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from experiments import EXPERIMENTS, RESULTS, Run, experiment, run
from experiments.bounds import draw_mistakes, study
from experiments.data import MissingCorpusError
from experiments.page import check_report, write_report
from experiments.report import as_text
from experiments.steps import Watcher
from trellis.interfaces.cli.files import training_data
from trellis.interfaces.cli.main import reporting_errors
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, check_picture, show, show_json
from trellis.interfaces.cli.progress import say, watch_epochs, write_over
from trellis.learning.run import interrupts_raise

PROGRAM = "python -m experiments"
ABOUT = """Rerun the experiments of the papers, with the printed figures beside ours.

Without a name the experiments are listed; "all" runs all whose corpora are present. Finished steps are stored in
--results, so that an interrupted run resumes. docs/papers.md lists the corpora and their sources.
"python -m experiments bounds FILE" measures the perceptron's theorems on a corpus of your own.

example:
  python -m experiments collins-chunking --data corpora
"""
ABOUT_BOUNDS = """Measure what the perceptron's theorems say of a corpus.

Trains the perceptron and shows its mistakes beside the bounds of Collins 2002: the largest distance between two
outputs (R), the margin, and the bounds of theorems 1, 2 and 3. docs/bounds.md explains every line.

example:
  python -m experiments bounds train.txt --columns word,pos,chunk --target chunk --held-out test.txt
"""


def main(arguments: Sequence[str]) -> NoReturn:
    """Run a command line and exit; an error is one line on standard error and exit code 2."""
    with reporting_errors(), interrupts_raise():
        if arguments[:1] == ["bounds"]:
            _measure_bounds(_bounds_parser().parse(arguments[1:]))
        elif arguments:
            _run_experiments(_parser().parse(arguments))
        else:
            rows = [(name, experiment(name)) for name in EXPERIMENTS]
            table = [[name, module.TITLE, ", ".join(module.DATA) or "generated"] for name, module in rows]
            show(align([["name", "experiment", "corpora"], *table]))
    sys.exit(0)


def _parser() -> Parser:
    parser = Parser(PROGRAM, ABOUT)
    add = parser.add_argument
    add("name", metavar="NAME", help="an experiment, or all")
    add("--data", metavar="DIR", help="folder of corpora (default: TRELLIS_DATA)")
    add("--ptb", metavar="DIR", help="of collins-pos: a Penn Treebank's folder of sections 00 to 24")
    add("--quick", action="store_true", help="part of the data, fewer epochs: about a minute each")
    add("--jobs", type=at_least(1), default=1, metavar="N", help="number of steps run in parallel")
    add(
        "--results",
        metavar="DIR",
        default=os.path.relpath(RESULTS),
        help="folder of figures; those of --quick in its folder quick",
    )
    add("--again", action="store_true", help="run also the steps that have stored figures")
    add("--report", metavar="DIR", help="write a page of all tables and curves there: index.html")
    parser.share("quiet", "json")
    return parser


def _run_experiments(options: Namespace) -> None:
    """Run and show one experiment, or all."""
    names = list(EXPERIMENTS) if options.name == "all" else [options.name]
    if options.report is not None:
        check_report(Path(options.report))
    runs = dict[str, Run]()
    for name in names:
        try:
            runs[name] = run(
                name,
                data=options.data,
                ptb=options.ptb,
                quick=options.quick,
                jobs=options.jobs,
                results=options.results,
                again=options.again,
                watcher=_watcher(name, options.quiet),
            )
        except MissingCorpusError as error:
            if options.name != "all":
                raise
            say(f"{name}: skipped: {error}", options.quiet)
            continue
        if not options.json:
            show(f"{experiment(name).TITLE}\n\n{as_text(runs[name].report)}\n")
    if options.json:
        show_json({name: run.file.about | {"steps": run.file.steps} for name, run in runs.items()})
    if options.report is not None:
        write_report(Path(options.report), runs)
        say(f"wrote {Path(options.report) / 'index.html'}", options.quiet)


def _watcher(name: str, quiet: bool) -> Watcher:
    """Shows steps as they end; on a terminal also those under way."""

    def watch(done: int, known: int, running: Mapping[str, float], ended: str | None) -> None:
        if ended is not None:
            say(f"{name}: {done} of {known} steps done: {ended}", quiet)
        if running and not quiet and sys.stderr.isatty():
            now = time.monotonic()
            steps = "; ".join(f"{step}, {now - start:.0f} s" for step, start in running.items())
            write_over(f"{name}: {done} of {known}; {steps}")

    return watch


def _bounds_parser() -> Parser:
    parser = Parser(f"{PROGRAM} bounds", ABOUT_BOUNDS)
    add = parser.add_argument
    add("corpus", metavar="FILE", help="training file; - is standard input")
    add("--target", metavar="NAME", help="column of labels (default: the last one)")
    add("--features", metavar="NAME", help="a preset or a file of templates (default: default)")
    add("--order", type=int, metavar="N", help="Markov order: number of preceding labels")
    add("--epochs", type=at_least(1), default=10, metavar="N", help="epochs of the perceptron")
    add("--held-out", metavar="FILE", help="file with gold labels, to test a voted perceptron on")
    add("--plot", metavar="FILE", help="plot of mistakes and bounds by epoch: .png, .svg, .pdf, ...")
    parser.inputs += ("held_out",)
    parser.share("threads", "quiet", "json")
    parser.share_file_options()
    return parser


def _measure_bounds(options: Namespace) -> None:
    """Show the table of bounds."""
    if options.plot is not None:
        check_picture(options.plot)
    corpus, held_out, _ = training_data(options, "tag", [options.corpus], options.held_out)
    with watch_epochs(options.quiet) as observer:
        result = study(
            corpus,
            target=options.target or list(corpus.columns)[-1],
            features=options.features,
            order=options.order,
            epochs=options.epochs,
            held_out=held_out,
            n_threads=options.threads,
            observer=observer,
        )
    if options.plot is not None:
        draw_mistakes(result, options.plot)
    if options.json:
        show_json(result.to_dict())
    else:
        show(align(result.rows(), right=[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
