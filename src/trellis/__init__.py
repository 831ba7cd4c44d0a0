"""trellis: learn to predict label sequences, segments, words, trees and other structures.

Every public name is reached from here and imported when first used, so that ``import trellis`` is quick. The names and
their modules are listed in ``__init__.pyi``, which type checkers read as well.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"


def _modules_of_names() -> dict[str, str]:
    with open(f"{__file__}i", encoding="utf-8") as stub:  # noqa: PTH123 (pathlib is slow to import)
        imports = [line.split() for line in stub if line.startswith("from ")]
    return {words[-1]: words[1] for words in imports}  # from MODULE import NAME as NAME


_MODULES = _modules_of_names()
__all__ = ["__version__", *sorted(_MODULES)]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
