"""The data of every task in files: columns of labels or heads, trees in brackets, lines of words."""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.files import extension, message_name
from trellis.interfaces.cli.file_shape import BRACKETS, FileShape, reject_file_options, shape_for
from trellis.interfaces.cli.progress import say
from trellis.tasks.model import load

LENIENT = ("parse", "trees", "words")  # tasks whose files may have something to be skipped


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a model is trained on."""

    data: Any
    dev: Any = None
    shape: FileShape | None = None  # of a corpus


def training_data(options: Namespace, task: str, paths: list[str], dev: str | None) -> TrainingData:
    """The files of a training, read as the task needs them; reports their size."""
    read = _READERS.get(task)
    if read is not None:
        data = [example for path in paths for example in read(path, options)]
        noun, n_words = (
            ("trees", sum(len(tree.words) for tree in data)) if task == "trees" else ("lines", sum(map(len, data)))
        )
        say(f"{len(data):,} {noun}, {n_words:,} words from {', '.join(map(message_name, paths))}", options.quiet)
        return TrainingData(data, None if dev is None else read(dev, options))
    shape = FileShape.of(options, paths[0], others=(*paths[1:], dev))
    if getattr(options, "stream", False):
        from trellis.corpus.stream import BLOCK_BYTES

        blocks = shape.stream(paths, options.columns, options.block or BLOCK_BYTES >> 20)
        return TrainingData(blocks, shape.read_beside(dev, blocks.columns, options), shape)
    if getattr(options, "block", None) is not None:
        raise ArgumentError("--block is the size of blocks that are read with --stream; give both")
    corpus = shape.read(paths[0], options.columns)
    for path in paths[1:]:
        corpus += shape.beside(options, path).read(path, options.columns)
    say(f"{len(corpus):,} sentences, {corpus.n_tokens:,} tokens from {corpus.source}", options.quiet)
    held_out = shape.read_beside(dev, corpus.columns, options)
    if task == "parse":
        tag = tagging(options)
        return TrainingData(tag(corpus), None if held_out is None else tag(held_out), shape)
    return TrainingData(corpus, held_out, shape)


def gold_data(model: Any, options: Namespace, path: str) -> Any:
    """A file with gold outputs, as ``model.evaluate`` takes it."""
    read = _READERS.get(model.task)
    if read is not None:
        reject_file_options(options, f"{path}: a file without columns")
        return read(path, options)
    shape = shape_for(model, options, path)
    if model.task != "parse":
        return shape.read_for(path, model, options.columns)
    from trellis.tasks.parsing.treebank import read_dependencies

    trained = model.training.get("corpus", {}).get("columns")
    columns = options.columns or (",".join(trained) if trained and shape.format == "conll" else None)
    treebank = read_dependencies(shape.read(path, columns), labelled=bool(model.labels), lenient=options.lenient)
    _say_skipped(treebank.n_skipped, "sentences without a tree", options)
    return tagging(options)(treebank.corpus)


def tagging(options: Namespace) -> Callable[[Corpus], Corpus]:
    """A function that fills in the column of the tagger of ``--tagger``, where there is one."""
    if options.tagger is None:
        return lambda corpus: corpus
    tagger: Any = load(options.tagger)
    if tagger.task not in ("tag", "rerank"):
        raise ArgumentError(f"--tagger {options.tagger}: not a tagger")
    return lambda corpus: tagger.predict_corpus(corpus, n_threads=options.threads)


def _trees(path: str, options: Namespace) -> Any:
    """The trees of a file in brackets."""
    from trellis.corpus.brackets import read_trees

    treebank = read_trees(path, lenient=options.lenient)
    if treebank.skipped:
        _say_skipped(len(treebank.skipped), f"that are not trees; the first: {treebank.skipped[0]}", options)
    return list(treebank)


def _lines(path: str, options: Namespace) -> Any:
    """The words of every line of a file."""
    from trellis.corpus.unspaced import read_segmented

    text = read_segmented(path, lenient=options.lenient)
    _say_skipped(text.n_skipped, "lines", options)
    return text.lines


_READERS: dict[str, Callable[[str, Namespace], list[Any]]] = {"trees": _trees, "words": _lines}


def _say_skipped(n: int, what: str, options: Namespace) -> None:
    if n:
        say(f"skipped {n:,} {what}", getattr(options, "quiet", False))


def sentences_of_trees(path: str, options: Namespace) -> Corpus | None:
    """The words and tags of a file in brackets as a corpus; None if its extension is that of another format."""
    if extension(path) not in BRACKETS or options.format is not None:
        return None
    from trellis.tasks.trees.model import sentence_corpus

    reject_file_options(options, f"{path}: trees in brackets have no columns")
    trees = _trees(path, options)
    if not trees:
        raise CorpusError(path, None, "no trees in it")
    return sentence_corpus(trees)


def parts(data: Any, n: int, seed: int | None) -> Iterator[tuple[Any, Any]]:
    """Pairs of training and test data, whose tests cover every sentence once."""
    if isinstance(data, Corpus):
        yield from data.folds(n, seed=seed)
        return
    if n > len(data):
        raise ArgumentError(f"--folds must be at most {len(data)}, the number of sentences")
    order = list(range(len(data)))
    if seed is not None:
        random.Random(seed).shuffle(order)
    for i in range(n):
        held_out = set(order[i::n])
        yield [x for j, x in enumerate(data) if j not in held_out], [x for j, x in enumerate(data) if j in held_out]
