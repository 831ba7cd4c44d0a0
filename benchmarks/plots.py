"""The plots of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "trellis"  # the same figures give the same file

from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

Rows = list[dict[str, Any]]


def draw_peers(bars: Rows, path: Path) -> None:
    """One bar per work and peer: how many times faster or smaller, and the range over the rounds."""
    bars = bars[::-1]
    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.4 * len(bars)))
    places = range(len(bars))
    axes.barh(places, [row["times"] for row in bars], color="#4477aa")
    for place, row in zip(places, bars, strict=True):
        axes.plot([row["least"], row["most"]], [place, place], color="black", linewidth=1)
        axes.text(max(row["most"], row["times"]) * 1.04, place, f"{row['times']:.3g}", va="center", fontsize=8)
    axes.set_yticks(places, [f"{row['work']}\nagainst {row['contender']}" for row in bars], fontsize=7)
    axes.set_xscale("log")
    _plain_ticks(axes.xaxis, [1, 2, 5, 10, 20, 50, 100])
    axes.set_xlim(right=1.3 * max(row["most"] for row in bars))
    axes.axvline(1, color="grey", linewidth=0.5)
    axes.set_xlabel("times better than the peer; line: range over rounds")
    _save(figure, path)


def draw_speed(panels: Rows, path: Path) -> None:
    """Two columns of panels of seconds, one bar per program, with its accuracy; for a page 700 pixels wide."""
    heights = [max(len(panel["rows"]) for panel in panels[k : k + 2]) for k in range(0, len(panels), 2)]
    size = (7.8, 0.6 * len(heights) + 0.24 * sum(heights))
    figure, all_axes = pyplot.subplots(len(heights), 2, figsize=size, height_ratios=heights)
    for place, (axes, panel) in enumerate(zip(all_axes.flat, panels, strict=True)):
        rows = sorted(panel["rows"], key=lambda row: float(row["best"]))
        ours = [row["contender"].startswith("trellis") for row in rows]
        most = rows[-1]["best"]
        colors = ["#4477aa" if own else "#bbbbbb" for own in ours]
        axes.barh(range(len(rows)), [row["best"] for row in rows], color=colors)
        for k, (row, own) in enumerate(zip(rows, ours, strict=True)):
            text = f"{row['best']:.3g} {row['unit']}, {panel['quality']} {row['quality']:.2f}%"
            axes.text(row["best"] + 0.03 * most, k, text, va="center", fontsize=8.5, weight="bold" if own else None)
        axes.set_yticks(range(len(rows)), [row["contender"] for row in rows], fontsize=8.5)
        axes.set_ylim(heights[place // 2] - 0.4, -0.6)
        axes.set_xlim(0, 2.4 * most)
        axes.set_xticks([])
        axes.set_title(panel["title"], fontsize=9.5, loc="left")
        axes.spines[["left", "top", "right", "bottom"]].set_visible(False)
        axes.tick_params(left=False)
    _save(figure, path)


def draw_growth(rows: Rows, path: Path) -> None:
    """Seconds by size on logarithmic axes: one line per series, one panel per thing that grows."""
    panels = list(dict.fromkeys(row["grows"] for row in rows))
    figure, all_axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 4), squeeze=False)
    for axes, panel in zip(all_axes[0], panels, strict=True):
        for series in dict.fromkeys(row["series"] for row in rows if row["grows"] == panel):
            points = [row for row in rows if row["series"] == series]
            slope = next(row["exponent"] for row in points if row.get("exponent") is not None)
            sizes, seconds = [row["size"] for row in points], [row["seconds"] for row in points]
            axes.loglog(sizes, seconds, marker="o", label=f"{series}: exponent {slope:.2f}")
        sizes = [row["size"] for row in rows if row["grows"] == panel]
        _plain_ticks(axes.xaxis, [m * 10**e for e in range(7) for m in (1, 2, 5)], min(sizes), max(sizes))
        spent = [row["seconds"] for row in rows if row["grows"] == panel]
        _plain_ticks(axes.yaxis, [m / 10**e for e in range(3) for m in (1, 2, 5)], min(spent), max(spent))
        axes.set_xlabel({"allowed": "labels that a token may have, mean"}.get(panel, panel))
        axes.set_ylabel("seconds")
        axes.legend(fontsize=6)
    _save(figure, path)


def draw_scale(rows: Rows, path: Path) -> None:
    """How many times as fast as one worker by their number: sums by a tree, and by slices."""
    figure, axes = pyplot.subplots(figsize=(6, 4))
    cases = list(dict.fromkeys(row["what"] for row in rows))
    for color, case in zip(("#4477aa", "#228833", "#ee6677"), cases, strict=True):
        points = [row for row in rows if row["what"] == case]
        workers = [row["workers"] for row in points]
        axes.loglog(workers, [row["times"] for row in points], marker="o", color=color, label=f"{case}, tree")
        sliced = [row["times, slices"] for row in points]
        axes.loglog(workers, sliced, linestyle="--", color=color, label=f"{case}, slices")
    axes.loglog([1, 1000], [1, 1000], color="grey", linewidth=0.5)
    for axis in (axes.xaxis, axes.yaxis):
        _plain_ticks(axis, [1, 10, 100, 1000])
    axes.set_xlabel("workers, one per machine")
    axes.set_ylabel("times as fast as one")
    axes.legend(fontsize=7)
    _save(figure, path)


def _plain_ticks(axis: Any, places: list[float], least: float = 0, most: float = float("inf")) -> None:
    """1, 2, 5, 10, ... in place of powers of ten."""
    axis.set_major_locator(FixedLocator([place for place in places if 0.7 * least <= place <= 1.4 * most]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
