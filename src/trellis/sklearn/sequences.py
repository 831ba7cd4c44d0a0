"""What estimators of sequences share: sentences in any shape as a corpus, lists of labels as an array, tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

import trellis

Objects = npt.NDArray[np.object_]
DEFAULT_NAMES = ("word", "pos")  # of the parts of a tuple


def as_objects(sentences: Iterable[Any]) -> Objects:
    """A one-dimensional array of lists; NumPy by itself would make a table of lists of equal lengths."""
    given = list(sentences)
    out = np.empty(len(given), dtype=object)
    for i, one in enumerate(given):
        out[i] = one
    return out


def columns_of(X: Any, names: Sequence[str] | None) -> dict[str, list[Any]]:
    """Sentences as columns: of strings, of the parts of tuples, of a frame whose cells are lists, or of attributes."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):  # a frame of pandas or polars: a row is a sentence
        return {str(name): [_as_list(cell) for cell in X[name]] for name in X.columns}
    sentences = [_as_list(sentence) for sentence in X]
    first = next((token for sentence in sentences for token in sentence), None)
    if isinstance(first, tuple):
        named = names or [DEFAULT_NAMES[i] if i < 2 else f"column{i + 1}" for i in range(len(first))]
        return {name: [[token[i] for token in sentence] for sentence in sentences] for i, name in enumerate(named)}
    is_bag = isinstance(first, Mapping | list | set | frozenset)
    return {"attributes" if is_bag else names[0] if names else "word": sentences}


def _as_list(sentence: Any) -> list[Any]:
    return sentence.tolist() if isinstance(sentence, np.ndarray) else list(sentence)


def corpus_of(X: Any, y: Any, names: Sequence[str] | None) -> trellis.Corpus:
    """Sentences with their labels."""
    return trellis.read({**columns_of(X, names), "label": [_as_list(labels) for labels in y]})


class SequenceEstimator(BaseEstimator):  # type: ignore[misc]
    """What scikit-learn should know of an estimator whose X is a list of sentences.

    It is no ``ClassifierMixin``: cross-validation would then refuse lists of lists of labels.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def token_accuracy(y: Any, predicted: Any, sample_weight: Any = None) -> float:
    """The share of labels that are right; a sentence's labels count by its weight."""
    weights = np.ones(len(predicted)) if sample_weight is None else np.asarray(sample_weight, float)
    pairs = list(zip(map(_as_list, y), predicted, strict=True))
    right = np.array([sum(a == b for a, b in zip(gold, found, strict=True)) for gold, found in pairs], float)
    total = float(weights @ np.array([len(gold) for gold, _ in pairs], float)) if pairs else 0.0
    return float(weights @ right) / total if total else 0.0
