"""The trellis of a sentence as a picture: tokens across, labels down, what is probable large, the best path bold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trellis._support.arrays import Doubles
from trellis.display.html import Html
from trellis.display.svg import Picture, circle, line, picture, words

_CHARACTER, _ROW, _TOP, _LARGEST = 7.0, 34.0, 46.0, 12.0
_LEAST = 0.002  # marginals below it are not drawn
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:currentColor;text-anchor:middle}text.l{text-anchor:end}"
    ".e{stroke:#6b8fc9;fill:none}.b{stroke:#c33;fill:none}.n{fill:#6b8fc9}.p{fill:#c33}.o{fill:none;stroke:#8886}"
)


@dataclass(frozen=True, slots=True)
class Trellis:
    """What is drawn of a sentence."""

    tokens: Sequence[str]
    labels: Sequence[str]
    node: Doubles  # [T, L] how probable label z is at t
    edge: Doubles | None  # [T, L+1, L] label y before it and z at t
    best: Sequence[int]  # [T]

    def picture(self, most_labels: int) -> Picture:
        """Rows for at most so many labels: those of the best path, and the most probable ones."""
        rows = self._rows(most_labels)
        left = 24 + _CHARACTER * max((len(self.labels[z]) for z in rows), default=1)
        widths = [max(46.0, _CHARACTER * len(token) + 18) for token in self.tokens]
        x = [left + sum(widths[:t]) + width / 2 for t, width in enumerate(widths)]
        y = {z: _TOP + i * _ROW for i, z in enumerate(rows)}
        shapes = [*self._edges(x, y), *self._nodes(x, y)]
        shapes += [words(x[t], 20, token) for t, token in enumerate(self.tokens)]
        shapes += [words(left - 14, y[z] + 4, self.labels[z], class_="l") for z in rows]
        name = f"trellis of: {' '.join(self.tokens)}"
        return picture(shapes, left + sum(widths) + 10, _TOP + len(rows) * _ROW, style=_STYLE, name=name)

    def _rows(self, most: int) -> list[int]:
        """The labels that are drawn, in the model's order."""
        wanted = set(self.best)
        by_weight = np.argsort(-self.node.max(axis=0, initial=0.0), kind="stable").tolist() if len(self.node) else []
        for z in by_weight:
            if len(wanted) >= most or self.node[:, z].max() < _LEAST:
                break
            wanted.add(z)
        return sorted(wanted)

    def _edges(self, x: list[float], y: dict[int, float]) -> list[Html]:
        shapes = []
        for t in range(1, len(x)):
            pair = (self.best[t - 1], self.best[t])
            shares = {pair: 0.0}
            if self.edge is not None:
                shares |= {(a, b): float(self.edge[t, a, b]) for a in y for b in y if self.edge[t, a, b] >= _LEAST}
            for (a, b), share in sorted(shares.items(), key=lambda item: item[0] == pair):  # the best path on top
                kind, width = ("b", 2.5) if (a, b) == pair else ("e", 0.4 + 4 * share)
                title = f"{self.labels[a]} {self.labels[b]}: {share:.3f}" if self.edge is not None else ""
                shapes.append(line((x[t - 1], y[a]), (x[t], y[b]), title=title, class_=kind, stroke_width=width))
        return shapes

    def _nodes(self, x: list[float], y: dict[int, float]) -> list[Html]:
        shapes = []
        for t, across in enumerate(x):
            for z, down in y.items():
                share = float(self.node[t, z])
                kind = "p" if self.best[t] == z else "n" if share >= _LEAST else "o"
                radius = 2.5 if kind == "o" else 3 + (_LARGEST - 3) * share**0.5
                title = f"{self.tokens[t]}, {self.labels[z]}: {share:.3f}"
                shapes.append(circle(across, down, radius, title=title, class_=kind))
        return shapes
