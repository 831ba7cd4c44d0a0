"""Significance tests for two systems on the same sentences.

- ``mcnemar`` counts the tokens that only one of the two systems labels correctly.
- ``randomisation`` swaps the outputs of random sentences, and counts how often the difference of scores is at least as
  large (Noreen 1989; for F1: Yeh 2000).
- ``bootstrap`` resamples sentences with replacement, and gives an interval of the score.

The last two use counts of each sentence: correct, predicted, gold. The score is F1; for labels of tokens it equals the
accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trellis._support.arrays import Doubles, Longs
from trellis._support.errors import ArgumentError
from trellis.corpus.corpus import Column
from trellis.evaluation.scores import span_counts
from trellis.evaluation.tagging import right_tokens

_AT_ONCE = 1_000_000  # maximum size of an array of samples


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of a significance test of two systems A and B.

    Attributes
    ----------
    a
        Evidence for A: number of tokens that only A has correct, or its F1.
    b
        The same for B.
    p
        P-value: probability of such a difference between systems of equal quality.
    """

    a: float
    b: float
    p: float


def mcnemar(right_a: npt.ArrayLike, right_b: npt.ArrayLike) -> Comparison:
    """McNemar's test, exact and two-sided.

    Parameters
    ----------
    right_a
        For each token whether system A is correct.
    right_b
        For each token whether system B is correct.

    Returns
    -------
    Comparison
        The comparison.

    Examples
    --------
    >>> from trellis.evaluation.significance import mcnemar
    >>> mcnemar([True, True, False], [False, True, False])
    Comparison(a=1, b=0, p=1.0)
    """
    a, b = np.asarray(right_a, bool), np.asarray(right_b, bool)
    if a.shape != b.shape:
        raise ArgumentError(f"{a.size} and {b.size} tokens; compare the same sentences")
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    n, fewest = only_a + only_b, min(only_a, only_b)
    # p = 2 * sum_{k <= least} (n over k) / 2^n, which counts the middle twice
    logs = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2) for k in range(fewest + 1)
    ]
    return Comparison(only_a, only_b, min(1.0, 2 * math.fsum(map(math.exp, logs))))


def sentence_counts(gold: Column, predicted: Column, starts: Longs, *, spans: bool) -> Longs:
    """Count correct, predicted and gold spans or tokens of each sentence.

    Parameters
    ----------
    gold
        Gold labels.
    predicted
        Predicted labels.
    starts
        [n_sentences + 1] first token of each sentence.
    spans
        Whether to count spans instead of tokens.

    Returns
    -------
    Longs
        [n_sentences, 3].
    """
    if spans:
        return span_counts(gold, predicted, starts)
    sums = np.concatenate([[0], np.cumsum(right_tokens(gold, predicted))])
    lengths = np.diff(starts)
    return np.stack([np.diff(sums[starts]), lengths, lengths], axis=1).astype(np.int64)


def f1_of(counts: npt.ArrayLike) -> Doubles:
    """2 correct / (predicted + gold) over the last axis; 0 if the denominator is 0."""
    correct, predicted, gold = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    total = predicted + gold
    return np.asarray(np.divide(2 * correct, total, out=np.zeros_like(total), where=total > 0))


def randomisation(
    counts_a: npt.ArrayLike, counts_b: npt.ArrayLike, *, draws: int = 10_000, seed: int = 0
) -> Comparison:
    """Approximate randomisation test of F1, two-sided.

    Parameters
    ----------
    counts_a
        [n_sentences, 3] of system A, as from ``sentence_counts``.
    counts_b
        [n_sentences, 3] of system B, for the same sentences.
    draws
        Number of random exchanges.
    seed
        Seed of the exchanges.

    Returns
    -------
    Comparison
        The comparison.
    """
    a, b = _counts(counts_a), _counts(counts_b)
    if a.shape != b.shape:
        raise ArgumentError(f"{len(a)} and {len(b)} sentences; compare the same sentences")
    f1_a, f1_b = (float(f1_of(counts.sum(axis=0))) for counts in (a, b))
    sums, rng = (a + b).sum(axis=0), np.random.default_rng(seed)
    half = (a - b)[(a != b).any(axis=1)].astype(np.float64)  # swapping equal counts changes nothing
    as_far = 0
    for n in _blocks(draws, len(half)):
        signs = rng.integers(0, 2, (n, len(half)), np.int8) * 2.0 - 1
        shuffled = (sums + signs @ half) / 2  # the counts of "A" after swapping
        as_far += int((np.abs(f1_of(shuffled) - f1_of(sums - shuffled)) >= abs(f1_a - f1_b) - 1e-12).sum())
    return Comparison(f1_a, f1_b, (as_far + 1) / (draws + 1))


def bootstrap(counts: npt.ArrayLike, *, level: float = 0.95, draws: int = 10_000, seed: int = 0) -> tuple[float, float]:
    """Compute a bootstrap confidence interval of F1, by percentiles.

    Parameters
    ----------
    counts
        [n_sentences, 3], as from ``sentence_counts``.
    level
        Confidence level.
    draws
        Number of samples.
    seed
        Seed of the samples.

    Returns
    -------
    tuple[float, float]
        Lower and upper limit.
    """
    table, rng = _counts(counts), np.random.default_rng(seed)
    if not 0 < level < 1:
        raise ArgumentError(f"level must be between 0 and 1, not {level!r}")
    if not len(table):
        return 0.0, 0.0
    # Sentences with the same counts are sampled together: multinomial numbers of them.
    kinds, sizes = np.unique(table, axis=0, return_counts=True)
    scores = [f1_of(rng.multinomial(len(table), sizes / len(table), n) @ kinds) for n in _blocks(draws, len(kinds))]
    low, high = np.quantile(np.concatenate(scores), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _blocks(draws: int, width: int) -> Iterator[int]:
    """Block sizes of samples, so that an array of ``width`` counts per sample stays small."""
    size = max(1, _AT_ONCE // max(1, width))
    for first in range(0, draws, size):
        yield min(size, draws - first)


def _counts(values: npt.ArrayLike) -> Longs:
    counts = np.asarray(values, np.int64)
    if counts.ndim != 2 or counts.shape[1] != 3:
        raise ArgumentError(f"counts must be [n_sentences, 3], not {list(counts.shape)}")
    return counts
