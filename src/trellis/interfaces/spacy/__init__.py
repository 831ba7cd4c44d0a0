"""For spaCy: a component, ``nlp.add_pipe("trellis", config={"model": "ner.trellis"})``, and whole pipelines.

It needs the extra ``spacy`` (docs/install.md). spaCy finds the factory by an entry point, so nothing is imported.
"""

from __future__ import annotations

from trellis._support.extras import missing

try:
    import spacy  # noqa: F401
except ModuleNotFoundError:
    raise ImportError(missing("trellis.interfaces.spacy", "spacy")) from None

from trellis.interfaces.spacy.component import TrellisTagger
from trellis.interfaces.spacy.pipeline import load_pipeline, make_tokenizer

__all__ = ["TrellisTagger", "load_pipeline", "make_tokenizer"]
