"""The picture of a constituency tree, as SVG and in characters."""

from __future__ import annotations

from typing import Any

from trellis.display.html import Html
from trellis.display.svg import Picture, line, picture, words

_LETTER, _LINE, _GAP, _MARGIN = 8, 48, 14, 12  # pixels
_STYLE = (
    "text{font:14px sans-serif;text-anchor:middle}.label{fill:#1a4f8b}.word{fill:#000}"
    "line{stroke:#888;stroke-width:1.2}"
)


def draw_phrases(tree: Any) -> Picture:
    """A ``PhraseTree``: labels above their phrases, joined by lines; words in the last line."""
    depth, shapes = _depth(tree), list[Html]()

    def place(node: Any, level: int, left: float) -> tuple[float, float]:
        """Draw a node from ``left`` on; its centre, and where the next one may begin."""
        right = left + max(len(node.label), len(node.word or "")) * _LETTER + _GAP
        y, centre = level * _LINE, (left + right) / 2
        if node.word is not None:
            shapes.append(line((centre, y + 20), (centre, depth * _LINE + 2)))
            shapes.append(words(centre, depth * _LINE + 16, node.word, class_="word"))
        else:
            at, centres = left, list[float]()
            for child in node.children:
                middle, at = place(child, level + 1, at)
                centres.append(middle)
            if centres:  # empty sentence
                centre, right = (centres[0] + centres[-1]) / 2, max(right, at)
            shapes.extend(line((centre, y + 20), (middle, y + _LINE + 4)) for middle in centres)
        shapes.append(words(centre, y + 16, node.label, class_="label"))
        return centre, right

    _, right = place(tree, 0, _MARGIN)
    text = "\n".join(row.rstrip() for row in _block(tree)[0])
    return picture(shapes, right + _MARGIN, (depth + 1) * _LINE, style=_STYLE, text=text)


def _depth(tree: Any) -> int:
    """The line of the words: one below the deepest tag."""
    return 1 + max(map(_depth, tree.children), default=0)


def _block(tree: Any) -> tuple[list[str], int]:
    """A tree in characters: lines of equal width, and the column at which the label is centred."""
    if tree.word is not None:
        width = max(len(tree.label), len(tree.word))
        return [text.center(width) for text in (tree.label, "│", tree.word)], (width - 1) // 2
    blocks = [_block(child) for child in tree.children]
    if not blocks:
        return [tree.label], (len(tree.label) - 1) // 2
    height = max(len(rows) for rows, _ in blocks)
    columns, left = list[int](), 0
    for rows, column in blocks:
        columns.append(left + column)
        left += len(rows[0]) + 2
    lines = ["  ".join(row) for row in zip(*(_stretched(rows, height) for rows, _ in blocks), strict=True)]
    first, last, centre = columns[0], columns[-1], (columns[0] + columns[-1]) // 2
    bar = [" "] * len(lines[0])
    bar[first : last + 1] = "─" * (last + 1 - first)
    for column in columns:
        bar[column] = "┬"
    bar[first], bar[last] = "┌", "┐"
    bar[centre] = "│" if first == last else "┼" if centre in columns else "┴"
    start = centre - (len(tree.label) - 1) // 2
    shift = max(0, -start)
    rows = [" " * max(0, start) + tree.label, *(" " * shift + line for line in ("".join(bar), *lines))]
    width = max(map(len, rows))
    return [row.ljust(width) for row in rows], centre + shift


def _stretched(rows: list[str], height: int) -> list[str]:
    """A block of ``height`` lines; a line straight down from its label is made longer, so that its word is the last."""
    missing = height - len(rows)
    if rows[1].strip() == "│":
        return [rows[0], *[rows[1]] * missing, *rows[1:]]
    return [*rows, *[" " * len(rows[0])] * missing]
