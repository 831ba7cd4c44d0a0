"""Brown clustering beside a plain C++ program that updates all pairs of classes after every merge, as the paper has it.

The text is the Brown corpus without its tags. The plain program is compiled here. As it would take most of an hour for
all words, both are compared on the most frequent ones, whose merges cost ours most and the plain program as much as
any other; ours alone then does all of it. Times on one thread are those of the processor.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import trellis
from benchmarks.common import Result, Setting, points, versus
from trellis.features.brown import brown_clusters

CLASSES, N_WORDS = 1000, 3000  # of the plain program; ours alone then takes all words


def run(setting: Setting) -> Result:
    """The whole text alone, then a part of it beside the plain program."""
    corpus = trellis.read(setting.file("brown-pos/train.tsv.gz"), columns="word,pos")
    classes, n_words = (20, 500) if setting.quick else (CLASSES, N_WORDS)
    counts = np.sort(np.bincount(corpus.column("word").codes))[::-1]
    least = int(counts[min(n_words, len(counts)) - 1]) + 1
    mine, ours = min(_timed(corpus, classes, least, 1) for _ in range(1 if setting.quick else setting.rounds))
    theirs, same = _plain(corpus, ours, classes)
    rows = [
        versus(f"{len(ours):,} words in {classes} classes, s, 1 thread", mine, theirs, better="less", bar=3),
        points("words in the same class, %", same, 100.0, bar=0),
    ]
    if not setting.quick:
        for threads in (1, 2):
            seconds, found = _timed(corpus, CLASSES, 2, threads)
            what = f"{corpus.n_tokens:,} tokens, {len(found):,} words in {CLASSES:,} classes, s, {threads} threads"
            rows.append({"what": what, "trellis": seconds})
    return Result("Brown clusters of the Brown corpus", rows, "plain C++, all pairs after every merge")


def _timed(corpus: trellis.Corpus, classes: int, least: int, n_threads: int) -> tuple[float, trellis.WordClusters]:
    clock = time.process_time if n_threads == 1 else time.perf_counter
    begun = clock()
    found = brown_clusters(corpus, classes, column="word", min_count=least, n_threads=n_threads)
    return clock() - begun, found


def _plain(corpus: trellis.Corpus, ours: trellis.WordClusters, classes: int) -> tuple[float, float]:
    number = {word: i for i, word in enumerate(ours.words)}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "plain"
        source = Path(__file__).with_name("brown_plain.cpp")
        subprocess.run(["c++", "-O3", "-march=native", "-std=c++20", "-o", program, source], check=True)
        lines = [f"{len(ours)} {classes}"]
        for words in corpus.sentences("word"):
            run: list[str] = []
            for word in (*words, ""):
                if word in number:
                    run.append(str(number[word]))
                elif run:
                    lines.append(" ".join(run))
                    run = []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    theirs = list(map(int, done.stdout.split()))
    pairs = {(a, b) for a, b in zip(theirs, ours.paths, strict=True)}
    agree = len(pairs) == len(set(theirs)) == len(set(ours.paths))
    return seconds, 100.0 if agree else 100.0 * len(set(ours.paths)) / len(pairs)
