"""Choose again among the k best label sequences of a tagger, by features that look at a whole sequence.

Lists for training come from cross-validation, so that they look like those of new sentences.
"""

from trellis.evaluation.tagging import RerankingReport as RerankingReport
from trellis.tasks.reranking.features import FEATURES as FEATURES
from trellis.tasks.reranking.lists import Candidate as Candidate
from trellis.tasks.reranking.lists import KBestList as KBestList
from trellis.tasks.reranking.lists import Segment as Segment
from trellis.tasks.reranking.lists import report as report
from trellis.tasks.reranking.model import Reranker as Reranker
from trellis.tasks.reranking.train import held_out_lists as held_out_lists
from trellis.tasks.reranking.train import train as train
