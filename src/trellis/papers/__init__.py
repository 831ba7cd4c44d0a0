"""The experiments of the papers, rerun: each a file of this package, each by one command, ``trellis papers NAME``.

An experiment says which steps it is made of (``plan``), and what its figures mean (``report``): tables with the
printed figures beside ours, findings of the paper that hold here or do not, and curves. Steps are run and kept by
``steps.py``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

from trellis.errors import ArgumentError
from trellis.papers.report import Report
from trellis.papers.steps import Figures, Setting, Step


class Experiment(Protocol):
    """What a module of this package has to be."""

    __doc__: str | None
    TITLE: str
    DATA: tuple[str, ...]  # folders of corpora that it reads

    def plan(self, setting: Setting, done: Mapping[str, Figures]) -> list[Step]:
        """The steps, as far as they are known: it is asked again when those are done."""

    def report(self, done: Mapping[str, Figures]) -> Report:
        """What the figures of all steps say."""


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
    return cast(Experiment, importlib.import_module(f"trellis.papers.{EXPERIMENTS[name]}"))
