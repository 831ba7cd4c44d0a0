"""The sentences of a corpus as a tagger takes them one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trellis.corpus.corpus import Corpus
    from trellis.tagger import Tagger


def sentences_of(tagger: Tagger, corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Each sentence as what the model reads of it."""
    from trellis.corpus.corpus import BagColumn

    lists: dict[str, list[Any]] = {}
    for name in tagger.columns:
        found = corpus.columns.get(name)
        lists[name] = found.tolist() if isinstance(found, BagColumn) else corpus.column(name).tolist()
    for begin, end in itertools.pairwise(corpus.starts.tolist()):
        yield {name: values[begin:end] for name, values in lists.items()}
