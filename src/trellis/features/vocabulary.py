"""A vocabulary as data: strings, views and conjunctions with their attribute numbers, frozen into flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trellis import _core
from trellis.corpus.strings import Strings
from trellis.features.plan import Lookups, Plan, View
from trellis.features.templates import Template

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
Tables = tuple[npt.NDArray[np.uint64], IntArray, LongArray]  # keys, ids, starts of open-addressing tables


@dataclass(frozen=True, slots=True)
class AttributeLists:
    """The attributes of every token: ids[starts[t]:starts[t + 1]]."""

    starts: LongArray  # [n_tokens + 1]
    ids: IntArray  # [n_items]
    values: npt.NDArray[np.float32]  # [n_items], or empty where every value is one

    @property
    def arrays(self) -> tuple[LongArray, IntArray, npt.NDArray[np.float32]]:
        """The lists as native code takes them."""
        return self.starts, self.ids, self.values

    @classmethod
    def none(cls) -> AttributeLists:
        """Of no token."""
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))

    def take(self, tokens: LongArray) -> AttributeLists:
        """The lists of the given tokens in the given order."""
        sizes = np.diff(self.starts)[tokens]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        items = np.repeat(self.starts[:-1][tokens] - starts[:-1], sizes) + np.arange(starts[-1])
        return AttributeLists(
            starts, self.ids[items], self.values[items] if len(self.values) else self.values
        )

    def renumber(self, rank: IntArray) -> AttributeLists:
        """The same lists under new numbers; attributes of rank -1 are dropped."""
        return AttributeLists(*_core.renumber(self.starts, self.ids, self.values, rank))


@dataclass(frozen=True, slots=True)
class ColumnVocabulary:
    """What is known of one input column: its strings in training and what each view says of them."""

    name: str
    views: tuple[View, ...]
    values: Strings
    view_ids: IntArray  # [n_values, n_views], -1 where a view says nothing
    strings: tuple[
        Strings | None, ...
    ]  # [n_views] the distinct strings of each view; None for the value itself


@dataclass(frozen=True, slots=True)
class Sources:
    """Where attributes come from: templates of one name are one source; free-form attributes are the last one."""

    source_of: IntArray  # [n_attributes]
    templates: tuple[tuple[Template, ...], ...]  # [n_sources], none for free-form attributes


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everything that turns strings into attribute numbers, frozen."""

    templates: tuple[
        Template, ...
    ]  # emission templates first; a template over a bag column is not among them
    n_emission: int
    columns: tuple[ColumnVocabulary, ...]
    plan: Plan
    tables: Tables
    folds: Tables
    bag: tuple[str, Strings, IntArray] | None  # column, strings, attribute of each or -1
    lookups: Lookups

    @property
    def plan_arrays(self) -> tuple[IntArray, IntArray, int, int, int]:
        """The plan as native code takes it."""
        plan = self.plan
        return plan.atoms, plan.templates, plan.n_tables, plan.n_folds, plan.reach
