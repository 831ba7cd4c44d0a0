"""Tables of figures: as text, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from trellis.display.html import Html, Number, element, percent, piece, table

TITLES = {"f1": "F1", "macro_f1": "macro F1", "uas": "UAS", "las": "LAS"}


class Counts(Protocol):
    """Counts with derived metrics."""

    def to_dict(self) -> dict[str, float]:
        """Figures by column: a float is a fraction from 0 to 1, an int is a count."""
        ...


class Mean(float):
    """A figure that is not a fraction, printed unchanged."""

    __slots__ = ()


class Figure(NamedTuple):
    """One figure with its support.

    Attributes
    ----------
    value
        The figure.
    support
        Number of items it is computed over.
    """

    value: float
    support: int


Row = Counts | Mapping[str, float] | Figure


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells in groups, laid out like scikit-learn's ``classification_report``."""

    columns: Sequence[str]
    groups: Sequence[Sequence[Sequence[object]]]

    @classmethod
    def of(cls, columns: Sequence[str], *groups: Mapping[str, Row]) -> Table:
        """Make a table of named rows; a figure is in the last column but one."""
        cells = [[(name, *map(_cell, values_of(columns, row))) for name, row in rows.items()] for rows in groups]
        return cls(["", *map(title_of, columns)], cells)

    def __str__(self) -> str:
        groups = [[[str(cell) for cell in row] for row in group] for group in ([self.columns], *self.groups) if group]
        sizes = [max(map(len, cells)) for cells in zip(*(row for group in groups for row in group), strict=True)]
        lines = [["  ".join(map(str.rjust, row, sizes)).rstrip() for row in group] for group in groups]
        return "\n\n".join("\n".join(group) for group in lines)

    def to_html(self) -> Html:
        """The table as HTML."""
        return table([row for group in self.groups for row in group], self.columns)


def title_of(column: str) -> str:
    """Readable name of a column."""
    return TITLES.get(column, column.replace("_", " "))


def values_of(columns: Sequence[str], row: Row) -> list[float | None]:
    """The cells of a row; a figure is in the last columns, with its support."""
    if isinstance(row, Figure):
        return [None] * (len(columns) - 2) + list(row)
    cells = row if isinstance(row, Mapping) else row.to_dict()
    return [cells.get(column) for column in columns]


def _cell(value: float | None) -> Html:
    if isinstance(value, Mean):
        return Number(f"{value:.4g}")
    return Html("") if value is None else percent(value) if isinstance(value, float) else Number(value)


class ShownAsTables:
    """Base class of results that are shown as tables with titles: as text, and as HTML in notebooks."""

    __slots__ = ()

    def _tables(self) -> Iterable[tuple[str, Table | None]]:
        """Titles ("": none) and tables (None: the title alone)."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(str(part) for title_and_table in self._tables() for part in title_and_table if part)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        pairs = [(element("p", title), table.to_html() if table else "") for title, table in self._tables()]
        return piece(*(part for pair in pairs for part in pair))
