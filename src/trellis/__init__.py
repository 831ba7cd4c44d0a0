"""trellis: label sequences.

Everything public is reached from here and imported when first used, so that ``import trellis`` is quick.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in typing, whose import takes longer than all else here

__version__ = "0.1.0"

if TYPE_CHECKING:
    from trellis.corpus.blocks import CorpusStream as CorpusStream
    from trellis.corpus.blocks import stream as stream
    from trellis.corpus.corpus import BagColumn as BagColumn
    from trellis.corpus.corpus import Column as Column
    from trellis.corpus.corpus import Corpus as Corpus
    from trellis.corpus.read import read as read
    from trellis.corpus.schemes import Span as Span
    from trellis.corpus.tokens import Token as Token
    from trellis.corpus.tokens import tokenize as tokenize
    from trellis.corpus.tree import PhraseTree as PhraseTree
    from trellis.corpus.write import write as write
    from trellis.display.trellises import Picture as Picture
    from trellis.engine.hypergraph import Derivation as Derivation
    from trellis.engine.hypergraph import DerivationMarginals as DerivationMarginals
    from trellis.engine.hypergraph import Hypergraph as Hypergraph
    from trellis.engine.hypergraph import Hypergraphs as Hypergraphs
    from trellis.errors import ArgumentError as ArgumentError
    from trellis.errors import ConstraintError as ConstraintError
    from trellis.errors import CorpusError as CorpusError
    from trellis.errors import LearnerError as LearnerError
    from trellis.errors import ModelError as ModelError
    from trellis.errors import TemplateError as TemplateError
    from trellis.errors import TrellisError as TrellisError
    from trellis.evaluation.attachment import AttachmentReport as AttachmentReport
    from trellis.evaluation.attachment import AttachmentScore as AttachmentScore
    from trellis.evaluation.brackets import BracketReport as BracketReport
    from trellis.evaluation.details import Confusion as Confusion
    from trellis.evaluation.details import Details as Details
    from trellis.evaluation.details import PartialScore as PartialScore
    from trellis.evaluation.parts import PartScores as PartScores
    from trellis.evaluation.reliability import Bin as Bin
    from trellis.evaluation.reliability import Calibration as Calibration
    from trellis.evaluation.reliability import Reliability as Reliability
    from trellis.evaluation.report import Report as Report
    from trellis.evaluation.report import evaluate as evaluate
    from trellis.evaluation.spans import Score as Score
    from trellis.evaluation.spans import SpanScores as SpanScores
    from trellis.features.brown import WordClusters as WordClusters
    from trellis.features.brown import brown_clusters as brown_clusters
    from trellis.learners.arow import AROW as AROW
    from trellis.learners.boost import SequenceBoost as SequenceBoost
    from trellis.learners.crf import CRF as CRF
    from trellis.learners.exponential import ExponentialLoss as ExponentialLoss
    from trellis.learners.hmm import HMM as HMM
    from trellis.learners.hmsvm import HMSVM as HMSVM
    from trellis.learners.kernel_perceptron import KernelPerceptron as KernelPerceptron
    from trellis.learners.maxent import MaxEnt as MaxEnt
    from trellis.learners.mira import MIRA as MIRA
    from trellis.learners.passive_aggressive import PassiveAggressive as PassiveAggressive
    from trellis.learners.perceptron import Perceptron as Perceptron
    from trellis.learning.learner import Learner as Learner
    from trellis.learning.run import Event as Event
    from trellis.learning.run import StopTrainingError as StopTrainingError
    from trellis.model.dual import SupportSequence as SupportSequence
    from trellis.model.kernels import Observations as Observations
    from trellis.parsing.parser import ArcTerm as ArcTerm
    from trellis.parsing.parser import Parser as Parser
    from trellis.parsing.tree import DependencyTree as DependencyTree
    from trellis.segmentation.scores import WordScores as WordScores
    from trellis.segmentation.segmenter import Segmenter as Segmenter
    from trellis.tagger.explanation import Explanation as Explanation
    from trellis.tagger.explanation import PathExplanation as PathExplanation
    from trellis.tagger.explanation import Term as Term
    from trellis.tagger.explanation import TokenExplanation as TokenExplanation
    from trellis.tagger.heaviest import NamedWeight as NamedWeight
    from trellis.tagger.posterior import Posterior as Posterior
    from trellis.tagger.tagger import Paths as Paths
    from trellis.tagger.tagger import Tagger as Tagger
    from trellis.tagger.tagger import load as load
    from trellis.tagger.text import TaggedSentence as TaggedSentence
    from trellis.tagger.text import TaggedText as TaggedText
    from trellis.tagger.text import TextSpan as TextSpan
    from trellis.training import partial_fit as partial_fit
    from trellis.training import train as train
    from trellis.trees.parser import PhraseTerm as PhraseTerm
    from trellis.trees.parser import RuleExplanation as RuleExplanation
    from trellis.trees.parser import TreeParser as TreeParser

# The same for a running program; tests/test_public.py compares the two.
_HOMES = {
    "trellis.corpus.blocks": ["CorpusStream", "stream"],
    "trellis.corpus.corpus": ["BagColumn", "Column", "Corpus"],
    "trellis.corpus.read": ["read"],
    "trellis.corpus.schemes": ["Span"],
    "trellis.corpus.tokens": ["Token", "tokenize"],
    "trellis.corpus.tree": ["PhraseTree"],
    "trellis.corpus.write": ["write"],
    "trellis.display.trellises": ["Picture"],
    "trellis.engine.hypergraph": ["Derivation", "DerivationMarginals", "Hypergraph", "Hypergraphs"],
    "trellis.errors": [
        "ArgumentError",
        "ConstraintError",
        "CorpusError",
        "LearnerError",
        "ModelError",
        "TemplateError",
        "TrellisError",
    ],
    "trellis.evaluation.attachment": ["AttachmentReport", "AttachmentScore"],
    "trellis.evaluation.brackets": ["BracketReport"],
    "trellis.evaluation.details": ["Confusion", "Details", "PartialScore"],
    "trellis.evaluation.parts": ["PartScores"],
    "trellis.evaluation.reliability": ["Bin", "Calibration", "Reliability"],
    "trellis.evaluation.report": ["Report", "evaluate"],
    "trellis.evaluation.spans": ["Score", "SpanScores"],
    "trellis.features.brown": ["WordClusters", "brown_clusters"],
    "trellis.learners.arow": ["AROW"],
    "trellis.learners.boost": ["SequenceBoost"],
    "trellis.learners.crf": ["CRF"],
    "trellis.learners.exponential": ["ExponentialLoss"],
    "trellis.learners.hmm": ["HMM"],
    "trellis.learners.hmsvm": ["HMSVM"],
    "trellis.learners.kernel_perceptron": ["KernelPerceptron"],
    "trellis.learners.maxent": ["MaxEnt"],
    "trellis.learners.mira": ["MIRA"],
    "trellis.learners.passive_aggressive": ["PassiveAggressive"],
    "trellis.learners.perceptron": ["Perceptron"],
    "trellis.learning.learner": ["Learner"],
    "trellis.learning.run": ["Event", "StopTrainingError"],
    "trellis.model.dual": ["SupportSequence"],
    "trellis.model.kernels": ["Observations"],
    "trellis.parsing.parser": ["ArcTerm", "Parser"],
    "trellis.parsing.tree": ["DependencyTree"],
    "trellis.segmentation.scores": ["WordScores"],
    "trellis.segmentation.segmenter": ["Segmenter"],
    "trellis.tagger.explanation": ["Explanation", "PathExplanation", "Term", "TokenExplanation"],
    "trellis.tagger.heaviest": ["NamedWeight"],
    "trellis.tagger.posterior": ["Posterior"],
    "trellis.tagger.tagger": ["Paths", "Tagger", "load"],
    "trellis.tagger.text": ["TaggedSentence", "TaggedText", "TextSpan"],
    "trellis.training": ["partial_fit", "train"],
    "trellis.trees.parser": ["PhraseTerm", "RuleExplanation", "TreeParser"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]

if not TYPE_CHECKING:  # a type checker that saw it would accept every name

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'trellis' has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(_HOME_OF[name]), name)
        return found


def __dir__() -> list[str]:
    return __all__
