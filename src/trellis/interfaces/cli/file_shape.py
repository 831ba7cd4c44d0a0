"""The layout of a file: from the command line, from its name, from the model's training file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trellis._support.errors import ArgumentError, CorpusError, ModelError
from trellis.corpus.columns import CONLLU, Layout, naming_of, parse_names, parse_text
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import STANDARD_STREAM, extension, message_name, read_bytes
from trellis.corpus.read import FORMATS_OF_OPTIONS, effective_options, format_of, read
from trellis.interfaces.cli.options import FILE_OPTIONS
from trellis.tasks.model import TASKS, Model, load

if TYPE_CHECKING:
    from trellis.corpus.stream import CorpusStream

STREAMED = ("conll", "conllu")
FILES = ("tag", "parse", "trees", "words", "rerank")  # tasks whose data are files
BRACKETS = (".trees", ".tree", ".mrg", ".ptb")  # extensions of files of constituency trees


@dataclass(frozen=True, slots=True)
class FileShape:
    """How a file is laid out. Kept in every model that the command line trains."""

    format: str = "conll"
    tabs: bool = False
    comments: bool = False
    sentence: str | None = None  # in tables with a row per token

    @classmethod
    def of(
        cls, options: Namespace, path: str, like: FileShape | None = None, others: Iterable[str | None] = ()
    ) -> FileShape:
        """The shape of a file: from the options, else from the file's name, else from the shape ``like``.

        ArgumentError for an option that means nothing in the format of this file, nor in that of the ``others``.
        """
        shape = (like or cls()).beside(options, path)
        formats = {shape.format, *(shape.beside(options, other).format for other in others if other is not None)}
        for name, suited in FORMATS_OF_OPTIONS.items():
            if getattr(options, name) is not None and formats.isdisjoint(suited):
                why = f"--{name} is for {', '.join(suited)} files; {message_name(path)} is read as {shape.format}"
                raise ArgumentError(f"{why}: omit --{name}, or name another --format")
        return shape

    def beside(self, options: Namespace, path: str) -> FileShape:
        """The shape of a file: from the options, else from the file's name, else this one."""
        format, tabs, comments = options.format, options.tabs, options.comments
        if format is None:
            format = self.format if path == STANDARD_STREAM else format_of(path, self.format)
        if tabs is None:
            tabs = extension(path) == ".tsv" or self.tabs
        comments = self.comments if comments is None else comments
        return FileShape(format, tabs, comments, options.sentence or self.sentence)

    def describe(self, columns: Iterable[str]) -> dict[str, Any]:
        """For the model: what a file must look like to be read without further options."""
        return {"columns": list(columns), **asdict(self)}

    def read(self, path: str, columns: str | None) -> Corpus:
        """A whole file, its columns named by ``columns`` or by their number."""
        return read(path, columns=columns, **self._options())

    def _options(self) -> dict[str, Any]:
        """As arguments of trellis.read and trellis.stream: those that have an effect on this format."""
        return {name: getattr(self, name) for name in ("format", *effective_options(self.format))}

    def read_beside(self, path: str | None, columns: Iterable[str], options: Namespace) -> Corpus | None:
        """A second file with the columns of a first one, which has this shape; None without a path."""
        if path is None:
            return None
        names = ",".join(columns) if options.columns or self.format == "conll" else None
        return self.beside(options, path).read(path, names)

    def stream(self, paths: list[str], columns: str | None, megabytes: int) -> CorpusStream:
        """Files block by block, of about so many megabytes of text."""
        from trellis.corpus.stream import stream

        return stream(paths, columns=columns, block_bytes=megabytes << 20, **self._options())

    def layout(self, path: str, model: Any, columns: str | None) -> Layout:
        """How to read a file of columns for a model: its columns are named as in training, by position."""
        if self.format == "conllu":
            if columns is not None:
                raise CorpusError(path, None, "CoNLL-U names its own columns; omit --columns")
            return CONLLU
        names, source, n_inputs = parse_names(columns), message_name(path), 0
        if model.task == "parse":
            trees = ("head", "deprel")
            trained = model.training.get("corpus", {}).get("columns", [*model.columns, *trees])
            naming = naming_of(trained, trees, model.columns, source, "with --columns")
        else:
            tagger = tagger_of(model)
            hint = "with --columns" + ", or tag running text with --text" * (len(tagger.columns) == 1)
            naming = tagger.model.naming(source, hint)
            n_inputs = tagger.model.n_inputs if columns is None else 0
        return Layout(names, self.tabs, self.comments, naming=naming, n_inputs=n_inputs)

    def read_for(self, path: str, model: Any, columns: str | None) -> Corpus:
        """A whole file for a model."""
        if self.format not in STREAMED or model.task == "trees":
            return self.read(path, columns)
        corpus = parse_text(read_bytes(path), message_name(path), self.layout(path, model, columns))
        if not corpus.n_tokens:
            raise CorpusError(corpus.source, None, "no tokens in it; give a file with at least one sentence")
        return corpus


def reject_file_options(options: Namespace, why: str) -> None:
    """ArgumentError for options of a file where no file is read that they could be of."""
    for name in FILE_OPTIONS:
        if getattr(options, name) is not None:
            raise ArgumentError(f"{why}; omit --{name}")


def open_model(options: Namespace, verb: str, *tasks: str) -> Any:
    """The model of ``--model``, under ``--scheme`` if there is such an option.

    ArgumentError unless it is of one of these ``tasks`` (none: of any task).
    """
    model, scheme = load_any(options.model), getattr(options, "scheme", None)
    if tasks and model.task not in tasks:
        nouns = ", ".join(f"{TASKS[task].noun}s" for task in tasks)
        raise ArgumentError(f"{options.model}: a {TASKS[model.task].noun}; trellis {verb} is for {nouns}")
    if scheme is None:
        return model
    if model.task != "tag":
        raise ArgumentError(f"--scheme is for taggers, not for a {TASKS[model.task].noun}; omit it")
    return model.constrained(scheme)  # type: ignore[attr-defined]


def load_any(path: str) -> Model:
    """The model in a file; a structured one with a problem that only lets it be looked at."""
    try:
        return load(path)
    except ModelError as error:
        if "problem=" not in str(error):
            raise
    for methods in (("parts", "edges", "output"), *(("features", own) for own in ("candidates", "argmax", "choices"))):
        problem = type("unknown", (), dict.fromkeys(methods, lambda *_: None))()
        try:
            return load(path, problem=problem)
        except ModelError as error:
            reason = error
    raise reason


def tagger_of(model: Model) -> Any:
    """The tagger itself, or the one that a model is made of."""
    return getattr(model, "tagger", model)


def shape_for(model: Model, options: Namespace, path: str) -> FileShape:
    """The shape of a file for a model: that of its training file unless options say otherwise."""
    trained = (tagger_of(model) if model.task == "rerank" else model).training.get("corpus", {})
    names = [name for name in ("format", "tabs", "comments", "sentence") if name in trained]
    return FileShape.of(options, path, like=FileShape(**{name: trained[name] for name in names}))
