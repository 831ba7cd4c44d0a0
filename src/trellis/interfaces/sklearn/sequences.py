"""What estimators of sequences share: sentences in any shape as a corpus, lists of labels as an array, tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

import trellis
from trellis._support.errors import ArgumentError

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
        if len(set(X.columns)) != len(X.columns):
            raise ArgumentError("X has two columns of one name")
        return {str(name): [_as_list(cell) for cell in X[name]] for name in X.columns}
    if isinstance(X, str | Mapping):
        raise ArgumentError(f"X must be a list of sentences or a frame, not {type(X).__name__!r}")
    sentences = [_as_list(sentence) for sentence in X]
    first = next((token for sentence in sentences for token in sentence), None)
    if isinstance(first, tuple):
        named = names or [DEFAULT_NAMES[i] if i < 2 else f"column{i + 1}" for i in range(len(first))]
        if len(set(named)) != len(named):
            raise ArgumentError(f"columns has one name twice: {', '.join(named)}")
        for sentence in sentences:
            for token in sentence:
                if not isinstance(token, tuple) or len(token) != len(named):
                    raise ArgumentError(f"a token is {token!r}, others are tuples of {', '.join(named)}")
        return {name: [[token[i] for token in sentence] for sentence in sentences] for i, name in enumerate(named)}
    is_bag = isinstance(first, Mapping | list | set | frozenset)
    return {"attributes" if is_bag else names[0] if names else "word": sentences}


def _as_list(sentence: Any) -> list[Any]:
    if isinstance(sentence, np.ndarray):
        return list(sentence.tolist())
    if isinstance(sentence, str | bytes | Mapping) or not isinstance(sentence, Iterable):
        raise ArgumentError(f"a sentence must be a list of tokens, not {type(sentence).__name__!r}")
    return list(sentence)


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
    gold = list(map(_as_list, y))
    if list(map(len, gold)) != list(map(len, predicted)):
        raise ArgumentError("y must have a label for every token of X")
    if weights.shape != (len(gold),):
        raise ArgumentError(f"sample_weight must be one number per sentence, {len(gold)}")
    pairs = list(zip(gold, predicted, strict=True))
    right = np.array([sum(a == b for a, b in zip(one, found, strict=True)) for one, found in pairs], float)
    total = float(weights @ np.array([len(one) for one in gold], float)) if pairs else 0.0
    return float(weights @ right) / total if total else 0.0
