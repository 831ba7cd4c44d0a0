"""Base class of trained models, which each task extends; `load` opens model files of any task."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple, NoReturn, Self

from trellis._support.arguments import file_path, instance
from trellis._support.errors import ArgumentError, ModelError
from trellis._support.stored_weights import Storage, restored, stored
from trellis._support.tensor_file import (
    Opened,
    Tensors,
    pack_tensors,
    parse_header,
    read_tensors,
    rejecting_damage,
    unpack_tensors,
    write_tensors,
)

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from trellis.corpus.corpus import Corpus
    from trellis.display.svg import Picture
    from trellis.evaluation.report import Report
    from trellis.tasks.explanation import Explanation, Term


class Task(NamedTuple):
    """A kind of model."""

    noun: str
    module: str  # package of the class and of its training
    class_name: str


# Named as on the command line.
TASKS = {
    "tag": Task("tagger", "trellis.tasks.tagging", "Tagger"),
    "parse": Task("dependency parser", "trellis.tasks.parsing", "Parser"),
    "trees": Task("constituency parser", "trellis.tasks.trees", "TreeParser"),
    "words": Task("word segmenter", "trellis.tasks.words", "Segmenter"),
    "rerank": Task("reranker", "trellis.tasks.reranking", "Reranker"),
    "structured": Task("structured model", "trellis.tasks.structured", "StructuredModel"),
}
# Format identifiers in files.
FORMATS = {
    "trellis-model-1": "tag",
    "trellis-parser-1": "parse",
    "trellis-tree-parser-1": "trees",
    "trellis-segmenter-1": "words",
    "trellis-reranker-1": "rerank",
    "trellis structured model 1": "structured",
}
# Reads and writes models of other tools. It belongs to a higher layer, so it is imported by name on demand.
OTHER_TOOLS = "trellis.interfaces.compat.model_files"
CHECKPOINT = "trellis-checkpoint-"  # prefix of the formats of checkpoints
WHAT = "a trellis model"


class KBest(list[tuple[Any, float]]):
    """Outputs with their scores, best first: a list that notebooks show as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from trellis.display.models import paths_html

        return paths_html(self)


class Model:
    """Base class of trained models. Each task has a subclass; a method that a task lacks raises ArgumentError.

    Attributes
    ----------
    info
        The user's notes, a dict.
    training
        The record of training: version, date, learner, sizes, digest of the data, history.
    """

    __slots__ = ()
    task: ClassVar[str]
    format: ClassVar[str]
    # Arguments of `load` that files cannot contain: a kernel function, the problem of a structured model.
    needs: ClassVar[tuple[str, ...]] = ()

    info: Any
    training: Any

    # ------------------------------------------------------------ training and predicting

    @classmethod
    def train(cls, corpus: Any, y: Any = None, **options: Any) -> Self:
        """Train a model of this task; each task has its own options.

        Parameters
        ----------
        corpus
            Training data: a Corpus, a file, or anything that the task reads.
        y
            Gold outputs, if ``corpus`` has inputs alone.
        **options
            Options of the task; ``trellis train --task TASK --help`` lists them.

        Returns
        -------
        Model
            The trained model.
        """
        module = importlib.import_module(f"{TASKS[cls.task].module}.train")
        made: Self = module.train(corpus, y, **options) if y is not None else module.train(corpus, **options)
        return made

    def predict(self, x: Any, /) -> Any:
        """Predict the best output of one input.

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Any
            The output.
        """
        return self.predict_batch([x], n_threads=1)[0]

    def predict_batch(self, xs: Any, /, *, n_threads: int | None = None) -> list[Any]:
        """Predict the best outputs of many inputs.

        Parameters
        ----------
        xs
            The inputs.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        list[Any]
            One output per input.
        """
        raise NotImplementedError

    def predict_corpus(self, corpus: Any, /, *, n_threads: int | None = None) -> Corpus:
        """Add predicted columns to a corpus.

        Parameters
        ----------
        corpus
            Corpus or file.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Corpus
            The corpus with its predicted columns.
        """
        self._reject("predict_corpus", "a corpus", "tag", "parse", "trees", "words", "rerank")

    def kbest(self, x: Any, /, k: int = 5) -> KBest:
        """Find the k best outputs and their scores.

        Parameters
        ----------
        x
            The input.
        k
            Number of outputs.

        Returns
        -------
        KBest
            Pairs (output, score), best first; fewer than ``k`` if there are not as many.
        """
        raise NotImplementedError

    def explain(self, x: Any, /) -> Explanation:
        """Explain a prediction: the terms of its score, and the difference to the second-best output.

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Explanation
            The explanation.
        """
        raise NotImplementedError

    def evaluate(self, corpus: Any, y: Any = None, /, *, n_threads: int | None = None) -> Report:
        """Compare predicted with gold outputs.

        Parameters
        ----------
        corpus
            Test data: a Corpus, a file, or anything that the task reads.
        y
            Gold outputs, if ``corpus`` has inputs alone.
        n_threads
            Number of threads (default: all cores).

        Returns
        -------
        Report
            The report of the task.
        """
        raise NotImplementedError

    def draw(self, x: Any, /) -> Picture:
        """Draw the prediction for one input.

        Parameters
        ----------
        x
            The input.

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        self._reject("draw", "a picture", "tag", "parse", "trees")

    def top_features(self, n: int | None = 20) -> list[Term]:
        """List the features with the largest absolute weights.

        Parameters
        ----------
        n
            Number of terms (None: all).

        Returns
        -------
        list[Term]
            The terms, largest first, each with its feature and its label or labels.
        """
        raise NotImplementedError

    def plot_history(self) -> Picture:
        """Plot the objective or the mistakes, and the score on ``dev``, over the epochs of training.

        Returns
        -------
        Picture
            SVG, with a description as text.
        """
        from trellis.display.charts import curves_chart, learning_curves

        learner = self.training.get("learner", {}).get("name", "")
        title = f"{TASKS[self.task].noun}: {learner}"
        curves = learning_curves(self.training.get("history", []), self._score_name())
        if not curves:
            raise ArgumentError("the model has no training history to plot")
        return curves_chart(curves, title)

    def _score_name(self) -> str:
        """Name of the score on dev."""
        metric = self.training.get("metric") or "auto"
        return "score" if metric == "auto" else str(metric)

    # ------------------------------------------------------------ files and copies

    def _content(self) -> tuple[Tensors, dict[str, Any]]:
        """Arrays and header of its file, without notes and training record."""
        raise NotImplementedError

    @classmethod
    def _from_content(cls, tensors: Tensors, header: dict[str, Any], **needs: Any) -> Self:
        """The model in a file; ValueError or LookupError if it is damaged."""
        raise NotImplementedError

    def _outside(self) -> dict[str, Any]:
        """The objects that files cannot contain, by the names in ``needs``."""
        return {}

    def _shares_outside(self, other: Self) -> bool:
        """Whether the objects that files cannot contain are equal."""
        return self._outside() == other._outside()

    def save(self, path: str | os.PathLike[str], *, weights: Storage = "float32") -> None:
        """Write the model to one file, atomically.

        Parameters
        ----------
        path
            Name of the file.
        weights
            How weights are stored: ``"float32"`` as they are, ``"float16"`` rounded to half of the size, ``"int8"`` to
            about a quarter.
        """
        write_tensors(file_path("path", path), self.format, *self._stored(weights))

    def to_bytes(self, *, weights: Storage = "float32") -> bytes:
        """Serialise the model: the content of the file that ``save`` writes.

        Parameters
        ----------
        weights
            How weights are stored, as for ``save``.

        Returns
        -------
        bytes
            The bytes; ``from_bytes`` reads them.
        """
        return pack_tensors(self.format, *self._stored(weights))

    def _stored(self, weights: Storage) -> tuple[Tensors, str]:
        tensors, header = self._content()
        return stored(tensors, weights), json.dumps(
            {**header, "info": self.info, "training": self.training}, ensure_ascii=False
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str] | BinaryIO | Traversable, *, copy: bool = True, **needs: Any) -> Self:
        """Read a model of this task; ``trellis.load`` reads models of any task.

        Parameters
        ----------
        path
            File, as for ``trellis.load``.
        copy
            Whether to copy the file into memory; False maps it (see ``trellis.load``).
        **needs
            Parts that a file cannot contain, as for ``trellis.load``.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        ModelError
            If the file is damaged, or has a model of another task.
        """
        return cls._of_kind(load(path, copy=copy, **needs), str(path))

    @classmethod
    def from_bytes(cls, data: bytes, **needs: Any) -> Self:
        """Read a model from bytes: the result of ``to_bytes``, or the content of a model file.

        Parameters
        ----------
        data
            The bytes; models of CRFsuite and other tools work too.
        **needs
            Parts that a file cannot contain, as for ``trellis.load``.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        ModelError
            If the data is damaged, or has a model of another task.
        """
        instance("data", data, (bytes, bytearray, memoryview), "bytes, as returned by to_bytes (load reads files)")
        return cls._of_kind(_from_bytes(data, needs), "bytes")

    @classmethod
    def _of_kind(cls, model: Model, source: str) -> Self:
        if not isinstance(model, cls):
            nouns = [TASKS[kind.task].noun for kind in (type(model), cls) if kind is not Model]
            raise ModelError(f"{source}: a {nouns[0]}, not a {nouns[-1]}; open it with trellis.load")
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle, joblib and deepcopy use the bytes of the model file; use ``save`` for files."""
        return partial(type(self).from_bytes, **self._outside()), (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same saved content."""
        if self is other or not isinstance(other, Model):
            return self is other
        return type(self) is type(other) and self._shares_outside(other) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash((type(self), str(self.training.get("learner")), self.training.get("digest")))

    # ------------------------------------------------------------ summary

    def summary(self) -> dict[str, Any]:
        """Summarise the model: task, learner, sizes, date of training, and the notes in ``info``.

        Returns
        -------
        dict[str, Any]
            Facts by name.
        """
        training = self.training
        learner = dict(training.get("learner", {}))
        facts = {"task": TASKS[self.task].noun, **self._facts()}
        if learner:
            facts["learner"] = f"{learner.pop('name', '')}({', '.join(f'{k}={v}' for k, v in learner.items())})"
        names = ("sentences", "tokens", "examples", "date", "version", "digest", "dev_score")
        facts |= {name: training[name] for name in names if training.get(name) is not None}
        return facts | {f"info {name}" if name in facts else name: value for name, value in self.info.items()}

    def _facts(self) -> dict[str, Any]:
        """Facts of the task for ``summary``: columns, labels, number of weights."""
        return {}

    def __repr__(self) -> str:
        facts = ", ".join(
            f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}"
            for name, value in self._facts().items()
        )
        return f"{type(self).__name__}({facts})"

    def _repr_html_(self) -> str:
        from trellis.display.models import model_html

        return model_html(self)

    def _reject(self, verb: str, answer: str, *tasks: str) -> NoReturn:
        """ArgumentError that names the tasks that support the method."""
        nouns = [f"{TASKS[task].noun}s" for task in tasks]
        raise ArgumentError(f"a {TASKS[self.task].noun} has no {verb}: {answer} is for {', '.join(nouns)}")


def load(path: str | os.PathLike[str] | BinaryIO | Traversable, *, copy: bool = True, **needs: Any) -> Model:
    """Load a model of any task, or one of CRFsuite, CRF++, Wapiti or NLTK.

    Parameters
    ----------
    path
        File name, file opened in binary mode, name of an included model (``builtin:truecase``), or a resource of a
        package (``importlib.resources.files(package) / "model.trellis"``).
    copy
        Whether to copy the file into memory (default). False maps it, so that processes share its memory; then replace
        the file only by ``mv`` or ``save``: overwriting it in place (``cp``) ends the process.
    **needs
        Parts that a file cannot contain: ``kernel``, the kernel function of a tagger; ``problem`` of a structured
        model; ``functions`` of a reranker's features.

    Returns
    -------
    Model
        A `Tagger`, `Parser`, `TreeParser`, `Segmenter`, `Reranker` or `StructuredModel`.

    Raises
    ------
    ModelError
        If the file is missing, damaged or not a model.

    Examples
    --------
    >>> import tempfile, trellis
    >>> from pathlib import Path
    >>> tagger = trellis.train([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> path = Path(tempfile.mkdtemp()) / "pos.trellis"
    >>> tagger.save(path)
    >>> trellis.load(path).predict(["a", "dog"])
    ['D', 'N']
    """
    if isinstance(path, str) and path.startswith("builtin:"):
        from trellis.tasks.tagging.builtin import builtin_file

        path = builtin_file(path)
    if not isinstance(path, (str, os.PathLike)):
        return _from_bytes(_bytes_of(path), needs)
    if not os.fspath(path):
        raise ModelError("the file name of the model is empty")
    place = file_path("path", path)
    head = b""
    with rejecting_damage(place, WHAT):
        if not Path(place).is_dir():  # models of NLTK may be directories
            with Path(place).open("rb") as file:
                head = file.read(9)
    if head[8:9] != b"{":  # not a trellis file, or missing
        other = importlib.import_module(OTHER_TOOLS).read_file(place, needs)
        if other is not None:
            return other  # type: ignore[no-any-return]
    return _made(read_tensors(place, WHAT, copy=copy), needs)


def class_of(task: str) -> type[Model]:
    """The class of a task's models."""
    entry = TASKS[task]
    kind: type[Model] = getattr(importlib.import_module(f"{entry.module}.model"), entry.class_name)
    return kind


def notes_and_record(header: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The user's notes and the training record in a file's header; older files store both in one dict."""
    notes, record = header["info"], header.get("training")
    if record is None and isinstance(notes, dict):
        record = {name: value for name, value in notes.items() if name != "user"}
        notes = notes.get("user", {})
    if not isinstance(notes, dict) or not isinstance(record, dict):
        raise ValueError("the notes or the training record are not dicts")
    _check_record(record)
    return notes, record


def _check_record(record: Mapping[str, Any]) -> None:
    """ValueError if the training record is invalid."""
    learner, history = record.get("learner", {}), record.get("history", [])
    if not isinstance(learner, dict) or not isinstance(history, list):
        raise ValueError("invalid learner or history")
    for event in history:
        if not isinstance(event, dict) or not isinstance(event.get("epoch"), int):
            raise ValueError("invalid history")
        if not isinstance(event.get("dev_score", 0.0), (int, float)):
            raise ValueError("a score that is not a number")
    if not all(isinstance(record.get(name, 0), int) for name in ("sentences", "tokens")):
        raise ValueError("invalid numbers of sentences and tokens")


def _made(opened: Opened, needs: Mapping[str, Any]) -> Model:
    task = FORMATS.get(opened.format)
    if task is None:
        why = "not a model but a checkpoint; resume training with checkpoint="
        raise ModelError(f"{opened.path}: {why if opened.format.startswith(CHECKPOINT) else opened.rejection()}")
    kind = class_of(task)
    arguments = {name: value for name, value in needs.items() if value is not None}
    if extra := next((name for name in arguments if name not in kind.needs), None):
        raise ModelError(f"{opened.path}: a {TASKS[task].noun} does not take {extra}; omit it")
    return opened.made(lambda tensors, text: _checked(kind, tensors, text, arguments, opened.path))


def _checked(kind: type[Model], tensors: Tensors, text: str, needs: dict[str, Any], path: Path) -> Model:
    try:
        return kind._from_content(restored(tensors), parse_header(text), **needs)
    except (ModelError, ArgumentError) as error:
        raise ModelError(f"{path}: {error}") from error


def _from_bytes(data: bytes, needs: Mapping[str, Any]) -> Model:
    if bytes(data[8:9]) != b"{":
        other = importlib.import_module(OTHER_TOOLS).read_bytes(bytes(data), needs)
        if other is not None:
            return other  # type: ignore[no-any-return]
    return _made(unpack_tensors(data, WHAT), needs)


def _bytes_of(source: Any) -> bytes:
    """Read all bytes of an open file or a resource."""
    read = getattr(source, "read_bytes", None) or getattr(source, "read", None)
    data = read() if callable(read) else None
    if not isinstance(data, bytes):
        what = "a file opened in text mode; open it in binary mode" if isinstance(data, str) else type(source).__name__
        raise ArgumentError(f"load takes the path of a file, not {what}; for bytes see from_bytes")
    return data
