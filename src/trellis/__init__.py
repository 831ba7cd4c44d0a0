"""trellis: label sequences.

Everything public is reached from here and imported when first used, so that ``import trellis`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus as Corpus
    from trellis.corpus.read import read as read
    from trellis.corpus.schemes import Span as Span
    from trellis.corpus.write import write as write
    from trellis.errors import ConstraintError as ConstraintError
    from trellis.errors import CorpusError as CorpusError
    from trellis.errors import LearnerError as LearnerError
    from trellis.errors import ModelError as ModelError
    from trellis.errors import TemplateError as TemplateError
    from trellis.errors import TrellisError as TrellisError
    from trellis.evaluation.report import evaluate as evaluate
    from trellis.learners.arow import AROW as AROW
    from trellis.learners.boost import SequenceBoost as SequenceBoost
    from trellis.learners.crf import CRF as CRF
    from trellis.learners.exponential import ExponentialLoss as ExponentialLoss
    from trellis.learners.hmm import HMM as HMM
    from trellis.learners.maxent import MaxEnt as MaxEnt
    from trellis.learners.mira import MIRA as MIRA
    from trellis.learners.passive_aggressive import PassiveAggressive as PassiveAggressive
    from trellis.learners.perceptron import Perceptron as Perceptron
    from trellis.learning.learner import Learner as Learner
    from trellis.learning.run import StopTrainingError as StopTrainingError
    from trellis.tagger.tagger import Tagger as Tagger
    from trellis.tagger.tagger import load as load
    from trellis.training import partial_fit as partial_fit
    from trellis.training import train as train

_HOMES = {
    "AROW": "trellis.learners.arow",
    "CRF": "trellis.learners.crf",
    "ConstraintError": "trellis.errors",
    "Corpus": "trellis.corpus.corpus",
    "CorpusError": "trellis.errors",
    "ExponentialLoss": "trellis.learners.exponential",
    "HMM": "trellis.learners.hmm",
    "HMSVM": "trellis.learners.hmsvm",
    "KernelPerceptron": "trellis.learners.kernel_perceptron",
    "Learner": "trellis.learning.learner",
    "LearnerError": "trellis.errors",
    "MaxEnt": "trellis.learners.maxent",
    "MIRA": "trellis.learners.mira",
    "ModelError": "trellis.errors",
    "PassiveAggressive": "trellis.learners.passive_aggressive",
    "Perceptron": "trellis.learners.perceptron",
    "SequenceBoost": "trellis.learners.boost",
    "Span": "trellis.corpus.schemes",
    "StopTrainingError": "trellis.learning.run",
    "Tagger": "trellis.tagger.tagger",
    "TemplateError": "trellis.errors",
    "TrellisError": "trellis.errors",
    "evaluate": "trellis.evaluation.report",
    "load": "trellis.tagger.tagger",
    "partial_fit": "trellis.training",
    "read": "trellis.corpus.read",
    "train": "trellis.training",
    "write": "trellis.corpus.write",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return __all__
