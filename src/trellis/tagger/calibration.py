"""Confidences that keep their word: a tagger's temperature fitted to held-out labels, and how reliable it then is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from trellis.arrays import Ints, Longs
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.read import read
from trellis.corpus.schemes import guess_scheme
from trellis.engine.temperature import Criterion, fit_temperature
from trellis.errors import CorpusError
from trellis.evaluation.reliability import Calibration, Reliability, reliability
from trellis.evaluation.spans import SpanTable, find_spans
from trellis.tagger.decoding import pieces
from trellis.tagger.posterior import SpanReading

if TYPE_CHECKING:
    from trellis.tagger.tagger import Tagger


def calibrate(tagger: Tagger, dev: Any, *, target: str | None, by: Criterion, n_threads: int) -> Tagger:
    """The tagger with the temperature that suits dev best."""
    if by not in get_args(Criterion):
        raise ValueError(f"by must be 'labels' or 'paths', not {by!r}")
    corpus = read(dev)
    gold = _codes(tagger, corpus.column(target or tagger.target))
    chains = list(pieces(tagger, corpus, None, n_threads, temperature=1.0))
    ends = np.cumsum([0, *(len(piece.potentials.emit) for piece in chains)]).tolist()
    golds = [gold[a:b] for a, b in pairwise(ends)]
    fit = fit_temperature(chains, golds, by, n_threads)
    if fit is None:
        raise CorpusError(
            corpus.source, None, "no label here that the model can give; calibrate on other sentences"
        )
    kept = {
        "by": by,
        by: fit.n,
        "temperature": fit.temperature,
        "loss": fit.loss,
        "loss_at_temperature_1": fit.loss_at_one,
    }
    info = {**tagger.info, "calibration": kept}
    return type(tagger)(replace(tagger.model, temperature=fit.temperature, info=info))


def measure_reliability(
    tagger: Tagger, corpus: Any, *, target: str | None, n_bins: int, n_threads: int
) -> Calibration:
    """How reliable the confidences of its best labels are, and those of their spans."""
    corpus = read(corpus)
    gold = corpus.column(target or tagger.target)
    guessed = tagger.tag_corpus(corpus, n_threads=n_threads)
    believed = [posterior.node for posterior in tagger.marginals_batch(corpus, n_threads=n_threads)]
    node = np.concatenate(believed) if believed else np.empty((0, len(tagger.labels)))
    tokens = reliability(
        node[np.arange(len(guessed.codes)), guessed.codes],
        guessed.codes == _codes(tagger, gold),
        n_bins,
    )
    spans = None
    if guess_scheme(tagger.labels) is not None and guess_scheme(gold.values) is not None:
        spans = _span_reliability(tagger, corpus, gold, guessed, n_bins, n_threads)
    return Calibration(tagger.measure, tagger.temperature, tokens, spans)


def _span_reliability(
    tagger: Tagger, corpus: Corpus, gold: Column, guessed: Column, n_bins: int, n_threads: int
) -> Reliability:
    types = sorted({*SpanReading.of(tagger.labels).types, *SpanReading.of(gold.values.tolist()).types})
    wanted, found = (find_spans(column, corpus.starts, types) for column in (gold, guessed))
    believed = [p for some in tagger.tag_spans_batch(corpus, n_threads=n_threads) for _, p in some]
    # Spans of both come by where they begin.
    known = _keys(wanted, len(types))
    return reliability(believed, np.isin(_keys(found, len(types)), known), n_bins)


def _keys(spans: SpanTable, n_types: int) -> Longs:
    """One number a span: where it begins, how long it is, its type."""
    longest = 1 << 20  # far more tokens than a sentence has
    return (spans.begins * longest + (spans.ends - spans.begins)) * n_types + spans.types


def _codes(tagger: Tagger, column: Column) -> Ints:
    """A column's labels by the model's numbers, -1 for those that it does not have."""
    number = {label: z for z, label in enumerate(tagger.labels)}
    of_value = np.array([number.get(label, -1) for label in column.values] or [-1], np.int32)
    return of_value[column.codes]
