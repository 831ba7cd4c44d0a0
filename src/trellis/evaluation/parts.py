"""Labels with parts, ``NOUN|Case=Nom|Number=Sing``: how often the first part is right, all others, each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import NamedTuple

import numpy as np

from trellis.corpus.corpus import JOINT, Column, columns_named
from trellis.corpus.label_parts import check_separator
from trellis.evaluation.scores import Score


class PartNames(NamedTuple):
    """How labels are cut into parts, and what the first part and the others are called."""

    separator: str
    names: tuple[str, ...] = ("first part", "other parts")

    @classmethod
    def of_column(cls, name: str, columns: Container[str], separator: str | None) -> PartNames | None:
        """As ``separator`` says; of two columns as one (``upos+feats``) without it, by their names."""
        names = columns_named(name, columns)
        if separator in (None, JOINT) and len(names) == 2:
            return cls(JOINT, names)
        return None if separator is None else cls(check_separator(separator))


def part_scores(gold: Column, predicted: Column, by: PartNames) -> tuple[dict[str, float], dict[str, Score]]:
    """Accuracy of the first part of labels and of all others together, as CoNLL 2018's scorer counts UPOS and UFeats,
    and scores of every feature by name.

    A feature is found if the predicted label has its name (``Case``), and correct if it has its value too; a part
    without a value (``Case`` alone) is its own name.
    """
    pairs = np.array([gold.codes, predicted.codes], np.int64)  # [2, n_tokens]
    different, counts = np.unique(pairs, axis=1, return_counts=True)
    right = [0, 0]
    wanted, found, correct = Counter[str](), Counter[str](), Counter[str]()
    for (g, p), n in zip(different.T.tolist(), counts.tolist(), strict=True):
        (first, *rest), (guessed, *others) = (
            side.values[i].split(by.separator) for side, i in ((gold, g), (predicted, p))
        )
        right[0] += n * (first == guessed)
        right[1] += n * (rest == others)
        for counter, parts in ((wanted, rest), (found, others), (correct, set(rest) & set(others))):
            for part in parts:
                counter[part.partition("=")[0]] += n
    total = max(1, len(gold.codes))
    features = {name: Score(wanted[name], found[name], correct[name]) for name in sorted(wanted | found)}
    return {name: n / total for name, n in zip(by.names, right, strict=True)}, features
