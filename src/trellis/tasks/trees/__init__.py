"""Constituency parsing: treebanks in brackets, grammars read off them, and parsers with weights of rules and spans."""

from trellis.corpus.brackets import Treebank as Treebank
from trellis.corpus.brackets import parse_trees as parse_trees
from trellis.corpus.brackets import read_trees as read_trees
from trellis.corpus.brackets import write_trees as write_trees
from trellis.corpus.tree import PhraseTree as PhraseTree
from trellis.evaluation.brackets import BracketReport as BracketReport
from trellis.evaluation.brackets import evaluate_trees as evaluate_trees
from trellis.tasks.trees.model import TreeParser as TreeParser
from trellis.tasks.trees.train import train as train
