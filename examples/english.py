"""Analyse English text with the bundled pipeline: words, lemmas, tags and the dependency tree of each sentence.

example:
  python -m examples.english "Time flies like an arrow."
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from trellis.corpus.document_sentence import DocumentSentence
from trellis.interfaces.cli.main import reporting_errors
from trellis.interfaces.cli.options import Parser
from trellis.interfaces.cli.outputs import align, show
from trellis.tasks.model import load

TEXT = "Ann's dogs didn't bark at the postman. They were sleeping."
COLUMNS = ("id", "word", "lemma", "tag", "features", "head", "relation", "tree")


def main(arguments: Sequence[str]) -> NoReturn:
    """Run the command line of this example, and exit."""
    parser = Parser("python -m examples.english", __doc__ or "")
    parser.add_argument("text", nargs="?", default=TEXT, metavar="TEXT", help="the text")
    with reporting_errors():
        document = load("builtin:english").predict(parser.parse(arguments).text)
        show("\n\n".join(f"{sentence.text}\n{table(sentence)}" for sentence in document))
    sys.exit(0)


def table(sentence: DocumentSentence) -> str:
    """A line per word; the last column has the tree, a word below and to the right of its head."""
    rows = [
        [str(i), word.form, word.lemma or "", word.upos or "", word.feats or "", str(word.head), word.deprel or ""]
        for i, word in enumerate(sentence, 1)
    ]
    depth = dict(_depths(sentence, 0, 0))
    tree = ["  " * depth[i] + word.form for i, word in enumerate(sentence, 1)]
    return align([list(COLUMNS), *([*row, node] for row, node in zip(rows, tree, strict=True))])


def _depths(sentence: DocumentSentence, head: int, depth: int) -> Iterator[tuple[int, int]]:
    """The distance of each word below a head from the root."""
    for i, word in enumerate(sentence, 1):
        if word.head == head:
            yield i, depth
            yield from _depths(sentence, i, depth + 1)


if __name__ == "__main__":
    main(sys.argv[1:])
