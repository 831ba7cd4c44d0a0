"""Decoder of semi-Markov chains: the best segmentation, the k best, log Z and marginals.

core/engine/segments.hpp. A segmentation is given as the labels of its tokens. Ties: the lowest last label wins, then
the shorter last segment, and so on towards the first token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trellis import _core
from trellis._support.arrays import Doubles, Ints, LabelSets, Lists, Longs
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import belongs
from trellis.engine.chain import MarginalsBatch, PathBatch, Potentials, Tables
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.segments.features import SegmentSymbols

if TYPE_CHECKING:
    from trellis.engine.chain import Chains
    from trellis.tasks.tagging.decoding import ChainDecoder

NO_SPANS = np.empty((0, 4), np.int64)


class SegmentChains(NamedTuple):
    """The potentials of many sentences, of labels as `Chains` has them, and of segments by their attributes."""

    tables: Tables
    starts: Longs  # [n_sentences + 1]
    allowed: LabelSets | None
    rules: _core.SegmentRules
    weights: _core.Weights  # with the rows of segment attributes
    lists: Lists  # attributes of segments: site token * longest + length - 1

    def best(self, n_threads: int) -> PathBatch:
        """The best segmentation of every sentence."""
        paths, scores, _ = self.kbest(1, n_threads)
        return PathBatch(paths, scores[:, 0])

    def kbest(self, k: int, n_threads: int) -> tuple[Ints, Doubles, Longs]:
        """The k best as arrays: sentence i's labels [k, T_i] from k * starts[i] on, scores [n_sentences, k], counts."""
        return _core.segment_paths(self, k, n_threads)

    def log_partition(self, n_threads: int, temperature: float) -> Doubles:
        """log Z of every sentence."""
        return self.marginals(n_threads, temperature)[0]

    def marginals(self, n_threads: int, temperature: float) -> tuple[Doubles, Doubles]:
        """log Z of every sentence and the probability of every label: [n_tokens, L]."""
        return _core.segment_marginals(self, temperature, 1, NO_SPANS, n_threads)[0][:2]

    def pair_marginals(self, n_threads: int, temperature: float) -> MarginalsBatch:
        """The same with marginals of label pairs."""
        return MarginalsBatch(*_core.segment_marginals(self, temperature, 2, NO_SPANS, n_threads)[0])

    def span_probabilities(self, spans: Longs, n_threads: int, temperature: float) -> Doubles:
        """The probability of segments: rows of sentence, begin, end, column of the type, in the order of sentences."""
        return _core.segment_marginals(self, temperature, 1, spans, n_threads)[1]

    def path_scores(self, paths: Ints, n_threads: int) -> Doubles:
        """The scores of given labels [n_tokens]; minus infinity if they are not a segmentation."""
        return self._replace(allowed=self.tables.only(paths)).best(n_threads).scores

    def best_labels(self, node: Doubles, n_threads: int) -> Ints:
        """The segmentation with the largest expected number of correct labels, from marginals [n_tokens, L]."""
        n = node.shape[1]
        tables = Potentials(node.astype(np.float32), np.zeros((n + 1, n))).tables
        empty = Lists(np.zeros_like(self.lists.starts), np.empty(0, np.int32), np.empty(0, np.float32))
        return self._replace(tables=tables, lists=empty).best(n_threads).paths


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
            raise ValueError("segments do not match the model")
        if not np.isfinite(rows.weights).all():
            raise ValueError("a weight that is not finite")
        self.rules, self.native = types.native(), vocabulary.native()
        self.symbols = SegmentSymbols(vocabulary.plan, vocabulary.strings)
        self.names = tuple(column.name for column in model.vocabulary.inputs)
        if self.first < 0 or self.first + self.native.n_attributes != rows.n_attributes:
            raise ValueError("attributes of segments without weights, or weights without attributes")
        unknown = next((name for name, _ in vocabulary.plan.views if name not in self.names), None)
        if unknown is not None:
            raise ValueError(f"segments look at column {unknown!r}, which the model does not read")

    def lists(self, decoder: ChainDecoder, sentences: Any, starts: Any, n_threads: int) -> Lists:
        """The attributes of all segments, as row numbers of weights."""
        if isinstance(sentences, Corpus):
            columns_of = {name: sentences.column(name) for name in self.names}
            columns: dict[str, Any] = {name: (column.values, column.codes) for name, column in columns_of.items()}
        else:
            texts, codes = [decoder.strings_of(sentence, self.names) for sentence in sentences], np.arange(starts[-1])
            columns = {name: ([word for table in texts for word in table[name]], codes) for name in self.names}
        lists = Lists(**self.native.extract(self.symbols.of(columns), starts, self.longest, n_threads))
        return lists._replace(ids=(lists.ids + np.int32(self.first)).astype(np.int32))

    def chains(self, decoder: ChainDecoder, sentences: Any, chains: Chains, n_threads: int) -> SegmentChains:
        """Potentials of labels and segments."""
        lists = self.lists(decoder, sentences, chains.starts, n_threads)
        return SegmentChains(*chains, self.rules, self.weights, lists)
