"""The picture of a dependency tree: words in a row, arcs above them."""

from __future__ import annotations

from collections.abc import Sequence

from trellis.display.svg import Picture, path, picture, words

_CHARACTER, _GAP, _LEVEL, _MARGIN = 8.0, 26.0, 30.0, 14.0
_THIN, _THICK = 0.6, 3.2
_STYLE = (
    "text{font:13px sans-serif;fill:#222;text-anchor:middle}.a{fill:none;stroke:#447}.h{fill:#447}"
    "text.l{fill:#557;font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:3px}"
)


def draw_dependencies(
    tokens: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str] | None,
    probabilities: Sequence[float] | None,
) -> Picture:
    """Heads are counted from 1, 0 is the root; the more probable an arc, the thicker it is."""
    centres = _centres(tokens, labels)
    levels = _levels(heads)
    floor = _MARGIN + _LEVEL * (max(levels, default=0) + 1)  # where arcs end
    shapes = [words(x, floor + 18, token) for x, token in zip(centres, tokens, strict=True)]
    for i, head in enumerate(heads):
        probability = 0.35 if probabilities is None else min(1.0, max(0.0, probabilities[i]))
        label = "" if labels is None else labels[i]
        if probabilities is not None:
            label = f"{label} {probability:.2f}".strip()
        steps: tuple[str | float, ...]
        if head == 0:
            end, peak = centres[i], _MARGIN - 1
            middle, steps = end, ("M", end, _MARGIN, "V", floor - 6)
            label = label or "root"
        else:
            top = floor - _LEVEL * levels[i]
            side = 5.0 if centres[head - 1] > centres[i] else -5.0
            end, start = centres[i] + side, centres[head - 1] - side
            middle, peak = (start + end) / 2, floor - 0.75 * (floor - top)
            steps = ("M", start, floor, "C", start, top, end, top, end, floor - 6)
        shapes.append(path(*steps, class_="a", stroke_width=_THIN + (_THICK - _THIN) * probability))
        shapes.append(path("M", end - 3, floor - 7, "H", end + 3, "L", end, floor - 1, "Z", class_="h"))
        shapes += [words(middle, peak - 2, label, class_="l")] if label else []
    return picture(shapes, (centres[-1] if centres else 0) + 60, floor + 28, style=_STYLE)


def _centres(tokens: Sequence[str], labels: Sequence[str] | None) -> list[float]:
    """The horizontal centre of each word, with enough space for labels."""
    centres, left = list[float](), 30.0
    for i, token in enumerate(tokens):
        width = max(len(token) * _CHARACTER, 0 if labels is None else len(labels[i]) * 6.0, 16.0)
        centres.append(left + width / 2)
        left += width + _GAP
    return centres


def _levels(heads: Sequence[int]) -> list[int]:
    """The height of each arc: above all arcs that it spans; 0 of the root's."""
    spans = {i: (min(i, h - 1), max(i, h - 1)) for i, h in enumerate(heads) if h}
    levels = [0] * len(heads)
    for i, (left, right) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        below = [levels[j] for j, (a, b) in spans.items() if levels[j] and left <= a and b <= right and j != i]
        levels[i] = 1 + max(below, default=0)
    return levels
