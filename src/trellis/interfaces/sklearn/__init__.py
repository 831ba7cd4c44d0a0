"""Taggers as scikit-learn's estimators: SequenceTagger, and CRF with the interface of sklearn-crfsuite.

It needs the extra ``sklearn`` (docs/install.md).
"""

from __future__ import annotations

from trellis._support.extras import missing

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError:
    raise ImportError(missing("trellis.interfaces.sklearn", "sklearn")) from None

from trellis.interfaces.sklearn import metrics, scorers
from trellis.interfaces.sklearn.crf import CRF
from trellis.interfaces.sklearn.tagger import SequenceTagger

__all__ = ["CRF", "SequenceTagger", "metrics", "scorers"]
