"""How good the outputs of a structured model are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trellis.display.tables import Figure, Mean, Row
from trellis.evaluation.report import Report


@dataclass(frozen=True, slots=True, repr=False)
class StructuredReport(Report):
    """Accuracy of whole outputs, and their mean cost where the problem has a cost function."""

    n_examples: int
    n_correct: int
    cost: float | None = None  # of all outputs together
    counts: ClassVar[tuple[str, ...]] = ("n_correct", "n_examples")
    metrics: ClassVar[Mapping[str, str]] = {"auto": "accuracy", "accuracy": "accuracy"}
    columns: ClassVar[tuple[str, ...]] = ("value", "support")
    rows: ClassVar[Mapping[str, Row]] = {}  # type: ignore[misc]

    @property
    def accuracy(self) -> float:
        """The share of outputs that are right."""
        return self.n_correct / self.n_examples if self.n_examples else 0.0

    @property
    def mean_cost(self) -> float | None:
        """The mean cost of an output; None without a cost function."""
        return None if self.cost is None else self.cost / max(1, self.n_examples)

    def summary(self) -> Mapping[str, Row]:
        """Accuracy and mean cost."""
        cost = {} if self.mean_cost is None else {"mean cost": Figure(Mean(self.mean_cost), self.n_examples)}
        return {"accuracy": Figure(self.accuracy, self.n_examples), **cost}
