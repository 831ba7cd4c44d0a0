"""Map attributes of templates at places to another vocabulary, for a warm start from an older parser.

A key packs the ids of a template's looks (core/text/places.hpp). With other values of columns the same attribute has
another key, so keys are unpacked, their ids translated string by string, and packed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trellis._support.arrays import Longs
from trellis.features.places import MEASURE, Keys, PlaceVocabulary, unpacked
from trellis.features.vocabulary import ColumnVocabulary


def numbers_of(keys: Keys, targets: Keys, *, grows: bool) -> tuple[Longs, Keys]:
    """Numbers of the wanted keys (-1: missing) and the list of keys; with ``grows`` missing keys are appended."""
    if grows:
        keys = np.concatenate([keys, np.setdiff1d(targets, keys)])
    if not len(keys):
        return np.full(len(targets), -1, np.int64), keys
    order = np.argsort(keys, kind="stable")
    place = order[np.minimum(np.searchsorted(keys, targets, sorter=order), len(keys) - 1)]
    return np.where(keys[place] == targets, place, -1), keys


def id_map(old: ColumnVocabulary, new: ColumnVocabulary, view: int, reach: int) -> Longs:
    """Map every id of a view to the new vocabulary; -1 for missing strings."""
    number = new.strings_of(view).find(old.strings_of(view)).astype(np.int64)
    return np.concatenate([np.arange(2 * reach), np.where(number < 0, -1, number + 2 * reach)])


class Carrier:
    """Translates keys of an older vocabulary with the same templates; ``measures`` maps those whose ids change."""

    def __init__(
        self, before: PlaceVocabulary[Any], after: PlaceVocabulary[Any], measures: Mapping[int, Longs] | None = None
    ) -> None:
        self.before, self.after, self.measures = before, after, measures or {}
        self.old, self.new = before.layout(), after.layout()

    def keys(
        self, t: int, keys: Keys, old_folds: Sequence[Keys], folds: list[Keys], *, grows: bool
    ) -> tuple[Keys, Longs]:
        """The keys of template ``t`` that exist in the new vocabulary, and their indices among the old keys.

        ``folds`` are the keys of folds of the new vocabulary; where they grow, they get those that are missing.
        """
        atoms = self.old.atoms_of(t)
        ids = [
            self._translated(own, slot, place)
            for own, (slot, place, *_) in zip(unpacked(keys, atoms, old_folds), atoms, strict=True)
        ]
        complete = np.flatnonzero(np.all([own >= 0 for own in ids], axis=0)) if ids else np.arange(len(keys))
        packed = np.zeros(len(complete), np.uint64)
        for (_, _, _, bits, fold), own in zip(self.new.atoms_of(t), ids, strict=True):
            if fold >= 0:
                numbers, folds[fold] = numbers_of(folds[fold], packed, grows=grows)
                complete, packed = complete[numbers >= 0], numbers[numbers >= 0].astype(np.uint64)
            packed = packed << np.uint64(bits) | own[complete].astype(np.uint64)
        return packed, complete

    def _translated(self, ids: Longs, slot: int, place: int) -> Longs:
        if place == MEASURE:
            return self.measures[slot][ids] if slot in self.measures else ids
        column, view = self.old.view_of(slot)
        return id_map(self.before.columns[column], self.after.columns[column], view, self.after.reach)[ids]
