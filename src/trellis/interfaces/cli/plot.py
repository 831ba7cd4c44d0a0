"""Checks of ``--plot`` before training."""

from __future__ import annotations

from pathlib import Path

from trellis._support.errors import LearnerError
from trellis.learning.learner import Learner


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
