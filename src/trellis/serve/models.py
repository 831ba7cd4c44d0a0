"""The models that are served, each by its name; new files take the place of old ones while requests go on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trellis.errors import ArgumentError, TrellisError
from trellis.tagger import Tagger, load

LOG = logging.getLogger("trellis.serve")


class UnknownModelError(TrellisError):
    """No model of that name is served."""


@dataclass(frozen=True, slots=True)
class Served:
    """A model, its name, and which state of its file it is."""

    name: str
    path: str
    tagger: Tagger
    state: tuple[int, ...]

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
            "attributes": tagger.model.vocabulary.bag is not None,
        }


class Models:
    """The models by name. ``get`` may be called while ``reload`` is under way: it gives the old model or the new."""

    def __init__(self, paths: Sequence[str]) -> None:
        names = [Path(path.removeprefix("builtin:")).name.split(".")[0] for path in paths]
        if len(set(names)) < len(names):
            raise ArgumentError(f"two models have one name: {', '.join(sorted(names))}; rename a file")
        self._paths = dict(zip(names, paths, strict=True))
        self._served = {name: self._open(name) for name in names}
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

    def put(self, name: str, tagger: Tagger) -> None:
        """A model that has no file, such as one that was just trained."""
        with self._lock:
            self._served = {**self._served, name: Served(name, "", tagger, ())}

    def reload(self, *, only_changed: bool = False) -> list[str]:
        """Read the files again; a file that cannot be read leaves its model as it is. Gives what was taken over."""
        taken = []
        with self._lock:
            for name, path in self._paths.items():
                if only_changed and _state(path) == self._served[name].state:
                    continue
                try:
                    fresh = self._open(name)
                except TrellisError as error:
                    LOG.error("model %s is kept as it was: %s", name, error)
                    continue
                self._served = {**self._served, name: fresh}
                taken.append(name)
                LOG.info("model %s was taken over anew", name)
        return taken

    def _open(self, name: str) -> Served:
        path = self._paths[name]
        state = _state(path)
        return Served(name, path, load(path), state)


def _state(path: str) -> tuple[int, ...]:
    """What changes when a file is replaced."""
    try:
        found = Path(path).stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
