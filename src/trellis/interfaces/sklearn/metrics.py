"""Scores of label sequences: token by token as sklearn-crfsuite's ``flat_*``, sentence by sentence, and by spans."""

from __future__ import annotations

from itertools import chain
from typing import Any

from sklearn import metrics

from trellis.evaluation.tagging import evaluate


def _flat(y: Any) -> list[Any]:
    return list(chain.from_iterable(y))


def _check(y_true: Any, y_pred: Any) -> None:
    lengths = [[len(one) for one in y] for y in (y_true, y_pred)]
    if lengths[0] != lengths[1]:
        raise ValueError("true and predicted labels are of sentences of different lengths")


def flat_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """The share of labels that are right."""
    _check(y_true, y_pred)
    return float(metrics.accuracy_score(_flat(y_true), _flat(y_pred)))


def flat_precision_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Precision of labels; options are those of ``sklearn.metrics.precision_score``."""
    _check(y_true, y_pred)
    return metrics.precision_score(_flat(y_true), _flat(y_pred), **more)


def flat_recall_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Recall of labels; options are those of ``sklearn.metrics.recall_score``."""
    _check(y_true, y_pred)
    return metrics.recall_score(_flat(y_true), _flat(y_pred), **more)


def flat_f1_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """F1 of labels; options are those of ``sklearn.metrics.f1_score``."""
    _check(y_true, y_pred)
    return metrics.f1_score(_flat(y_true), _flat(y_pred), **more)


def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **more: Any) -> Any:
    """F-beta of labels; options are those of ``sklearn.metrics.fbeta_score``."""
    _check(y_true, y_pred)
    return metrics.fbeta_score(_flat(y_true), _flat(y_pred), beta=beta, **more)


def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **more: Any) -> Any:
    """A table by label; options are those of ``sklearn.metrics.classification_report``."""
    _check(y_true, y_pred)
    return metrics.classification_report(_flat(y_true), _flat(y_pred), labels=labels, **more)


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """The share of sentences without a wrong label."""
    total = len(y_true)
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)) / total if total else 0.0


def span_f1_score(y_true: Any, y_pred: Any) -> float:
    """F1 of the spans that labels such as B-NP and I-NP mark, counted as conlleval counts."""
    return evaluate([list(one) for one in y_true], [list(one) for one in y_pred], spans=True).span_f1
