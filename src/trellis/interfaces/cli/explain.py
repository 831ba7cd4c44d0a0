"""Show why a sentence gets its output: the terms of its score, and those that made the difference to the next best.

Of a tagger, which features speak for and against each label. Where the model reads several columns, a word is written
as the/DT. Without words, sentences are read from standard input, as for trellis predict.

examples:
  trellis explain -m chunk.trellis the/DT dog/NN
  trellis explain -m trees.model the dog barks --top 5
  trellis explain -m chunk.trellis --labels 1 < test.txt
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.files import STANDARD_STREAM
from trellis.interfaces.cli.file_shape import FILES, open_model, reject_file_options, shape_for
from trellis.interfaces.cli.options import Parser, at_least, reject_other_tasks
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.progress import say

TERMS, LABELS = 6, 3  # of a tagger's explanation by default


def describe(parser: Parser) -> None:
    """The options."""
    add, parser.mixed = parser.add_argument, True
    add("words", nargs="*", metavar="WORD", help="the words of a sentence (default: standard input)")
    parser.share("model")
    top = f"number of features shown per label of a tagger (default: {TERMS}), per output of other models (20)"
    add("--top", type=at_least(1), metavar="N", help=top)
    add("--labels", type=at_least(1), metavar="N", help=f"number of labels per token of a tagger (default: {LABELS})")
    parser.share("scheme", "json")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Show explanations."""
    if options.json and (options.labels or options.top) is not None:
        raise ArgumentError("--json has all labels and all features; omit --labels and --top")
    model = open_model(options, "explain", *FILES)
    reject_other_tasks(options, model.task, {"labels": ("tag",)})
    sentences: Iterable[Any]
    if options.words:
        reject_file_options(options, "the words of the command line are no file")
        sentences = [sentence_of(model, options.words, quiet=options.json)]
    elif model.task == "words":
        reject_file_options(options, "a word segmenter reads text without columns")
        sentences = filter(None, sys.stdin.buffer.read().decode().split("\n"))
    else:
        shape = shape_for(model, options, STANDARD_STREAM)
        sentences = shape.read_for(STANDARD_STREAM, model, options.columns)
    for number, sentence in enumerate(sentences):
        explanation = model.explain(sentence)
        if options.json:
            show_json(explanation.to_dict(), indent=None)
            continue
        shown = {"n_labels": options.labels or LABELS, "n_terms": TERMS} if model.task == "tag" else {}
        shown |= {"n_terms": options.top} if options.top else {}
        show("\n" * bool(number) + explanation.text(**shown))


def sentence_of(model: Any, words: list[str], *, quiet: bool = False) -> Any:
    """One sentence from the words of the command line, as the model takes it."""
    if model.task == "words":
        return " ".join(words)
    words = words[0].split() if len(words) == 1 and model.task in ("parse", "trees") else words
    if model.task == "trees":
        columns = ["word", "pos"] if all("/" in word.strip("/") for word in words) else ["word"]
    else:
        reader = model if model.task == "parse" else getattr(model, "tagger", model)
        columns = list(reader.columns)
        if model.task != "parse" and reader.model.vocabulary.bag is not None:
            why = "the model reads attributes; trellis explain reads them as JSON lines with --format jsonl"
            raise CorpusError("", None, why)
    if blank := next((word for word in words if " " in word.strip()), None):
        say(f"{blank!r} is read as one token; omit the quotes to give one word per token", quiet)
    if len(columns) == 1 and model.task != "parse":
        return list(words)
    fields = [tuple(word.rsplit("/", len(columns) - 1)) for word in words]
    wrong = next((word for word, parts in zip(words, fields, strict=True) if len(parts) != len(columns)), None)
    if wrong is not None:
        raise CorpusError("", None, f"{wrong!r}: the model reads {'/'.join(columns)}")
    return fields
