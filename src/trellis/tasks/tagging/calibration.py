"""Calibration: temperature scaling on held-out labels, and reliability tables.

Scores are divided by the temperature before they become probabilities. It minimises the negative log-likelihood of the
gold labels under the marginals. The search uses fixed steps, so that equal input gives bit-identical results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from trellis._support.arrays import Ints, Longs
from trellis._support.errors import CorpusError
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.schemes import SpanReading, SpanTable, guess_scheme, spans
from trellis.engine.chain import Chains
from trellis.evaluation.reliability import Calibration, reliability
from trellis.tasks.tagging.chain_model import ChainModel
from trellis.tasks.tagging.constraints import require_possible
from trellis.tasks.tagging.decoding import ChainDecoder
from trellis.tasks.tagging.posterior import probabilities
from trellis.tasks.tagging.segments.decoding import SegmentChains

LEAST, MOST = 2.0**-6, 2.0**12  # scores of a perceptron may be in the hundreds
STEPS = 16  # of golden-section search: the bracket shrinks from a factor of 4 to a factor of 1.0007
FLOOR = 1e-300  # probabilities are clipped here before taking the logarithm


def calibrate(decoder: ChainDecoder, corpus: Corpus, gold: Column, n_threads: int) -> ChainModel:
    """Set the temperature to the minimum of the loss on the corpus.

    Unknown (-1) and forbidden labels are ignored.
    """
    codes = _codes(decoder, gold)
    pieces = list(decoder.pieces(corpus, None, n_threads))
    ends = np.cumsum([0, *(len(piece.tables.emit) for piece in pieces)]).tolist()
    golds = [_possible(piece, codes[a:b], n_threads) for piece, (a, b) in zip(pieces, pairwise(ends), strict=True)]

    n = sum(int((gold >= 0).sum()) for gold in golds)
    if n == 0:
        reason = "no label of these sentences is known to the model; calibrate on other sentences"
        raise CorpusError(corpus.source, None, reason)

    def mean_loss(temperature: float) -> float:
        """Mean loss in nats per label."""
        losses = (_label_loss(piece, gold, temperature, n_threads) for piece, gold in zip(pieces, golds, strict=True))
        return sum(losses) / n

    temperature = search(mean_loss)
    losses = {"loss": mean_loss(temperature), "loss_at_temperature_1": mean_loss(1.0)}
    record = {"labels": n, "temperature": temperature, **losses}
    training = {**decoder.model.training, "calibration": record}
    return replace(decoder.model, temperature=temperature, training=training)


def search(loss: Callable[[float], float]) -> float:
    """Minimise a unimodal function: steps of powers of two from 1 downhill, then golden-section search."""
    current, best = 1.0, loss(1.0)
    for factor in (2.0, 0.5):
        while LEAST <= current * factor <= MOST and (next_loss := loss(current * factor)) < best:
            current, best = current * factor, next_loss
        if current != 1.0:
            break
    low, high = math.log(max(current / 2, LEAST)), math.log(min(current * 2, MOST))
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    loss_a, loss_b = loss(math.exp(a)), loss(math.exp(b))
    for _ in range(STEPS):
        if loss_a <= loss_b:
            high, b, loss_b = b, a, loss_a
            a = high - ratio * (high - low)
            loss_a = loss(math.exp(a))
        else:
            low, a, loss_a = a, b, loss_b
            b = low + ratio * (high - low)
            loss_b = loss(math.exp(b))
    return math.exp((low + high) / 2)


def _possible(chains: Chains | SegmentChains, gold: Ints, n_threads: int) -> Ints:
    """The labels, -1 for impossible ones: at a high temperature only impossible labels have probability 0."""
    _, node = chains.marginals(n_threads, MOST)
    return np.where((gold >= 0) & (node[np.arange(len(gold)), gold] > 0), gold, -1).astype(np.int32)


def _label_loss(chains: Chains | SegmentChains, gold: Ints, temperature: float, n_threads: int) -> float:
    """-sum log P(gold label at t) over the known labels."""
    _, node = chains.marginals(n_threads, temperature)
    tokens = np.flatnonzero(gold >= 0)
    return float(-np.log(np.maximum(node[tokens, gold[tokens]], FLOOR)).sum())


def measure_reliability(
    decoder: ChainDecoder, kind: str, corpus: Corpus, gold: Column, codes: Ints, n_bins: int, n_threads: int
) -> Calibration:
    """Reliability of the confidences of the best labels and of their spans; ``codes`` are the best labels."""
    has_spans = guess_scheme(decoder.labels) is not None and guess_scheme(gold.values) is not None
    of_tokens, of_spans, begin = [np.empty(0)], list[float](), 0
    for chains in decoder.pieces(corpus, None, n_threads):
        log_z, node = chains.marginals(n_threads, decoder.model.temperature)
        require_possible(log_z)
        part = codes[begin : begin + len(node)]
        of_tokens.append(node[np.arange(len(part)), part])
        if has_spans:
            spans_of = [spans(labels) for labels in decoder.named(part, chains.starts)]
            of_spans += [p for figures in probabilities(decoder, chains, spans_of, n_threads) for p in figures]
        begin += len(node)
    tokens = reliability(np.concatenate(of_tokens), codes == _codes(decoder, gold), n_bins)
    of_span = None
    if has_spans:
        labels = [gold.values.tolist(), decoder.labels]
        reading, reversed_reading = SpanReading.of(*labels), SpanReading.of(*labels[::-1])
        spans_given, spans_found = reading.find(gold.codes, corpus.starts), reversed_reading.find(codes, corpus.starts)
        n = len(reading.types)
        is_right = np.isin(_keys(spans_found, n), _keys(spans_given, n))
        of_span = reliability(of_spans, is_right, n_bins)  # both are sorted by the beginning of spans
    return Calibration(kind, decoder.model.temperature, tokens, of_span)


def _keys(spans: SpanTable, n_types: int) -> Longs:
    """One number per span from its beginning, length and type."""
    longest = 1 << 20  # more than the tokens of any sentence
    return (spans.begins * longest + (spans.ends - spans.begins)) * n_types + spans.types


def _codes(decoder: ChainDecoder, column: Column) -> Ints:
    """Labels of a column in the model's numbering; -1 for other labels."""
    number = {label: z for z, label in enumerate(decoder.labels)}
    of_value = np.array([number.get(label, -1) for label in column.values] or [-1], np.int32)
    return of_value[column.codes]
