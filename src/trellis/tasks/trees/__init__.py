"""Constituency parsing: treebanks in brackets, grammars read off them, and parsers with weights of rules and spans."""

from trellis.corpus.brackets import Treebank, parse_trees, read_trees, write_trees
from trellis.corpus.tree import PhraseTree
from trellis.evaluation.brackets import BracketReport, evaluate_trees
from trellis.tasks.trees.model import TreeParser
from trellis.tasks.trees.train import train

__all__ = [
    "BracketReport",
    "PhraseTree",
    "TreeParser",
    "Treebank",
    "evaluate_trees",
    "parse_trees",
    "read_trees",
    "train",
    "write_trees",
]
