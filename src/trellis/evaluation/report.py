"""Base class of the reports of all tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from trellis._support.errors import ArgumentError
from trellis.display.tables import Figure, Row, Table, Tables, values_of


class Report(Tables):
    """How good the predictions of a model are.

    A subclass names its ``counts`` and ``metrics`` and gives ``name``, ``rows`` and ``summary``.
    """

    __slots__ = ()
    counts: ClassVar[tuple[str, ...]]  # attributes; where the last one is 0 there is nothing to evaluate
    metrics: ClassVar[Mapping[str, str]]  # figures by which epochs can be compared: attribute by name

    @property
    def name(self) -> str:
        """Name of the headline figure."""
        raise NotImplementedError

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the printed table."""
        return ("precision", "recall", "f1", "support")

    def rows(self) -> Mapping[str, Row]:
        """Figures by label, type or relation."""
        return {}

    def summary(self) -> Mapping[str, Row | Figure]:
        """Figures of all predictions together."""
        return {}

    @property
    def headline(self) -> float:
        """The figure by which models are compared, from 0 to 1."""
        return self.figure("auto")

    def figure(self, metric: str) -> float:
        """The figure that a metric stands for ("auto": the headline)."""
        if metric not in self.metrics:
            raise ArgumentError(f"metric must be one of {', '.join(map(repr, self.metrics))}, not {metric!r}")
        return float(getattr(self, self.metrics[metric]))

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain data, ready for JSON."""
        summary = {
            name.replace(" ", "_"): row.value if isinstance(row, Figure) else dict(row)
            for name, row in self.summary().items()
        }
        rows = {name: dict(row) for name, row in self.rows().items()}
        figures = {name: getattr(self, name) for name in ("name", "headline", *self.counts)}
        return {**figures, **summary, "rows": rows}

    def to_frame(self) -> Any:
        """The printed table as a pandas DataFrame, shares from 0 to 1."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ArgumentError("to_frame needs pandas: pip install pandas") from None
        rows = [*self.rows().items(), *self.summary().items()]
        cells = [values_of(self.columns, row) for _, row in rows]
        return pd.DataFrame(cells, index=[name for name, _ in rows], columns=list(self.columns))

    def tables(self) -> Iterable[tuple[str, Table | None]]:
        """The table of all rows and the summary."""
        if not getattr(self, self.counts[-1]):
            return [(f"no {self.counts[-1].removeprefix('n_')} to evaluate", None)]
        return [("", Table.of(self.columns, self.rows(), self.summary()))]
