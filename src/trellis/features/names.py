"""The way back from an attribute's number to words that a person can read."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trellis.features.templates import Look
from trellis.features.vocabulary import Tables, Vocabulary


def attribute_names(
    vocabulary: Vocabulary, wanted: Iterable[int], *, on_edge: bool = False
) -> dict[int, str]:
    """Names of attributes (``on_edge``: of those of label pairs), such as ``word[-1]=the & pos[0]=NN``."""
    numbers = np.unique(np.fromiter(wanted, np.int64))
    plan, names = vocabulary.plan, dict[int, str]()
    some = slice(vocabulary.n_emission, None) if on_edge else slice(0, vocabulary.n_emission)
    seen = set[int]()
    for template, (first, last, table) in zip(
        vocabulary.templates[some], plan.templates[some].tolist(), strict=True
    ):
        if table in seen:  # templates of one name share their attributes
            continue
        seen.add(table)
        for number, key in _entries(vocabulary.tables, table, numbers):
            ids = _unpack(vocabulary, first, last, key)
            parts = [
                _look_text(vocabulary, look, a, value)
                for look, a, value in zip(template.looks, range(first, last), ids, strict=True)
            ]
            prefix = f"{template.name}: " if template.name else ""
            names[number] = prefix + (" & ".join(parts) or "bias")
    if vocabulary.bag is not None and not on_edge:
        _, strings, attributes = vocabulary.bag
        for i in np.flatnonzero(np.isin(attributes, numbers)).tolist():
            names[int(attributes[i])] = strings[i]
    return names


def _entries(
    tables: Tables, table: int, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> list[tuple[int, int]]:
    """(number, key) of a table's entries with these numbers."""
    keys, ids, starts = tables
    here = slice(int(starts[table]), int(starts[table + 1]))
    found = np.flatnonzero(np.isin(ids[here], numbers))
    return list(zip(ids[here][found].tolist(), keys[here][found].tolist(), strict=True))


def _unpack(vocabulary: Vocabulary, first: int, last: int, key: int) -> list[int]:
    """The ids that core/text/extract.cpp packed into a key."""
    ids = list[int]()
    for _, _, _, bits, fold in reversed(vocabulary.plan.atoms[first:last].tolist()):
        ids.append(key & ((1 << bits) - 1))
        key >>= bits
        if fold >= 0:
            [(_, key)] = _entries(vocabulary.folds, fold, np.array([key]))
    return ids[::-1]


def _look_text(vocabulary: Vocabulary, look: Look, atom: int, value: int) -> str:
    c, j, *_ = vocabulary.plan.atoms[atom].tolist()
    reach, column = vocabulary.plan.reach, vocabulary.columns[c]
    if column.views[j] and column.views[j][0].name == "outside":
        return str(look)
    if value < reach:
        return f"{look}=_B-{value + 1}"  # so many places before the sentence, as CRF++ writes it
    if value < 2 * reach:
        return f"{look}=_B+{value - reach + 1}"
    return f"{look}={(column.strings[j] or column.values)[value - 2 * reach]}"
