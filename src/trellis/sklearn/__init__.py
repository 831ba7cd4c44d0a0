"""Taggers as scikit-learn's estimators: SequenceTagger, and CRF with the interface of sklearn-crfsuite.

Needs scikit-learn: ``pip install scikit-learn``.
"""

from __future__ import annotations

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError:
    raise ImportError("trellis.sklearn needs scikit-learn: pip install scikit-learn") from None

from trellis.sklearn import metrics, scorers
from trellis.sklearn.crf import CRF
from trellis.sklearn.tagger import SequenceTagger

__all__ = ["CRF", "SequenceTagger", "metrics", "scorers"]
