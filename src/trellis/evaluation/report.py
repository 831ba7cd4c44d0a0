"""Base class of the reports of all tasks, and the report of structured models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trellis._support.errors import ArgumentError
from trellis._support.extras import missing
from trellis.display.tables import Figure, Mean, Row, ShownAsTables, Table, title_of, values_of


class Report(ShownAsTables):
    """Base class of evaluation reports: figures, a table when printed, JSON and DataFrame.

    A subclass defines ``counts``, ``metrics``, ``rows`` and ``summary``.

    Attributes
    ----------
    rows
        Rows of the table by name.
    """

    __slots__ = ()
    counts: ClassVar[tuple[str, ...]]  # attributes; if the last one is 0 there is nothing to evaluate
    metrics: ClassVar[Mapping[str, str]]  # metrics for comparing epochs: attribute by name
    columns: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", "support")  # of the printed table
    rows: Mapping[str, Any]

    def summary(self) -> Mapping[str, Row]:
        """Compute the figures of all predictions together.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Name of the headline figure."""
        return title_of(self.metrics["auto"])

    @property
    def headline(self) -> float:
        """Value of the headline figure, from 0 to 1."""
        return self.figure("auto")

    def figure(self, metric: str) -> float:
        """Get one figure.

        Parameters
        ----------
        metric
            Name of the metric; ``"auto"``: the headline figure.

        Returns
        -------
        float
            The figure.

        Raises
        ------
        ArgumentError
            If there is no such metric.
        """
        if metric not in self.metrics:
            raise ArgumentError(f"metric must be one of {', '.join(map(repr, self.metrics))}, not {metric!r}")
        return float(getattr(self, self.metrics[metric]))

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Returns
        -------
        dict[str, Any]
            All figures.
        """
        figures = {name: getattr(self, name) for name in ("name", "headline", *self.counts)}
        summary = {name.replace(" ", "_"): _plain(row) for name, row in self.summary().items()}
        return {**figures, **summary, "rows": {name: _plain(row) for name, row in self.rows.items()}}

    def to_frame(self) -> Any:
        """Convert the printed table to a DataFrame, with fractions from 0 to 1.

        Returns
        -------
        pandas.DataFrame
            One row per row of the table.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ArgumentError(missing("to_frame", "frames", "pandas")) from None
        rows = [*self.rows.items(), *self.summary().items()]
        cells = [values_of(self.columns, row) for _, row in rows]
        return pd.DataFrame(cells, index=[name for name, _ in rows], columns=list(self.columns))

    def _tables(self) -> Iterable[tuple[str, Table | None]]:
        if not getattr(self, self.counts[-1]):
            return [(f"no {self.counts[-1].removeprefix('n_')} to evaluate", None)]
        return [("", Table.of(self.columns, self.rows, self.summary()))]


def _plain(row: Row) -> object:
    if isinstance(row, Figure):
        return row.value
    return dict(row) if isinstance(row, Mapping) else row.to_dict()


@dataclass(frozen=True, slots=True, repr=False)
class StructuredReport(Report):
    """Accuracy of whole outputs, and their mean cost if the problem has a cost function.

    Attributes
    ----------
    n_examples
        Number of examples.
    n_correct
        Number of correct outputs.
    cost
        Total cost of all outputs.
    """

    n_examples: int
    n_correct: int
    cost: float | None = None
    counts: ClassVar[tuple[str, ...]] = ("n_correct", "n_examples")
    metrics: ClassVar[Mapping[str, str]] = {"auto": "accuracy", "accuracy": "accuracy"}
    columns: ClassVar[tuple[str, ...]] = ("value", "support")
    rows: ClassVar[Mapping[str, Row]] = {}  # type: ignore[misc]

    @property
    def accuracy(self) -> float:
        """Fraction of correct outputs."""
        return self.n_correct / self.n_examples if self.n_examples else 0.0

    @property
    def mean_cost(self) -> float | None:
        """Mean cost of an output; None without a cost function."""
        return None if self.cost is None else self.cost / max(1, self.n_examples)

    def summary(self) -> Mapping[str, Row]:
        """Compute accuracy and mean cost.

        Returns
        -------
        Mapping[str, Row]
            Rows by name.
        """
        cost = {} if self.mean_cost is None else {"mean cost": Figure(Mean(self.mean_cost), self.n_examples)}
        return {"accuracy": Figure(self.accuracy, self.n_examples), **cost}
