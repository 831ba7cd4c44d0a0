"""What every learner gets: an encoded corpus, its gold labels, weights to change, and a way to score them on dev."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trellis import _core
from trellis.arrays import Doubles, Floats, Ints, LabelSets, Longs
from trellis.features.vocabulary import Sources
from trellis.model.model import ChainWeights, Rows

if TYPE_CHECKING:
    from trellis.learning.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class FeatureNames:
    """What the numbers of a problem stand for."""

    labels: tuple[str, ...]
    attributes: Mapping[int, str]
    edge_attributes: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Problem:
    """A training problem."""

    corpus: _core.Encoded
    starts: Longs  # [n_sentences + 1]
    gold: Ints  # [n_tokens], -1 where a label is not fully known (then `partial` says what it may be)
    n_labels: int
    order: int  # 0: label pairs have no weights; 1; 2
    n_threads: int
    # Where given, an attribute has weights only for the labels of its row.
    seen: Rows | None = None
    # The same for edge attributes, with places in the matrix of label pairs.
    seen_edges: Rows | None = None
    score_dev: Callable[[ChainWeights], float] | None = None
    checkpoint: Checkpoint | None = None  # the file that training resumes from
    patience: int | None = None  # epochs without a better dev score after which to stop
    partial: LabelSets | None = None  # labels that are consistent with what is known, for every token
    sentence_weights: Doubles | None = None  # [n_sentences] how much each counts
    label_costs: Floats | None = None  # [n_labels, n_labels] of gold label and another, 0 on the diagonal
    edge_base: Floats | None = None  # [n_labels + 1, stride] 0, or minus infinity where forbidden
    end_base: Floats | None = None  # [stride] the same for last labels
    initial: ChainWeights | None = None  # where to start (warm start), in the numbering of this corpus
    sources: Sources | None = None  # where attributes come from, for learners that say ``reads_sources``
    names: FeatureNames | None = None  # what numbers stand for, for learners that say ``reads_names``

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.starts) - 1

    @property
    def end(self) -> Floats | None:
        """[stride] what last labels give and no learner changes: minus infinity, or what a warm start brings."""
        given = None if self.initial is None else self.initial.end
        if self.end_base is None or given is None:
            return self.end_base if given is None else given
        return self.end_base + given

    def sentence_order(self, number: int, seed: int | None) -> Longs:
        """The order of the sentences in epoch ``number``: shuffled by ``seed``, or as they stand."""
        if seed is None:
            return np.arange(self.n_sentences, dtype=np.int64)
        return _core.shuffled(self.n_sentences, (seed * 1_000_003 + number) % 2**64)

    def weigh(self, losses: Doubles) -> Doubles:
        """The loss of every sentence, as much as it counts."""
        return losses if self.sentence_weights is None else losses * self.sentence_weights

    def token_weights(self) -> Doubles:
        """How much each token counts: as its sentence does."""
        lengths = np.diff(self.starts)
        weights = np.ones(self.n_sentences) if self.sentence_weights is None else self.sentence_weights
        return np.repeat(weights, lengths)

    def label_triples(self) -> tuple[Longs, Longs, Longs]:
        """The gold label of every token with the two before it, NULL before the sentence; -1 where not fully known."""
        z = self.gold.astype(np.int64)
        before = [z]
        for back in (1, 2):
            shifted = np.full(len(z), self.n_labels, np.int64)
            shifted[back:] = z[:-back]
            position = np.arange(len(z)) - np.repeat(self.starts[:-1], np.diff(self.starts))
            shifted[position < back] = self.n_labels
            before.append(shifted)
        return before[2], before[1], before[0]
