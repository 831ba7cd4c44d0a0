"""Labels with parts: ``NOUN|Case=Nom|Number=Sing`` is NOUN, Case=Nom and Number=Sing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis._support.arguments import instance
from trellis._support.arrays import Ints, Longs, runs_of, starts_of
from trellis._support.errors import ArgumentError


def check_separator(label_parts: Any) -> str:
    """The separator of the parts of a label; ArgumentError if it is invalid."""
    expected = "the separator of the parts of a label, such as '|'"
    if label_parts == "":
        raise ArgumentError(f"label_parts must be {expected}, not ''")
    return instance("label_parts", label_parts, str, expected)


@dataclass(frozen=True, slots=True)
class LabelParts:
    """The parts that labels share, such as ``Case=Nom``. Weights have a column per label, then one per part.

    The score of a label is the sum over its own column and the columns of its parts. A part of one label only has no
    column.

    Attributes
    ----------
    separator
        Separator of parts, such as ``|``.
    names
        The parts.
    starts
        [n_labels + 1]; the parts of label z are at starts[z] to starts[z + 1], exclusive.
    columns
        Columns of the parts of each label, ascending, all from n_labels on.
    """

    separator: str
    names: tuple[str, ...]
    starts: Longs
    columns: Ints

    @classmethod
    def of(cls, labels: Sequence[str], separator: str) -> LabelParts | None:
        """Find the parts of labels.

        Parameters
        ----------
        labels
            The labels.
        separator
            Separator of parts.

        Returns
        -------
        LabelParts | None
            The parts; None if no two labels share one.
        """
        parts = [dict.fromkeys(label.split(separator)) for label in labels]  # each once
        counts = Counter(name for names in parts for name in names)
        number = {name: i for i, name in enumerate((name for name, n in counts.items() if n > 1), len(labels))}
        columns = [sorted(number[name] for name in names if name in number) for names in parts]
        flat = np.array([column for numbers in columns for column in numbers], np.int32)
        return cls(separator, tuple(number), starts_of([len(numbers) for numbers in columns]), flat) if number else None

    @property
    def arrays(self) -> tuple[Longs, Ints]:
        """Arrays for native code."""
        return self.starts, self.columns

    @property
    def n_columns(self) -> int:
        """Number of columns of rows: labels and parts."""
        return len(self.starts) - 1 + len(self.names)

    def of_label(self, z: int) -> list[int]:
        """List the columns of the parts of one label.

        Parameters
        ----------
        z
            Index of the label.

        Returns
        -------
        list[int]
            The columns.
        """
        columns: list[int] = self.columns[self.starts[z] : self.starts[z + 1]].tolist()
        return columns

    def with_parts(self, labels: Ints) -> tuple[Longs, Ints]:
        """List for each label its own column and those of its parts.

        Parameters
        ----------
        labels
            Indices of labels.

        Returns
        -------
        tuple[Longs, Ints]
            Position in ``labels``, and column.
        """
        starts, items = runs_of(self.starts, labels)
        index = np.repeat(np.arange(len(labels)), np.diff(starts))
        return np.concatenate([np.arange(len(labels)), index]), np.concatenate([labels, self.columns[items]])
