"""What a vocabulary already knows, taken apart again, for a warm start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from trellis.arrays import Ints
from trellis.corpus.corpus import BagColumn, Column, Strings
from trellis.features.vocabulary import ColumnVocabulary, Tables, Vocabulary


def entries(vocabulary: Vocabulary) -> Iterator[tuple[int, Ints, Ints]]:
    """For each table its first template, the numbers of its attributes and the view ids behind each [n, n_atoms]."""
    plan, seen = vocabulary.plan, set[int]()
    folded = [_by_number(vocabulary.folds, f) for f in range(plan.n_folds)]
    for k, (first, last, table) in enumerate(plan.templates.tolist()):
        if table in seen:  # templates of one name share their attributes
            continue
        seen.add(table)
        keys, ids, starts = vocabulary.tables
        here = slice(int(starts[table]), int(starts[table + 1]))
        taken = np.flatnonzero(ids[here] >= 0)
        taken = taken[np.argsort(ids[here][taken], kind="stable")]
        rest = keys[here][taken]
        parts = np.empty((len(taken), last - first), np.int32)
        for a in range(last - 1, first - 1, -1):
            _, _, _, bits, fold = plan.atoms[a].tolist()
            parts[:, a - first] = rest & np.uint64((1 << bits) - 1)
            rest = rest >> np.uint64(bits)
            if fold >= 0:
                rest = folded[fold][rest.astype(np.int64)]
        yield k, ids[here][taken], parts


def _by_number(tables: Tables, table: int) -> npt.NDArray[np.uint64]:
    """The keys of a table in the order of their numbers."""
    keys, ids, starts = tables
    here = slice(int(starts[table]), int(starts[table + 1]))
    taken = np.flatnonzero(ids[here] >= 0)
    out = np.empty(len(taken), np.uint64)
    out[ids[here][taken]] = keys[here][taken]
    return out


def united(column: Column, known: ColumnVocabulary) -> Column:
    """The column over the known values, then those that are new."""
    numbers = {value: i for i, value in enumerate(known.values)}
    of_value = np.array([numbers.setdefault(value, len(numbers)) for value in column.values], np.int32)
    return Column(of_value[column.codes], Strings.of(numbers))


def united_bag(column: BagColumn, known: Strings) -> BagColumn:
    """The same for attributes given as strings."""
    numbers = {value: i for i, value in enumerate(known)}
    of_name = np.array([numbers.setdefault(name, len(numbers)) for name in column.names], np.int32)
    ids = of_name[column.ids] if len(column.ids) else column.ids
    return BagColumn(column.starts, ids, column.values, Strings.of(numbers))
