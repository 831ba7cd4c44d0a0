"""Elements of HTML: tables, bars, colours, pages. Text is escaped only here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# Background colours for dark text, distinguishable on light and dark pages; assigned to types in turn.
COLOURS = ("#9ecbff", "#ffc58f", "#a8e6a1", "#f5b5d0", "#d3c0f9", "#f4e27a", "#8fe3dc", "#e0c9a6", "#ffb3a7", "#c5d86d")
BLUE, ORANGE, RED, GREY = "#3b78c2", "#c26a1a", "#c2453b", "#8888"

# Characters that are invalid in XML or UTF-8.
_INVALID = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")

_STYLE = (
    ".trellis{font:14px/1.5 system-ui,sans-serif;overflow-x:auto}"
    ".trellis table{border-collapse:collapse;margin:.4em 0}"
    ".trellis th,.trellis td{padding:.15em .6em;text-align:left;border-bottom:1px solid #8884;vertical-align:top}"
    ".trellis .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".trellis mark{color:#1a1a1a;border-radius:.3em;padding:.1em .3em;margin:0 .1em;white-space:nowrap}"
    ".trellis mark b{font-size:75%;margin-left:.4em}"
    ".trellis .bar{display:inline-block;height:.8em;border-radius:.15em;vertical-align:middle}"
    ".trellis summary{cursor:pointer}"
)


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


class Number(Html):
    """A number, written out."""

    __slots__ = ()


def page(title: str, *parts: object, style: str = "") -> str:
    """A whole page, without scripts."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{markup(title)}</title>
<style>{style}</style>
</head>
<body>
{"".join(map(markup, parts))}
</body>
</html>
"""


def piece(*parts: object) -> Html:
    """Parts as one piece of a page, with its style."""
    return element("div", Html(f"<style>{_STYLE}</style>"), *parts, class_="trellis")


def markup(value: object) -> str:
    """A value as HTML: escaped unless it is HTML already, numbers as a person reads them."""
    if isinstance(value, Html):
        return value
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(str(value).translate(_INVALID))


def element(name: str, *parts: object, **attributes: str | float) -> Html:
    """An element with its content; ``class_`` is its class, ``stroke_width`` its stroke-width."""
    pairs = [
        (key.rstrip("_").replace("_", "-"), markup(value) if isinstance(value, str) else f"{round(value, 2):g}")
        for key, value in attributes.items()
    ]
    head = "".join(f' {key}="{value}"' for key, value in pairs)
    return Html(f"<{name}{head}>{''.join(map(markup, parts))}</{name}>")


def folded(title: str, *parts: object, **attributes: str) -> Html:
    """Parts that are shown by a click on the title."""
    return element("details", element("summary", title), *parts, **attributes)


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> Html:
    """Rows of cells; numbers are aligned to the right, and so are the heads of their columns."""

    def cell(tag: str, content: object, like: object) -> Html:
        return element(tag, content, **({"class_": "n"} if isinstance(like, (int, float, Number)) else {}))

    body = list(rows)
    likes = [next((row[i] for row in body if row[i] != ""), "") for i in range(len(head))]
    lines = [element("tr", *map(cell, ["th"] * len(head), head, likes))] if head else []
    lines += [element("tr", *(cell("td", content, content) for content in row)) for row in body]
    return element("table", *lines)


def percent(share: float) -> Number:
    """A fraction as a percentage with two digits."""
    return Number(f"{100 * share:.2f}")


def bar(value: float, greatest: float, text: str = "") -> Html:
    """A bar to the left of its number, or of a text: blue for positive values, red for negative ones."""
    width = 0.0 if not greatest else 8 * min(1.0, abs(value) / greatest)
    style = f"width:{width:.2f}em;background:{BLUE if value >= 0 else RED}"
    return Html(f"{element('span', class_='bar', style=style)} {markup(text) or f'{value:+.3f}'}")


def colours_of(types: Iterable[str]) -> dict[str, str]:
    """A colour for each type, the same for the same types."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(sorted(set(types)))}
