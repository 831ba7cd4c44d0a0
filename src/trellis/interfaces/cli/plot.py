"""The learning curve of a training as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trellis._support.errors import LearnerError
from trellis.display.figures import history_figure
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


def draw(history: Sequence[Mapping[str, Any]], path: str, title: str, score: str) -> None:
    """The learning curve as a file."""
    history_figure(history, title, score).savefig(path)
