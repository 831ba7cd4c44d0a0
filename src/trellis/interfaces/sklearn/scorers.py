"""Scorers for scikit-learn's searches and cross-validation, as in sklearn-crfsuite: ``scoring=scorers.flat_f1``."""

from __future__ import annotations

from sklearn.metrics import make_scorer

from trellis.interfaces.sklearn import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
flat_f1 = make_scorer(metrics.flat_f1_score, average="weighted", zero_division=0)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
span_f1 = make_scorer(metrics.span_f1_score)
