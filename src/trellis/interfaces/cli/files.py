"""Read models and data of every task, in the format given by options, file names and models."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import EmptyError, message_name
from trellis.corpus.read import FileShape, read_file
from trellis.interfaces.cli.options import FILE_OPTIONS
from trellis.interfaces.cli.progress import count_bytes, say
from trellis.tasks.model import FORMATS, TASKS, Model, load

STREAMED = ("conll", "conllu")
LARGEST_HEADER = 1 << 27  # bytes

# ------------------------------------------------------------ models


def open_model(options: Namespace, path: str | None = None) -> Any:
    """The model of ``--model`` or of a path, under ``--scheme`` if there is such an option.

    ArgumentError unless it is of a task that the command takes, and for options that are not of that task.
    """
    path = path or options.model
    model = check_model(options, load_any(path), path)
    scheme = getattr(options, "scheme", None)
    return model if scheme is None else model.constrained(scheme)


def check_model(options: Namespace, model: Model, path: str) -> Any:
    """The model, if it is of a task that the command takes and all options are of that task."""
    noun = TASKS[model.task].noun
    if options.takes and model.task not in options.takes:
        raise ArgumentError(f"{path}: a {noun}; {options.command} supports {_nouns(options.takes)}")
    check_task(options, model.task)
    return model


def check_task(options: Namespace, task: str) -> None:
    """ArgumentError for an option with a value that does not apply to this task."""
    for name, tasks in options.tasks_of.items():
        if task not in tasks and getattr(options, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise ArgumentError(
                f"{option} has an effect only for {_nouns(tasks)}, not for a {TASKS[task].noun}; omit it"
            )


def _nouns(tasks: Iterable[str]) -> str:
    return ", ".join(f"{TASKS[task].noun}s" for task in tasks)


def load_any(path: str) -> Model:
    """Load a model; a structured model gets a placeholder problem, sufficient for inspection."""
    metadata = _metadata(path)
    if FORMATS.get(metadata.get("format", "")) != "structured":
        return load(path)
    header = json.loads(metadata["text"])
    kind = header.get("kind", "parts" if header.get("beam") is None else "choices")  # missing in older files
    methods = ("parts", "edges", "output") if kind == "parts" else ("features", kind)
    return load(path, problem=type("unknown", (), dict.fromkeys(methods, lambda *_: None))())


def _metadata(path: str) -> dict[str, str]:
    """The strings of a model file's header; empty for other files (loading reports the error)."""
    try:
        with Path(path).open("rb") as file:
            return metadata_of(file)
    except OSError:
        return {}


def metadata_of(file: IO[bytes]) -> dict[str, str]:
    """The same of an open file."""
    try:
        size = int.from_bytes(file.read(8), "little")
        return dict(json.loads(file.read(size))["__metadata__"]) if size <= LARGEST_HEADER else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def tagger_of(model: Model) -> Any:
    """The tagger itself, or the tagger inside a model."""
    return getattr(model, "tagger", model)


def tagging(options: Namespace, load: Callable[[str], Any] = load) -> Callable[[Corpus], Corpus]:
    """A function that fills in the column of the tagger of ``--tagger``, where there is one."""
    if options.tagger is None:
        return lambda corpus: corpus
    tagger = load(options.tagger)
    if tagger.task not in ("tag", "rerank"):
        raise ArgumentError(f"--tagger {options.tagger}: not a tagger")
    return lambda corpus: tagger.predict_corpus(corpus, n_threads=options.threads)


# ------------------------------------------------------------ columns


def file_shape(options: Namespace, path: str, like: Any = None, others: Iterable[str | None] = ()) -> FileShape:
    """The shape of a file: from the options, else from its name, else that of the training file of the model ``like``.

    ArgumentError for an option that means nothing in the format of this file, nor in that of the ``others``.
    """
    training_file, shape_of = getattr(like, "training_file", None), given_shape(options)
    shape = shape_of.of(path, training_file and training_file.shape)
    formats = [shape_of.of(file, shape).format for file in (path, *others) if file is not None]
    shape_of.check_format(message_name(path), *map(str, formats))
    return shape


def given_shape(options: Namespace) -> FileShape:
    """File shape from the options."""
    return FileShape(*(getattr(options, name) for name in FileShape._fields))


def read_for(model: Any, options: Namespace, path: str) -> Corpus:
    """Read a whole file for a model."""
    shape = file_shape(options, path, model)
    return read_file(path, shape, options.columns, getattr(model, "training_file", None))


def reject_file_options(options: Namespace, reason: str) -> None:
    """ArgumentError for file options if no file is read."""
    for name in FILE_OPTIONS:
        if getattr(options, name) is not None:
            raise ArgumentError(f"{reason}; omit --{name}")


# ------------------------------------------------------------ data of every task


def training_data(
    options: Namespace, task: str, paths: list[str], dev: str | None
) -> tuple[Any, Any, dict[str, Any] | None]:
    """Training data, dev data, and for a corpus the columns and shape of its file; reports the size."""
    if task == "pipeline":
        documents = [gold_document(path) for path in paths]
        n_words = sum(len(sentence) for document in documents for sentence in document)
        names = ", ".join(map(message_name, paths))
        say(f"{sum(map(len, documents)):,} sentences, {n_words:,} words from {names}", options.quiet)
        return documents, None if dev is None else gold_document(dev), None
    sizes = {"trees": ("trees", lambda tree: len(tree.words)), "words": ("lines", len)}
    if task in sizes:
        noun, size = sizes[task]
        data = [example for path in paths for example in read_examples(task, path, options)]
        names = ", ".join(map(message_name, paths))
        say(f"{len(data):,} {noun}, {sum(map(size, data)):,} words from {names}", options.quiet)
        return data, None if dev is None else read_examples(task, dev, options), None
    shape = file_shape(options, paths[0], others=(*paths[1:], dev))
    corpus: Any
    if getattr(options, "stream", False) or getattr(options, "workers", None) is not None:
        from trellis.corpus.stream import BLOCK_BYTES, stream

        n_bytes = BLOCK_BYTES if options.block is None else options.block << 20
        blocks = stream(paths, columns=options.columns, block_bytes=n_bytes, **given_shape(options)._asdict())
        if getattr(options, "workers", None) is not None:  # who read the files themselves
            first = next(iter(blocks), None)
            if first is None:
                raise CorpusError(", ".join(paths), None, "no sentences to train on; give at least one")
            fields = list(first.columns)
            held_out = None if dev is None else read_file(dev, given_shape(options).of(dev, shape), ",".join(fields))
            return blocks, held_out, {"columns": fields, **shape._asdict()}
        with count_bytes(not options.quiet) as progress:
            corpus = blocks.corpus(progress)
    elif getattr(options, "block", None) is not None:
        raise ArgumentError("--block requires --stream")
    else:
        corpus = read_file(paths[0], shape, options.columns)
        for path in paths[1:]:
            corpus += read_file(path, given_shape(options).of(path, shape), options.columns)
    say(f"{len(corpus):,} sentences, {corpus.n_tokens:,} tokens from {corpus.source}", options.quiet)
    held_out = None
    if dev is not None:
        columns = options.columns or (",".join(corpus.columns) if shape.format == "conll" else None)
        held_out = read_file(dev, given_shape(options).of(dev, shape), columns)
    if task == "parse":
        tag = tagging(options)
        corpus, held_out = tag(corpus), None if held_out is None else tag(held_out)
    return corpus, held_out, {"columns": list(corpus.columns), **shape._asdict()}


def gold_document(path: str) -> Any:
    """Read a CoNLL-U file with gold annotations."""
    from trellis.corpus.document import Document

    document = Document.from_conllu(path)
    if not len(document):
        raise EmptyError(message_name(path))
    return document


def gold_data(model: Any, options: Namespace, path: str) -> Any:
    """A file with gold outputs, as ``model.evaluate`` takes it."""
    if model.task in ("trees", "words"):
        reject_file_options(options, f"{path}: a file without columns")
        return read_examples(model.task, path, options)
    corpus = read_for(model, options, path)
    if model.task != "parse":
        return corpus
    from trellis.tasks.parsing.treebank import read_dependencies

    treebank = read_dependencies(corpus, labelled=bool(model.labels), lenient=options.lenient)
    _say_skipped(treebank.skipped, options)
    return tagging(options)(treebank.corpus)


def read_examples(task: str, path: str, options: Namespace) -> list[Any]:
    """The trees of a file in brackets, or the words of every line of a file."""
    from trellis.corpus.brackets import read_trees
    from trellis.corpus.unspaced import read_segmented

    examples: Any = (read_trees if task == "trees" else read_segmented)(path, lenient=options.lenient)
    _say_skipped(examples.skipped, options)
    if not examples:
        raise EmptyError(message_name(path))
    return list(examples)


def _say_skipped(skipped: list[CorpusError], options: Namespace) -> None:
    if skipped:
        say(f"skipped {len(skipped):,} with errors; the first: {skipped[0]}", getattr(options, "quiet", False))


def sentences_of_trees(options: Namespace, path: str) -> Corpus:
    """The words and tags of a file in brackets as a corpus."""
    from trellis.tasks.trees.model import sentence_corpus

    reject_file_options(options, f"{path}: bracketed trees have no columns")
    return sentence_corpus(read_examples("trees", path, options))
