"""A dependency tree as an SVG picture: words in a row, arcs above them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CHARACTER, _GAP, _LEVEL, _MARGIN = 8.0, 26.0, 30.0, 14.0
_THIN, _THICK = 0.6, 3.2
_STYLE = (
    "text{font:13px sans-serif;fill:#222;text-anchor:middle}.a{fill:none;stroke:#447}.h{fill:#447}"
    "text.l{fill:#557;font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:3px}"
)


def draw_tree(
    words: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str] | None,
    probabilities: Sequence[float] | None,
) -> str:
    """The picture as text; arcs are as thick as they are probable."""
    centres = _centres(words, labels)
    levels = _levels(heads)
    height = _MARGIN + _LEVEL * (max(levels, default=0) + 1)
    lines = [
        f'<text x="{x:.0f}" y="{height + 18:.0f}">{escape(word)}</text>' for x, word in zip(centres, words, strict=True)
    ]
    for i, head in enumerate(heads):
        probability = 0.35 if probabilities is None else min(1.0, max(0.0, probabilities[i]))
        width = _THIN + (_THICK - _THIN) * probability
        label = "" if labels is None else labels[i]
        said = label if probabilities is None else f"{label} {probability:.2f}".strip()
        if head == 0:
            top, x = _MARGIN, centres[i]
            lines.append(f'<path class="a" stroke-width="{width:.2f}" d="M{x:.0f} {top:.0f}V{height - 6:.0f}"/>')
            lines.append(_arrow(x, height))
            lines.append(f'<text class="l" x="{x:.0f}" y="{top - 3:.0f}">{escape(said or "root")}</text>')
            continue
        top = height - _LEVEL * levels[i]
        side = 5.0 if centres[head - 1] > centres[i] else -5.0
        end, start = centres[i] + side, centres[head - 1] - side
        path = f"M{start:.0f} {height:.0f}C{start:.0f} {top:.0f} {end:.0f} {top:.0f} {end:.0f} {height - 6:.0f}"
        lines.append(f'<path class="a" stroke-width="{width:.2f}" d="{path}"/>')
        lines.append(_arrow(end, height))
        if said:
            middle, peak = (start + end) / 2, height - 0.75 * (height - top)
            lines.append(f'<text class="l" x="{middle:.0f}" y="{peak - 2:.0f}">{escape(said)}</text>')
    total = (centres[-1] if centres else 0) + 60
    size = f'width="{total:.0f}" height="{height + 28:.0f}" viewBox="0 0 {total:.0f} {height + 28:.0f}"'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{_STYLE}</style>", *lines, "</svg>", ""]
    )


def _arrow(x: float, y: float) -> str:
    return f'<path class="h" d="M{x - 3:.0f} {y - 7:.0f}H{x + 3:.0f}L{x:.0f} {y - 1:.0f}Z"/>'


def _centres(words: Sequence[str], labels: Sequence[str] | None) -> list[float]:
    """Where the middle of each word is; neighbours leave room for what is written on them."""
    centres, at = list[float](), 30.0
    for i, word in enumerate(words):
        wide = max(len(word) * _CHARACTER, 0 if labels is None else len(labels[i]) * 6.0, 16.0)
        centres.append(at + wide / 2)
        at += wide + _GAP
    return centres


def _levels(heads: Sequence[int]) -> list[int]:
    """How high each arc is drawn: above all arcs that it spans; 0 of the root's."""
    spans = {i: (min(i, h - 1), max(i, h - 1)) for i, h in enumerate(heads) if h}
    levels = [0] * len(heads)
    for i, (left, right) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        below = [levels[j] for j, (a, b) in spans.items() if levels[j] and left <= a and b <= right and j != i]
        levels[i] = 1 + max(below, default=0)
    return levels
