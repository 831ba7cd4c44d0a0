"""The served models by name; model files can be reloaded while requests are processed."""

from __future__ import annotations

import logging
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trellis._support.errors import ArgumentError, ModelError, TrellisError
from trellis.interfaces.serve.door import TurnedAwayError
from trellis.tasks.model import TASKS, Model, load
from trellis.tasks.tagging.model import Tagger

LOG = logging.getLogger("trellis.serve")
PYTHON_CODE = ("problem", "functions", "kernel")  # objects that files cannot contain


@dataclass(frozen=True, slots=True)
class Served:
    """A model with its name.

    Attributes
    ----------
    name
        Name of the model.
    model
        The model.
    """

    name: str
    model: Model

    @property
    def tagger(self) -> Tagger:
        """The model if it is a tagger; otherwise raises TurnedAwayError (422)."""
        if isinstance(self.model, Tagger):
            return self.model
        text = f"model {self.name!r} is a {TASKS[self.model.task].noun}"
        raise TurnedAwayError(422, f"{text}; marginals, spans, allowed labels and labelled corpora require a tagger")

    @property
    def reader(self) -> Any:
        """The model that reads sentences: for a reranker its tagger."""
        model: Any = self.model
        return model.tagger if model.task == "rerank" else model

    @property
    def columns(self) -> list[str]:
        """Columns of a token."""
        return list(getattr(self.reader, "columns", ("word",)))

    @property
    def reads_attributes(self) -> bool:
        """Whether tokens are objects of attributes."""
        return isinstance(self.reader, Tagger) and self.reader.model.vocabulary.bag is not None

    @property
    def is_of_documents(self) -> bool:
        """Whether the sentences of a request are labelled together, as one document."""
        return isinstance(self.reader, Tagger) and self.reader.model.first is not None

    def facts(self) -> dict[str, Any]:
        """Describe the model to clients, without file names of the server.

        Returns
        -------
        dict[str, Any]
            Facts by name.
        """
        result = {"name": self.name, "task": self.model.task, "columns": self.columns}
        values = {name: getattr(self.reader, name, None) for name in ("target", "labels", "order", "probability_kind")}
        values = {name: value for name, value in values.items() if value is not None}
        return {**result, **values, "attributes": self.reads_attributes}

    def work(self, n: int) -> int:
        """Estimate the cost of predicting n tokens: linear for a tagger, cubic for a parser.

        Parameters
        ----------
        n
            Number of tokens.

        Returns
        -------
        int
            The cost, in units of values.
        """
        model: Any = self.model
        if model.task in ("tag", "words"):
            return n
        if model.task == "pipeline":
            return 50 * n  # characters of a text, or words; sentences are short
        if model.task == "rerank":
            return int(5 * n * model.k)  # features of candidates are computed in Python
        arcs = n * n * (n + 50) // 20
        if model.task == "parse":
            return arcs
        rules = model.grammar.n_rules * (1 if model.model.prune else 10)  # pruning keeps about a tenth of them
        return int(max(arcs, n**3 * rules // 5000))


class Models:
    """The served models by name; ``get`` is safe during ``reload``.

    Parameters
    ----------
    paths
        Model files; the name of a model is that of its file without the extension.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths: dict[str, str] = {}
        for path in paths:
            name = Path(path).stem.removeprefix("builtin:")
            if name in self._paths:
                raise ArgumentError(f"two models have the name {name!r}: {self._paths[name]} and {path}; rename a file")
            self._paths[name] = path
        self._states: dict[str, tuple[int, ...]] = {}  # state of the files at the last attempt to read them
        self._served = {name: self._open(name) for name in self._paths}
        self._lock = threading.Lock()  # one reload at a time

    def __iter__(self) -> Any:
        return iter(list(self._served.values()))

    def get(self, name: str | None) -> Served:
        """Get a model.

        Parameters
        ----------
        name
            Its name (None: the first model).

        Returns
        -------
        Served
            The model.
        """
        served = self._served
        if name is None:
            return next(iter(served.values()))
        if name not in served:
            raise TurnedAwayError(404, f"no model {name!r}; the models are {', '.join(served)}")
        return served[name]

    def put(self, name: str, model: Model) -> str:
        """Serve a model without a file, such as one just trained.

        Parameters
        ----------
        name
            Name of the model.
        model
            The model.

        Returns
        -------
        str
            The name; another one if a file has this name.
        """
        with self._lock:
            while name in self._paths:
                name += "-trained"
            self._served = {**self._served, name: Served(name, model)}
        return name

    def reload(self, *, only_changed: bool = False) -> list[str]:
        """Read the files again; a model stays if its file cannot be read.

        Parameters
        ----------
        only_changed
            Whether to read only files that have changed.

        Returns
        -------
        list[str]
            Names of the new models.
        """
        fresh = []
        with self._lock:
            for name, path in self._paths.items():
                if only_changed and _state(path) == self._states[name]:
                    continue
                try:
                    served = self._open(name)
                except TrellisError as error:
                    LOG.error("model %s not reloaded: %s", name, error)
                    continue
                self._served = {**self._served, name: served}
                fresh.append(name)
                LOG.info("model %s reloaded", name)
        return fresh

    def _open(self, name: str) -> Served:
        path = self._paths[name]
        self._states[name] = state = _state(path)
        if state and not stat.S_ISREG(state[0]) and not stat.S_ISDIR(state[0]):  # reading a pipe may block forever
            raise ModelError(f"{path}: not a regular file; give a model file")
        try:
            return Served(name, load(path))
        except ModelError as error:
            if any(f"{need}=" in str(error) for need in PYTHON_CODE):
                nouns = ", ".join(f"{task_class.noun}s" for task, task_class in TASKS.items() if task != "structured")
                reason = f"cannot be served because it needs Python code: {error}"
                raise ModelError(f"{reason}; the server supports {nouns} without such code") from None
            raise


def _state(path: str) -> tuple[int, ...]:
    """File type, and values that change when a file is replaced; empty if it cannot be read."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # loading reports the error
        return ()
    return status.st_mode, status.st_mtime_ns, status.st_size, status.st_ino
