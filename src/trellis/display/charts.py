"""Small charts of a page: learning curves, the reliability diagram. Text has the colour of the page around them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

from trellis.display import svg
from trellis.display.html import BLUE, GREY, Html
from trellis.display.svg import Picture, circle, line, path, words

WIDTH, HEIGHT, LEFT, BELOW = 420.0, 220.0, 58.0, 34.0

Points = Sequence[tuple[float, float]]

_picture = partial(svg.picture, style="text{font:11px system-ui,sans-serif;fill:currentColor}")


def line_chart(name: str, colour: str, points: Points, x_name: str) -> Picture:
    """Points joined by a line."""
    x, y = zip(*points, strict=True)
    frame = _Frame((min(x), max(x)), (min(y), max(y)), HEIGHT)
    places = list(zip(map(frame.x, x), map(frame.y, y), strict=True))
    shapes = frame.axes(x_name)
    shapes.append(path("M", *chain.from_iterable(places), fill="none", stroke=colour, stroke_width=2))
    if len(places) == 1:
        shapes.append(circle(*places[0], 3, fill=colour))
    shapes.append(words(LEFT + 8, 16, name, style=f"fill:{colour}"))
    return _picture(shapes, WIDTH, HEIGHT, name=name)


def reliability_chart(points: Sequence[tuple[float, float, int]]) -> Picture:
    """Confidence, accuracy and count: circles by their count, beside the line where the first two are equal."""
    frame = _Frame((0, 1), (0, 1), 300)
    shapes = frame.axes("confidence")
    shapes.append(line((frame.x(0), frame.y(0)), (frame.x(1), frame.y(1)), stroke=GREY, stroke_dasharray="4 4"))
    most = max((n for _, _, n in points), default=1)
    for confidence, accuracy, n in points:
        title = f"confidence {confidence:.3f}, accuracy {accuracy:.3f}, {n:,} of them"
        radius = 3 + 9 * (n / most) ** 0.5
        shapes.append(circle(frame.x(confidence), frame.y(accuracy), radius, title=title, fill=BLUE, fill_opacity=0.7))
    return _picture(shapes, WIDTH, 300, name="reliability diagram")


class _Frame:
    """Places of numbers in a chart."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], height: float) -> None:
        self.low_x, self.high_x = x if x[1] > x[0] else (x[0], x[0] + 1)
        margin = 0.0 if y == (0, 1) else 0.05 * (y[1] - y[0]) or 0.5
        self.low_y, self.high_y = y[0] - margin, y[1] + margin
        self.height = height

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - 12) * (value - self.low_x) / (self.high_x - self.low_x)

    def y(self, value: float) -> float:
        return self.height - BELOW - (self.height - BELOW - 10) * (value - self.low_y) / (self.high_y - self.low_y)

    def axes(self, x_name: str) -> list[Html]:
        """Both axes, with numbers at their ends."""
        bottom, right = self.height - BELOW, WIDTH - 12
        shapes = [path("M", LEFT, 10, "V", bottom, "H", right, fill="none", stroke=GREY)]
        for value in (self.low_x, self.high_x):
            shapes.append(words(self.x(value), bottom + 14, f"{value:g}", text_anchor="middle"))
        for value in (self.low_y, self.high_y):
            number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
            shapes.append(words(LEFT - 6, self.y(value) + 4, number, text_anchor="end"))
        return [*shapes, words((LEFT + right) / 2, bottom + 28, x_name, text_anchor="middle")]
