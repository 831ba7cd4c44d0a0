"""Choose again among the k best label sequences of a tagger, by features that look at a whole sequence.

Lists for training come from cross-validation, so that they look like those of new sentences.
"""

from trellis.rerank.features import FEATURES as FEATURES
from trellis.rerank.lists import Candidate as Candidate
from trellis.rerank.lists import KBestList as KBestList
from trellis.rerank.lists import ListReport as ListReport
from trellis.rerank.lists import Segment as Segment
from trellis.rerank.lists import report as report
from trellis.rerank.reranker import Ranked as Ranked
from trellis.rerank.reranker import Reranker as Reranker
from trellis.rerank.reranker import load as load
from trellis.rerank.train import fit as fit
from trellis.rerank.train import held_out_lists as held_out_lists
from trellis.rerank.train import train as train

__all__ = [
    "FEATURES",
    "Candidate",
    "KBestList",
    "ListReport",
    "Ranked",
    "Reranker",
    "Segment",
    "fit",
    "held_out_lists",
    "load",
    "report",
    "train",
]
