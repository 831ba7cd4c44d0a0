"""Dependency parsing (McDonald et al. 2005): trees over words, by the learners of trellis."""

from trellis.evaluation.attachment import AttachmentReport as AttachmentReport
from trellis.evaluation.attachment import AttachmentScore as AttachmentScore
from trellis.evaluation.attachment import attachment as attachment
from trellis.tasks.parsing.model import Parser as Parser
from trellis.tasks.parsing.train import train as train
from trellis.tasks.parsing.tree import DependencyTree as DependencyTree
