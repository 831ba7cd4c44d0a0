"""The experiments of the papers, rerun from a clone: ``python -m experiments NAME``.

Each is a module of ``experiments.papers`` with the steps it consists of (``plan``) and what their figures mean
(``report``): tables with the printed figures beside ours, findings of the paper that hold here or do not, and curves.
``steps.py`` runs the steps and stores their figures.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from experiments.data import check_there
from experiments.report import Report
from experiments.steps import Figures, Kept, Setting, Step, Watcher, run_steps
from trellis._support.arguments import thread_count
from trellis._support.errors import ArgumentError, CorpusError


class Experiment(Protocol):
    """A module of ``experiments.papers``."""

    __doc__: str | None
    TITLE: str
    DATA: tuple[str, ...]  # folders of corpora that it reads

    def plan(self, setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
        """The steps, as far as they are known: it is asked again when those are done."""

    def report(self, done: Mapping[str, Figures]) -> Report:
        """What the figures of all steps say."""


RESULTS = Path(__file__).parent / "results"
# Name to module, in the order in which they are listed.
EXPERIMENTS = {
    "collins-chunking": "collins_chunking",
    "collins-pos": "collins_pos",
    "sha-pereira": "sha_pereira",
    "altun-table2": "altun_table2",
    "altun-figure2": "altun_figure2",
    "altun-bounds": "altun_bounds",
    "typos": "typos",
    "ocr": "ocr",
    "label-bias": "label_bias",
    "theory": "theory",
    "segmentation": "segmentation",
    "parsing": "parsing",
    "trees": "trees",
}


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise ArgumentError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return cast(Experiment, importlib.import_module(f"experiments.papers.{EXPERIMENTS[name]}"))


class Run(NamedTuple):
    """What came of an experiment."""

    kept: Kept  # its figures, and the file they are in
    report: Report


def run(
    name: str,
    *,
    data: str | os.PathLike[str] | None = None,
    ptb: str | os.PathLike[str] | None = None,
    quick: bool = False,
    jobs: int = 1,
    results: str | os.PathLike[str] | None = None,
    again: bool = False,
    watcher: Watcher | None = None,
) -> Run:
    """Run an experiment, or what is left of it.

    ``data`` is the folder of corpora (default: the environment's TRELLIS_DATA), ``ptb`` of collins-pos that of a whole
    Penn Treebank's sections. ``results`` is where figures are kept and found again, unless ``again``; without it they
    are not. ``watcher`` is told of steps as they begin and end.
    """
    one = experiment(name)
    if jobs < 1:
        raise ArgumentError(f"jobs must be at least 1, not {jobs!r}")
    folder = Path(data or os.environ.get("TRELLIS_DATA") or "data").resolve()
    setting = Setting(folder, quick, max(1, thread_count(None) // jobs), None if ptb is None else Path(ptb).resolve())
    if setting.ptb and not setting.ptb.is_dir():
        raise ArgumentError(f"{ptb}: no such folder; name the one that has the sections 00 to 24")
    check_there(setting, () if name == "collins-pos" and setting.ptb else one.DATA)
    options = [*(["--ptb DIR"] if setting.ptb else []), *(["--quick"] if quick else [])]
    about = {
        "experiment": name,
        "command": " ".join(["python -m experiments", name, *options]),
        "quick": quick,
        "ptb": setting.ptb is not None,
    }
    with tempfile.TemporaryDirectory() as nowhere:
        place = Path(nowhere if results is None else results) / ("quick" if quick else "")
        kept = Kept.open(place / f"{name}{'-ptb' if setting.ptb else ''}.json", about, again=again)
        run_steps(one.plan, setting, kept, jobs=jobs, watcher=watcher or (lambda done, known, running, ended: None))
    try:
        return Run(kept, one.report(kept.figures()))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        why = f"its figures are damaged ({type(error).__name__}: {error}); run it with --again"
        raise CorpusError(str(kept.path), None, why) from error
