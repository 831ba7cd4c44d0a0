"""Parse sentences into trees in brackets, one per line.

A file in columns (word, or word and tag) or of trees in brackets (.trees, .mrg), of which only words and tags are read.
Without tags the parser's tagger gives them, or its lexicon.

examples:
  trellis trees run --model trees.model sentences.txt --columns word,pos > parsed.trees
  trellis trees run --model trees.model test.trees --no-tags --kbest 5
  trellis trees run --model trees.model sentences.txt --as text
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from trellis._support.errors import ArgumentError
from trellis.corpus.brackets import read_trees
from trellis.corpus.files import STANDARD_STREAM, extension
from trellis.interfaces.cli.file_shape import FileShape, reject_file_options
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import check_apart, writing
from trellis.interfaces.cli.progress import printable, say
from trellis.tasks.trees.model import TreeParser

TREES = (".trees", ".tree", ".mrg", ".ptb")  # extensions of files in brackets
PIECE = 256  # sentences at a time


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    add(
        "source", nargs="?", default=STANDARD_STREAM, metavar="FILE", help="what to parse; - is standard input, columns"
    )
    parser.share("model")
    add("--output", "-o", metavar="FILE", help="where to write (default: standard output)")
    add("--no-tags", action="store_true", help="do not read the tags of the file")
    add("--kbest", type=at_least(1), metavar="K", help="the K best trees of a sentence, each after its score and a tab")
    add(
        "--as", dest="shape", choices=("brackets", "text", "svg"), default="brackets", help="trees in brackets or drawn"
    )
    add("--lenient", action="store_true", help="skip what is not a tree, and say how much that was")
    parser.share("threads", "quiet")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Parse what is given."""
    parser = TreeParser.load(given.model)
    check_apart(given.output, given.source, given.model)
    if given.shape == "svg" and given.kbest is not None:
        raise ArgumentError("a picture has one tree; omit --kbest")
    sentences = _sentences(given)
    with writing(given.output) as out:
        for first in range(0, len(sentences), PIECE):
            some = sentences[first : first + PIECE]
            if given.kbest is None:
                for tree in parser.parse_batch(some, n_threads=given.threads):
                    shown = str(tree) if given.shape == "brackets" else _drawn(tree, given.shape)
                    out.write(f"{shown}\n".encode())
                continue
            for trees in parser.kbest_batch(some, given.kbest, n_threads=given.threads):
                for tree, score in trees:
                    shown = str(tree) if given.shape == "brackets" else f"\n{_drawn(tree, given.shape)}"
                    out.write(f"{score:.6g}\t{shown}\n".encode())
                out.write(b"\n")


def _sentences(given: Namespace) -> Any:
    if extension(given.source) in TREES and given.format is None:
        reject_file_options(given, f"{given.source}: trees in brackets have no columns")
        found = read_trees(given.source, lenient=given.lenient)
        if found.skipped:
            say(f"skipped {len(found.skipped):,} that are not trees; the first: {found.skipped[0]}", given.quiet)
        cleaned = [tree for one in found if (tree := one.clean()) is not None]
        return [tree.words for tree in cleaned] if given.no_tags else cleaned
    if given.lenient:
        raise ArgumentError("--lenient skips what is not a tree in brackets; omit it")
    corpus = FileShape.of(given, given.source).read(given.source, given.columns)
    names = list(corpus.columns)
    words = corpus.sentences("word" if "word" in names else "form" if "form" in names else names[0])
    tags = next((name for name in ("pos", "xpos", "upos", "tag") if name in names), None)
    if given.no_tags or tags is None:
        return words
    pairs = zip(words, corpus.sentences(tags), strict=True)
    return [list(zip(sentence, pos, strict=True)) for sentence, pos in pairs]


def _drawn(tree: Any, shape: str) -> str:
    return tree.draw().to_svg() if shape == "svg" else f"{printable(tree.draw().text)}\n"
