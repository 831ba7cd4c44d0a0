"""Dependency parsing (McDonald et al. 2005): trees over words, by the learners of trellis."""

from trellis.evaluation.attachment import AttachmentReport as AttachmentReport
from trellis.evaluation.attachment import AttachmentScore as AttachmentScore
from trellis.evaluation.attachment import attachment as attachment
from trellis.parsing.parser import ArcTerm as ArcTerm
from trellis.parsing.parser import Parser as Parser
from trellis.parsing.parser import load as load
from trellis.parsing.train import train as train
from trellis.parsing.tree import DependencyTree as DependencyTree

__all__ = ["ArcTerm", "AttachmentReport", "AttachmentScore", "DependencyTree", "Parser", "attachment", "load", "train"]
