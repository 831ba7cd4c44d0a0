"""Small charts as SVG: lines, bars, the diagram of reliability. Colours are those of the page they stand on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from trellis.display.html import Html

WIDTH, HEIGHT, LEFT, BELOW = 420.0, 220.0, 58.0, 34.0
_STYLE = "text{font:11px system-ui,sans-serif;fill:currentColor}"
BLUE, ORANGE, RED, GREY = "#3b78c2", "#c26a1a", "#c2453b", "#8888"

Points = Sequence[tuple[float, float]]


def lines_chart(series: Sequence[tuple[str, str, Points]], x_name: str, *, height: float = HEIGHT) -> Html:
    """Lines of one scale: (name, colour, points)."""
    points = [point for _, _, some in series for point in some]
    if not points:
        return Html("")
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = min(y for _, y in points), max(y for _, y in points)
    frame = _Frame(low_x, high_x, low_y, high_y, height)
    parts = frame.axes(x_name)
    for i, (name, colour, some) in enumerate(series):
        path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in some)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        if len(some) == 1:
            parts.append(
                f'<circle cx="{frame.x(some[0][0]):.1f}" cy="{frame.y(some[0][1]):.1f}" r="3" fill="{colour}"/>'
            )
        parts.append(f'<text x="{LEFT + 8}" y="{16 + 14 * i}" style="fill:{colour}">{escape(name)}</text>')
    return _svg(parts, height, ", ".join(name for name, _, _ in series))


def bars_chart(bars: Sequence[tuple[str, float, str]], *, greatest: float = 1.0) -> Html:
    """Bars to the right, one below the other: (name, value, what is written beside it)."""
    rows = []
    wide = max((len(name) for name, _, _ in bars), default=0) * 7.0 + 12
    for i, (name, value, said) in enumerate(bars):
        y, length = 22.0 * i, 240.0 * (value / greatest if greatest else 0.0)
        rows.append(f'<text x="{wide - 8:.0f}" y="{y + 15:.0f}" text-anchor="end">{escape(name)}</text>')
        rows.append(f'<rect x="{wide:.0f}" y="{y + 3:.0f}" width="{length:.1f}" height="16" fill="{BLUE}"/>')
        rows.append(f'<text x="{wide + length + 6:.1f}" y="{y + 15:.0f}">{escape(said)}</text>')
    return _svg(rows, 22.0 * len(bars) + 4, "bars", wide + 240 + 120)


def reliability_chart(points: Sequence[tuple[float, float, int]]) -> Html:
    """Confidence, share that is right, and how many: circles by how many, beside the line where both are equal."""
    frame = _Frame(0, 1, 0, 1, 300)
    parts = frame.axes("confidence")
    parts.append(
        f'<line x1="{frame.x(0)}" y1="{frame.y(0)}" x2="{frame.x(1)}" y2="{frame.y(1)}" stroke="{GREY}" '
        'stroke-dasharray="4 4"/>'
    )
    most = max((n for _, _, n in points), default=1)
    for confidence, share, n in points:
        radius = 3 + 9 * (n / most) ** 0.5
        said = f"confidence {confidence:.3f}, right {share:.3f}, {n:,} of them"
        parts.append(
            f'<circle cx="{frame.x(confidence):.1f}" cy="{frame.y(share):.1f}" r="{radius:.1f}" fill="{BLUE}" '
            f'fill-opacity="0.7"><title>{escape(said)}</title></circle>'
        )
    return _svg(parts, 300, "reliability")


class _Frame:
    """Where numbers lie in a chart."""

    def __init__(self, low_x: float, high_x: float, low_y: float, high_y: float, height: float) -> None:
        self.low_x, self.high_x = low_x, high_x if high_x > low_x else low_x + 1
        margin = 0.05 * (high_y - low_y) or 0.5
        self.low_y, self.high_y = (low_y, high_y) if (low_y, high_y) == (0, 1) else (low_y - margin, high_y + margin)
        self.height = height

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - 12) * (value - self.low_x) / (self.high_x - self.low_x)

    def y(self, value: float) -> float:
        return self.height - BELOW - (self.height - BELOW - 10) * (value - self.low_y) / (self.high_y - self.low_y)

    def axes(self, x_name: str) -> list[str]:
        """Both axes, with numbers at their ends."""
        bottom, right = self.height - BELOW, WIDTH - 12
        parts = [f'<path d="M{LEFT} 10V{bottom}H{right}" fill="none" stroke="{GREY}"/>']
        for value in (self.low_x, self.high_x):
            parts.append(f'<text x="{self.x(value):.0f}" y="{bottom + 14}" text-anchor="middle">{value:g}</text>')
        for value in (self.low_y, self.high_y):
            parts.append(f'<text x="{LEFT - 6}" y="{self.y(value) + 4:.0f}" text-anchor="end">{_number(value)}</text>')
        parts.append(f'<text x="{(LEFT + right) / 2}" y="{bottom + 28}" text-anchor="middle">{escape(x_name)}</text>')
        return parts


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _svg(parts: Sequence[str], height: float, name: str, width: float = WIDTH) -> Html:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
    head += f'height="{height:.0f}" role="img" aria-label="{escape(name)}"><style>{_STYLE}</style>'
    return Html(head + "".join(parts) + "</svg>")
