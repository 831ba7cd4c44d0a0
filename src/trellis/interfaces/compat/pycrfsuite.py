"""python-crfsuite's interface: Trainer, Tagger and ItemSequence, with its parameters, its files and its errors.

A program that says ``import pycrfsuite`` runs on trellis once this module is put in its place::

    import sys, trellis.interfaces.compat.pycrfsuite
    sys.modules["pycrfsuite"] = trellis.interfaces.compat.pycrfsuite

Model files are CRFsuite's own: either can read what the other has written.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import trellis
from trellis._support.errors import TrellisError
from trellis.interfaces.compat.crfsuite_log import TrainLog
from trellis.interfaces.compat.crfsuite_parameters import (
    LONG_NAMES,
    PARAMETERS,
    PYTHON_NAMES,
    Parameter,
    training_options,
)
from trellis.interfaces.compat.model_files import write_file
from trellis.interfaces.compat.models import weights_of_attributes

CRFSUITE_VERSION = "0.12.2"  # emulated version


class CRFSuiteError(Exception):
    """Training failed."""


class NotOpenError(RuntimeError, ValueError):
    """A method of a tagger without a model was called."""


class ItemSequence:
    """A sentence: the attributes of each token with their values.

    Parameters
    ----------
    pyseq
        Tokens, each a dict, list or string of attributes.
    """

    __slots__ = ("_items",)

    def __init__(self, pyseq: Iterable[Any]) -> None:
        self._items = [dict(_attributes(token, "")) for token in _tokens(pyseq)]

    def items(self) -> list[dict[str, float]]:
        """Convert to a list.

        Returns
        -------
        list[dict[str, float]]
            For each token a dict of attribute to value.
        """
        return [dict(token) for token in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence ({len(self)})>"


def _attributes(token: Any, prefix: str) -> Iterator[tuple[str, float]]:
    """The attributes of a token by name, as in native code (bind/attributes.hpp), but without omissions."""
    if not isinstance(token, dict):
        yield from ((prefix + _text(name), 1.0) for name in token)
        return
    for key, value in token.items():
        name = prefix + _text(key)
        if isinstance(value, str | bytes):
            yield f"{name}:{_text(value)}", 1.0
        elif isinstance(value, _COLLECTIONS):
            yield from _attributes(value, f"{name}:")
        else:
            yield name, float(value)


def _text(name: Any) -> str:
    if not isinstance(name, str | bytes):
        raise ValueError(f"the name of an attribute must be a string, not {type(name).__name__}")
    return name.decode() if isinstance(name, bytes) else name


_COLLECTIONS = (dict, list, tuple, set, frozenset)


def _tokens(xseq: Any) -> list[Any]:
    """Convert a sentence for trellis; a string is treated as the list of its characters."""
    if isinstance(xseq, ItemSequence):
        return xseq._items
    return [token if isinstance(token, _COLLECTIONS) else _collection(token) for token in xseq]


def _kept(token: Any) -> Any:
    """Copy a token, so that later changes by the caller have no effect."""
    if not isinstance(token, dict):
        return list(token)
    return {key: deepcopy(value) if isinstance(value, _COLLECTIONS) else value for key, value in token.items()}


def _collection(token: Any) -> Any:
    return dict(token) if isinstance(token, Mapping) else list(token)


def corpus_of(sentences: Iterable[Any], labels: Iterable[Iterable[str]]) -> trellis.Corpus:
    """Make a corpus from feature dicts and labels.

    Parameters
    ----------
    sentences
        Sentences of feature dicts.
    labels
        Labels of each sentence.

    Returns
    -------
    trellis.Corpus
        The corpus.
    """
    names = [[label.decode() if isinstance(label, bytes) else label for label in sequence] for sequence in labels]
    return trellis.read({"attributes": [_tokens(sentence) for sentence in sentences], "label": names})


class BaseTrainer:
    """A trainer with the interface of python-crfsuite, without output.

    Parameters
    ----------
    algorithm : str, optional
        ``"lbfgs"`` (default), ``"l2sgd"``, ``"ap"``, ``"pa"`` or ``"arow"``.
    params : dict, optional
        Parameters of the algorithm.
    verbose : bool
        Whether a `Trainer` prints its log.
    """

    verbose = True
    logparser: TrainLog | None = None
    _sentences: list[tuple[list[Any], list[str], int]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create a trainer that works even if a subclass's ``__init__`` does not call the one of this class."""
        trainer = super().__new__(cls)
        trainer._sentences = []
        trainer.select("lbfgs")
        return trainer

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        self.verbose = verbose
        self.select(algorithm or "lbfgs")
        self.set_params(params or {})

    def append(self, xseq: Any, yseq: Iterable[str], group: int = 0) -> None:
        """Add a sentence with its labels.

        Parameters
        ----------
        xseq
            The sentence.
        yseq
            One label per token.
        group
            Group of the sentence, for ``train(holdout=)``.
        """
        tokens, labels = [_kept(token) for token in _tokens(xseq)], [_text(label) for label in yseq]
        if len(tokens) != len(labels):
            raise ValueError(f"{len(tokens)} tokens, but {len(labels)} labels; expected one label per token")
        self._sentences.append((tokens, labels, group))

    def clear(self) -> None:
        """Remove all sentences."""
        self._sentences.clear()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Select the algorithm and reset its parameters.

        Parameters
        ----------
        algorithm
            Name of the algorithm.
        type
            Type of the model; only ``"crf1d"``.
        """
        if type != "crf1d":
            raise ValueError(f"no algorithm of type {type!r}; the only type is crf1d")
        self.algorithm = LONG_NAMES.get(algorithm.lower(), algorithm.lower())
        if self.algorithm not in PARAMETERS:
            raise ValueError(f"no algorithm {algorithm!r}; the algorithms are {', '.join([*PARAMETERS, *LONG_NAMES])}")
        self._given = dict[str, Any]()

    def params(self) -> list[str]:
        """List the names of the algorithm's parameters.

        Returns
        -------
        list[str]
            The names.
        """
        return list(PARAMETERS[self.algorithm])

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters.

        Parameters
        ----------
        params
            Values by name.
        """
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Get all parameters.

        Returns
        -------
        dict[str, Any]
            Values by name.
        """
        return {name: self.get(name) for name in self.params()}

    def set(self, name: str, value: Any) -> None:
        """Set a parameter.

        Parameters
        ----------
        name
            Name of the parameter.
        value
            Its value.

        Raises
        ------
        ValueError
            If the algorithm has no such parameter.
        """
        name, parameter = self._parameter(name)
        self._given[name] = parameter.kind(value)

    def get(self, name: str) -> Any:
        """Get a parameter.

        Parameters
        ----------
        name
            Name of the parameter.

        Returns
        -------
        Any
            Its value.
        """
        name, parameter = self._parameter(name)
        return self._given.get(name, parameter.default)

    def help(self, name: str) -> str:
        """Describe a parameter.

        Parameters
        ----------
        name
            Name of the parameter.

        Returns
        -------
        str
            The description.
        """
        return self._parameter(name)[1].what

    def _parameter(self, name: str) -> tuple[str, Parameter]:
        """A parameter under CRFsuite's name."""
        parameters, key = PARAMETERS[self.algorithm], PYTHON_NAMES.get(name, name)
        if key not in parameters:
            raise ValueError(f"{self.algorithm} has no parameter {name!r}; its parameters are {', '.join(parameters)}")
        return key, parameters[key]

    def message(self, message: str) -> None:
        """Called with each line of the log; override it in a subclass, like the next four methods.

        Parameters
        ----------
        message
            The line.
        """

    def on_start(self, log: str) -> None:
        """Called at the start of training.

        Parameters
        ----------
        log
            The log so far.
        """

    def on_iteration(self, log: str, info: Mapping[str, Any]) -> None:
        """Called after each pass.

        Parameters
        ----------
        log
            The log so far.
        info
            Results of the pass.
        """

    def on_optimization_end(self, log: str) -> None:
        """Called after the last pass.

        Parameters
        ----------
        log
            The log so far.
        """

    def on_end(self, log: str) -> None:
        """Called after the model is written.

        Parameters
        ----------
        log
            The log so far.
        """

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train, and write a model file in CRFsuite's format.

        Parameters
        ----------
        model
            Name of the model file.
        holdout
            Group of sentences to hold out (-1: none).
        """
        training = [sentence for sentence in self._sentences if sentence[2] != holdout]
        if not training:
            warnings.warn("no training data, so no model is written; call append first", stacklevel=2)
            return
        held_out = [sentence for sentence in self._sentences if sentence[2] == holdout]
        self.on_start("")
        try:
            tagger, log = self.fit(_pair(training), _pair(held_out) if held_out else None)
            self.on_optimization_end("".join(log.log))
            write_file(tagger.model, model, in_order(sentence[1] for sentence in training))
        except TrellisError as error:
            raise CRFSuiteError(str(error)) from error
        self.on_end("".join(log.log))

    def fit(self, train: trellis.Corpus, dev: trellis.Corpus | None = None) -> tuple[trellis.Tagger, TrainLog]:
        """Train on a corpus; not in python-crfsuite.

        Parameters
        ----------
        train
            Training data.
        dev
            Held-out data.

        Returns
        -------
        tuple[trellis.Tagger, TrainLog]
            The tagger, and the log of training.
        """
        options = training_options(self.algorithm, self.get_params())
        log = self.logparser = TrainLog(self.message if self.verbose else None)
        log.line("type: CRF1d")
        for name, value in self._given.items():
            log.line(f"{name}: {value}")

        def observe(event: trellis.Event) -> None:
            log.observe(event)
            self.on_iteration("".join(log.log), log.iterations[-1])

        options |= {"target": "label", "observer": observe}
        tagger = trellis.train(train, dev=dev, metric=None if dev is None else "token", **options)
        log.end(tagger, dev)
        return tagger, log


class Trainer(BaseTrainer):
    """A trainer with the interface of python-crfsuite.

    Parameters
    ----------
    algorithm : str, optional
        ``"lbfgs"`` (default), ``"l2sgd"``, ``"ap"``, ``"pa"`` or ``"arow"``.
    params : dict, optional
        Parameters of the algorithm.
    verbose : bool
        Whether to print the log.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from trellis.interfaces.compat import pycrfsuite
    >>> trainer = pycrfsuite.Trainer(verbose=False)
    >>> trainer.append([{"word": "the"}, {"word": "dog"}], ["D", "N"])
    >>> path = str(Path(tempfile.mkdtemp()) / "model.crfsuite")
    >>> trainer.train(path)
    >>> tagger = pycrfsuite.Tagger()
    >>> with tagger.open(path):
    ...     tagger.tag([{"word": "the"}, {"word": "dog"}])
    ['D', 'N']
    """

    def message(self, message: str) -> None:
        """Print a line of the log.

        Parameters
        ----------
        message
            The line.
        """
        print(message, end="", flush=True)  # noqa: T201 - what ``verbose`` asks for


def _pair(sentences: Sequence[tuple[list[Any], list[str], int]]) -> trellis.Corpus:
    return corpus_of((sentence[0] for sentence in sentences), (sentence[1] for sentence in sentences))


def in_order(labels: Iterable[Iterable[str]]) -> list[str]:
    """List labels by first occurrence, as CRFsuite orders them.

    Parameters
    ----------
    labels
        Labels of each sentence.

    Returns
    -------
    list[str]
        The different labels.
    """
    return list(dict.fromkeys(_text(label) for sequence in labels for label in sequence))


@dataclass(frozen=True, slots=True)
class ParsedDump:
    """Content of a model.

    Attributes
    ----------
    header
        Facts of the file's header.
    labels
        Number of each label.
    attributes
        Number of each attribute.
    transitions
        Weights by pairs of labels.
    state_features
        Weights by attribute and label.
    """

    header: dict[str, str]
    labels: dict[str, str]
    attributes: dict[str, str]
    transitions: dict[tuple[str, str], float]
    state_features: dict[tuple[str, str], float]


def parsed(tagger: trellis.Tagger, labels: Sequence[str]) -> ParsedDump:
    """List the weights of a tagger by name.

    Parameters
    ----------
    tagger
        The tagger.
    labels
        Labels, in this order.

    Returns
    -------
    ParsedDump
        The content.
    """
    names, triples, edge, *_ = weights_of_attributes(tagger.model)
    tags = tagger.labels
    states = {(names[a], tags[y]): weight for a, y, weight in zip(*(part.tolist() for part in triples), strict=True)}
    pairs = {(tags[i], tags[j]): float(edge[i, j]) for i, j in zip(*edge.nonzero(), strict=True)}
    keys = dict.fromkeys(name for name, _ in states)
    header = {"num_labels": str(len(tags)), "num_attrs": str(len(keys)), "num_features": str(len(states) + len(pairs))}
    numbered = {name: str(i) for i, name in enumerate(keys)}
    return ParsedDump(header, {label: str(i) for i, label in enumerate(labels)}, numbered, pairs, states)


class Tagger:
    """A tagger with the interface of python-crfsuite, for models of CRFsuite and trellis models of attributes.

    Parameters
    ----------
    tagger
        Tagger to use (default: none; call ``open``).
    """

    def __init__(self, tagger: trellis.Tagger | None = None) -> None:
        self._tagger = tagger
        self._sentence: list[Any] | None = None
        self._posterior: trellis.Posterior | None = None

    def open(self, name: str | bytes | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Read a model file.

        Parameters
        ----------
        name
            Name of the file.

        Returns
        -------
        contextlib.closing[Tagger]
            A context manager that closes the tagger.

        Raises
        ------
        ValueError
            If the file is not a model.
        """
        name = os.fsdecode(name)
        if not Path(name).exists():
            raise FileNotFoundError(f"{name}: no such file")
        return self._open(lambda: trellis.Tagger.load(name), f"model file {name!r}")

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Read the content of a model file.

        Parameters
        ----------
        value
            The content.

        Returns
        -------
        contextlib.closing[Tagger]
            A context manager that closes the tagger.

        Raises
        ------
        ValueError
            If it is not a model.
        """
        return self._open(lambda: trellis.Tagger.from_bytes(value), "model")

    def _open(self, load: Callable[[], trellis.Tagger], kind: str) -> contextlib.closing[Tagger]:
        self.close()
        try:
            self._tagger = load()
        except TrellisError as error:
            raise ValueError(f"Error opening {kind}: {error}") from error
        return contextlib.closing(self)

    def close(self) -> None:
        """Drop the model."""
        self._tagger = self._sentence = self._posterior = None

    def labels(self) -> list[str]:
        """List the labels of the model.

        Returns
        -------
        list[str]
            The labels.
        """
        return list(self._opened().labels)

    def set(self, xseq: Any) -> None:
        """Set the sentence for ``tag``, ``probability`` and ``marginal``.

        Parameters
        ----------
        xseq
            The sentence.
        """
        self._opened()
        self._sentence, self._posterior = _tokens(xseq), None

    def tag(self, xseq: Any = None) -> list[str]:
        """Label a sentence.

        Parameters
        ----------
        xseq
            The sentence (default: the one that was set last).

        Returns
        -------
        list[str]
            One label per token.
        """
        tagger = self._opened()
        if xseq is not None:
            self.set(xseq)
        return tagger.tag(self._current()) if self._current() else []

    def probability(self, yseq: Sequence[str]) -> float:
        """Compute the probability of a label sequence.

        Parameters
        ----------
        yseq
            One label per token.

        Returns
        -------
        float
            The probability.
        """
        tagger, sentence, labels = self._opened(), self._current(), [_text(label) for label in yseq]
        if len(labels) != len(sentence):
            raise ValueError(f"{len(labels)} labels for {len(sentence)} tokens")
        if not sentence:
            return 1.0
        if unknown := set(labels) - set(tagger.labels):
            raise RuntimeError(f"the model has no label {min(unknown)!r}")
        [log_z] = tagger.log_partition_batch([sentence])
        return math.exp(min(tagger.score(sentence, labels) / tagger.model.temperature - log_z, 0.0))

    def marginal(self, y: str | bytes, pos: int) -> float:
        """Compute the marginal probability of a label.

        Parameters
        ----------
        y
            The label.
        pos
            Position of the token.

        Returns
        -------
        float
            The probability.
        """
        tagger, sentence, y = self._opened(), self._current(), _text(y)
        if y not in tagger.labels:
            raise ValueError(f"the model has no label {y!r}")
        if not 0 <= pos < len(sentence):
            raise ValueError(f"position {pos} of a sentence of {len(sentence)} tokens")
        if self._posterior is None:
            self._posterior = tagger.marginals(sentence)
        return float(self._posterior[pos].get(y, 0.0))

    def info(self) -> ParsedDump:
        """Get labels, attributes and weights.

        Returns
        -------
        ParsedDump
            The content of the model.
        """
        tagger = self._opened()
        return parsed(tagger, tagger.labels)

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the weights as text.

        Parameters
        ----------
        filename
            Name of the file (default: standard output).
        """
        info = self.info()
        lines = list[str]()
        for title, names in (("FILEHEADER", info.header), ("LABELS", info.labels), ("ATTRIBUTES", info.attributes)):
            lines += [f"{title} = {{", *(f"  {number}: {name}" for name, number in names.items()), "}", ""]
        lines += ["TRANSITIONS = {"]
        lines += [f"  (1) {a} --> {b}: {weight:f}" for (a, b), weight in info.transitions.items()]
        lines += ["}", "", "STATE_FEATURES = {"]
        lines += [f"  (0) {name} --> {label}: {weight:f}" for (name, label), weight in info.state_features.items()]
        text = "\n".join([*lines, "}", ""])
        if filename is None:
            print(text)  # noqa: T201 - what it is called for
        else:
            Path(filename).write_text(text, encoding="utf-8")

    def _opened(self) -> trellis.Tagger:
        if self._tagger is None:
            raise NotOpenError("no model is open; call open first")
        return self._tagger

    def _current(self) -> list[Any]:
        if self._sentence is None:
            raise ValueError("no sentence; pass one to tag or set")
        return self._sentence
