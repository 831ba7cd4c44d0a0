"""Rerun the experiments of the papers, and see the printed figures beside ours.

Without a name the experiments are listed; "all" runs every one whose data are there. What is done is kept in
--results, so that a run that was stopped goes on where it was. The corpora are looked for in the folder that --data or
TRELLIS_DATA names; docs/papers.md says which there are and where to get them.

example:
  trellis papers collins-chunking --data corpora
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from experiments.papers import EXPERIMENTS, Run, experiment, run
from experiments.papers.data import MissingCorpusError
from experiments.papers.page import check_report, write_report
from experiments.papers.report import as_text
from experiments.papers.steps import Watcher
from trellis._support.errors import ArgumentError
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import align, show, show_json
from trellis.interfaces.cli.progress import say, write_over

RESULTS = "papers/results"
# What is of no use without a run.
UNUSED = {"data": None, "ptb": None, "quick": False, "jobs": 1, "results": RESULTS, "again": False, "report": None}


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="an experiment, or all; listed if left out")
    add("--data", metavar="DIR", help="folder of corpora (default: TRELLIS_DATA)")
    add("--ptb", metavar="DIR", help="of collins-pos: a Penn Treebank's folder of sections 00 to 24")
    add("--quick", action="store_true", help="a part of the data, fewer passes: about a minute each")
    add("--jobs", type=at_least(1), default=1, metavar="N", help="steps at a time")
    add(
        "--results", metavar="DIR", default=RESULTS, help="where figures are kept; those of --quick in its folder quick"
    )
    add("--again", action="store_true", help="run also what is already kept")
    add("--report", metavar="DIR", help="write a page of all tables and curves there: index.html")
    parser.share("quiet", "json")


def command(given: Namespace) -> None:
    """List, or run and show."""
    if given.name is None:
        if wrong := [name for name, usual in {**UNUSED, "json": False}.items() if getattr(given, name) != usual]:
            raise ArgumentError(f"--{wrong[0]} is for a run; name an experiment, or all")
        rows = [["name", "what it reruns", "corpora"]]
        rows += [[name, experiment(name).TITLE, ", ".join(experiment(name).DATA) or "made"] for name in EXPERIMENTS]
        show(align(rows))
        return
    names = list(EXPERIMENTS) if given.name == "all" else [given.name]
    if given.report is not None:
        check_report(Path(given.report))
    done = dict[str, Run]()
    for name in names:
        try:
            done[name] = _run(name, given)
        except MissingCorpusError as error:
            if given.name != "all":
                raise
            say(f"{name}: left out: {error}", given.quiet)
            continue
        if not given.json:
            show(f"{experiment(name).TITLE}\n\n{as_text(done[name].report)}\n")
    if not done:
        raise ArgumentError("no corpus is there; name their folder by --data or TRELLIS_DATA")
    if given.json:
        show_json({name: run.kept.about | {"steps": run.kept.steps} for name, run in done.items()})
    if given.report is not None:
        write_report(Path(given.report), done)
        say(f"wrote {Path(given.report) / 'index.html'}", given.quiet)


def _run(name: str, given: Namespace) -> Run:
    return run(
        name,
        data=given.data,
        ptb=given.ptb,
        quick=given.quick,
        jobs=given.jobs,
        results=given.results,
        again=given.again,
        watcher=_watcher(name, given.quiet),
    )


def _watcher(name: str, quiet: bool) -> Watcher:
    """Shows steps as they end; on a terminal also those under way."""

    def shown(done: int, known: int, running: Mapping[str, float], ended: str | None) -> None:
        if ended is not None:
            say(f"{name}: {done} of {known} steps done: {ended}", quiet)
        if running and not quiet and sys.stderr.isatty():
            now = time.monotonic()
            write_over(
                f"{name}: {done} of {known}; " + "; ".join(f"{one}, {now - t:.0f} s" for one, t in running.items())
            )

    return shown
