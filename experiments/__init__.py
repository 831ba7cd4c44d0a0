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
from experiments.steps import Figures, ResultFile, Setting, Step, Watcher, run_steps
from trellis._support.arguments import thread_count
from trellis._support.errors import ArgumentError, CorpusError


class Experiment(Protocol):
    """A module of ``experiments.papers``."""

    __doc__: str | None
    TITLE: str
    DATA: tuple[str, ...]  # folders of corpora that it reads

    def plan(self, setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
        """The steps as far as they are known; called again when those are done."""

    def report(self, done: Mapping[str, Figures]) -> Report:
        """Tables, findings and curves of the figures of all steps."""


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
    """A finished experiment."""

    file: ResultFile
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
    """Run an experiment, or resume it.

    Parameters
    ----------
    name
        An experiment of EXPERIMENTS.
    data
        Folder of corpora (default: TRELLIS_DATA).
    ptb
        Of collins-pos: a full Penn Treebank's folder of sections 00 to 24, instead of its sample.
    quick
        Part of the data, fewer epochs.
    jobs
        Number of steps run in parallel.
    results
        Folder of result files; without it nothing is stored.
    again
        Run also the steps that have stored figures.
    watcher
        Called when steps begin and end.

    Raises
    ------
    MissingCorpusError
        If a corpus is absent; the message says where to get it.
    """
    module = experiment(name)
    if jobs < 1:
        raise ArgumentError(f"jobs must be at least 1, not {jobs!r}")
    folder = Path(data or os.environ.get("TRELLIS_DATA") or "data").resolve()
    setting = Setting(folder, quick, max(1, thread_count(None) // jobs), None if ptb is None else Path(ptb).resolve())
    if setting.ptb and not setting.ptb.is_dir():
        raise ArgumentError(f"{ptb}: no such folder; name the one that has the sections 00 to 24")
    check_there(setting, () if name == "collins-pos" and setting.ptb else module.DATA)
    options = [*(["--ptb DIR"] if setting.ptb else []), *(["--quick"] if quick else [])]
    about = {
        "experiment": name,
        "command": " ".join(["python -m experiments", name, *options]),
        "quick": quick,
        "ptb": setting.ptb is not None,
    }
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary if results is None else results) / ("quick" if quick else "")
        file = ResultFile.open(place / f"{name}{'-ptb' if setting.ptb else ''}.json", about, again=again)
        run_steps(module.plan, setting, file, jobs=jobs, watcher=watcher or (lambda done, known, running, ended: None))
    try:
        return Run(file, module.report(file.figures()))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        why = f"its figures are damaged ({type(error).__name__}: {error}); run it with --again"
        raise CorpusError(str(file.path), None, why) from error
