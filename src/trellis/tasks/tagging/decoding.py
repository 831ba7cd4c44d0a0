"""Decoding: a model made ready for native code, sentences to potentials, and potentials to the best labels."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence, Sized
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from trellis import _core
from trellis._support.arguments import items
from trellis._support.arrays import Ints, LabelSets, Lists, Longs, same_words
from trellis._support.errors import ArgumentError, CorpusError, ModelError
from trellis.corpus.corpus import BagColumn, Corpus
from trellis.engine.weights import is_finite
from trellis.features.templates import FAR
from trellis.features.vocabulary import function_of, native_calls
from trellis.tasks.tagging.chain_model import ChainModel

if TYPE_CHECKING:
    from trellis.engine.chain import BeamChains, Chains
    from trellis.features.functions import Function
    from trellis.tasks.tagging.constraints import AllowedLabels
    from trellis.tasks.tagging.segments.decoding import SegmentChains, SegmentDecoder

Decode = Literal["viterbi", "posterior"]
Constraints = Sequence["AllowedLabels | None"]  # one per sentence

LABEL_BEFORE = FAR + 1  # code of the directly preceding label (core/engine/beam.hpp)
CACHE_BYTES = 256 << 20  # size limit of the cache of views and summed weights per word
# For marginals a corpus is processed in pieces with about this size of tables.
PIECE_BYTES = 256 << 20


class ChainDecoder:
    """A model with its native decoder. The number of threads never changes a result."""

    def __init__(self, model: ChainModel) -> None:
        self.model, self.labels, self.columns = model, model.labels, model.columns
        vocabulary, weights, tags, endings = model.vocabulary, model.weights, model.dictionary, model.endings
        tables = (weights.edge, weights.end)
        self.forbids = any(table is not None and bool(table.min(initial=0) == -np.inf) for table in tables)
        # A chain with a beam but without n-grams is searched from left to right. Attributes with the previous label are
        # then looked up label by label, which is cheaper than a table of label pairs for every token.
        stepwise = bool(weights.beam) and weights.ngrams is None and not any(t.far for t in vocabulary.templates)
        n_pair = sum(template.history == 1 for template in vocabulary.templates)
        features = {
            "plan": vocabulary.plan,
            "n_emission": vocabulary.n_emission,
            "n_pair": 0 if stepwise else n_pair,
            "n_far": n_pair if stepwise else sum(bool(template.far) for template in vocabulary.templates),
            "tables": vocabulary.tables,
            "folds": vocabulary.folds,
            "columns": [
                {
                    "values": column.values,
                    "view_ids": column.view_ids,
                    "strings": column.strings,
                    "set_of": tags.set_of if tags is not None and c == 0 else None,
                    "calls": [native_calls(view) for view in column.views],
                    "vectors": [vocabulary.matrix_of(view) for view in column.views],
                }
                for c, column in enumerate(vocabulary.columns)
            ],
            "bag": None if vocabulary.bag is None else vocabulary.bag.native,
            "dictionary": tags,
            "endings": endings,
            "matchers": vocabulary.matchers,
            "derived": vocabulary.derived,
        }
        n, ngrams = len(self.labels), weights.ngrams
        self.ngrams = None if ngrams is None else ngrams.native(n, model.order, weights.beam)
        # The labels of edge attributes, if some have labels further back; then paths are found by beam search.
        self.histories = None if weights.edge_rows is None else vocabulary.history_codes(self._sizes[1])
        if stepwise:
            self.histories = np.full(self._sizes[1], LABEL_BEFORE, np.uint8)
        self.weights = weights.native(self.ngrams, local=model.family == "local", about=self.histories)
        expected = "one string per token" if vocabulary.bag is None else "a list of strings or a dict per token"
        if len(self.columns) != 1:
            expected = f"({', '.join(self.columns)}) per token"
        self.native = _core.Decoder(
            features,
            self.weights,
            None if model.filter is None else model.filter.native(n),
            labels=list(self.labels),
            wanted=expected,
            cache_bytes=CACHE_BYTES,
        )
        self.votes: _core.Votes | None = None
        if weights.votes is not None:
            self.votes = weights.votes.native(self.weights, 2 if model.order == 2 else 1)
        if weights.dual is not None:
            weights.dual.support.check(n)
        self.expansion: _core.Expansion | None = None
        if weights.expansion is not None:
            self.expansion = weights.expansion.native(weights.rows.n_attributes, n)
        self.first = None if model.first is None else ChainDecoder(model.first)
        # Whether the tables of label scores are known to be finite.
        self._is_checked = False
        self.segments: SegmentDecoder | None = None
        if model.segments is not None:
            from trellis.tasks.tagging.segments.decoding import SegmentDecoder

            self.segments = SegmentDecoder(model, self.weights)
        # Whether the native decoder alone finds the best path.
        self.plain = self.votes is None and self.expansion is None and self.segments is None and self.histories is None

    @property
    def _sizes(self) -> tuple[int, int]:
        """Number of attributes and of edge attributes with weights."""
        weights = self.model.weights
        n_edges = 0 if weights.edge_rows is None else weights.edge_rows.n_attributes
        return weights.rows.n_attributes, n_edges

    # ------------------------------------------------------------ sentences in

    def rows_of(self, sentence: Any) -> Any:
        """Convert a sentence for native code: a list of strings, of tuples or of attributes."""
        if isinstance(sentence, (list, tuple)):
            return sentence
        if not isinstance(sentence, Mapping):
            tokens = sentence.tolist() if isinstance(sentence, np.ndarray) else items(sentence)
            return sentence if tokens is None else tokens
        missing = [name for name in self.columns if name not in sentence]
        if missing:
            reason = f"the sentence has no {missing[0]!r}; the model reads {', '.join(self.columns)}"
            raise CorpusError("", None, reason)
        lists = list[list[Any]]()
        for name in self.columns:
            values = items(sentence[name])
            if values is None:
                raise CorpusError("", None, f"column {name!r} of the sentence must be a list, not {sentence[name]!r}")
            lists.append(values)
        if len(lists) == 1:
            return lists[0]
        if len({len(values) for values in lists}) > 1:
            raise CorpusError("", None, "the columns of the sentence have different lengths")
        return list(zip(*lists, strict=True))

    def strings_of(self, sentence: Any, names: Sequence[str]) -> dict[str, list[str]]:
        """The first string columns of a sentence that the model reads."""
        rows = self.rows_of(sentence)
        return {name: [row if isinstance(row, str) else row[c] for row in rows] for c, name in enumerate(names)}

    def tag_one(self, sentence: Any) -> list[str]:
        """The labels of one sentence, where the decoder is ``plain``."""
        if self.first is not None:
            return self.best(self.encode([sentence]), 1)[0]
        rows = self.rows_of(sentence)
        try:
            codes = self.native.tag_one(rows)
        except (TypeError, ValueError) as error:
            raise self._rejected([rows], error) from None
        if isinstance(codes, list):
            return codes
        self._define(codes)
        return self.best(codes, 1)[0]

    def best(self, batch: _core.Batch, n_threads: int) -> list[list[str]]:
        """The labels of a batch, where the decoder is ``plain``."""
        codes = self.native.labels(batch, n_threads)
        return self.named(self._possible(batch, None, n_threads), batch.starts) if codes is None else codes

    def encode(self, sentences: Any, n_threads: int = 1) -> _core.Batch:
        """Encode sentences as codes of word types; Python computes views of new words that native code cannot."""
        return self._encoded(self.with_other_labels(sentences, n_threads), n_threads)

    def _encoded(self, sentences: Any, n_threads: int) -> _core.Batch:
        if isinstance(sentences, Corpus):
            batch = self._encode_corpus(sentences, n_threads)
        else:
            rows = [self.rows_of(sentence) for sentence in listed(sentences)]
            try:
                batch = self.native.encode(rows, n_threads)
            except (TypeError, ValueError) as error:
                raise self._rejected(rows, error) from None
        self._define(batch)
        return batch

    def with_other_labels(self, sentences: Any, n_threads: int) -> Any:
        """Input of a two-pass model: sentences with the first pass's labels of the same words elsewhere."""
        if self.first is None:
            return sentences
        from trellis.tasks.tagging.documents import completed

        if not isinstance(sentences, Corpus):
            sentences = [self.first.rows_of(sentence) for sentence in listed(sentences)]
            if not any(sentences):
                return sentences
            sentences = self.first.corpus_of(sentences)
        return completed(sentences, self.first, n_threads)

    def corpus_of(self, rows: list[Any]) -> Corpus:
        """Sentences, as native code walks them, as a corpus of the columns that the model reads."""
        from trellis.corpus.read import read

        self.encode(rows)  # raises an error for invalid tokens
        if len(self.columns) == 1:
            plain = self.model.vocabulary.bag is None
            tokens = [[t if isinstance(t, str) or not plain else t[0] for t in row] for row in rows]
            return read({self.columns[0]: tokens})
        return read({name: [[token[c] for token in row] for row in rows] for c, name in enumerate(self.columns)})

    @cached_property
    def functions(self) -> list[list[Function | None]]:
        """Views that native code cannot compute for every word, as Python functions by column and view."""
        vocabulary = self.model.vocabulary
        return [
            [function_of(view, vocabulary.lookups, column.name) if view else None for view in column.views]
            for column in vocabulary.columns
        ]

    def _define(self, batch: _core.Batch) -> None:
        """Define the views of new words that native code cannot compute itself."""
        words = batch.undefined
        if words:
            values = [[None if f is None else f(word) for f in self.functions[c]] for c, word in words]
            self.native.define(batch, values)

    def _rejected(self, rows: list[Any], error: Exception) -> CorpusError:
        """The error found by native code, with the position of the token."""
        for i, row in enumerate(rows):
            place = f"sentence {i} (counted from 0): " if len(rows) > 1 else ""
            if isinstance(row, str):
                reason = "a sentence must be a list of tokens, not a string; call tag_text to tag text"
                return CorpusError("", None, f"{place}{reason}")
            if not isinstance(row, (list, tuple)):
                return CorpusError("", None, f"{place}{error}")
            for t, token in enumerate(row):
                try:
                    self.native.encode([[token]], 1)
                except UnicodeEncodeError:
                    reason = "holds a lone surrogate or bytes that are not UTF-8; decode the text as UTF-8"
                    return CorpusError("", None, f"{place}token {t}, {reprlib.repr(token)}, {reason}")
                except (TypeError, ValueError) as wrong:
                    return CorpusError("", None, f"{place}token {t}, {reprlib.repr(token)}: {wrong}")
        return CorpusError("", None, str(error))

    def _encode_corpus(self, corpus: Corpus, n_threads: int) -> _core.Batch:
        bag = None
        if self.model.vocabulary.bag is not None:
            values = corpus.columns.get(self.columns[-1])
            if not isinstance(values, BagColumn):
                reason = f"the model reads attributes from column {self.columns[-1]!r}"
                raise CorpusError(corpus.source, None, reason)
            bag = values
        columns = [corpus.column(column.name) for column in self.model.vocabulary.inputs]
        return self.native.encode_corpus(columns, bag, corpus.starts, n_threads)

    # ------------------------------------------------------------ potentials

    def chains(self, batch: _core.Batch, allowed: Constraints | None, n_threads: int) -> Chains:
        """The batch as potentials; those of a kernel model are in double precision.

        Labels allowed by the caller override the tag dictionary and the filter. If these and forbidden transitions
        together leave a sentence without a path, dictionary and filter are ignored.
        """
        from trellis.engine.chain import Chains, Tables, with_stride
        from trellis.tasks.tagging.constraints import label_sets

        starts, expansion = batch.starts, self.model.weights.expansion
        tables = Tables(*self._potentials(batch, n_threads))
        if expansion is not None and self.expansion is not None:
            emit = with_stride(expansion.emit(self.expansion, self.attribute_lists(batch), n_threads))
            tables = tables._replace(emit=emit).doubles
        dictionary = self._dictionary_sets(batch, n_threads)
        sets = dictionary if allowed is None else label_sets(allowed, self.labels, starts, dictionary)
        if sets is not None and dictionary is not None and self.forbids:
            scores = Chains(tables, starts, sets).best(n_threads).scores
            if np.isneginf(scores).any():
                label_lists = label_sets(allowed or [None] * (len(starts) - 1), self.labels, starts)
                closed = np.repeat(np.isneginf(scores), np.diff(starts))
                sets = sets.replaced(closed, label_lists.at(closed))
                if self.model.family == "local":  # normalised over other labels then
                    tables = tables.replaced(closed, Tables(*self._potentials(batch, n_threads, open=True)))
        return Chains(tables, starts, sets)

    def _potentials(self, batch: _core.Batch, n_threads: int, *, open: bool = False) -> tuple[Any, ...]:
        """Content of ``Tables``: padded scores of labels, label pairs, triples and last labels; n-grams."""
        from trellis.engine.chain import TokenNgrams

        weights = self.model.weights
        try:
            if not self._is_checked and not all(map(is_finite, (weights.edge, weights.tri, weights.end))):
                raise OverflowError
            emit, edges, ngrams = self.native.potentials(batch, open, n_threads)
        except OverflowError:
            raise ModelError("the scores are not finite; train the model again") from None
        self._is_checked = True
        edges = edges if len(edges) else weights.edge[None]
        tokens = None if ngrams is None else TokenNgrams(**{**ngrams, "starts": ngrams["starts"].astype(np.int64)})
        return emit, edges, weights.tri, weights.end, self.ngrams, tokens

    def attribute_lists(self, batch: _core.Batch, *, on_edge: bool = False) -> Lists:
        """The attributes of every token, or those of label pairs."""
        return Lists(**self.native.attribute_lists(batch, on_edge))

    def _dictionary_sets(self, batch: _core.Batch, n_threads: int) -> LabelSets | None:
        """The labels of each token allowed by the tag dictionary and the filter."""
        if self.model.filter is not None:
            return LabelSets.native(self.native.candidates(batch, n_threads))
        tags = self.model.dictionary
        return None if tags is None else tags._replace(set_of=self.native.set_of(batch))

    def pieces(self, sentences: Any, allowed: Constraints | None, n_threads: int) -> Iterator[Chains | SegmentChains]:
        """Iterate over sentences as potentials for sums over paths, in pieces."""
        for chains in self.searched(sentences, allowed, n_threads):
            if self.histories is not None:
                raise ModelError(
                    "marginals and other sums over all label sequences need exact search, but this model uses beam "
                    "search (docs/orders.md); use tag or kbest"
                )
            yield chains  # type: ignore[misc]

    def searched(
        self, sentences: Any, allowed: Constraints | None, n_threads: int
    ) -> Iterator[Chains | SegmentChains | BeamChains]:
        """Iterate over sentences as potentials for best paths, in pieces."""
        from trellis.engine.chain import BeamChains
        from trellis.tasks.tagging.constraints import check_number

        sentences = listed(sentences)
        if allowed is not None:
            check_number(allowed, len(sentences))
        sentences = self.with_other_labels(sentences, n_threads)  # before documents are cut
        n, begin, weights = len(self.labels), 0, self.model.weights
        normalised = self.model.family == "local" and self.model.order > 1
        edge_bytes = 20 * (n + 1) * n if normalised or weights.edge_rows is not None else 0
        if normalised and weights.ngrams is not None:
            edge_bytes += 20 * len(weights.ngrams.weights)
        if self.segments is not None:
            edge_bytes += 20 * self.segments.longest
        for part in _split(sentences, max(1, PIECE_BYTES // (40 * n + edge_bytes))):
            allowed_here = None if allowed is None else allowed[begin : begin + len(part)]
            batch = self._encoded(part, n_threads)
            chains = self.chains(batch, allowed_here, n_threads)
            if self.segments is not None:
                yield self.segments.chains(self, part, chains, n_threads)
            elif self.histories is not None and weights.edge_rows is not None:  # attributes with labels further back
                lists = self.attribute_lists(batch, on_edge=True)
                yield BeamChains(*chains, weights.beam, lists, self.weights, same_words(batch.words, batch.starts))
            else:
                yield chains
            begin += len(part)

    # ------------------------------------------------------------ labels out

    def best_codes(
        self, sentences: Any, decode: Decode, allowed: Constraints | None, n_threads: int
    ) -> tuple[Ints, Longs]:
        """The numbers of the best labels, one per token, and where sentences begin."""
        if decode not in get_args(Decode):
            raise ArgumentError(f"decode must be 'viterbi' or 'posterior', not {decode!r}")
        if decode == "viterbi" and self.segments is None and self.histories is None:
            batch, best = self.encode(sentences, n_threads), None
            if allowed is None and self.plain:
                best = self.native.decode(batch, n_threads)
            elif allowed is None and self.votes is not None and not self.forbids:
                best = self._vote(batch, self._dictionary_sets(batch, n_threads), n_threads)
            return (self._possible(batch, allowed, n_threads) if best is None else best), batch.starts
        from trellis.tasks.tagging.posterior import best_labels, best_paths

        lengths, codes = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
        pieces: Any = self.pieces if decode == "posterior" else self.searched
        for chains in pieces(sentences, allowed, n_threads):
            if decode == "posterior":
                codes.append(best_labels(chains, self.model.temperature, n_threads))
            else:
                codes.append(best_paths(chains, n_threads))
            lengths.append(np.diff(chains.starts))
        return np.concatenate(codes), np.cumsum(np.concatenate(lengths))

    def _possible(self, batch: _core.Batch, allowed: Constraints | None, n_threads: int) -> Ints:
        """The best possible paths; ConstraintError if a sentence has none."""
        from trellis.tasks.tagging.posterior import best_paths

        chains = self.chains(batch, allowed, n_threads)
        paths = best_paths(chains, n_threads)
        return paths if self.votes is None else self._vote(batch, chains.allowed, n_threads)

    def _vote(self, batch: _core.Batch, sets: LabelSets | None, n_threads: int) -> Ints:
        """The paths with the most votes: the updates of training are replayed once for all sentences."""
        assert self.votes is not None
        weights = self.model.weights
        edge_lists = None if weights.edge_rows is None else self.attribute_lists(batch, on_edge=True)
        lists = self.attribute_lists(batch)
        encoded = _core.Encoded(batch.starts, lists, edge_lists, sets, *self._sizes, len(self.labels))
        return self.votes.decode(encoded, n_threads)

    def named(self, codes: Ints, starts: Longs) -> list[list[str]]:
        """Convert label numbers to names, one list per sentence."""
        labels = [self.labels[z] for z in codes.tolist()]
        return [labels[a:b] for a, b in pairwise(starts.tolist())]


def one(allowed: AllowedLabels | None) -> list[AllowedLabels | None] | None:
    """Allowed labels of a batch of one sentence."""
    return None if allowed is None else [allowed]


def listed(sentences: Any) -> Any:
    """Convert to sentences that can be sliced and read twice."""
    if isinstance(sentences, Corpus):
        return sentences
    elements = items(sentences)
    if elements is None:
        reason = f"sentences must be a list of sentences or a Corpus (see trellis.read), not {reprlib.repr(sentences)}"
        raise CorpusError("", None, reason)
    return [sentence if type(sentence) is list else _repeatable(sentence) for sentence in elements]


def _repeatable(sentence: Any) -> Any:
    """Convert a sentence so that it can be read twice: iterators become lists."""
    if isinstance(sentence, Mapping):
        return {name: _repeatable(values) for name, values in sentence.items()}
    return list(sentence) if hasattr(sentence, "__next__") else sentence


def _split(sentences: Any, n_tokens: int) -> Iterator[Any]:
    """Iterate over runs of sentences of about n_tokens; slices of a corpus share its arrays."""
    if len(sentences) == 1:
        sizes = [0]
    elif isinstance(sentences, Corpus):
        sizes = np.diff(sentences.starts).tolist()
    else:
        lists = [next(iter(s.values()), ()) if isinstance(s, Mapping) else s for s in sentences]
        sizes = [len(s) if isinstance(s, Sized) else 0 for s in lists]
    begin = total = 0
    for i, size in enumerate(sizes):
        if total and total + size > n_tokens:
            yield sentences[begin:i]
            begin, total = i, 0
        total += size
    if begin < len(sizes):
        yield sentences[begin:]
