"""Calibration of confidences: 80 per cent of the predictions with confidence 0.8 should be correct."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trellis._support.arguments import whole_number
from trellis._support.errors import ArgumentError
from trellis.display.charts import reliability_chart
from trellis.display.html import Html, Number
from trellis.display.svg import Picture
from trellis.display.tables import ShownAsTables, Table


@dataclass(frozen=True, slots=True)
class Bin:
    """The predictions with a confidence from ``low`` to ``high`` (exclusive, except in the last bin).

    Attributes
    ----------
    low
        Lower limit.
    high
        Upper limit.
    n
        Number of predictions.
    confidence
        Their mean confidence; 0 if there are none.
    accuracy
        Fraction of correct ones; 0 if there are none.
    """

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True, repr=False)
class Reliability(ShownAsTables):
    """Reliability table: predictions in bins of equal width of confidence, with their accuracy.

    Attributes
    ----------
    bins
        The bins.
    n
        Number of predictions.
    confidence
        Mean confidence.
    accuracy
        Fraction of correct predictions.
    ece
        Expected calibration error: mean of |confidence - accuracy| of the bins, weighted by size.
    mce
        Maximum calibration error: that of the worst bin.
    brier
        Brier score: mean of (confidence - correct)².
    """

    bins: list[Bin]
    n: int
    confidence: float
    accuracy: float
    ece: float
    mce: float
    brier: float

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Returns
        -------
        dict[str, Any]
            The table.
        """
        return asdict(self)

    def plot(self, title: str = "reliability") -> Picture:
        """Plot a reliability diagram: accuracy by confidence.

        Parameters
        ----------
        title
            Title of the diagram.

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        return reliability_chart(self, title)

    def _tables(self) -> Iterable[tuple[str, Table | None]]:
        bins = [(f"{bin.low:.2f}-{bin.high:.2f}", *_cells(bin)) for bin in self.bins]
        yield "", Table(("confidence", "n", "mean confidence", "accuracy"), [bins, [("all", *_cells(self))]])
        yield f"ECE {self.ece:.4f}, MCE {self.mce:.4f}, Brier score {self.brier:.4f}", None


def _cells(row: Bin | Reliability) -> list[Html]:
    shares = (f"{row.confidence:.4f}", f"{row.accuracy:.4f}") if row.n else ("", "")
    return [Number(row.n), *map(Number, shares)]


def reliability(confidences: npt.ArrayLike, right: npt.ArrayLike, n_bins: int = 10) -> Reliability:
    """Reliability table of confidences (0 to 1), given which predictions are correct."""
    confidence_of, was_right = np.asarray(confidences, np.float64).ravel(), np.asarray(right, bool).ravel()
    if len(confidence_of) != len(was_right):
        raise ArgumentError(f"{len(confidence_of)} confidences, but {len(was_right)} predictions")
    n_bins = whole_number("n_bins", n_bins, 1, 1_000_000)
    if len(confidence_of) and not (confidence_of.min() >= -1e-6 and confidence_of.max() <= 1 + 1e-6):
        raise ArgumentError("confidences must be from 0 to 1")
    number = np.clip((confidence_of * n_bins).astype(np.int64), 0, n_bins - 1)
    n = np.bincount(number, minlength=n_bins)
    sizes = np.maximum(n, 1)
    confidence = np.bincount(number, confidence_of, n_bins) / sizes
    accuracy = np.bincount(number, was_right, n_bins) / sizes
    errors = np.abs(confidence - accuracy)
    total = max(len(confidence_of), 1)
    return Reliability(
        [Bin(k / n_bins, (k + 1) / n_bins, int(n[k]), float(confidence[k]), float(accuracy[k])) for k in range(n_bins)],
        len(confidence_of),
        float(confidence_of.sum() / total),
        float(was_right.sum() / total),
        float((errors * n).sum() / total),
        float(errors.max(initial=0.0, where=n > 0)),
        float(np.square(confidence_of - was_right).sum() / total),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Calibration(ShownAsTables):
    """Calibration of a tagger: reliability of its labels, and of its spans.

    Attributes
    ----------
    probability_kind
        ``"probability"`` or ``"confidence"``.
    temperature
        Temperature of the tagger.
    tokens
        Reliability of labels.
    spans
        Reliability of spans; None if labels encode none.
    """

    probability_kind: str
    temperature: float
    tokens: Reliability
    spans: Reliability | None

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, ready for JSON.

        Returns
        -------
        dict[str, Any]
            The tables.
        """
        return asdict(self)

    def _tables(self) -> Iterable[tuple[str, Table | None]]:
        for name, table in (("tokens", self.tokens), ("spans", self.spans)):
            if table is not None:
                yield f"Calibration ({name}), {self.probability_kind}, temperature {self.temperature:.4g}", None
                yield from table._tables()
