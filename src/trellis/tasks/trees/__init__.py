"""Constituency parsing: treebanks in brackets, grammars read off them, and parsers with weights of rules and spans."""

from trellis.corpus.brackets import Treebank, parse_trees, read_trees, write_trees
from trellis.corpus.tree import PhraseTree
from trellis.evaluation.brackets import BracketReport, evaluate_trees
from trellis.tasks.trees.model import PhraseTerm, RuleExplanation, TreeParser, load
from trellis.tasks.trees.train import train

__all__ = [
    "BracketReport",
    "PhraseTerm",
    "PhraseTree",
    "RuleExplanation",
    "TreeParser",
    "Treebank",
    "evaluate_trees",
    "load",
    "parse_trees",
    "read_trees",
    "train",
    "write_trees",
]
