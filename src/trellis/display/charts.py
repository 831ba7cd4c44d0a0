"""Charts: learning curves, the confusion matrix, the reliability diagram. Text has the colour of the page around."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any

from trellis.display.html import BLUE, GREY, ORANGE, RED, Html, element
from trellis.display.svg import Picture, circle, line, path, picture, words

WIDTH, HEIGHT, LEFT, BELOW = 420.0, 220.0, 58.0, 34.0
MOST_LABELS = 30  # maximum number of labels of a readable confusion matrix
_CELL, _CHARACTER = 26.0, 7.0
_STYLE = "text{font:11px system-ui,sans-serif;fill:currentColor}"

Place = Callable[[float, float], tuple[float, float]]
Curve = tuple[str, str, list[tuple[float, float]]]  # a name, a colour, and a value per epoch


def learning_curves(history: Sequence[Mapping[str, Any]], score: str) -> list[Curve]:
    """The objective, errors or margin violations of training, and the score on dev, in percent, as far as there are."""
    curves: list[Curve] = [("objective", BLUE, [(e["epoch"], e["objective"]) for e in history if "objective" in e])]
    for key, name in (("violations", "margin violations"), ("mistakes", "training error")):
        points = [(e["epoch"], 100 * e[key] / max(1, e["tokens"])) for e in history if key in e]
        curves += [] if any(points for _, _, points in curves) else [(f"{name}, % of tokens", BLUE, points)]
    dev = [(event["epoch"], 100 * event["dev_score"]) for event in history if "dev_score" in event]
    return [curve for curve in (*curves, (f"{score} on dev, %", ORANGE, dev)) if curve[2]]


def curves_chart(curves: Sequence[Curve], title: str) -> Picture:
    """Learning curves over epochs, one below the other; that of dev has a mark at the best score."""
    panels = list[Html]()
    for name, colour, points in curves:
        (*x,), (*y,) = zip(*points, strict=True)
        margin = 0.05 * (max(y) - min(y)) or 0.5
        highest_x = max(x) if max(x) > min(x) else min(x) + 1
        place, shapes = _axes((min(x), min(y) - margin), (highest_x, max(y) + margin), HEIGHT, "epoch")
        places = [place(*point) for point in points]
        shapes.append(path("M", *chain.from_iterable(places), fill="none", stroke=colour, stroke_width=2))
        shapes += [circle(*places[0], 3, fill=colour)] if len(places) == 1 else []
        shapes.append(words(LEFT + 8, 16, name, style=f"fill:{colour}"))
        if name.endswith("on dev, %"):
            epoch, best = max(points, key=lambda point: point[1])  # the first one if tied, as in training
            text = f"best: {best:.2f} at epoch {epoch}"
            shapes += [circle(*place(epoch, best), 4, fill=RED), words(WIDTH - 150, HEIGHT - BELOW - 8, text)]
        panels.append(element("g", *shapes, transform=f"translate(0,{24 + HEIGHT * len(panels):g})"))
    height = 24 + HEIGHT * len(panels)
    return picture([words(LEFT, 14, title), *panels], WIDTH, height, style=_STYLE, name=title)


def confusion_chart(analysis: Any, links: Mapping[tuple[str, str], str] = MappingProxyType({})) -> Picture:
    """The confusion matrix of the labels with most errors: gold labels down, predicted labels across.

    ``links`` are addresses that the number of a confusion leads to.
    """
    names = analysis.worst_labels(MOST_LABELS) or list(analysis.rows)[:MOST_LABELS]
    counts = {(confusion.gold, confusion.predicted): confusion.times for confusion in analysis.confusions}
    counts |= {(name, name): analysis.rows[name].correct for name in names}
    room, shapes = 36 + _CHARACTER * max(map(len, names), default=0), list[Html]()
    for i, gold in enumerate(names):
        at = room + (i + 0.5) * _CELL
        shapes.append(words(room - 6, at + 4, gold, text_anchor="end"))
        shapes.append(words(at + 4, room - 6, gold, transform=f"rotate(-90 {at + 4:g} {room - 6:g})"))
        for j, predicted in enumerate(names):
            if n := counts.get((gold, predicted), 0):
                x, share = room + j * _CELL, n / max(1, analysis.rows[gold].gold)
                title = element("title", f"gold {gold}, predicted {predicted}: {n:,}, share {share:.3f}")
                size = {"x": x, "y": at - _CELL / 2, "width": _CELL, "height": _CELL}
                # Square root, so that rare confusions are visible.
                shapes.append(element("rect", title, **size, fill=BLUE, fill_opacity=0.8 * share**0.5))
                text = words(x + _CELL / 2, at + 4, f"{n:,}", text_anchor="middle", style="font-size:8px")
                link = links.get((gold, predicted))
                shapes.append(element("a", text, href=link) if link else text)
    side = room + _CELL * len(names) + 24
    bold = "font-weight:bold"
    shapes.append(words(room, 14, "predicted", style=bold))
    shapes.append(words(14, room + 50, "gold", transform=f"rotate(-90 14 {room + 50:g})", style=bold))
    shapes.append(words(room, side - 8, "rows: gold labels, columns: predicted labels"))
    return picture(shapes, max(side, room + 240), max(side, room + 60), style=_STYLE, name="confusion matrix")


def reliability_chart(reliability: Any, title: str) -> Picture:
    """Confidence, accuracy and count: circles by their count, beside the line where the first two are equal."""
    place, shapes = _axes((0, 0), (1, 1), 300, "confidence", "accuracy")
    shapes.append(line(place(0, 0), place(1, 1), stroke=GREY, stroke_dasharray="4 4"))
    shapes.append(words(LEFT + 8, 18, f"{title}, ECE {reliability.ece:.4f}"))
    most = max((bin.n for bin in reliability.bins), default=1)
    for bin in reliability.bins:
        if bin.n:
            text = f"confidence {bin.confidence:.3f}, accuracy {bin.accuracy:.3f}, count {bin.n:,}"
            radius, at = 3 + 9 * (bin.n / most) ** 0.5, place(bin.confidence, bin.accuracy)
            shapes.append(circle(*at, radius, title=text, fill=BLUE, fill_opacity=0.7))
    return picture(shapes, WIDTH, 300, style=_STYLE, name="reliability diagram")


def _axes(
    low: tuple[float, float], high: tuple[float, float], height: float, x_name: str, y_name: str = ""
) -> tuple[Place, list[Html]]:
    """Positions of points (x, y) from ``low`` to ``high``, and both axes with numbers at their ends."""
    bottom, right = height - BELOW, WIDTH - 12

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = (x - low[0]) / (high[0] - low[0]), (y - low[1]) / (high[1] - low[1])
        return LEFT + (right - LEFT) * across, bottom - (bottom - 10) * up

    shapes = [path("M", LEFT, 10, "V", bottom, "H", right, fill="none", stroke=GREY)]
    for x, y in (low, high):
        at_x, at_y = place(x, y)
        shapes.append(words(at_x, bottom + 14, f"{x:g}", text_anchor="middle"))
        number = f"{y:,.0f}" if abs(y) >= 1000 else f"{y:.4g}"
        shapes.append(words(LEFT - 6, at_y + 4, number, text_anchor="end"))
    shapes.append(words((LEFT + right) / 2, bottom + 28, x_name, text_anchor="middle"))
    if y_name:
        x, y = 16, (10 + bottom) / 2
        shapes.append(words(x, y, y_name, text_anchor="middle", transform=f"rotate(-90 {x:g} {y:g})"))
    return place, shapes
