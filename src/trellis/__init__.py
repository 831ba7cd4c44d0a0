"""trellis: learn to predict label sequences, segments, words, trees and other structures.

Every public name is reached from here and imported when first used, so that ``import trellis`` is quick.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in typing, whose import takes longer than all else here

__version__ = "0.1.0"

# The public names and their modules: type checkers read these lines, and so does a running program, below.
if TYPE_CHECKING:
    from trellis._support.errors import ArgumentError as ArgumentError
    from trellis._support.errors import ConstraintError as ConstraintError
    from trellis._support.errors import CorpusError as CorpusError
    from trellis._support.errors import LearnerError as LearnerError
    from trellis._support.errors import ModelError as ModelError
    from trellis._support.errors import TemplateError as TemplateError
    from trellis._support.errors import TrellisError as TrellisError
    from trellis._support.errors import TrellisWarning as TrellisWarning
    from trellis.corpus.brackets import Treebank as Treebank
    from trellis.corpus.brackets import parse_trees as parse_trees
    from trellis.corpus.brackets import read_trees as read_trees
    from trellis.corpus.brackets import write_trees as write_trees
    from trellis.corpus.corpus import BagColumn as BagColumn
    from trellis.corpus.corpus import Column as Column
    from trellis.corpus.corpus import Corpus as Corpus
    from trellis.corpus.document import Document as Document
    from trellis.corpus.document_sentence import DocumentSentence as DocumentSentence
    from trellis.corpus.document_sentence import EmptyNode as EmptyNode
    from trellis.corpus.document_sentence import MultiwordToken as MultiwordToken
    from trellis.corpus.document_sentence import Word as Word
    from trellis.corpus.read import read as read
    from trellis.corpus.schemes import Span as Span
    from trellis.corpus.stream import CorpusStream as CorpusStream
    from trellis.corpus.stream import stream as stream
    from trellis.corpus.tokens import Token as Token
    from trellis.corpus.tokens import tokenize as tokenize
    from trellis.corpus.tree import PhraseTree as PhraseTree
    from trellis.corpus.write import write as write
    from trellis.display.svg import Picture as Picture
    from trellis.engine.dual import SupportSequence as SupportSequence
    from trellis.engine.hypergraph import Derivation as Derivation
    from trellis.engine.hypergraph import DerivationMarginals as DerivationMarginals
    from trellis.engine.hypergraph import Hypergraph as Hypergraph
    from trellis.engine.hypergraph import Hypergraphs as Hypergraphs
    from trellis.engine.kernels import Observations as Observations
    from trellis.evaluation.attachment import AttachmentReport as AttachmentReport
    from trellis.evaluation.attachment import AttachmentScore as AttachmentScore
    from trellis.evaluation.brackets import BracketReport as BracketReport
    from trellis.evaluation.error_analysis import Confusion as Confusion
    from trellis.evaluation.error_analysis import ErrorAnalysis as ErrorAnalysis
    from trellis.evaluation.error_analysis import PartialScore as PartialScore
    from trellis.evaluation.pipeline import AlignedScore as AlignedScore
    from trellis.evaluation.pipeline import PipelineReport as PipelineReport
    from trellis.evaluation.pipeline import compare_documents as compare_documents
    from trellis.evaluation.reliability import Bin as Bin
    from trellis.evaluation.reliability import Calibration as Calibration
    from trellis.evaluation.reliability import Reliability as Reliability
    from trellis.evaluation.report import Report as Report
    from trellis.evaluation.report import StructuredReport as StructuredReport
    from trellis.evaluation.scores import Score as Score
    from trellis.evaluation.tagging import RerankingReport as RerankingReport
    from trellis.evaluation.tagging import TaggingReport as TaggingReport
    from trellis.evaluation.tagging import evaluate as evaluate
    from trellis.evaluation.words import WordReport as WordReport
    from trellis.features.brown import WordClusters as WordClusters
    from trellis.features.brown import brown_clusters as brown_clusters
    from trellis.features.functions import register_function as register_function
    from trellis.interfaces import cluster as cluster
    from trellis.learners.crf import CRF as CRF
    from trellis.learners.dual import HMSVM as HMSVM
    from trellis.learners.dual import KernelPerceptron as KernelPerceptron
    from trellis.learners.exponential import ExponentialLoss as ExponentialLoss
    from trellis.learners.exponential import SequenceBoost as SequenceBoost
    from trellis.learners.hmm import HMM as HMM
    from trellis.learners.maxent import MaxEnt as MaxEnt
    from trellis.learners.online import AROW as AROW
    from trellis.learners.online import MIRA as MIRA
    from trellis.learners.online import PassiveAggressive as PassiveAggressive
    from trellis.learners.online import Perceptron as Perceptron
    from trellis.learning.learner import Learner as Learner
    from trellis.learning.run import Event as Event
    from trellis.learning.run import StopTrainingError as StopTrainingError
    from trellis.tasks.explanation import Explanation as Explanation
    from trellis.tasks.explanation import Term as Term
    from trellis.tasks.model import KBest as KBest
    from trellis.tasks.model import Model as Model
    from trellis.tasks.model import load as load
    from trellis.tasks.parsing.model import Parser as Parser
    from trellis.tasks.parsing.tree import DependencyTree as DependencyTree
    from trellis.tasks.pipeline.model import Pipeline as Pipeline
    from trellis.tasks.reranking.lists import Candidate as Candidate
    from trellis.tasks.reranking.lists import KBestList as KBestList
    from trellis.tasks.reranking.lists import Segment as Segment
    from trellis.tasks.reranking.model import Reranker as Reranker
    from trellis.tasks.reranking.train import held_out_lists as held_out_lists
    from trellis.tasks.structured.model import StructuredModel as StructuredModel
    from trellis.tasks.structured.problem import CandidateProblem as CandidateProblem
    from trellis.tasks.structured.problem import Parts as Parts
    from trellis.tasks.structured.problem import PartsProblem as PartsProblem
    from trellis.tasks.structured.problem import SearchProblem as SearchProblem
    from trellis.tasks.structured.problem import StepProblem as StepProblem
    from trellis.tasks.structured.problem import Weights as Weights
    from trellis.tasks.tagging.explain import TaggingExplanation as TaggingExplanation
    from trellis.tasks.tagging.explain import TokenExplanation as TokenExplanation
    from trellis.tasks.tagging.model import Tagger as Tagger
    from trellis.tasks.tagging.options import Features as Features
    from trellis.tasks.tagging.options import Labels as Labels
    from trellis.tasks.tagging.options import Search as Search
    from trellis.tasks.tagging.options import Segments as Segments
    from trellis.tasks.tagging.posterior import Posterior as Posterior
    from trellis.tasks.tagging.text import TaggedSentence as TaggedSentence
    from trellis.tasks.tagging.text import TaggedText as TaggedText
    from trellis.tasks.tagging.text import TextSpan as TextSpan
    from trellis.tasks.tagging.train import partial_fit as partial_fit
    from trellis.tasks.tagging.train import train as train
    from trellis.tasks.trees.model import TreeParser as TreeParser
    from trellis.tasks.words.model import Segmenter as Segmenter
else:
    with open(__file__, encoding="utf-8") as _source:  # noqa: PTH123 (pathlib is slow to import)
        _lines = [line.split() for line in _source if line.startswith("    from ")]
    _MODULES = {words[-1]: words[1] for words in _lines}  # from MODULE import NAME as NAME
    __all__ = ["__version__", *sorted(_MODULES)]

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'trellis' has no attribute {name!r}")
        module = importlib.import_module(_MODULES[name])
        value = getattr(module, name, None) or importlib.import_module(f"{module.__name__}.{name}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return __all__
