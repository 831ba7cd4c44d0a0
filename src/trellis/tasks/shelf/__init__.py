"""Models by name: bundled with trellis, in the folders of ``TRELLIS_MODELS``, and in installed packages.

A package with a model declares an entry point in the group ``trellis_models``: its name is that of the model, its value
the package that contains ``model.trellis``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trellis._support.errors import ModelError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PREFIX = "builtin:"
MODELS = {"english": "English from raw text: words, tags, features, lemmas and trees"}
FOLDERS = "TRELLIS_MODELS"  # environment variable: folders, separated as in PATH
GROUP = "trellis_models"  # of entry points
ENDING = ".trellis"
FILE = "model.trellis"  # in a package


class ShelfModel(NamedTuple):
    """A model that is found by its name.

    Attributes
    ----------
    name
        Name for ``trellis.load``.
    place
        Where it is: ``bundled``, a folder, or a package.
    file
        Its file.
    """

    name: str
    place: str
    file: Traversable


def builtin_file(name: str) -> Traversable:
    """The file of the bundled model ``builtin:NAME``."""
    found = name.removeprefix(PREFIX)
    if found not in MODELS:
        raise ModelError(
            f"unknown model {name}; the bundled models are {', '.join(PREFIX + known for known in MODELS)}"
        )
    return files(__name__) / f"{found}{ENDING}"


def shelf(folder: str | None = None) -> Iterator[ShelfModel]:
    """All models that are found by name, the first of a name first; with a folder only those in it."""
    if folder is not None:
        yield from _in_folder(folder)
        return
    for name in MODELS:
        yield ShelfModel(PREFIX + name, "bundled", builtin_file(name))
    for place in os.environ.get(FOLDERS, "").split(os.pathsep):
        if place:
            yield from _in_folder(place)
    from importlib.metadata import entry_points  # slow to import

    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            yield ShelfModel(entry.name, entry.value, files(entry.value) / FILE)
        except (ImportError, TypeError):  # the package is damaged or gone; others are still found
            continue


def find(name: str) -> Traversable | None:
    """The file of the model of this name, None if there is none or a file in the current folder has this name."""
    if Path(name[:255]).exists():
        return None
    return next((model.file for model in shelf() if model.name == name), None)


def _in_folder(folder: str) -> Iterator[ShelfModel]:
    place = Path(folder)
    if not place.is_dir():
        raise ModelError(f"{folder}: no such folder; check {FOLDERS} or the path")
    for path in sorted(place.glob(f"*{ENDING}")):
        yield ShelfModel(path.stem, folder, path)
