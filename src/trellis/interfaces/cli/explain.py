"""Explain a prediction: the features and weights of its score, and of the score difference to the second best.

For a tagger, the features for and against each label of a token. If the model reads several columns, write a word as
the/DT, and for a parser of Universal Dependencies as the/the/DET/DT/_; a file is easier. A single word that is the
name of a file, such as test.conllu, is read as a file; without words, sentences are read from standard input.

examples:
  trellis explain -m chunk.trellis the/DT dog/NN
  trellis explain -m trees.model the dog barks --top 5
  trellis explain -m chunk.trellis --labels 1 < test.txt
  trellis explain -m en.parser test.conllu
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.files import STANDARD_STREAM, decoded, message_name, read_bytes
from trellis.corpus.read import format_of
from trellis.interfaces.cli.files import open_model, read_for, reject_file_options, tagger_of
from trellis.interfaces.cli.options import FILES, Parser, at_least
from trellis.interfaces.cli.outputs import show, show_json
from trellis.interfaces.cli.progress import say

TERMS, LABELS = 6, 3  # of a tagger's explanation by default


def describe(parser: Parser) -> None:
    """The options."""
    add, parser.mixed = parser.add_argument, True
    add("words", nargs="*", metavar="WORD", help="words of a sentence, or a file (default: standard input)")
    parser.take(*(task for task in FILES if task != "pipeline"))
    top = f"number of features per label of a tagger (default: {TERMS}), or per output of other models (default: 20)"
    add("--top", type=at_least(1), metavar="N", help=top)
    labels = f"number of labels per token of a tagger (default: {LABELS})"
    add("--labels", type=at_least(1), tasks=("tag",), metavar="N", help=labels)
    parser.share("scheme", "json")
    parser.share_file_options()


def command(options: Namespace) -> None:
    """Show explanations."""
    if options.json and (options.labels or options.top) is not None:
        raise ArgumentError("--json cannot be combined with --labels and --top: it has all labels and features")
    model = open_model(options)
    sentences = sentences_of(model, options, quiet=options.json)
    for number, sentence in enumerate(sentences):
        explanation = model.explain(sentence)
        if options.json:
            show_json(explanation.to_dict(), indent=None)
            continue
        limits = {"n_labels": options.labels or LABELS, "n_terms": TERMS} if model.task == "tag" else {}
        limits |= {"n_terms": options.top} if options.top else {}
        show("\n" * bool(number) + explanation.text(**limits))


def sentences_of(model: Any, options: Namespace, *, quiet: bool = False) -> Iterable[Any]:
    """The sentences of a file or standard input, or the one on the command line, as the model takes them."""
    words = options.words
    path = words[0] if len(words) == 1 and _is_file(words[0]) else STANDARD_STREAM
    if words and path == STANDARD_STREAM:
        reject_file_options(options, "words on the command line are not a file")
        return [_sentence(model, words, quiet)]
    if model.task != "words":
        return read_for(model, options, path)
    reject_file_options(options, "a word segmenter reads text without columns")
    return filter(str.strip, decoded(read_bytes(path), message_name(path)).split("\n"))


def _is_file(word: str) -> bool:
    """Whether it is the name of a file by its extension; an extension of any kind will do for one that exists."""
    return format_of(word) != "conll" or (Path(word).suffix != "" and Path(word).is_file())


def _sentence(model: Any, words: list[str], quiet: bool) -> Any:
    """One sentence from the words of the command line."""
    if model.task == "words":
        return " ".join(words)
    words = words[0].split() if len(words) == 1 and model.task in ("parse", "trees") else words
    if model.task == "trees":
        columns = ["word", "pos"] if all("/" in word.strip("/") for word in words) else ["word"]
    else:
        reader = model if model.task == "parse" else tagger_of(model)
        columns = list(reader.columns)
        if model.task != "parse" and reader.model.vocabulary.bag is not None:
            reason = "the model reads attributes; give them as JSON lines with --format jsonl"
            raise CorpusError("", None, reason)
    if blank := next((word for word in words if " " in word.strip()), None):
        say(f"{blank!r} is read as one token; omit the quotes to give one word per token", quiet)
    if len(columns) == 1 and model.task != "parse":
        return list(words)
    fields = [tuple(word.rsplit("/", len(columns) - 1)) for word in words]
    wrong = next((word for word, parts in zip(words, fields, strict=True) if len(parts) != len(columns)), None)
    if wrong is not None:
        kind = "CoNLL-U file" if "upos" in columns else "file"
        reason = f"the model reads {'/'.join(columns)} for every word"
        raise CorpusError("", None, f"{wrong!r}: {reason}; write them in this form, or give a {kind} or standard input")
    return fields
