"""Trees drawn: as lines of text, and as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from trellis.corpus.tree import PhraseTree

# Of the picture, in pixels.
_LETTER, _LINE, _GAP, _MARGIN = 8, 48, 14, 12


def draw(tree: PhraseTree) -> str:
    """Labels above their phrases, joined by lines; words stand in the last line but for those of no depth."""
    rows, _ = _block(tree)
    return "\n".join(row.rstrip() for row in rows)


def _block(tree: PhraseTree) -> tuple[list[str], int]:
    """Lines of equal width, and the column at which the label is centred."""
    if tree.word is not None:
        width = max(len(tree.label), len(tree.word))
        return [tree.label.center(width), "│".center(width), tree.word.center(width)], _middle(width)
    blocks = [_block(child) for child in tree.children]
    height = max(len(rows) for rows, _ in blocks)
    lines, centres, at = [""] * height, list[int](), 0
    for rows, centre in blocks:
        if at:
            lines, at = [line + "  " for line in lines], at + 2
        width = len(rows[0])
        # Words stand in the last line: what joins a tag with its word is made longer.
        stretched = _stretched(rows, height)
        lines = [line + row for line, row in zip(lines, stretched, strict=True)]
        centres.append(at + centre)
        at += width
    centre = _middle(at) if len(centres) == 1 else (centres[0] + centres[-1]) // 2
    if len(centres) == 1:
        centre = centres[0]
    bar = [" "] * at
    for column in range(centres[0], centres[-1] + 1):
        bar[column] = "─"
    for column in centres:
        bar[column] = "┬"
    bar[centres[0]], bar[centres[-1]] = "┌", "┐"
    if len(centres) == 1:
        bar[centre] = "│"
    else:
        bar[centre] = "┼" if centre in centres else "┴"
    before = centre - (len(tree.label) - 1) // 2
    shift = max(0, -before)
    width = max(at + shift, before + shift + len(tree.label))
    label = " " * (before + shift) + tree.label
    padded = [(" " * shift + line).ljust(width) for line in ["".join(bar), *lines]]
    return [label.ljust(width), *padded], centre + shift


def _stretched(rows: list[str], height: int) -> list[str]:
    """The block with its words in the last of ``height`` lines."""
    missing = height - len(rows)
    if not missing:
        return rows
    line = "".join("│" if c in "│┌┬┐┼" else " " for c in rows[1])
    if "│" not in rows[1] or any(c in "─┴" for c in rows[1]):
        return [*rows, *[" " * len(rows[0])] * missing]
    return [rows[0], *[line] * missing, *rows[1:]]


def _middle(width: int) -> int:
    return (width - 1) // 2


def to_svg(tree: PhraseTree) -> str:
    """The tree as an SVG picture: words in the last line, in black; labels above them."""
    depth, parts = _depth(tree), list[str]()
    height = (depth + 1) * _LINE

    def place(node: PhraseTree, level: int, left: float) -> tuple[float, float]:
        """Draws a node from ``left`` on; gives its centre and where the next one may begin."""
        own = max(len(node.label), len(node.word or "")) * _LETTER + _GAP
        y = level * _LINE
        if node.word is not None:
            centre = left + own / 2
            line, word_y = depth * _LINE, depth * _LINE + 16
            parts.append(_line(centre, y + 20, centre, line + 2))
            parts.append(_text(centre, word_y, node.word, "word"))
            right = left + own
        else:
            at, centres = left, list[float]()
            for child in node.children:
                middle, at = place(child, level + 1, at)
                centres.append(middle)
            if at - left < own:
                at = left + own
            centre, right = (centres[0] + centres[-1]) / 2, at
            parts.extend(_line(centre, y + 20, middle, y + _LINE + 4) for middle in centres)
        parts.append(_text(centre, y + 16, node.label, "label"))
        return centre, right

    _, right = place(tree, 0, _MARGIN)
    width = right + _MARGIN
    style = (
        "text{font:14px sans-serif;text-anchor:middle}.label{fill:#1a4f8b}.word{fill:#000}"
        "line{stroke:#888;stroke-width:1.2}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
    return f'{head} viewBox="0 0 {width:.0f} {height:.0f}"><style>{style}</style>{"".join(parts)}</svg>'


def _depth(tree: PhraseTree) -> int:
    """The line of the words: one below the deepest tag."""
    deepest, open_ = 0, [(tree, 0)]
    while open_:
        node, level = open_.pop()
        deepest = max(deepest, level + 1)
        open_ += [(child, level + 1) for child in node.children]
    return deepest


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
