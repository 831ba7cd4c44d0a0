"""Curves, confusions and reliability as figures of matplotlib (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trellis._support.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trellis.evaluation.error_analysis import ErrorAnalysis
    from trellis.evaluation.reliability import Reliability

SCORES = {"token": "token accuracy", "sentence": "sentence accuracy", "span": "F1 of spans"}
MOST_LABELS = 30  # of a matrix that can still be read


def empty_figure(width: float, height: float) -> Figure:
    """A figure without a window, so that it can be drawn anywhere; ArgumentError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ArgumentError("a figure needs matplotlib: pip install matplotlib") from None
    return Figure(figsize=(width, height), layout="constrained")


def score_name(metric: str | None, labels: Sequence[str]) -> str:
    """What the score on dev is."""
    from trellis.corpus.schemes import guess_scheme

    return SCORES.get(metric or "auto") or SCORES["token" if guess_scheme(labels) is None else "span"]


def wrong_curve(history: Sequence[Mapping[str, Any]]) -> tuple[str, list[tuple[int, float]]]:
    """The share of tokens that were wrong in each epoch, or violated the margin: its name and its points."""
    key, name = "mistakes", "wrong in training, % of tokens"
    if any("violations" in event for event in history):
        key, name = "violations", "margin violations, % of tokens"
    return name, [(e["epoch"], 100 * e[key] / max(1, e["tokens"])) for e in history if key in e]


def history_figure(history: Sequence[Mapping[str, Any]], title: str, score: str) -> Figure:
    """Mistakes or objective over epochs, and beside it the score on dev, with a mark at the best."""
    figure = empty_figure(7, 4)
    left = figure.subplots()
    left.set(title=title, xlabel="epoch")
    marker = "o" if len(history) < 30 else None
    name, curve = "objective", [(e["epoch"], e["objective"]) for e in history if "objective" in e]
    if not curve:
        name, curve = wrong_curve(history)
    scores = [(e["epoch"], 100 * e["dev_score"]) for e in history if "dev_score" in e]
    if not curve and not scores:
        raise ArgumentError("this training left no history of epochs to draw")
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
    return figure


def confusion_figure(analysis: ErrorAnalysis) -> Figure:
    """Confusion matrix: gold labels down, predicted labels across, shares of the gold label; the worst labels."""
    import numpy as np

    wrong = dict.fromkeys(analysis.labels, 0)
    for gold, predicted, times in analysis.confusions:
        wrong[gold] += times
        wrong[predicted] += times
    chosen = sorted(wrong, key=lambda label: (-wrong[label], label))[:MOST_LABELS]
    names = [label for label in analysis.labels if label in set(chosen)]
    number = {label: i for i, label in enumerate(names)}
    counts = np.diag([float(analysis.labels[label].correct) for label in names])
    for gold, predicted, times in analysis.confusions:
        if gold in number and predicted in number:
            counts[number[gold], number[predicted]] = times
    totals = np.array([max(1, analysis.labels[label].gold) for label in names], float)
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


def reliability_figure(found: Reliability, title: str) -> Figure:
    """Reliability diagram: accuracy by confidence; below, the number of predictions."""
    figure = empty_figure(5, 5.5)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    some = [bin for bin in found.bins if bin.n]
    above.plot([0, 1], [0, 1], color="tab:gray", ls="--", label="perfectly calibrated")
    above.plot([bin.confidence for bin in some], [bin.accuracy for bin in some], "o-", label="observed")
    above.set(title=f"{title}, ECE {found.ece:.4f}", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
    above.legend(loc="upper left")
    below.bar([(b.low + b.high) / 2 for b in found.bins], [b.n for b in found.bins], 0.9 / max(1, len(found.bins)))
    below.set(xlabel="confidence", ylabel="count", yscale="log" if some else "linear")
    return figure
