"""Small hypergraphs and lattices as pictures.

Lattices are drawn from left to right, hypergraphs from the goal at the top down to the leaves. Nodes are in layers by
the longest path to a leaf; within a layer they are near their neighbours. A hyperedge is a dot between its head and its
tails.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trellis.display.html import Html
from trellis.display.svg import Picture, circle, path, picture, words

MOST_NODES, MOST_EDGES = 400, 1500  # larger drawings are unreadable
_STEP, _GAP, _RADIUS, _CHARACTER = 90.0, 44.0, 5.0, 6.5
_STYLE = (
    "text{font:11px sans-serif;fill:#222;text-anchor:middle}"
    ".e{fill:none;stroke:#99a;stroke-width:1}.b{fill:none;stroke:#c33;stroke-width:2.5}"
    ".n{fill:#fff;stroke:#447}.d{fill:#99a}.c{fill:#c33}"
    "text.l{fill:#557;font-size:10px}text{paint-order:stroke;stroke:#fff;stroke-width:3px}"
)


def draw_hypergraph(
    heads: Sequence[int],
    tails: Sequence[Sequence[int]],
    node_names: Sequence[str],
    edge_names: Sequence[str],
    marked: Collection[int],
) -> Picture:
    """Nodes and edges with their names, which may be empty; ``marked`` edges are red."""
    layers = _layers(heads, tails, len(node_names))
    lattice = all(len(nodes) == 1 for nodes in tails)
    widest = max(len(name) for name in node_names) * _CHARACTER
    gap, step = max(_GAP, widest + 14), _STEP
    if lattice:
        gap, step = _GAP, max([_STEP, widest + 40, *(len(name) * _CHARACTER + 50 for name in edge_names)])
    places = [(0.0, 0.0)] * len(node_names)
    for depth, layer in enumerate(layers):
        for i, node in enumerate(layer):
            across = 40 + widest / 2 + (i + (max(map(len, layers)) - len(layer)) / 2) * gap
            along = 40 + (depth if lattice else len(layers) - 1 - depth) * step
            places[node] = (along, across) if lattice else (across, along)
    shapes = list[Html]()
    for e, head in enumerate(heads):
        x, y = places[head]
        kind, dot = ("b", "c") if e in marked else ("e", "d")
        if lattice:  # edges with the same ends are bent apart, long ones around what is between
            tx, ty = places[tails[e][0]]
            rank = sum(heads[o] == head and tails[o][0] == tails[e][0] for o in range(e))
            bend = 32.0 * ((rank + 1) // 2) * (1 if rank % 2 else -1) - (0.3 * (x - tx - step) if ty == y else 0)
            mx, my = (tx + x) / 2, (ty + y) / 2 + bend
            shapes.append(path("M", tx, ty, "Q", mx, my, x, y, class_=kind))
            label_y = (my + (ty + y) / 2) / 2 - 4
        else:  # a dot below the head, beside those of the head's other edges
            beside = [o for o, target in enumerate(heads) if target == head]
            apart = max(24.0, *((len(edge_names[o]) + 2) * _CHARACTER for o in beside))
            mx, my = x + (beside.index(e) - (len(beside) - 1) / 2) * apart, y + 26
            shapes.append(path("M", mx, my, "L", x, y, class_=kind))
            shapes += [path("M", *places[tail], "L", mx, my, class_=kind) for tail in tails[e]]
            shapes.append(circle(mx, my, 3, class_=dot))
            label_y = my + 14
        shapes += [words(mx, label_y, edge_names[e], class_="l")] if edge_names[e] else []
    for name, (x, y) in zip(node_names, places, strict=True):
        shapes.append(circle(x, y, _RADIUS, class_="n"))
        shapes += [words(x, y - 9, name)] if name else []
    width, height = (max(sizes) + 60 for sizes in zip(*places, strict=True))
    return picture(shapes, width, height, style=_STYLE)


def _layers(heads: Sequence[int], tails: Sequence[Sequence[int]], n_nodes: int) -> list[list[int]]:
    """Nodes by the longest way to a leaf, those that are connected near each other."""
    depth = [0] * n_nodes
    for head, nodes in sorted(zip(heads, tails, strict=True), key=lambda edge: edge[0]):
        depth[head] = max([depth[head], *(depth[tail] + 1 for tail in nodes)])
    layers = [[node for node in range(n_nodes) if depth[node] == d] for d in range(max(depth) + 1)]
    parents: list[list[int]] = [[] for _ in depth]
    for head, nodes in zip(heads, tails, strict=True):
        for tail in nodes:
            parents[head].append(tail)
            parents[tail].append(head)
    for _ in range(4):
        at = {node: i - (len(layer) - 1) / 2 for layer in layers for i, node in enumerate(layer)}
        mean = {v: sum(at[u] for u in parents[v]) / len(parents[v]) if parents[v] else at[v] for v in at}
        for layer in layers:
            layer.sort(key=lambda node: (mean[node], node))
    return layers
