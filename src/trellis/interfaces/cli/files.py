"""What is read: models, and the data of every task, laid out as options, names of files and models say."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.columns import CONLLU, Layout, parse_names, parse_text
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import STANDARD_STREAM, EmptyError, extension, message_name, read_bytes
from trellis.corpus.read import FORMATS_OF_OPTIONS, effective_options, format_of, read
from trellis.interfaces.cli.options import FILE_OPTIONS
from trellis.interfaces.cli.progress import say
from trellis.tasks.model import FORMATS, TASKS, Model, load

STREAMED = ("conll", "conllu")
LARGEST_HEADER = 1 << 27  # bytes

# ------------------------------------------------------------ models


def open_model(options: Namespace, path: str | None = None) -> Any:
    """The model of ``--model`` or of a path, under ``--scheme`` if there is such an option.

    ArgumentError unless it is of a task that the command takes, and for options that are not of that task.
    """
    path = path or options.model
    model = load_any(path)
    noun = TASKS[model.task].noun
    if options.takes and model.task not in options.takes:
        raise ArgumentError(f"{path}: a {noun}; {options.command} is for {_nouns(options.takes)}")
    check_task(options, model.task)
    scheme = getattr(options, "scheme", None)
    return model if scheme is None else model.constrained(scheme)  # type: ignore[attr-defined]


def check_task(options: Namespace, task: str) -> None:
    """ArgumentError for an option that has a value and is not of this task."""
    for name, tasks in options.tasks_of.items():
        if task not in tasks and getattr(options, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise ArgumentError(f"{option} is for {_nouns(tasks)}, not for a {TASKS[task].noun}; omit it")


def _nouns(tasks: Iterable[str]) -> str:
    return ", ".join(f"{TASKS[task].noun}s" for task in tasks)


def load_any(path: str) -> Model:
    """The model in a file; a structured one with a problem that only lets it be looked at."""
    metadata = _metadata(path)
    if FORMATS.get(metadata.get("format", "")) != "structured":
        return load(path)
    header = json.loads(metadata["text"])
    kind = header.get("kind", "parts" if header.get("beam") is None else "choices")  # older files do not say it
    methods = ("parts", "edges", "output") if kind == "parts" else ("features", kind)
    return load(path, problem=type("unknown", (), dict.fromkeys(methods, lambda *_: None))())


def _metadata(path: str) -> dict[str, str]:
    """The strings of a model file's header; empty if it is no file of ours, which loading will say."""
    try:
        with Path(path).open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            return dict(json.loads(file.read(size))["__metadata__"]) if size <= LARGEST_HEADER else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def tagger_of(model: Model) -> Any:
    """The tagger itself, or the one that a model is made of."""
    return getattr(model, "tagger", model)


def tagging(options: Namespace) -> Callable[[Corpus], Corpus]:
    """A function that fills in the column of the tagger of ``--tagger``, where there is one."""
    if options.tagger is None:
        return lambda corpus: corpus
    tagger: Any = load(options.tagger)
    if tagger.task not in ("tag", "rerank"):
        raise ArgumentError(f"--tagger {options.tagger}: not a tagger")
    return lambda corpus: tagger.predict_corpus(corpus, n_threads=options.threads)


# ------------------------------------------------------------ columns


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

    @classmethod
    def for_model(cls, model: Model, options: Namespace, path: str) -> FileShape:
        """The shape of a file for a model: that of its training file unless options say otherwise."""
        trained = (tagger_of(model) if model.task == "rerank" else model).training.get("corpus", {})
        like = cls(**{name: trained[name] for name in cls.__annotations__ if name in trained})
        return cls.of(options, path, like)

    def beside(self, options: Namespace, path: str) -> FileShape:
        """The shape of a file: from the options, else from the file's name, else this one."""
        format, tabs, comments = options.format, options.tabs, options.comments
        if format is None:
            format = self.format if path == STANDARD_STREAM else format_of(path, self.format)
        if tabs is None:
            tabs = extension(path) == ".tsv" or self.tabs
        comments = self.comments if comments is None else comments
        return FileShape(format, tabs, comments, options.sentence or self.sentence)

    def arguments(self) -> dict[str, Any]:
        """Arguments of trellis.read and trellis.stream: those that have an effect on this format."""
        return {name: getattr(self, name) for name in ("format", *effective_options(self.format))}

    def read(self, path: str, columns: str | None) -> Corpus:
        """A whole file, its columns named by ``columns`` or by their number."""
        return read(path, columns=columns, **self.arguments())

    def layout(self, path: str, model: Any, options: Namespace) -> Layout:
        """How to read a file of columns for a model: its columns are named as in training, by position."""
        if self.format == "conllu":
            if options.columns is not None:
                raise CorpusError(path, None, "CoNLL-U names its own columns; omit --columns")
            return CONLLU
        names, source, n_inputs = parse_names(options.columns), message_name(path), 0
        if model.task == "parse":
            naming = model.naming(source, "with --columns")
        else:
            tagger = tagger_of(model)
            hint = "with --columns" + ", or tag running text with --text" * (
                len(tagger.columns) == 1 and hasattr(options, "text")
            )
            naming = tagger.model.naming(source, hint)
            n_inputs = tagger.model.n_inputs if names is None else 0
        return Layout(names, self.tabs, self.comments, naming=naming, n_inputs=n_inputs)


def read_for(model: Any, options: Namespace, path: str) -> Corpus:
    """A whole file for a model."""
    shape = FileShape.for_model(model, options, path)
    if shape.format not in STREAMED or model.task == "trees":
        return shape.read(path, options.columns)
    corpus = parse_text(read_bytes(path), message_name(path), shape.layout(path, model, options))
    if not corpus.n_tokens:
        raise EmptyError(corpus.source)
    return corpus


def reject_file_options(options: Namespace, why: str) -> None:
    """ArgumentError for options of a file where no file is read that they could be of."""
    for name in FILE_OPTIONS:
        if getattr(options, name) is not None:
            raise ArgumentError(f"{why}; omit --{name}")


# ------------------------------------------------------------ data of every task


def training_data(
    options: Namespace, task: str, paths: list[str], dev: str | None
) -> tuple[Any, Any, dict[str, Any] | None]:
    """What a model is trained on, its dev data, and of a corpus columns and shape of its file; reports the size."""
    sizes = {"trees": ("trees", lambda tree: len(tree.words)), "words": ("lines", len)}
    if task in sizes:
        noun, size = sizes[task]
        data = [example for path in paths for example in read_examples(task, path, options)]
        names = ", ".join(map(message_name, paths))
        say(f"{len(data):,} {noun}, {sum(map(size, data)):,} words from {names}", options.quiet)
        return data, None if dev is None else read_examples(task, dev, options), None
    shape = FileShape.of(options, paths[0], others=(*paths[1:], dev))
    corpus: Any
    if getattr(options, "stream", False):
        from trellis.corpus.stream import BLOCK_BYTES, stream

        n_bytes = BLOCK_BYTES if options.block is None else options.block << 20
        corpus = stream(paths, columns=options.columns, block_bytes=n_bytes, **shape.arguments())
    elif getattr(options, "block", None) is not None:
        raise ArgumentError("--block is the size of blocks that are read with --stream; give both")
    else:
        corpus = shape.read(paths[0], options.columns)
        for path in paths[1:]:
            corpus += shape.beside(options, path).read(path, options.columns)
        say(f"{len(corpus):,} sentences, {corpus.n_tokens:,} tokens from {corpus.source}", options.quiet)
    held_out = None
    if dev is not None:
        columns = ",".join(corpus.columns) if options.columns or shape.format == "conll" else None
        held_out = shape.beside(options, dev).read(dev, columns)
    if task == "parse":
        tag = tagging(options)
        corpus, held_out = tag(corpus), None if held_out is None else tag(held_out)
    return corpus, held_out, {"columns": list(corpus.columns), **asdict(shape)}


def gold_data(model: Any, options: Namespace, path: str) -> Any:
    """A file with gold outputs, as ``model.evaluate`` takes it."""
    if model.task in ("trees", "words"):
        reject_file_options(options, f"{path}: a file without columns")
        return read_examples(model.task, path, options)
    if model.task != "parse":
        return read_for(model, options, path)
    from trellis.tasks.parsing.treebank import read_dependencies

    shape = FileShape.for_model(model, options, path)
    trained = model.training.get("corpus", {}).get("columns")
    columns = options.columns or (",".join(trained) if trained and shape.format == "conll" else None)
    treebank = read_dependencies(shape.read(path, columns), labelled=bool(model.labels), lenient=options.lenient)
    _say_skipped(treebank.n_skipped, "sentences without a tree", options)
    return tagging(options)(treebank.corpus)


def read_examples(task: str, path: str, options: Namespace) -> list[Any]:
    """The trees of a file in brackets, or the words of every line of a file."""
    examples: list[Any]
    if task == "trees":
        from trellis.corpus.brackets import read_trees

        treebank = read_trees(path, lenient=options.lenient)
        examples, n_skipped = list(treebank), len(treebank.skipped)
        what = f"that are not trees; the first: {treebank.skipped[0]}" if n_skipped else ""
    else:
        from trellis.corpus.unspaced import read_segmented

        text = read_segmented(path, lenient=options.lenient)
        examples, n_skipped, what = text.lines, text.n_skipped, "lines"
    _say_skipped(n_skipped, what, options)
    if not examples:
        raise EmptyError(message_name(path))
    return examples


def _say_skipped(n: int, what: str, options: Namespace) -> None:
    if n:
        say(f"skipped {n:,} {what}", getattr(options, "quiet", False))


def sentences_of_trees(path: str, options: Namespace) -> Corpus:
    """The words and tags of a file in brackets as a corpus."""
    from trellis.tasks.trees.model import sentence_corpus

    reject_file_options(options, f"{path}: trees in brackets have no columns")
    return sentence_corpus(read_examples("trees", path, options))
