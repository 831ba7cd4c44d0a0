"""Show why a sentence gets its labels.

Which features speak for and against each label, and why the best label sequence beats the next. Where the model
reads several columns, a word is written as the/DT. Without words, sentences are read from standard input, one
token per line, as for trellis tag.

examples:
  trellis explain chunk.trellis the/DT dog/NN
  trellis explain --model chunk.trellis --labels 1 < test.txt
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.files import STANDARD_STREAM
from trellis.interfaces.cli.file_shape import load_constrained, open_model, reject_file_options
from trellis.interfaces.cli.options import Parser, at_least
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.progress import say

if TYPE_CHECKING:
    from trellis.tasks.tagging.model import Tagger

TERMS, LABELS = 6, 3  # that are shown unless more or fewer are asked for


def describe(parser: Parser) -> None:
    """The options."""
    add = parser.add_argument
    parser.usage, parser.mixed = "trellis explain MODEL [options] [WORD ...]", True
    add(
        "words",
        nargs="*",
        metavar="WORD",
        help="the model, unless --model names it, then the words of a sentence",
    )
    add("--model", "-m", metavar="MODEL", help="model file")
    add("--top", type=at_least(1), metavar="N", help=f"number of features per label (default: {TERMS})")
    add("--labels", type=at_least(1), metavar="N", help=f"number of labels per token (default: {LABELS})")
    parser.share("scheme", "json")
    parser.share_file_options()


def command(given: Namespace) -> None:
    """Show explanations."""
    if given.json and (given.labels or given.top) is not None:
        raise ArgumentError("--json has all labels and all features; omit --labels and --top")
    if given.model is None:
        if not given.words:
            raise CorpusError("", None, "name the model's file: trellis explain MODEL [WORD ...]")
        given.model, *given.words = given.words
    sentences: Iterable[Any]
    if given.words:
        reject_file_options(given, "the words of the command line are no file")
        tagger = load_constrained(given)
        sentences = [typed(tagger, given.words, quiet=given.json)]
    else:
        tagger, shape = open_model(given, STANDARD_STREAM)
        sentences = shape.read_for(STANDARD_STREAM, tagger, given.columns)
    for number, sentence in enumerate(sentences):
        explanation = tagger.explain(sentence)
        if given.json:
            show_json(explanation.to_dict(), indent=None)
        else:
            show("\n" * bool(number) + explanation.text(n_labels=given.labels or LABELS, n_terms=given.top or TERMS))


def typed(tagger: Tagger, words: list[str], *, quiet: bool = False) -> list[Any]:
    """One sentence from the words of the command line."""
    n = len(tagger.columns)
    if tagger.model.vocabulary.bag is not None:
        why = "the model reads attributes; trellis explain reads them as JSON lines with --format jsonl"
        raise CorpusError("", None, why)
    if blank := next((word for word in words if " " in word.strip()), None):
        say(f"{blank!r} is taken as one token; leave out the quotes to give one word per token", quiet)
    if n == 1:
        return list(words)
    fields = [tuple(word.rsplit("/", n - 1)) for word in words]
    wrong = next((word for word, parts in zip(words, fields, strict=True) if len(parts) != n), None)
    if wrong is not None:
        raise CorpusError("", None, f"{wrong!r}: the model reads {'/'.join(tagger.columns)}")
    return fields
