"""Shared code of sequence estimators: conversion of sentences and labels, estimator tags."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import eq
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import trellis
from trellis._support.errors import ArgumentError
from trellis.corpus.objects import from_tokens

Objects = npt.NDArray[np.object_]


def as_objects(sentences: Iterable[Any]) -> Objects:
    """A one-dimensional array of lists; NumPy would convert lists of equal lengths to a two-dimensional array."""
    elements = list(sentences)
    out = np.empty(len(elements), dtype=object)
    for i, sentence in enumerate(elements):
        out[i] = sentence
    return out


def inputs_of(X: Any, names: Sequence[str] | None) -> trellis.Corpus:
    """Sentences as a corpus without labels; ``names`` are those of the parts of tuples."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):  # a frame of pandas or polars: a row is a sentence
        if len(set(X.columns)) != len(X.columns):
            raise ArgumentError("X has two columns with the same name")
        return trellis.read({str(name): list(X[name]) for name in X.columns})
    return from_tokens(X, None if names is None else lambda n_columns: tuple(names))


def constructor(defaults: Mapping[str, Any]) -> Callable[..., None]:
    """Make an ``__init__`` that stores each parameter in an attribute of its name, as scikit-learn requires."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
    signature = inspect.Signature([inspect.Parameter("self", kind), *parameters])

    def init(*values: Any, **parameters: Any) -> None:
        bound = signature.bind(*values, **parameters)
        bound.apply_defaults()
        vars(bound.arguments.pop("self")).update(bound.arguments)

    init.__signature__ = signature  # type: ignore[attr-defined]
    return init


class SequenceEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of estimators whose X is a list of sentences, and y a list of lists of labels.

    It is not a ``ClassifierMixin``, because cross-validation would then reject lists of lists of labels.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return self._tagger_or_none() is not None

    def _tagger_or_none(self) -> trellis.Tagger | None:
        """The tagger behind it; None before ``fit``."""
        return getattr(self, "tagger_", None)

    def _fitted(self) -> trellis.Tagger:
        tagger = self._tagger_or_none()
        if tagger is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return tagger

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Compute the token accuracy.

        Parameters
        ----------
        X
            Sentences.
        y
            Gold labels of each sentence.
        sample_weight : array-like of shape (n_sentences,), default=None
            Weight of each sentence.

        Returns
        -------
        float
            Fraction of correct labels.
        """
        predicted, gold = self.predict(X), [list(labels) for labels in y]
        weights = np.ones(len(predicted)) if sample_weight is None else np.asarray(sample_weight, float)
        lengths = list(map(len, predicted))
        if list(map(len, gold)) != lengths:
            raise ArgumentError("y must have one label per token of X")
        if weights.shape != (len(gold),):
            raise ArgumentError(f"sample_weight must be one number per sentence, {len(gold)}")
        right = [sum(map(eq, labels, answer)) for labels, answer in zip(gold, predicted, strict=True)]
        total = float(weights @ np.array(lengths, float))
        return float(weights @ np.array(right, float)) / total if total else 0.0
