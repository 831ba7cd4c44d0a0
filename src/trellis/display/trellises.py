"""Drawing of the trellis of a sentence: tokens across, labels down, sizes by probability, the best path in bold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trellis._support.arrays import Doubles
from trellis.display.html import Html
from trellis.display.svg import Picture, circle, line, picture, words

_CHARACTER, _ROW, _TOP, _LARGEST = 7.0, 34.0, 46.0, 12.0
_LEAST = 0.002  # smaller marginals are not drawn
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:currentColor;text-anchor:middle}text.l{text-anchor:end}"
    ".e{stroke:#6b8fc9;fill:none}.b{stroke:#c33;fill:none}.n{fill:#6b8fc9}.p{fill:#c33}.o{fill:none;stroke:#8886}"
)


def draw_trellis(
    tokens: Sequence[str],
    labels: Sequence[str],
    node: Doubles,
    edge: Doubles | None,
    best: Sequence[int],
    most_labels: int,
) -> Picture:
    """Draw at most ``most_labels`` labels: those of the best path, and the most probable others.

    ``node`` [T, L] and ``edge`` [T, L + 1, L] are marginals of labels and, where the model has them, of label pairs.
    """
    rows = set(best)
    for z in np.argsort(-node.max(axis=0, initial=0.0), kind="stable").tolist():
        if len(rows) < most_labels and node[:, z].max(initial=0.0) >= _LEAST:
            rows.add(z)
    left = 24 + _CHARACTER * max((len(labels[z]) for z in rows), default=1)
    widths = [max(46.0, _CHARACTER * len(token) + 18) for token in tokens]
    x = [left + sum(widths[:t]) + width / 2 for t, width in enumerate(widths)]
    y = {z: _TOP + i * _ROW for i, z in enumerate(sorted(rows))}
    shapes = list[Html]()
    for t in range(1, len(x)):
        pair = (best[t - 1], best[t])
        shares = {} if edge is None else {(a, b): float(edge[t, a, b]) for a in y for b in y}
        pairs = [*(other for other, share in shares.items() if share >= _LEAST and other != pair), pair]
        for a, b in pairs:  # the best path on top
            kind, width = ("b", 2.5) if (a, b) == pair else ("e", 0.4 + 4 * shares[a, b])
            title = f"{labels[a]} {labels[b]}: {shares[a, b]:.3f}" if shares else ""
            shapes.append(line((x[t - 1], y[a]), (x[t], y[b]), title=title, class_=kind, stroke_width=width))
    for t, token in enumerate(tokens):
        for z, down in y.items():
            share = float(node[t, z])
            kind = "p" if best[t] == z else "n" if share >= _LEAST else "o"
            radius = 2.5 if kind == "o" else 3 + (_LARGEST - 3) * share**0.5
            shapes.append(circle(x[t], down, radius, title=f"{token}, {labels[z]}: {share:.3f}", class_=kind))
    shapes += [words(across, 20, token) for across, token in zip(x, tokens, strict=True)]
    shapes += [words(left - 14, down + 4, labels[z], class_="l") for z, down in y.items()]
    name = f"trellis of: {' '.join(tokens)}"
    return picture(shapes, left + sum(widths) + 10, _TOP + len(rows) * _ROW, style=_STYLE, name=name)
