"""A component of spaCy's pipelines, ``nlp.add_pipe("trellis", config={"model": "ner.trellis"})``: tags or entities.

Needs spaCy: ``pip install spacy``. spaCy finds the factory by an entry point, so nothing is imported.
"""

from __future__ import annotations

try:
    import spacy  # noqa: F401
except ModuleNotFoundError:
    raise ImportError("trellis.interfaces.spacy needs spaCy: pip install spacy") from None

from trellis.interfaces.spacy.component import TrellisTagger

__all__ = ["TrellisTagger"]
