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
    """What separates the parts of a label; ArgumentError if it cannot."""
    wanted = "the separator of the parts of a label, such as '|'"
    if label_parts == "":
        raise ArgumentError(f"label_parts must be {wanted}, not ''")
    return instance("label_parts", label_parts, str, wanted)


@dataclass(frozen=True, slots=True)
class LabelParts:
    """The parts that labels share. Rows of weights have a column per label and, after those, one per part:

    the score of a label is that of its own column and of the columns of its parts. A part that one label alone has
    would be that label once more; it has no column.
    """

    separator: str
    names: tuple[str, ...]  # of the parts
    starts: Longs  # [n_labels + 1]
    columns: Ints  # of label z columns[starts[z]:starts[z + 1]], ascending, all from n_labels on

    @classmethod
    def of(cls, labels: Sequence[str], separator: str) -> LabelParts | None:
        """The parts of these labels; None if no two labels share one."""
        parts = [dict.fromkeys(label.split(separator)) for label in labels]  # each once
        counts = Counter(name for names in parts for name in names)
        number = {name: i for i, name in enumerate((name for name, n in counts.items() if n > 1), len(labels))}
        columns = [sorted(number[name] for name in names if name in number) for names in parts]
        flat = np.array([column for some in columns for column in some], np.int32)
        return cls(separator, tuple(number), starts_of([len(some) for some in columns]), flat) if number else None

    @property
    def arrays(self) -> tuple[Longs, Ints]:
        """As native code takes them."""
        return self.starts, self.columns

    @property
    def n_columns(self) -> int:
        """How many columns rows have: labels and parts."""
        return len(self.starts) - 1 + len(self.names)

    def of_label(self, z: int) -> list[int]:
        """The columns of label z's parts."""
        columns: list[int] = self.columns[self.starts[z] : self.starts[z + 1]].tolist()
        return columns

    def with_parts(self, labels: Ints) -> tuple[Longs, Ints]:
        """For each label given its own column and those of its parts: the index of the label, and the column."""
        starts, items = runs_of(self.starts, labels)
        index = np.repeat(np.arange(len(labels)), np.diff(starts))
        return np.concatenate([np.arange(len(labels)), index]), np.concatenate([labels, self.columns[items]])
