"""The temperature by which scores are divided before they become probabilities, fitted to held-out labels.

A temperature above 1 lowers confidences, below 1 raises them; the order of paths never changes. It minimises the
negative log-likelihood of the gold labels, each under its marginal ("labels"), or of the gold paths ("paths", convex in
the inverse temperature). The search goes by fixed steps: the same figures give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from trellis._support.arrays import Ints
from trellis.engine.chain import Chains
from trellis.tasks.tagging.segments.chains import SegmentChains

Loss = Literal["labels", "paths"]
LEAST, MOST = 2.0**-6, 2.0**12  # scores of a perceptron may be in the hundreds
STEPS = 16  # of golden section: the bracket, a factor of 4, shrinks to one of 1.0007
FLOOR = 1e-300  # the least probability whose logarithm is taken


def fit_temperature(
    pieces: Sequence[Chains | SegmentChains], golds: Sequence[Ints], loss: Loss, n_threads: int
) -> dict[str, Any] | None:
    """The temperature of least loss on these sentences, for the record; None if no gold label is possible.

    Losses are in nats per label or path. Labels that are not known (-1) or are forbidden say nothing of the temperature
    and are left out, and so are paths with any of them.
    """
    loss_of = _label_loss if loss == "labels" else _path_loss
    golds = [_possible(piece, gold, n_threads) for piece, gold in zip(pieces, golds, strict=True)]

    def mean_loss(temperature: float) -> tuple[float, int]:
        parts = [loss_of(piece, gold, temperature, n_threads) for piece, gold in zip(pieces, golds, strict=True)]
        n = sum(count for _, count in parts)
        return sum(total for total, _ in parts) / max(n, 1), n

    at_one, n = mean_loss(1.0)
    if n == 0:
        return None
    temperature = search(lambda temperature: mean_loss(temperature)[0])
    losses = {"loss": mean_loss(temperature)[0], "loss_at_temperature_1": at_one}
    return {"minimised": loss, loss: n, "temperature": temperature, **losses}


def search(loss: Callable[[float], float]) -> float:
    """Where a function of one valley is least: by powers of two from 1 downhill, then by golden section."""
    here, best = 1.0, loss(1.0)
    for factor in (2.0, 0.5):
        while LEAST <= here * factor <= MOST and (there := loss(here * factor)) < best:
            here, best = here * factor, there
        if here != 1.0:
            break
    low, high = math.log(max(here / 2, LEAST)), math.log(min(here * 2, MOST))
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
    """The labels, -1 for those that no path can have: no path's probability is 0 where all is hot."""
    _, node = chains.marginals(n_threads, MOST)
    return np.where((gold >= 0) & (node[np.arange(len(gold)), gold] > 0), gold, -1).astype(np.int32)


def _label_loss(chains: Chains | SegmentChains, gold: Ints, temperature: float, n_threads: int) -> tuple[float, int]:
    """-sum log P(gold label at t), over the labels that count."""
    _, node = chains.marginals(n_threads, temperature)
    counted = np.flatnonzero(gold >= 0)
    believed = np.maximum(node[counted, gold[counted]], FLOOR)
    return float(-np.log(believed).sum()), len(counted)


def _path_loss(chains: Chains | SegmentChains, gold: Ints, temperature: float, n_threads: int) -> tuple[float, int]:
    """Sum of log Z - score(gold path), over the paths that count."""
    starts = chains.starts
    unknown = np.concatenate([[0], np.cumsum(gold < 0)])
    whole = (unknown[starts[1:]] == unknown[starts[:-1]]) & (starts[1:] > starts[:-1])
    scores = chains.doubles.path_scores(np.maximum(gold, 0), n_threads) / temperature
    counted = whole & np.isfinite(scores)
    log_z = chains.log_partition(n_threads, temperature)
    return float((log_z[counted] - scores[counted]).sum()), int(counted.sum())
