"""Files that parsers read: laid out as in training, with tags of a tagger filled in where one is given."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from trellis._support.errors import CorpusError
from trellis.corpus.columns import CONLLU, Layout, naming_of, parse_names
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import message_name
from trellis.corpus.stream import pieces_of_path
from trellis.interfaces.cli.file_shape import STREAMED, FileShape
from trellis.interfaces.cli.labelled_files import PIECE_BYTES
from trellis.tasks.parsing.treebank import HEAD, LABEL

if TYPE_CHECKING:
    from trellis.tasks.parsing import Parser

Tag = Callable[[Corpus], Corpus]  # fills in the columns that a tagger predicts


def tagging(model: str | None, n_threads: int | None) -> Tag:
    """What fills in the column of a tagger, where one is given."""
    if model is None:
        return lambda corpus: corpus
    from trellis.tasks.tagging.model import Tagger

    tagger = Tagger.load(model)
    return lambda corpus: corpus.with_column(tagger.target, tagger.tag_column(corpus, n_threads=n_threads))


def pieces(path: str, parser: Parser, given: Namespace, shape: FileShape) -> Iterator[Corpus]:
    """What is read, piece by piece where its format allows; CorpusError where there is nothing."""
    n_tokens = 0
    corpora: Iterator[Corpus]
    if shape.format in STREAMED:
        corpora = (piece.corpus for piece in pieces_of_path(path, _layout(path, parser, given, shape), PIECE_BYTES))
    else:
        corpora = iter([shape.read(path, given.columns)])
    for corpus in corpora:
        n_tokens += corpus.n_tokens
        if corpus.n_tokens:
            yield corpus
    if not n_tokens:
        raise CorpusError(message_name(path), None, "no tokens in it; give a file with at least one sentence")


def _layout(path: str, parser: Parser, given: Namespace, shape: FileShape) -> Layout:
    if shape.format == "conllu":
        if given.columns is not None:
            raise CorpusError(path, None, "CoNLL-U names its own columns; omit --columns")
        return CONLLU
    trained = parser.training.get("corpus", {}).get("columns", [*parser.columns, HEAD, LABEL])
    naming = naming_of(trained, (HEAD, LABEL), parser.columns, message_name(path), "with --columns")
    return Layout(parse_names(given.columns), shape.tabs, shape.comments, naming=naming)
