"""The plots of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "trellis"  # the same figures give the same file

from matplotlib import pyplot  # noqa: E402

Rows = list[dict[str, Any]]


def draw_peers(bars: Rows, path: Path) -> None:
    """A bar a work and peer: how many times better, its spread, and a tick where it was wanted."""
    bars = bars[::-1]
    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.4 * len(bars)))
    places = range(len(bars))
    axes.barh(places, [row["times"] for row in bars], color="#4477aa")
    for place, row in zip(places, bars, strict=True):
        axes.plot([row["least"], row["most"]], [place, place], color="black", linewidth=1)
        axes.plot(row["wanted"], place, marker="|", color="#cc3311", markersize=14)
    axes.set_yticks(places, [f"{row['work']}\nagainst {row['contender']}" for row in bars], fontsize=7)
    axes.set_xscale("log")
    axes.axvline(1, color="grey", linewidth=0.5)
    axes.set_xlabel("times better than the peer; black: over the rounds; red: wanted")
    _save(figure, path)


def draw_growth(rows: Rows, path: Path) -> None:
    """Seconds by size, both as logarithms, a line a series and a panel for each thing that grows."""
    panels = list(dict.fromkeys(row["grows"] for row in rows))
    figure, all_axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 4), squeeze=False)
    for axes, panel in zip(all_axes[0], panels, strict=True):
        for series in dict.fromkeys(row["series"] for row in rows if row["grows"] == panel):
            points = [row for row in rows if row["series"] == series]
            slope = next(row["exponent"] for row in points if row.get("exponent") is not None)
            sizes, seconds = [row["size"] for row in points], [row["seconds"] for row in points]
            axes.loglog(sizes, seconds, marker="o", label=f"{series}: exponent {slope:.2f}")
        axes.set_xlabel({"allowed": "labels that a token may have, mean"}.get(panel, panel))
        axes.set_ylabel("seconds")
        axes.legend(fontsize=6)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
