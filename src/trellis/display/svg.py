"""SVG pictures and shapes; all pictures of trellis are written here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trellis._support.errors import ArgumentError
from trellis._support.replacing import replacing
from trellis.display.html import Html, element


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: notebooks show it, ``save`` writes it.

    Attributes
    ----------
    svg
        The SVG.
    text
        The picture in characters, if available; printed.
    """

    svg: Html
    text: str = ""

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write an SVG file.

        Parameters
        ----------
        path
            Name of the file.
        """
        place = Path(path)
        if place.suffix.lower() != ".svg":
            raise ArgumentError(f"{path}: pictures are SVG; the name must end in .svg")
        with replacing(place, lambda reason: ArgumentError(f"cannot write {path}: {reason}")) as temporary:
            temporary.write_text(self.svg, encoding="utf-8")

    def __str__(self) -> str:
        return self.text or self.svg


def picture(
    shapes: Iterable[Html], width: float, height: float, *, style: str, name: str = "", text: str = ""
) -> Picture:
    """Picture of shapes (the last on top), with style (CSS), accessible name, and a text for terminals."""
    size: dict[str, str | float] = {
        "viewBox": f"0 0 {width:.0f} {height:.0f}",
        "width": round(width),
        "height": round(height),
    }
    attributes = {"role": "img", "aria_label": name} if name else {}
    lines = Html("\n".join(("", f"<style>{style}</style>", *shapes, "")))
    svg = element("svg", lines, xmlns="http://www.w3.org/2000/svg", **size, **attributes)
    return Picture(Html(f"{svg}\n"), text)


def words(x: float, y: float, text: str, **attributes: str | float) -> Html:
    """Text at a position of its baseline."""
    return element("text", text, x=x, y=y, **attributes)


def line(start: tuple[float, float], end: tuple[float, float], *, title: str = "", **attributes: str | float) -> Html:
    """A straight line; the title is a tooltip."""
    (x1, y1), (x2, y2) = start, end
    return element("line", *_title(title), x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def circle(x: float, y: float, radius: float, *, title: str = "", **attributes: str | float) -> Html:
    """A circle around a point."""
    return element("circle", *_title(title), cx=x, cy=y, r=radius, **attributes)


def path(*steps: str | float, **attributes: str | float) -> Html:
    """Lines and curves by SVG's commands: ``path("M", 0, 0, "L", 10, 5)``."""
    return element("path", d=" ".join(s if isinstance(s, str) else f"{round(s, 2):g}" for s in steps), **attributes)


def _title(text: str) -> list[Html]:
    return [element("title", text)] if text else []
