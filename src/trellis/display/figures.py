"""Learning curves, confusion matrices and reliability diagrams as figures of matplotlib (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trellis._support.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LABELS = 30  # of a matrix that can still be read

Curve = tuple[str, list[tuple[int, float]]]  # a name, and a value per epoch


def empty_figure(width: float, height: float) -> Figure:
    """A figure without a window, so that it can be drawn anywhere; ArgumentError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ArgumentError("a figure needs matplotlib: pip install matplotlib") from None
    return Figure(figsize=(width, height), layout="constrained")


def learning_curves(history: Sequence[Mapping[str, Any]], score: str) -> tuple[Curve, Curve]:
    """The objective, errors or margin violations of training, and the score on dev, in percent; empty where missing."""
    dev = [(event["epoch"], 100 * event["dev_score"]) for event in history if "dev_score" in event]
    training: Curve = ("objective", [(e["epoch"], e["objective"]) for e in history if "objective" in e])
    for key, name in (("violations", "margin violations"), ("mistakes", "wrong in training")):
        if not training[1]:
            points = [(e["epoch"], 100 * e[key] / max(1, e["tokens"])) for e in history if key in e]
            training = (f"{name}, % of tokens", points)
    return training, (f"{score} on dev, %", dev)


def history_figure(history: Sequence[Mapping[str, Any]], title: str, score: str) -> Figure:
    """Learning curves over epochs with a mark at the best score on dev, which is named by ``score``."""
    figure = empty_figure(7, 4)
    left = figure.subplots()
    left.set(title=title, xlabel="epoch")
    marker = "o" if len(history) < 30 else None
    training, dev = learning_curves(history, score)
    if not training[1] and not dev[1]:
        raise ArgumentError("this training left no history of epochs to draw")
    lines, axes = list[Any](), left
    for color, (label, points) in (("tab:blue", training), ("tab:orange", dev)):
        if points:
            axes = left.twinx() if lines else left
            lines += axes.plot(*zip(*points, strict=True), color=color, marker=marker, ms=3, label=label)
            axes.set_ylabel(label, color=color)
            axes.tick_params("y", labelcolor=color)
    if dev[1]:
        epoch, best = max(dev[1], key=lambda point: point[1])  # the first of equal ones, as training keeps it
        label = f"best: {best:.2f} at epoch {epoch}"
        lines += axes.plot(epoch, best, "*", color="tab:red", ms=12, label=label)
    left.locator_params("x", integer=True)
    left.legend(handles=lines, loc="center right")
    return figure


def confusion_figure(analysis: Any) -> Figure:
    """The confusion matrix of the labels with most errors: gold labels down, predicted labels across."""
    import numpy as np

    names = analysis.worst_labels(MOST_LABELS) or list(analysis.rows)[:MOST_LABELS]
    number = {label: i for i, label in enumerate(names)}
    counts = np.diag([float(analysis.rows[label].correct) for label in names])
    for gold, predicted, times in analysis.confusions:
        if gold in number and predicted in number:
            counts[number[gold], number[predicted]] = times
    totals = np.array([max(1, analysis.rows[label].gold) for label in names], float)
    shares = counts / totals[:, None]

    side = 2.5 + 0.42 * len(names)
    figure = empty_figure(side, side * 0.9)
    axes = figure.subplots()
    axes.imshow(shares**0.5, cmap="Blues", vmin=0, vmax=1)  # the root, so that rare confusions can be seen
    axes.set(xlabel="predicted label", ylabel="gold label")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    for i, j in np.argwhere(counts > 0).tolist():
        dark = shares[i, j] > 0.3
        axes.text(j, i, f"{counts[i, j]:.0f}", ha="center", va="center", fontsize=7, color="w" if dark else "k")
    return figure


def reliability_figure(reliability: Any, title: str) -> Figure:
    """Accuracy by confidence, beside the line where both are equal; below, the number of predictions."""
    figure = empty_figure(5, 5.5)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    bins = reliability.bins
    filled = [bin for bin in bins if bin.n]
    above.plot([0, 1], [0, 1], color="tab:gray", ls="--", label="perfectly calibrated")
    above.plot([bin.confidence for bin in filled], [bin.accuracy for bin in filled], "o-", label="observed")
    name = f"{title}, ECE {reliability.ece:.4f}"
    above.set(title=name, ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
    above.legend(loc="upper left")
    below.bar([(bin.low + bin.high) / 2 for bin in bins], [bin.n for bin in bins], 0.9 / max(1, len(bins)))
    below.set(xlabel="confidence", ylabel="count", yscale="log" if filled else "linear")
    return figure
