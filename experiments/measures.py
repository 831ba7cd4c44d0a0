"""Figures that several experiments need: a tagging measured, two taggings compared."""

from __future__ import annotations

from itertools import combinations

import numpy as np

import trellis
from experiments.report import Table
from experiments.steps import Figures, Setting
from trellis._support.arrays import Bools, Longs
from trellis.corpus.schemes import guess_scheme
from trellis.evaluation.significance import bootstrap, mcnemar, randomisation, sentence_counts
from trellis.evaluation.tagging import evaluate_columns, right_tokens


def tested(tagger: trellis.Tagger, corpus: trellis.Corpus, target: str, setting: Setting) -> Figures:
    """F1 where labels mark spans, else accuracy, in per cent, with what comparing it with another tagger takes."""
    gold = corpus.column(target)
    found = tagger.tag_column(corpus, n_threads=setting.n_threads)
    spans = guess_scheme(gold.values) is not None
    counts = sentence_counts(gold, found, corpus.starts, spans=spans)
    right = right_tokens(gold, found)
    return {
        "score": 100 * evaluate_columns(gold, found, corpus.starts).headline,
        "interval": [100 * end for end in bootstrap(counts)],
        "counts": [" ".join(map(str, column)) for column in counts.T],
        "wrong": " ".join(map(str, np.flatnonzero(~right))),
        "tokens": len(right),
    }


def counts_of(figures: Figures) -> Longs:
    """Correct, predicted and gold of each sentence, as ``tested`` kept them."""
    return np.array([column.split() for column in figures["counts"]], np.int64).T


def right_of(figures: Figures) -> Bools:
    """Which tokens are right."""
    right = np.ones(figures["tokens"], bool)
    right[np.array(figures["wrong"].split(), np.int64)] = False
    return right


def compared(of: dict[str, Figures]) -> Table:
    """Every pair of taggings of the same corpus, by McNemar's test on tokens and by randomisation of the score."""
    rows = list[list[str | float]]()
    for (a, first), (b, second) in combinations(of.items(), 2):
        tokens, score = mcnemar(right_of(first), right_of(second)), randomisation(counts_of(first), counts_of(second))
        rows.append([f"{a} / {b}", f"{tokens.a:.0f} / {tokens.b:.0f}", probability(tokens.p), probability(score.p)])
    columns = ["pair", "tokens that only one has right", "p, McNemar on tokens", "p, randomisation of the score"]
    return Table("Compared on the test file", columns, rows)


def probability(p: float) -> str:
    """As papers write it."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def interval(figures: Figures) -> str:
    """The bootstrap interval of ``tested``."""
    low, high = figures["interval"]
    return f"{low:.2f}–{high:.2f}"
