"""The learning curve of a training as a picture."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trellis.corpus.schemes import guess_scheme
from trellis.errors import LearnerError
from trellis.training import Learner

if TYPE_CHECKING:
    from trellis.theory import Study

SCORES = {"token": "token accuracy", "sentence": "sentence accuracy", "span": "F1 of spans"}


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


def score_name(metric: str | None, labels: Sequence[str]) -> str:
    """What the score on dev is."""
    return SCORES.get(metric or "auto") or SCORES["token" if guess_scheme(labels) is None else "span"]


def draw(history: Sequence[Mapping[str, Any]], path: str, title: str, score: str) -> None:
    """Mistakes or objective over epochs, and beside it the score on dev, with a mark at the best."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    left = figure.subplots()
    left.set(title=title, xlabel="epoch")
    marker = "o" if len(history) < 30 else None
    name, curve = "objective", [(e["epoch"], e["objective"]) for e in history if "objective" in e]
    if not curve:
        name = "wrong in training, % of tokens"
        curve = [(e["epoch"], 100 * e["mistakes"] / max(1, e["tokens"])) for e in history if "mistakes" in e]
    scores = [(e["epoch"], 100 * e["dev_score"]) for e in history if "dev_score" in e]
    lines, axes = list[Any](), left
    for color, label, points in (("tab:blue", name, curve), ("tab:orange", f"{score} on dev, %", scores)):
        if points:
            axes = left.twinx() if lines else left
            lines += axes.plot(*zip(*points, strict=True), color=color, marker=marker, ms=3, label=label)
            axes.set_ylabel(label, color=color)
            axes.tick_params("y", labelcolor=color)
    if scores:
        epoch, best = max(scores, key=lambda point: point[1])  # the first of equal ones, as training keeps it
        label = f"best: {best:.2f} at epoch {epoch}"
        lines += axes.plot(epoch, best, "*", color="tab:red", ms=12, label=label)
    left.locator_params("x", integer=True)
    left.legend(handles=lines, loc="center right")
    figure.savefig(path)
