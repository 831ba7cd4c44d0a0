"""Calibration: a temperature fitted to held-out labels, and how reliable confidences then are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import get_args

import numpy as np

from trellis._support.arrays import Ints, Longs
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.schemes import guess_scheme, spans
from trellis.evaluation.reliability import Calibration, reliability
from trellis.evaluation.spans import SpanReading, SpanTable
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.constraints import require_possible
from trellis.tasks.tagging.decoding import Decoder
from trellis.tasks.tagging.posterior import probabilities
from trellis.tasks.tagging.temperature import Loss, fit_temperature


def calibrate(decoder: Decoder, corpus: Corpus, gold: Column, loss: Loss, n_threads: int) -> ChainModel:
    """The model with the temperature of least loss on the corpus."""
    if loss not in get_args(Loss):
        raise ArgumentError(f"loss must be 'labels' or 'paths', not {loss!r}")
    codes = _codes(decoder, gold)
    chains = list(decoder.pieces(corpus, None, n_threads))
    ends = np.cumsum([0, *(len(piece.tables.emit) for piece in chains)]).tolist()
    fit = fit_temperature(chains, [codes[a:b] for a, b in pairwise(ends)], loss, n_threads)
    if fit is None:
        why = "no label here that the model can give; calibrate on other sentences"
        raise CorpusError(corpus.source, None, why)
    training = {**decoder.model.training, "calibration": fit}
    return replace(decoder.model, temperature=fit["temperature"], training=training)


def measure_reliability(
    decoder: Decoder, corpus: Corpus, gold: Column, codes: Ints, n_bins: int, n_threads: int
) -> Calibration:
    """How reliable the confidences of the best labels are, and those of their spans; ``codes`` are the best labels."""
    has_spans = guess_scheme(decoder.labels) is not None and guess_scheme(gold.values) is not None
    of_tokens, of_spans, begin = [np.empty(0)], list[float](), 0
    for chains in decoder.pieces(corpus, None, n_threads):
        log_z, node = chains.marginals(n_threads, decoder.model.temperature)
        require_possible(log_z)
        some = codes[begin : begin + len(node)]
        of_tokens.append(node[np.arange(len(some)), some])
        if has_spans:
            found = [spans(labels) for labels in decoder.named(some, chains.starts)]
            of_spans += [p for figures in probabilities(decoder, chains, found, n_threads) for p in figures]
        begin += len(node)
    tokens = reliability(np.concatenate(of_tokens), codes == _codes(decoder, gold), n_bins)
    of_span = None
    if has_spans:
        labels = [gold.values.tolist(), decoder.labels]
        reading, other = SpanReading.of(*labels), SpanReading.of(*labels[::-1])
        spans_given, spans_found = reading.find(gold.codes, corpus.starts), other.find(codes, corpus.starts)
        n = len(reading.types)
        is_right = np.isin(_keys(spans_found, n), _keys(spans_given, n))
        of_span = reliability(of_spans, is_right, n_bins)  # both come by where spans begin
    return Calibration(decoder.probability_kind, decoder.model.temperature, tokens, of_span)


def _keys(spans: SpanTable, n_types: int) -> Longs:
    """One number per span: where it begins, how long it is, its type."""
    longest = 1 << 20  # far more tokens than a sentence has
    return (spans.begins * longest + (spans.ends - spans.begins)) * n_types + spans.types


def _codes(decoder: Decoder, column: Column) -> Ints:
    """A column's labels by the model's numbers, -1 for those that it does not have."""
    number = {label: z for z, label in enumerate(decoder.labels)}
    of_value = np.array([number.get(label, -1) for label in column.values] or [-1], np.int32)
    return of_value[column.codes]
