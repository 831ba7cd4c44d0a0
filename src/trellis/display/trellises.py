"""The trellis of a sentence as a picture: tokens across, labels down, what is probable large, the best path bold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as escape_html
from pathlib import Path

import numpy as np

from trellis._support.arrays import Doubles
from trellis._support.errors import ArgumentError
from trellis._support.replacing import replacing

# What XML cannot hold.
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), 65533)


def escape(text: str) -> str:
    """Text as SVG can hold it."""
    return escape_html(text.translate(_CONTROLS))


_CHARACTER, _ROW, _TOP, _LARGEST = 7.0, 34.0, 46.0, 12.0
_LEAST = 0.002  # marginals below it are not drawn
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:currentColor;text-anchor:middle}text.l{text-anchor:end}"
    ".e{stroke:#6b8fc9;fill:none}.b{stroke:#c33;fill:none}.n{fill:#6b8fc9}.p{fill:#c33}.o{fill:none;stroke:#8886}"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a notebook shows and a file keeps."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write it as an SVG file."""
        place = Path(path)
        if place.suffix.lower() != ".svg":
            raise ArgumentError(f"{path}: the picture is SVG; name a .svg file")
        with replacing(place, lambda why: ArgumentError(f"cannot write {path}: {why}")) as temporary:
            temporary.write_text(self.svg, encoding="utf-8")

    def __str__(self) -> str:
        return self.svg


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
        row_of = {z: i for i, z in enumerate(rows)}
        left = 24 + _CHARACTER * max((len(self.labels[z]) for z in rows), default=1)
        widths = [max(46.0, _CHARACTER * len(token) + 18) for token in self.tokens]
        x = [left + sum(widths[:t]) + widths[t] / 2 for t in range(len(widths))]
        y = {z: _TOP + i * _ROW for z, i in row_of.items()}
        lines = [*self._edges(x, y), *self._nodes(x, y)]
        lines += [f'<text x="{x[t]:.1f}" y="20">{escape(token)}</text>' for t, token in enumerate(self.tokens)]
        lines += [
            f'<text class="l" x="{left - 14:.1f}" y="{y[z] + 4:.1f}">{escape(self.labels[z])}</text>' for z in rows
        ]
        width, height = left + sum(widths) + 10, _TOP + len(rows) * _ROW
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        named = f' height="{height:.0f}" role="img" aria-label="trellis of: {escape(" ".join(self.tokens))}">'
        return Picture("\n".join([f"{head}{named}", f"<style>{_STYLE}</style>", *lines, "</svg>", ""]))

    def _rows(self, most: int) -> list[int]:
        """The labels that are drawn, in the model's order."""
        wanted = set(self.best)
        by_weight = np.argsort(-self.node.max(axis=0, initial=0.0), kind="stable").tolist() if len(self.node) else []
        for z in by_weight:
            if len(wanted) >= most or self.node[:, z].max() < _LEAST:
                break
            wanted.add(z)
        return sorted(wanted)

    def _edges(self, x: list[float], y: dict[int, float]) -> list[str]:
        lines = []
        for t in range(1, len(x)):
            pair = (self.best[t - 1], self.best[t])
            shares = {pair: 0.0}
            if self.edge is not None:
                shares |= {(a, b): float(self.edge[t, a, b]) for a in y for b in y if self.edge[t, a, b] >= _LEAST}
            for (a, b), share in sorted(shares.items(), key=lambda item: item[0] == pair):  # the best path on top
                kind, width = ("b", 2.5) if (a, b) == pair else ("e", 0.4 + 4 * share)
                names = f"{self.labels[a]} {self.labels[b]}: {share:.3f}"
                ends = f'x1="{x[t - 1]:.1f}" y1="{y[a]:.1f}" x2="{x[t]:.1f}" y2="{y[b]:.1f}"'
                shown = f"<title>{escape(names)}</title>" if self.edge is not None else ""
                lines.append(f'<line class="{kind}" {ends} stroke-width="{width:.2f}">{shown}</line>')
        return lines

    def _nodes(self, x: list[float], y: dict[int, float]) -> list[str]:
        lines = []
        for t, here in enumerate(x):
            for z, down in y.items():
                share, on_path = float(self.node[t, z]), self.best[t] == z
                kind = "p" if on_path else "n" if share >= _LEAST else "o"
                radius = 2.5 if kind == "o" else 3 + (_LARGEST - 3) * share**0.5
                names = f"{self.tokens[t]}, {self.labels[z]}: {share:.3f}"
                circle = f'<circle class="{kind}" cx="{here:.1f}" cy="{down:.1f}" r="{radius:.1f}">'
                lines.append(f"{circle}<title>{escape(names)}</title></circle>")
        return lines
