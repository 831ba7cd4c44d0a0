"""Brown clusters: classes of words from text without labels, for ``cluster(word[0], FILE, bits)``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trellis import _core
from trellis._support.arguments import file_path, instance, thread_count, whole_number
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Column, Corpus
from trellis.corpus.files import write_bytes


@dataclass(frozen=True, slots=True)
class WordClusters:
    """Words with their clusters. A cluster is a path of 0 and 1 in the tree of merges; similar words share prefixes.

    Attributes
    ----------
    words
        The words, most frequent first.
    counts
        Number of occurrences of each word.
    paths
        Path of each word.
    """

    words: list[str]
    counts: list[int]
    paths: list[str]

    def __len__(self) -> int:
        return len(self.words)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for templates ``cluster(word[0], FILE, bits)``: path, word and count, separated by tabs.

        Parameters
        ----------
        path
            Name of the file.
        """
        if (word := next((word for word in self.words if "\t" in word or "\n" in word), None)) is not None:
            reason = f"the word {word!r} contains a tab or a line break, which a cluster file does not support; omit it"
            raise CorpusError("", None, reason)
        order = sorted(range(len(self)), key=lambda i: (self.paths[i], i))
        lines = (f"{self.paths[i]}\t{self.words[i]}\t{self.counts[i]}\n" for i in order)
        write_bytes(str(file_path("path", path)), "".join(lines).encode())


def brown_clusters(
    corpus: Corpus,
    n_classes: int = 1000,
    *,
    column: str | None = None,
    min_count: int = 1,
    progress: Callable[[int, int], None] | None = None,
    n_threads: int | None = None,
) -> WordClusters:
    """Cluster the words of a corpus by their neighbours (Brown et al. 1992), with the exact greedy algorithm.

    Parameters
    ----------
    corpus
        Sentences; no labels are needed.
    n_classes
        Number of classes in the window of the algorithm.
    column
        Column to cluster (default: the first one with strings).
    min_count
        Words with fewer occurrences are ignored.
    progress
        Function that gets the number of words done and the number of all words.
    n_threads
        Number of threads (default: all cores).

    Returns
    -------
    WordClusters
        The clusters.

    Examples
    --------
    >>> import trellis
    >>> sentences = [["the", "dog", "ran"], ["the", "cat", "ran"], ["a", "dog", "slept"], ["a", "cat", "slept"]]
    >>> corpus = trellis.read(sentences)
    >>> clusters = trellis.brown_clusters(corpus, n_classes=2)
    >>> len(clusters), clusters.words[0]
    (6, 'the')
    """
    instance("corpus", corpus, Corpus, "a Corpus, as returned by trellis.read")
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress must be a function of two numbers, not {progress!r}")
    n_classes, min_count = whole_number("n_classes", n_classes, 2, 1 << 14), whole_number("min_count", min_count, 1)
    words = corpus.column(column or next(name for name, values in corpus.columns.items() if isinstance(values, Column)))
    counts = words.counts()
    frequent = np.flatnonzero(counts >= min_count)
    if len(frequent) < 2:
        raise CorpusError(
            corpus.source, None, f"fewer than two words occur {min_count} times or more; use a smaller min_count"
        )
    order = frequent[np.lexsort((frequent, -counts[frequent]))]  # the most frequent first, then the first seen
    rank = np.full(len(words.values), -1, np.int64)
    rank[order] = np.arange(len(order))
    ranks = rank[words.codes]
    alive = ranks >= 0
    # Runs of in-vocabulary tokens; a skipped token breaks the run, so no bigram spans it.
    sentence, n_dropped = np.repeat(np.arange(len(corpus)), np.diff(corpus.starts)), np.cumsum(~alive)
    cuts = np.flatnonzero(np.diff(sentence[alive]) + np.diff(n_dropped[alive])) + 1
    tokens, starts = ranks[alive].astype(np.int32), np.array([0, *cuts, alive.sum()], np.int64)

    def show(n_done: int) -> None:
        if progress is not None:
            progress(n_done, len(order))

    n_threads = thread_count(n_threads)
    class_of, merges = _core.brown_clusters(tokens, starts, len(order), n_classes, n_threads=n_threads, told=show)
    paths, members = [""] * (len(merges) + 1), [[c] for c in range(len(merges) + 1)]
    for first, second in merges:  # the tree of merges, leaves first
        for bit, joined in (("0", first), ("1", second)):
            for c in members[joined]:
                paths[c] = bit + paths[c]
        members[first] += members[second]
    strings = words.values.at(order.astype(np.int32))
    return WordClusters(strings, counts[order].tolist(), [paths[c] for c in class_of])
