"""Optional dependencies, by the extra that installs them (``[project.optional-dependencies]`` of pyproject.toml)."""

from __future__ import annotations

import re

# No package is published: extras are installed from a clone, as in docs/install.md.
INSTALL = "pip install '.[{extra}]'"
EXTRAS = {
    "tables": ("pyarrow>=15",),
    "frames": ("pyarrow>=15", "pandas>=2", "polars>=1"),
    "plot": ("matplotlib>=3.8",),
    "serve": ("pydantic>=2.8", "uvicorn>=0.30"),
    "sklearn": ("scikit-learn>=1.6",),
    "ray": ("ray>=2.40",),
    "spacy": ("spacy>=3.8",),
}


def missing(purpose: str, extra: str, *packages: str) -> str:
    """Error message for a missing extra or some of its packages, with the command to install them."""
    needs = {re.split(r"[^\w-]", requirement)[0]: requirement for requirement in EXTRAS[extra]}
    names = packages or tuple(needs)
    command = " ".join(f'"{needs[name]}"' for name in names)
    return f"{purpose} needs {' and '.join(names)}: pip install {command}, or in a clone {INSTALL.format(extra=extra)}"
