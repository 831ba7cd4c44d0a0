"""Measure a parser of trees, or a file that has been parsed: labelled brackets, counted as evalb counts them.

Punctuation and the root do not count, nor tags; PRT counts as ADVP.

examples:
  trellis trees evaluate --model trees.model test.trees
  trellis trees evaluate test.trees --parsed parsed.trees --longest 40
"""

from __future__ import annotations

from argparse import Namespace

from trellis._support.errors import ArgumentError
from trellis.corpus.brackets import read_trees
from trellis.evaluation.brackets import evaluate_trees
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.progress import say
from trellis.tasks.trees.model import TreeParser


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add("trees", metavar="FILE", help="the right trees, in brackets; - is standard input")
    add("--model", "-m", metavar="MODEL", help="parser to measure")
    add("--parsed", metavar="FILE", help="trees of the same sentences to measure instead of a parser")
    add("--no-tags", action="store_true", help="the parser is not given the tags of the trees")
    add("--longest", type=at_least(1), metavar="N", help="count only sentences of up to N words")
    add("--lenient", action="store_true", help="skip what is not a tree, and say how much that was")
    parser.share("threads", "quiet", "json")


def command(given: Namespace) -> None:
    """Show the figures."""
    if (given.model is None) == (given.parsed is None):
        raise ArgumentError("name a parser by --model or parsed trees by --parsed")
    if given.parsed is not None and (given.lenient or given.no_tags):
        raise ArgumentError("--lenient and --no-tags go with --model; omit them")
    gold = read_trees(given.trees, lenient=given.lenient)
    if gold.skipped:
        say(f"skipped {len(gold.skipped):,} that are not trees; the first: {gold.skipped[0]}", given.quiet)
    if given.parsed is not None:
        found = evaluate_trees(gold, read_trees(given.parsed), longest=given.longest)
    else:
        parser = TreeParser.load(given.model)
        found = parser.evaluate(gold, tags=not given.no_tags, longest=given.longest, n_threads=given.threads)
    if given.json:
        show_json(found.to_dict())
    else:
        show(str(found))
