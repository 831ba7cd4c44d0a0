"""Bundled models: ``trellis.load("builtin:truecase")``.

They are small, and trained on text in Python's standard library, for trying out trellis without labelled data.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from trellis._support.errors import ModelError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PREFIX = "builtin:"
MODELS = {"truecase": "capitalisation of words: lower, Title, UPPER or MiXed"}


def builtin_file(name: str) -> Traversable:
    """The file of the bundled model ``builtin:NAME``."""
    key = name.removeprefix(PREFIX)
    if key not in MODELS:
        raise ModelError(
            f"unknown model {name}; the bundled models are {', '.join(PREFIX + model for model in MODELS)}"
        )
    return files(__name__) / f"{key}.trellis"
