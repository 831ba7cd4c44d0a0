"""How many tokens and how many whole sentences are right."""

from __future__ import annotations

import numpy as np

from trellis.arrays import Bools, Longs
from trellis.corpus.corpus import Column


def right_tokens(gold: Column, predicted: Column) -> Bools:
    """Which tokens have the label they should have: [n_tokens]."""
    # Predicted codes in the words of the gold column; -1 for a label that gold never has.
    code_of = {label: code for code, label in enumerate(gold.values)}
    renamed = np.array([code_of.get(label, -1) for label in predicted.values] or [-1], np.int64)
    return np.asarray(gold.codes == renamed[predicted.codes])


def token_accuracy(right: Bools) -> float:
    """The share of tokens that are right, 0 if there are none."""
    return float(right.mean()) if len(right) else 0.0


def sentence_accuracy(right: Bools, starts: Longs) -> float:
    """The share of sentences without a mistake, 0 if there are none; starts [n_sentences + 1]."""
    if len(starts) < 2:
        return 0.0
    mistakes = np.concatenate([[0], np.cumsum(~right)])
    return float((mistakes[starts[1:]] == mistakes[starts[:-1]]).mean())
