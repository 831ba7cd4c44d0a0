"""Taggers as scikit-learn's estimators: SequenceTagger, and CRF with the interface of sklearn-crfsuite.

Needs scikit-learn: ``pip install scikit-learn``.
"""

from __future__ import annotations

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError:
    raise ImportError("trellis.interfaces.sklearn needs scikit-learn: pip install scikit-learn") from None

from trellis.interfaces.sklearn import metrics, scorers
from trellis.interfaces.sklearn.crf import CRF
from trellis.interfaces.sklearn.tagger import SequenceTagger

__all__ = ["CRF", "SequenceTagger", "metrics", "scorers"]
