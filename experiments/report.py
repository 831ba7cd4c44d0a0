"""What an experiment has to say: tables, findings, curves and remarks; as text, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Cell: TypeAlias = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and rows of cells; floats are shown with ``digits`` after the point."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 2

    def cells(self) -> list[list[str]]:
        """The head and the rows, as they are shown."""
        return [list(self.columns), *([self._shown(cell) for cell in row] for row in self.rows)]

    def _shown(self, cell: Cell) -> str:
        if cell is None:
            return "–"
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}"
        return f"{cell:,}" if isinstance(cell, int) else cell


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a paper found, and whether it holds on our data."""

    claim: str
    holds: bool
    seen: str  # the figures that decide

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'DOES NOT HOLD'}: {self.claim} ({self.seen})"


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines in one picture, each by its name."""

    name: str  # of the picture's file
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """All of it, in the order in which it is shown."""

    tables: list[Table]
    findings: list[Finding] = field(default_factory=list)
    curves: list[Curves] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def as_text(report: Report) -> str:
    """For a terminal."""
    parts = [f"{table.title}\n{_aligned(table.cells())}" for table in report.tables]
    parts += ["\n".join(str(finding) for finding in report.findings)] if report.findings else []
    return "\n\n".join([*parts, *report.remarks])


def _aligned(cells: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [_is_number(column[1:]) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def _is_number(cells: Sequence[str]) -> bool:
    return all(cell == "–" or cell.replace(",", "").replace(".", "", 1).lstrip("-").isdigit() for cell in cells)


def as_markdown(report: Report, pictures: str) -> str:
    """For the pages; ``pictures`` is the folder of the curves."""
    parts = list[str]()
    for table in report.tables:
        head, *rows = ([_escaped(cell) for cell in row] for row in table.cells())
        numbers = [_is_number(column) for column in zip(*rows, strict=True)] if rows else [False] * len(head)
        rule = ["---:" if to_right else "---" for to_right in numbers]
        parts.append("\n".join([f"**{table.title}**", "", *(f"| {' | '.join(row)} |" for row in (head, rule, *rows))]))
    if report.findings:
        parts.append("\n".join(f"- {_emphasised(finding)}" for finding in report.findings))
    parts += [f"![{one.title}]({pictures}/{one.name}.svg)" for one in report.curves]
    return "\n\n".join([*parts, *report.remarks])


def _escaped(cell: str) -> str:
    """Without what Markdown and formulas would take for their own."""
    return cell.replace("|", r"\|").replace("$", "&#36;")


def _emphasised(finding: Finding) -> str:
    verdict = "Holds" if finding.holds else "**Does not hold**"
    return f"{verdict}: {finding.claim} ({finding.seen})."
