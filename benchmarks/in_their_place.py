"""A plugin of pytest that puts our modules in the place of pycrfsuite and sklearn_crfsuite, to run others' own tests.

The tests come with the source distributions of python-crfsuite and sklearn-crfsuite, and with the repositories of
usaddress and probablepeople, which bring their own model files:

    python -m pytest -p benchmarks.in_their_place PATH/TO/tests -W ignore

(from the folder above the tests). What cannot pass: test_logparser.py of python-crfsuite, which reads the text of
CRFsuite's own log by a private module; and those tests of sklearn-crfsuite that compare a prediction with a table,
which it makes of sentences of equal length.
"""

from __future__ import annotations

import sys
import types

from trellis.interfaces import sklearn
from trellis.interfaces.compat import pycrfsuite

sys.modules["pycrfsuite"] = pycrfsuite
theirs = types.ModuleType("sklearn_crfsuite")
theirs.__dict__.update(CRF=sklearn.CRF, metrics=sklearn.metrics, scorers=sklearn.metrics)
sys.modules["sklearn_crfsuite"] = theirs
sys.modules["sklearn_crfsuite.metrics"] = sys.modules["sklearn_crfsuite.scorers"] = sklearn.metrics
estimator = types.ModuleType("sklearn_crfsuite.estimator")
estimator.__dict__.update(CRF=sklearn.CRF)
sys.modules["sklearn_crfsuite.estimator"] = estimator
