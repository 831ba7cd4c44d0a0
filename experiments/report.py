"""The report of an experiment: tables, findings, curves and remarks; as text and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from trellis.interfaces.cli.outputs import align

Cell: TypeAlias = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and rows of cells; floats are shown with ``digits`` after the point."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 2

    def cells(self) -> list[list[str]]:
        """The head and the rows as text."""
        return [list(self.columns), *([self._text(cell) for cell in row] for row in self.rows)]

    def _text(self, cell: Cell) -> str:
        if cell is None:
            return "–"
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}"
        return f"{cell:,}" if isinstance(cell, int) else cell


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a paper, and whether it holds on our data."""

    claim: str
    holds: bool
    seen: str  # the figures that decide

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'DOES NOT HOLD'}: {self.claim} ({self.seen})"


@dataclass(frozen=True, slots=True)
class Curves:
    """Named lines of one plot."""

    name: str  # of the file
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """All parts, in the order in which they are shown."""

    tables: list[Table]
    findings: list[Finding] = field(default_factory=list)
    curves: list[Curves] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def as_text(report: Report) -> str:
    """The report for a terminal."""
    parts = list[str]()
    for table in report.tables:
        cells = table.cells()
        numbers = [i for i, (_, *column) in enumerate(zip(*cells, strict=True)) if _is_number(column)]
        parts.append(f"{table.title}\n{align(cells, numbers)}")
    parts += ["\n".join(str(finding) for finding in report.findings)] if report.findings else []
    return "\n\n".join([*parts, *report.remarks])


def _is_number(cells: Sequence[str]) -> bool:
    return all(cell == "–" or cell.replace(",", "").replace(".", "", 1).lstrip("-").isdigit() for cell in cells)


def as_markdown(report: Report, pictures: str) -> str:
    """The report for a page; ``pictures`` is the folder of the curves."""
    parts = list[str]()
    for table in report.tables:
        head, *rows = ([_escaped(cell) for cell in row] for row in table.cells())
        numbers = [_is_number(column) for column in zip(*rows, strict=True)] if rows else [False] * len(head)
        rule = ["---:" if to_right else "---" for to_right in numbers]
        parts.append("\n".join([f"**{table.title}**", "", *(f"| {' | '.join(row)} |" for row in (head, rule, *rows))]))
    if report.findings:
        parts.append("\n".join(f"- {_emphasised(finding)}" for finding in report.findings))
    parts += [f"![{curves.title}]({pictures}/{curves.name}.svg)" for curves in report.curves]
    return "\n\n".join([*parts, *report.remarks])


def _escaped(cell: str) -> str:
    """The cell without the signs of Markdown tables and formulas."""
    return cell.replace("|", r"\|").replace("$", "&#36;")


def _emphasised(finding: Finding) -> str:
    verdict = "Holds" if finding.holds else "**Does not hold**"
    return f"{verdict}: {finding.claim} ({finding.seen})."
