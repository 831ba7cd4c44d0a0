"""Dictionaries learned from the spans of a training corpus, and how training sees them.

A dictionary made of the training corpus knows every word there; of a new text it does not. Two things keep training
from trusting it too much. The corpus is cut into folds of neighbouring sentences, and a sentence sees no entry that
its own fold alone has. And every sentence is learned from twice, the second time without the dictionary: otherwise the
weights of other features stay small where the dictionary explains the labels, and words that it lacks have no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trellis._support.arrays import Doubles
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import SpanReading, guess_scheme
from trellis.features.dictionaries import NOBODY, EntrySpans

if TYPE_CHECKING:
    from trellis.tasks.tagging.training.encoding import Labelling

FOLDS = 4  # on PKU's held-out lines, fewer cost F1 and more cost unknown words; both little


def twice(corpus: Corpus, weights: Doubles | None) -> tuple[Corpus, Doubles | None]:
    """Every sentence, and how much it counts, once more after all others."""
    return corpus.take(np.tile(np.arange(len(corpus)), 2)), None if weights is None else np.tile(weights, 2)


def spans_twice(corpus: Corpus, target: str, labelling: Labelling) -> EntrySpans:
    """The spans of a corpus that has every sentence twice."""
    if guess_scheme(labelling.labels) is None:
        known = ", ".join(labelling.labels[:3])
        why = f"column {target!r} marks no spans ({known}...), of which a dictionary could be learned; name a file"
        raise CorpusError(corpus.source, None, why)
    n = len(corpus) // 2
    starts = corpus.starts[: n + 1]
    found = SpanReading.of(labelling.labels).find(labelling.gold[: starts[-1]], starts)
    folds = (np.arange(n) * FOLDS // max(n, 1)).astype(np.int32)
    of_span = folds[np.searchsorted(starts, found.begins, side="right") - 1]
    return EntrySpans(found.begins, found.ends - found.begins, of_span, np.append(folds, np.full(n, NOBODY, np.int32)))
