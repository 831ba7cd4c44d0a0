"""Small hypergraphs and lattices as pictures.

A lattice runs from left to right, a hypergraph from the goal at the top down to its leaves. Nodes stand in layers, by
the longest way to a leaf; within a layer near those that they are connected with. A hyperedge is a dot between its head
and its tails.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trellis.display.html import Html
from trellis.display.svg import Picture, circle, path, picture, words

MOST_NODES, MOST_EDGES = 400, 1500  # more than that nobody can read
_STEP, _GAP, _RADIUS, _CHARACTER = 90.0, 44.0, 5.0, 6.5
_STYLE = (
    "text{font:11px sans-serif;fill:#222;text-anchor:middle}"
    ".e{fill:none;stroke:#99a;stroke-width:1}.b{fill:none;stroke:#c33;stroke-width:2.5}"
    ".n{fill:#fff;stroke:#447}.d{fill:#99a}.c{fill:#c33}"
    "text.l{fill:#557;font-size:10px}text{paint-order:stroke;stroke:#fff;stroke-width:3px}"
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn: nodes with names, edges with names, and which edges are marked."""

    heads: Sequence[int]
    tails: Sequence[Sequence[int]]
    node_names: Sequence[str]
    edge_names: Sequence[str]
    marked: Collection[int]

    def picture(self) -> Picture:
        """Draw it."""
        sideways = all(len(tails) == 1 for tails in self.tails)
        places = self._places(self._layers(), sideways)
        shapes = list[Html]()
        for e, head in enumerate(self.heads):
            ends = [places[tail] for tail in self.tails[e]]
            shapes += self._arc(e, *places[head], *ends[0]) if sideways else self._joint(e, *places[head], ends)
        for name, (x, y) in zip(self.node_names, places, strict=True):
            shapes.append(circle(x, y, _RADIUS, class_="n"))
            shapes += [words(x, y - 9, name)] if name else []
        width, height = (max(sizes) + 60 for sizes in zip(*places, strict=True))
        return picture(shapes, width, height, style=_STYLE)

    @property
    def _longest(self) -> float:
        return max(len(name) for name in self.node_names) * _CHARACTER

    @property
    def _step(self) -> float:
        """From one layer of a lattice to the next."""
        return max([_STEP, self._longest + 40, *(len(name) * _CHARACTER + 50 for name in self.edge_names)])

    def _layers(self) -> list[list[int]]:
        """Nodes by the longest way to a leaf, those that are connected near each other."""
        depth = [0] * len(self.node_names)
        for e in sorted(range(len(self.heads)), key=lambda e: self.heads[e]):
            depth[self.heads[e]] = max([depth[self.heads[e]], *(depth[tail] + 1 for tail in self.tails[e])])
        layers: list[list[int]] = [[] for _ in range(max(depth) + 1)]
        for node, d in enumerate(depth):
            layers[d].append(node)
        near: list[list[int]] = [[] for _ in depth]
        for head, tails in zip(self.heads, self.tails, strict=True):
            for tail in tails:
                near[head].append(tail)
                near[tail].append(head)
        for _ in range(4):
            at = {node: i - (len(layer) - 1) / 2 for layer in layers for i, node in enumerate(layer)}
            mean = {v: sum(at[u] for u in near[v]) / len(near[v]) if near[v] else at[v] for v in at}
            for layer in layers:
                layer.sort(key=lambda node: (mean[node], node))
        return layers

    def _places(self, layers: list[list[int]], sideways: bool) -> list[tuple[float, float]]:
        longest = self._longest
        gap = _GAP if sideways else max(_GAP, longest + 14)
        step = self._step if sideways else _STEP
        most = max(len(layer) for layer in layers)
        place = [(0.0, 0.0)] * len(self.node_names)
        for depth, layer in enumerate(layers):
            for i, node in enumerate(layer):
                across = 40 + longest / 2 + (i + (most - len(layer)) / 2) * gap
                along = 40 + (depth if sideways else len(layers) - 1 - depth) * step
                place[node] = (along, across) if sideways else (across, along)
        return place

    def _arc(self, e: int, x: float, y: float, tx: float, ty: float) -> list[Html]:
        """The line of a lattice's edge; those with the same ends are bent apart, long ones around what is between."""
        before = sum(self.heads[o] == self.heads[e] and self.tails[o][0] == self.tails[e][0] for o in range(e))
        bend = 32.0 * ((before + 1) // 2) * (1 if before % 2 else -1) - (0.3 * (x - tx - self._step) if ty == y else 0)
        mx, my = (tx + x) / 2, (ty + y) / 2 + bend
        curve = path("M", tx, ty, "Q", mx, my, x, y, class_=self._kind(e))
        return [curve, *self._label(e, mx, (my + (ty + y) / 2) / 2 - 4)]

    def _joint(self, e: int, x: float, y: float, ends: list[tuple[float, float]]) -> list[Html]:
        """A dot below the head, beside those of the head's other edges, and lines to it and from it."""
        beside = [o for o, head in enumerate(self.heads) if head == self.heads[e]]
        apart = max(24.0, *((len(self.edge_names[o]) + 2) * _CHARACTER for o in beside))
        mx, my = x + (beside.index(e) - (len(beside) - 1) / 2) * apart, y + 26
        shapes = [path("M", mx, my, "L", x, y, class_=self._kind(e))]
        shapes += [path("M", tx, ty, "L", mx, my, class_=self._kind(e)) for tx, ty in ends]
        shapes.append(circle(mx, my, 3, class_="c" if e in self.marked else "d"))
        return [*shapes, *self._label(e, mx, my + 14)]

    def _kind(self, e: int) -> str:
        return "b" if e in self.marked else "e"

    def _label(self, e: int, x: float, y: float) -> list[Html]:
        return [words(x, y, self.edge_names[e], class_="l")] if self.edge_names[e] else []
