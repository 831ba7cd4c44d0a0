"""Tables of figures: as text, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trellis.display.html import Html, Number, element, percent, piece, table

Row = Mapping[str, float]  # by column; a float is a share from 0 to 1, an int is a count
TITLES = {"f1": "F1", "uas": "UAS", "las": "LAS"}


class Mean(float):
    """A figure that is no share, printed as it is."""

    __slots__ = ()


class Figure(NamedTuple):
    """One figure, and the number of items that it is computed over."""

    value: float
    support: int


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells in groups, laid out like scikit-learn's ``classification_report``."""

    columns: Sequence[str]
    groups: Sequence[Sequence[Sequence[object]]]

    @classmethod
    def of(cls, columns: Sequence[str], *groups: Mapping[str, Row | Figure]) -> Table:
        """Named rows; a figure stands in the last column but one."""
        titles = ("", *(TITLES.get(column, column.replace("_", " ")) for column in columns))
        return cls(
            titles, [[(name, *map(_cell, values_of(columns, row))) for name, row in one.items()] for one in groups]
        )

    def __str__(self) -> str:
        groups = [[[str(cell) for cell in row] for row in group] for group in ([self.columns], *self.groups) if group]
        sizes = [max(map(len, cells)) for cells in zip(*(row for group in groups for row in group), strict=True)]
        lines = [["  ".join(map(str.rjust, row, sizes)).rstrip() for row in group] for group in groups]
        return "\n\n".join("\n".join(group) for group in lines)

    def to_html(self) -> Html:
        """The table as HTML."""
        return table([row for group in self.groups for row in group], self.columns)


def values_of(columns: Sequence[str], row: Row | Figure) -> list[float | None]:
    """The cells of a row; a figure stands in the last columns, with its support."""
    cells = dict(zip(columns[-2:], row, strict=True)) if isinstance(row, Figure) else row
    return [cells.get(column) for column in columns]


def _cell(value: float | None) -> Html:
    if isinstance(value, Mean):
        return Number(f"{value:.4g}")
    return Html("") if value is None else percent(value) if isinstance(value, float) else Number(value)


class Tables:
    """Base class of results that are shown as tables with titles: as text, and as HTML in notebooks."""

    __slots__ = ()

    def tables(self) -> Iterable[tuple[str, Table | None]]:
        """Titles ("": none) and tables (None: the title alone)."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(str(part) for title_and_table in self.tables() for part in title_and_table if part)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [
            (element("p", title) if title else "", shown.to_html() if shown else "") for title, shown in self.tables()
        ]
        return piece(*(part for pair in parts for part in pair))
