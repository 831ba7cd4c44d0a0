"""Checks of ``--plot`` before training, and the picture of the theorems."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from trellis._support.errors import LearnerError
from trellis.learning.learner import Learner

if TYPE_CHECKING:
    from experiments.theory import Study


def check_plot(path: str, learner: Learner) -> None:
    """LearnerError now, where a picture could not be drawn after an hour of training."""
    check_picture(path)
    if "epochs" not in learner.constraints:
        raise LearnerError(f"--plot: {type(learner).__name__} learns without epochs, so there is no curve to draw")


def check_picture(path: str) -> None:
    """LearnerError where no picture can be drawn to that path."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise LearnerError("--plot needs matplotlib: pip install matplotlib") from None
    known = Figure().canvas.get_supported_filetypes()
    if Path(path).suffix[1:].lower() not in known:
        raise LearnerError(f"--plot {path}: not a picture's name; it ends in one of .{', .'.join(sorted(known))}")


def draw_mistakes(study: Study, path: str) -> None:
    """Mistakes up to each pass beside the bounds; the greater of them by the power of ten."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    passes = range(1, len(study.mistakes) + 1)
    axes.set(title="mistakes of the perceptron", xlabel="pass", ylabel="sentences", yscale="log")
    axes.plot(passes, list(itertools.accumulate(study.mistakes)), "o-", ms=3, label="mistakes so far")
    axes.plot(1, study.bound_2, "v", label="theorem 2: in the first pass")
    if study.bound_1 is not None:
        axes.axhline(study.bound_1, color="tab:red", ls="--", label="theorem 1: in all passes")
    axes.set_ylim(bottom=1)
    axes.set_xticks(passes if len(passes) <= 12 else passes[:: len(passes) // 6])
    axes.legend(loc="best")
    figure.savefig(path)
