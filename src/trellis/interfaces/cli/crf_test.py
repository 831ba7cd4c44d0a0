"""Labels laid out as crf_test of CRF++ does, for programs that read its output.

Fields are separated by tabs. With confidence (-v1) a line before the sentence has the probability of its labels, and
each label has its own after a slash; with all labels (-v2) those of all other labels follow. Of several best sequences
(-n) each stands in a block of its own, with its rank.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trellis.corpus.corpus import Column, Corpus

if TYPE_CHECKING:
    from trellis.tasks.tagging.model import Tagger


def crf_test_lines(tagger: Tagger, corpus: Corpus, given: Namespace) -> str:
    """The text of these sentences with their labels."""
    return "".join(f"{line}\n" for line in _lines(tagger, corpus, given))


def _lines(tagger: Tagger, corpus: Corpus, given: Namespace) -> Iterator[str]:
    n_threads, number = given.threads, {label: z for z, label in enumerate(tagger.labels)}
    order = sorted(tagger.labels)
    fields = [column.tolist() for column in corpus.columns.values() if isinstance(column, Column)]
    rows = list(zip(*fields, strict=True))
    lists = tagger.kbest_batch(corpus, given.kbest or 1, n_threads=n_threads)
    sure = given.confidence or given.all_labels
    posteriors = tagger.marginals_batch(corpus, n_threads=n_threads) if sure else None
    log_z = tagger.log_partition_batch(corpus, n_threads=n_threads) if sure or given.kbest else None
    begin = 0
    for i, paths in enumerate(lists):
        for rank, (labels, score) in enumerate(paths):
            if log_z is not None:
                share = math.exp(min(0.0, score / tagger.temperature - log_z[i]))
                yield f"# {f'{rank} ' if given.kbest else ''}{share:.6f}"
            for t, label in enumerate(labels):
                row = [*map(str, rows[begin + t]), label]
                if posteriors is not None:
                    node = posteriors[i].node[t]
                    row[-1] = f"{label}/{node[number[label]]:.6f}"
                    if given.all_labels:
                        row += [f"{other}/{node[number[other]]:.6f}" for other in order]
                yield "\t".join(row)
            yield ""
        begin += len(paths[0][0])
