"""List the attributes of a vocabulary and their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Ints
from trellis._support.errors import ModelError
from trellis.features.templates import Look, vector_file
from trellis.features.vocabulary import PAIR, KeyTables, Vocabulary


def entries(
    vocabulary: Vocabulary, *, on_edge: bool, chosen: npt.ArrayLike | None = None
) -> Iterator[tuple[int, Ints, Ints]]:
    """For each table its first template, the numbers of its attributes and the view ids behind each [n, n_atoms].

    Of the attributes of labels, or with ``on_edge`` those of label pairs; all of them, or those wanted.
    """
    plan, n, places = vocabulary.plan, vocabulary.n_emission, set[int]()
    for k in range(n, len(vocabulary.templates)) if on_edge else range(n):
        first, last, table = plan.templates[k].tolist()
        if table in places:  # templates of one name share their attributes
            continue
        places.add(table)
        rest, numbers = _taken(vocabulary.tables, table, chosen)
        ids = np.empty((len(numbers), last - first), np.int32)
        for a in range(last - 1, first - 1, -1):  # as packed by core/text/extract.cpp: the last id in the lowest bits
            _, _, _, bits, fold = plan.atoms[a].tolist()
            ids[:, a - first] = rest & np.uint64((1 << bits) - 1)
            rest = rest >> np.uint64(bits)
            if fold >= 0:
                folded = _taken(vocabulary.folds, fold)[0]
                if len(rest) and rest.max() >= len(folded):
                    raise ModelError("the model is damaged: a feature with a weight has no name")
                rest = folded[rest.astype(np.int64)]
        yield k, numbers, ids


def keys_in_order(tables: KeyTables, chosen: npt.ArrayLike | None = None) -> list[tuple[npt.NDArray[np.uint64], Ints]]:
    """For every table its keys in order of their numbers, and these numbers: all, or the wanted ones."""
    return [_taken(tables, table, chosen) for table in range(len(tables.starts) - 1)]


def _taken(tables: KeyTables, table: int, chosen: npt.ArrayLike | None = None) -> tuple[npt.NDArray[np.uint64], Ints]:
    """Keys and numbers of a table in order of the numbers: all, or the wanted ones."""
    keys, ids, starts = tables
    part = slice(int(starts[table]), int(starts[table + 1]))
    slots = np.flatnonzero(ids[part] >= 0 if chosen is None else np.isin(ids[part], chosen, kind="table"))
    slots = slots[np.argsort(ids[part][slots], kind="stable")]
    return keys[part][slots], ids[part][slots]


# ------------------------------------------------------------ names


def attribute_names(vocabulary: Vocabulary, wanted: Iterable[int], *, on_edge: bool = False) -> dict[int, str]:
    """Names of attributes (``on_edge``: of those of label pairs), such as ``word[-1]=the & pos[0]=NN``."""
    unique_ids, names = np.unique(np.fromiter(wanted, np.int64)), dict[int, str]()
    for k, numbers, ids in entries(vocabulary, on_edge=on_edge, chosen=unique_ids):
        template, first = vocabulary.templates[k], int(vocabulary.plan.templates[k, 0])
        prefix = f"{template.name}: " if template.name else ""
        for number, values in zip(numbers.tolist(), ids.tolist(), strict=True):
            looks = zip(template.looks, values, strict=True)
            parts = [_look_text(vocabulary, look, first + i, v) for i, (look, v) in enumerate(looks)]
            texts = [template.labels, *parts] if template.labels else parts
            names[number] = prefix + (" & ".join(texts) or "bias")
    bag = vocabulary.bag
    attributes = None if bag is None else bag.pairs if on_edge else bag.attributes
    if bag is not None and attributes is not None:
        for i in np.flatnonzero(np.isin(attributes, unique_ids)).tolist():
            strings = bag.strings[i]
            names[int(attributes[i])] = f"{PAIR}{strings.removeprefix(PAIR)}" if on_edge else strings
    return names


def _look_text(vocabulary: Vocabulary, look: Look, atom: int, value: int) -> str:
    c, j, *_ = vocabulary.plan.atoms[atom].tolist()
    reach, column = vocabulary.plan.reach, vocabulary.columns[c]
    if column.views[j] and column.views[j][0].name == "outside":
        return str(look)
    if value < reach:
        return f"{look}=_B-{value + 1}"  # position before the sentence, in CRF++'s notation
    if value < 2 * reach:
        return f"{look}=_B+{value - reach + 1}"
    if vector_file(look.calls) is not None:
        return f"{look}={value - 2 * reach}"  # the dimension
    strings = column.strings_of(j)
    if value - 2 * reach >= len(strings):
        raise ModelError("the model is damaged: a feature with a weight has no name")
    return f"{look}={strings[value - 2 * reach]}"
