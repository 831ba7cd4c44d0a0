"""Pictures of the course: tables of scores with the arrows that Viterbi keeps, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

import trellis
from trellis.display.html import Html

RED, GREY, BLUE = "#c22", "#8886", "#36c"
COLOURS = ("#36c", "#d70", "#283", "#a3a")
Doubles = npt.NDArray[np.float64]


def _svg(shapes: Sequence[str], width: float, height: float) -> trellis.Picture:
    style = "font: 13px system-ui, sans-serif; background: #fff; color: #111"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
    return trellis.Picture(Html(f'{head} style="{style}">\n' + "\n".join(shapes) + "\n</svg>\n"))


def _text(x: float, y: float, text: object, anchor: str = "middle", colour: str = "#111") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" style="text-anchor: {anchor}; fill: {colour}">{escape(str(text))}</text>'


def lattice(
    tokens: Sequence[str],
    labels: Sequence[str],
    scores: Doubles,
    back: npt.NDArray[np.int64] | None = None,
    path: Sequence[int] = (),
    *,
    shade: bool = False,
) -> trellis.Picture:
    """A circle per token and label with its score; arrows from ``back``, and a path in red.

    ``scores`` and ``back`` are [tokens, labels]; ``back[t, z]`` is the label before z. With ``shade`` scores are
    probabilities and colour the circles.
    """
    left, top, across, down, radius = 90, 40, 110, 70, 24
    place = {(t, z): (left + across * t, top + down * z) for t in range(len(tokens)) for z in range(len(labels))}
    shapes = [_text(left - 45, top + down * z + 5, label, "end") for z, label in enumerate(labels)]
    shapes += [_text(left + across * t, top + down * len(labels), token) for t, token in enumerate(tokens)]
    best = set(pairwise(enumerate(path)))
    ends = [] if back is None else [(t, z) for t, z in place if t]
    arrows = [((t - 1, int(back[t, z])), (t, z)) for t, z in ends if back is not None]
    for (start, end), red in sorted({arrow: arrow in best for arrow in [*arrows, *best]}.items(), key=lambda a: a[1]):
        (x, y), (x2, y2) = place[start], place[end]
        colour, width = (RED, 3) if red else (GREY, 1.5)
        shapes.append(f'<path d="M{x} {y}L{x2} {y2}" stroke="{colour}" stroke-width="{width}"/>')
    for (t, z), (x, y) in place.items():
        score, on_path = float(scores[t, z]), t < len(path) and path[t] == z
        fill = f"rgb({255 - 95 * score:.0f},{255 - 55 * score:.0f},255)" if shade else "#fff"
        shapes.append(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="{RED if on_path else "#666"}" '
            f'stroke-width="{3 if on_path else 1}"/>'
        )
        shapes.append(_text(x, y + 5, "-inf" if score == -np.inf else f"{score:.2f}" if shade else f"{score:.4g}"))
    return _svg(shapes, left + across * len(tokens) - 40, top + down * len(labels) + 20)


def curves(x: Sequence[float], lines: Mapping[str, Sequence[float]], name_x: str, name_y: str) -> trellis.Picture:
    """Lines over common x values, with the ends of both axes and the names of the lines."""
    left, right, top, bottom = 60, 460, 20, 240
    low, high = (edge([value for line in lines.values() for value in line]) for edge in (min, max))
    high = high if high > low else low + 1

    def place(a: float, b: float) -> tuple[float, float]:
        across, up = (a - x[0]) / (x[-1] - x[0]), (b - low) / (high - low)
        return left + (right - left) * across, bottom - (bottom - top) * up

    shapes = [f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#666"/>']
    shapes += [_text(place(end, low)[0], bottom + 18, f"{end:.4g}") for end in (x[0], x[-1])]
    shapes += [_text(left - 6, place(x[0], end)[1] + 5, f"{end:.4g}", "end") for end in (low, high)]
    shapes += [_text((left + right) / 2, bottom + 18, name_x), _text(left, top - 6, name_y)]
    for i, (name, line) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        points = "L".join("{:.1f} {:.1f}".format(*place(a, b)) for a, b in zip(x, line, strict=True))
        shapes.append(f'<path d="M{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        shapes.append(_text(right + 12, top + 20 * i + 10, name, "start", colour))
    return _svg(shapes, right + 170, bottom + 28)
