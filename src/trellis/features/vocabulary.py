"""A vocabulary as data: strings, views and conjunctions with their attribute numbers, frozen into flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trellis.arrays import Ints, Longs
from trellis.corpus.strings import Strings
from trellis.features.plan import Lookups, Plan, View
from trellis.features.templates import Template

# Keys, ids and starts of open-addressing tables.
Tables = tuple[npt.NDArray[np.uint64], Ints, Longs]


@dataclass(frozen=True, slots=True)
class ColumnVocabulary:
    """What is known of one input column: its strings in training and what each view says of them."""

    name: str
    views: tuple[View, ...]
    values: Strings
    view_ids: Ints  # [n_values, n_views], -1 where a view says nothing
    strings: tuple[Strings | None, ...]  # [n_views] the distinct strings of each; None: the values themselves


@dataclass(frozen=True, slots=True)
class Sources:
    """Where attributes come from: templates of one name are one source; free-form attributes are the last one."""

    source_of: Ints  # [n_attributes]
    templates: tuple[tuple[Template, ...], ...]  # [n_sources], none for free-form attributes


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everything that turns strings into attribute numbers, frozen."""

    # Emission templates first; a template over a column of attributes is not among them.
    templates: tuple[Template, ...]
    n_emission: int
    columns: tuple[ColumnVocabulary, ...]
    plan: Plan
    tables: Tables
    folds: Tables
    bag: tuple[str, Strings, Ints] | None  # column, strings, attribute of each or -1
    lookups: Lookups

    @property
    def plan_arrays(self) -> tuple[Ints, Ints, int, int, int]:
        """The plan as native code takes it."""
        plan = self.plan
        return plan.atoms, plan.templates, plan.n_tables, plan.n_folds, plan.reach
