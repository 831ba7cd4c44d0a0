"""Decoding by a semi-Markov model: the attributes of segments beside the potentials of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trellis import _core
from trellis._support.arrays import Lists
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import belongs
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.segments.chains import SegmentChains
from trellis.tasks.tagging.segments.features import SegmentSymbols

if TYPE_CHECKING:
    from trellis.engine.chain import Chains
    from trellis.tasks.tagging.decoding import Decoder


class SegmentDecoder:
    """The segments of a model, ready for native code; ValueError if its parts do not fit together."""

    __slots__ = ("first", "longest", "names", "native", "rules", "symbols", "weights")

    def __init__(self, model: ChainModel, weights: _core.Weights) -> None:
        assert model.segments is not None
        types, vocabulary, rows = model.segments.types, model.segments.vocabulary, model.weights.rows
        self.weights, self.first, self.longest = weights, model.segments.first, types.most
        if (
            model.order != 1
            or model.weights.parts is not None
            or not all(belongs(z, types.scheme) for z in types.labels)
        ):
            raise ValueError("segments of another model")
        if not np.isfinite(rows.weights).all():
            raise ValueError("a weight that is not finite")
        self.rules, self.native = types.native(), vocabulary.native()
        self.symbols = SegmentSymbols(vocabulary.plan, vocabulary.strings)
        self.names = tuple(column.name for column in model.vocabulary.given)
        if self.first < 0 or self.first + self.native.n_attributes != rows.n_attributes:
            raise ValueError("attributes of segments without weights, or weights without attributes")
        unknown = next((name for name, _ in vocabulary.plan.views if name not in self.names), None)
        if unknown is not None:
            raise ValueError(f"segments look at column {unknown!r}, which the model does not read")

    def lists(self, decoder: Decoder, sentences: Any, starts: Any, n_threads: int) -> Lists:
        """The attributes of all segments, by their numbers among the rows of weights."""
        if isinstance(sentences, Corpus):
            views = self.symbols.of_columns({name: sentences.column(name) for name in self.names})
        else:
            texts = [decoder.strings_of(sentence, self.names) for sentence in sentences]
            views = self.symbols.of({name: [word for one in texts for word in one[name]] for name in self.names})
        found, ids = self.native.extract(views, starts, self.longest, n_threads)
        return found, (ids + np.int32(self.first)).astype(np.int32), np.empty(0, np.float32)

    def chains(self, decoder: Decoder, sentences: Any, chains: Chains, n_threads: int) -> SegmentChains:
        """The potentials of labels with those of segments."""
        lists = self.lists(decoder, sentences, chains.starts, n_threads)
        return SegmentChains(*chains, self.rules, self.weights, lists)
