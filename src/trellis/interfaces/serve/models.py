"""The models that are served, each by its name; new files take the place of old ones while requests go on."""

from __future__ import annotations

import logging
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trellis._support.errors import ArgumentError, ModelError, TrellisError
from trellis.tasks.tagging.model import Tagger

LOG = logging.getLogger("trellis.serve")


class UnknownModelError(TrellisError):
    """No model of that name is served."""


@dataclass(frozen=True, slots=True)
class Served:
    """A model and its name."""

    name: str
    tagger: Tagger

    @property
    def reads_attributes(self) -> bool:
        """Whether tokens are objects of attributes."""
        return self.tagger.model.vocabulary.bag is not None

    def facts(self) -> dict[str, Any]:
        """What clients may know: nothing of the server's files."""
        tagger = self.tagger
        return {
            "name": self.name,
            "target": tagger.target,
            "columns": list(tagger.columns),
            "labels": list(tagger.labels),
            "order": tagger.order,
            "measure": tagger.measure,
            "attributes": self.reads_attributes,
        }


class Models:
    """The models by name. ``get`` may be called while ``reload`` is under way: it gives the old model or the new."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths: dict[str, str] = {}
        for path in paths:
            name = Path(path).stem.removeprefix("builtin:")
            if name in self._paths:
                raise ArgumentError(f"two models are named {name!r}: {self._paths[name]} and {path}; rename a file")
            self._paths[name] = path
        self._states: dict[str, tuple[int, ...]] = {}  # of the files when they were last read, well or not
        self._served = {name: self._open(name) for name in self._paths}
        self._lock = threading.Lock()  # one reload at a time

    def __iter__(self) -> Any:
        return iter(list(self._served.values()))

    def get(self, name: str | None) -> Served:
        """The model of that name; the only one, or the first, if none is named."""
        served = self._served
        if name is None:
            return next(iter(served.values()))
        if name not in served:
            raise UnknownModelError(f"no model {name!r}; the models are {', '.join(served)}")
        return served[name]

    def put(self, name: str, tagger: Tagger) -> str:
        """Serve a model without a file, such as one just trained, and return its name: another one if a file has it."""
        with self._lock:
            while name in self._paths:
                name += "-trained"
            self._served = {**self._served, name: Served(name, tagger)}
        return name

    def reload(self, *, only_changed: bool = False) -> list[str]:
        """Read the files again; a file that cannot be read leaves its model as it is. Gives the names of new models."""
        fresh = []
        with self._lock:
            for name, path in self._paths.items():
                if only_changed and _state(path) == self._states[name]:
                    continue
                try:
                    served = self._open(name)
                except TrellisError as error:
                    LOG.error("model %s is kept as it was: %s", name, error)
                    continue
                self._served = {**self._served, name: served}
                fresh.append(name)
                LOG.info("model %s was read again", name)
        return fresh

    def _open(self, name: str) -> Served:
        path = self._paths[name]
        self._states[name] = _state(path)
        if _is_special(path):
            raise ModelError(f"{path}: not a regular file; give the file of a model")
        return Served(name, Tagger.load(path))


def _state(path: str) -> tuple[int, ...]:
    """What changes when a file is replaced."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # loading reports it
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_special(path: str) -> bool:
    """Whether it is a pipe or a device, whose reading may never end."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
