"""Scores of label sequences: token by token as sklearn-crfsuite's ``flat_*``, sentence by sentence, and by spans."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from sklearn import metrics

from trellis.evaluation.tagging import evaluate


def _flat(y: Any) -> list[Any]:
    return list(chain.from_iterable(y))


def _check(y_true: Any, y_pred: Any) -> None:
    lengths = [[len(row) for row in y] for y in (y_true, y_pred)]
    if lengths[0] != lengths[1]:
        raise ValueError("gold and predicted label sequences differ in length")


FLAT = """Compute ``sklearn.metrics.{name}`` over the tokens of all sentences.

Parameters
----------
y_true
    Gold labels of each sentence.
y_pred
    Predicted labels of each sentence.
**options
    Options of ``sklearn.metrics.{name}``.

Returns
-------
float, array or str
    What ``sklearn.metrics.{name}`` returns.
"""


def _flattened(metric: Callable[..., Any]) -> Callable[..., Any]:
    """A metric of scikit-learn on the labels of all sentences."""

    def flat(y_true: Any, y_pred: Any, **options: Any) -> Any:
        _check(y_true, y_pred)
        return metric(_flat(y_true), _flat(y_pred), **options)

    flat.__name__ = flat.__qualname__ = f"flat_{metric.__name__}"
    flat.__doc__ = FLAT.format(name=metric.__name__)
    return flat


flat_accuracy_score = _flattened(metrics.accuracy_score)
flat_precision_score = _flattened(metrics.precision_score)
flat_recall_score = _flattened(metrics.recall_score)
flat_f1_score = _flattened(metrics.f1_score)
flat_fbeta_score = _flattened(metrics.fbeta_score)
flat_classification_report = _flattened(metrics.classification_report)


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Compute the sentence accuracy: the fraction of sentences with all labels correct.

    Parameters
    ----------
    y_true
        Gold labels of each sentence.
    y_pred
        Predicted labels of each sentence.

    Returns
    -------
    float
        The accuracy.

    Examples
    --------
    >>> from trellis.interfaces.sklearn import metrics
    >>> metrics.sequence_accuracy_score([["D", "N"], ["V"]], [["D", "N"], ["N"]])
    0.5
    """
    total = len(y_true)
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)) / total if total else 0.0


def span_f1_score(y_true: Any, y_pred: Any) -> float:
    """Compute the F1 of spans that labels such as B-NP and I-NP encode, as conlleval does.

    Parameters
    ----------
    y_true
        Gold labels of each sentence.
    y_pred
        Predicted labels of each sentence.

    Returns
    -------
    float
        The F1.

    Examples
    --------
    >>> from trellis.interfaces.sklearn import metrics
    >>> metrics.span_f1_score([["B-NP", "I-NP"]], [["B-NP", "I-NP"]])
    1.0
    """
    return evaluate([list(row) for row in y_true], [list(row) for row in y_pred], spans=True).span_f1
