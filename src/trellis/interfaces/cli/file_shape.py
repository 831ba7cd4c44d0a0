"""What is known of a file's shape: from the command line, from its name, from the model's training file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import CONLLU, Layout, parse_names, parse_text
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import STANDARD_STREAM, extension, message_name, read_bytes
from trellis.corpus.read import FORMATS_OF_OPTIONS, effective_options, format_of, read
from trellis.interfaces.cli.options import FILE_OPTIONS
from trellis.tasks.tagging.model import Tagger

if TYPE_CHECKING:
    from trellis.corpus.blocks import CorpusStream

STREAMED = ("conll", "conllu")


class Trained(Protocol):
    """A model that may know the layout of its training file."""

    @property
    def training(self) -> Any:
        """The record of its training."""


@dataclass(frozen=True, slots=True)
class FileShape:
    """How a file is laid out. Kept in every model that the command line trains."""

    format: str = "conll"
    tabs: bool = False
    comments: bool = False
    sentence: str | None = None  # in tables with a row per token

    @classmethod
    def of(
        cls, given: Namespace, path: str, like: FileShape | None = None, others: Iterable[str | None] = ()
    ) -> FileShape:
        """The shape of a file: from the options, else from the file's name, else from the shape ``like``.

        ArgumentError for an option that means nothing in the format of this file, nor in that of the ``others``.
        """
        shape = (like or cls()).beside(given, path)
        formats = {shape.format, *(shape.beside(given, other).format for other in others if other is not None)}
        for name, suited in FORMATS_OF_OPTIONS.items():
            if getattr(given, name) is not None and formats.isdisjoint(suited):
                why = f"--{name} is for {', '.join(suited)} files; {message_name(path)} is read as {shape.format}"
                raise ArgumentError(f"{why}: omit --{name}, or name another --format")
        return shape

    def beside(self, given: Namespace, path: str) -> FileShape:
        """The shape of a file: from the options, else from the file's name, else this one."""
        format, tabs, comments = given.format, given.tabs, given.comments
        if format is None:
            format = self.format if path == STANDARD_STREAM else format_of(path, self.format)
        if tabs is None:
            tabs = extension(path) == ".tsv" or self.tabs
        comments = self.comments if comments is None else comments
        return FileShape(format, tabs, comments, given.sentence or self.sentence)

    def describe(self, columns: Iterable[str]) -> dict[str, Any]:
        """For the model: what a file must look like to be tagged without further options."""
        return {"columns": list(columns), **asdict(self)}

    def read(self, path: str, columns: str | None) -> Corpus:
        """A whole file, its columns named by ``columns`` or by their number."""
        return read(path, columns=columns, **self._options())

    def _options(self) -> dict[str, Any]:
        """As arguments of trellis.read and trellis.stream: those that have an effect on this format."""
        return {name: getattr(self, name) for name in ("format", *effective_options(self.format))}

    def read_beside(self, path: str | None, columns: Iterable[str], given: Namespace) -> Corpus | None:
        """A second file with the columns of a first one, which this is the shape of; None where none is given."""
        if path is None:
            return None
        names = ",".join(columns) if given.columns or self.format == "conll" else None
        return self.beside(given, path).read(path, names)

    def stream(self, paths: list[str], columns: str | None, megabytes: int) -> CorpusStream:
        """Files block by block, of about so many megabytes of text."""
        from trellis.corpus.blocks import stream

        return stream(paths, columns=columns, block_bytes=megabytes << 20, **self._options())

    def layout(self, path: str, tagger: Tagger, columns: str | None) -> Layout:
        """How to read a file of columns for a model: its columns are named as in training, by position."""
        if self.format == "conllu":
            if columns is not None:
                raise CorpusError(path, None, "CoNLL-U names its own columns; omit --columns")
            return CONLLU
        hint = "with --columns" + ", or tag running text with --text" * (len(tagger.columns) == 1)
        naming = tagger.model.naming(message_name(path), hint)
        names, n_inputs = parse_names(columns), tagger.model.n_inputs if columns is None else 0
        return Layout(names, self.tabs, self.comments, naming=naming, n_inputs=n_inputs)

    def read_for(self, path: str, tagger: Tagger, columns: str | None) -> Corpus:
        """A whole file for a model."""
        if self.format not in STREAMED:
            return self.read(path, columns)
        corpus = parse_text(read_bytes(path), message_name(path), self.layout(path, tagger, columns))
        if not corpus.n_tokens:
            raise CorpusError(corpus.source, None, "no tokens in it; give a file with at least one sentence")
        return corpus


def reject_file_options(given: Namespace, why: str) -> None:
    """ArgumentError for options of a file where no file is read that they could be of."""
    for name in FILE_OPTIONS:
        if getattr(given, name) is not None:
            raise ArgumentError(f"{why}; omit --{name}")


def open_model(given: Namespace, path: str) -> tuple[Tagger, FileShape]:
    """The model that is given, under the scheme that is given, and the shape of a file for it."""
    tagger = load_constrained(given)
    return tagger, shape_for(tagger, given, path)


def load_constrained(given: Namespace) -> Tagger:
    """The model of ``--model``, constrained to ``--scheme``."""
    tagger, scheme = Tagger.load(given.model), getattr(given, "scheme", None)
    return tagger if scheme is None else tagger.constrained(scheme)


def shape_for(model: Trained, given: Namespace, path: str) -> FileShape:
    """The shape of a file for a model: that of its training file unless options say otherwise."""
    kept = model.training.get("corpus", {})
    trained = FileShape(**{name: kept[name] for name in ("format", "tabs", "comments", "sentence") if name in kept})
    return FileShape.of(given, path, like=trained)
