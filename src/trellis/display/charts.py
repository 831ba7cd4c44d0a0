"""Small charts of a page: learning curves, the reliability diagram. Text has the colour of the page around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from trellis.display.html import BLUE, GREY, Html
from trellis.display.svg import Picture, circle, line, path, picture, words

WIDTH, LEFT, BELOW = 420.0, 58.0, 34.0
_STYLE = "text{font:11px system-ui,sans-serif;fill:currentColor}"

Place = Callable[[float, float], tuple[float, float]]


def line_chart(name: str, colour: str, points: Sequence[tuple[float, float]], x_name: str) -> Picture:
    """Points joined by a line."""
    (*x,), (*y,) = zip(*points, strict=True)
    margin = 0.05 * (max(y) - min(y)) or 0.5
    highest_x = max(x) if max(x) > min(x) else min(x) + 1
    place, shapes = _axes((min(x), min(y) - margin), (highest_x, max(y) + margin), 220, x_name)
    places = [place(*point) for point in points]
    shapes.append(path("M", *chain.from_iterable(places), fill="none", stroke=colour, stroke_width=2))
    shapes += [circle(*places[0], 3, fill=colour)] if len(places) == 1 else []
    shapes.append(words(LEFT + 8, 16, name, style=f"fill:{colour}"))
    return picture(shapes, WIDTH, 220, style=_STYLE, name=name)


def reliability_chart(points: Sequence[tuple[float, float, int]]) -> Picture:
    """Confidence, accuracy and count: circles by their count, beside the line where the first two are equal."""
    place, shapes = _axes((0, 0), (1, 1), 300, "confidence")
    shapes.append(line(place(0, 0), place(1, 1), stroke=GREY, stroke_dasharray="4 4"))
    most = max((n for _, _, n in points), default=1)
    for confidence, accuracy, n in points:
        title = f"confidence {confidence:.3f}, accuracy {accuracy:.3f}, {n:,} of them"
        radius = 3 + 9 * (n / most) ** 0.5
        shapes.append(circle(*place(confidence, accuracy), radius, title=title, fill=BLUE, fill_opacity=0.7))
    return picture(shapes, WIDTH, 300, style=_STYLE, name="reliability diagram")


def _axes(low: tuple[float, float], high: tuple[float, float], height: float, x_name: str) -> tuple[Place, list[Html]]:
    """The places of points (x, y) from ``low`` to ``high``, and both axes with numbers at their ends."""
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
    return place, shapes
