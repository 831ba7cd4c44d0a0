"""Brown clustering beside a plain C++ program that updates all pairs of classes after every merge, as the paper has it.

The text is the Brown corpus without its tags. The plain program is compiled here. As it takes hours with many classes,
both are compared on the most frequent words and fewer classes; ours alone then does all of it.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import trellis
from benchmarks.common import Result, Setting, points, versus
from trellis.features.brown import brown_clusters

CLASSES, SAME = 1000, (100, 3000)  # classes; classes and words on which the plain program is run too


def run(setting: Setting) -> Result:
    """The whole text alone, then a part of it beside the plain program."""
    corpus = trellis.read(setting.file("brown-pos/train.tsv.gz"), columns="word,pos")
    classes, n_words = (20, 500) if setting.quick else SAME
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
    begun = time.perf_counter()
    found = brown_clusters(corpus, classes, column="word", min_count=least, n_threads=n_threads)
    return time.perf_counter() - begun, found


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
        begun = time.perf_counter()
        done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begun
    theirs = list(map(int, done.stdout.split()))
    pairs = {(a, b) for a, b in zip(theirs, ours.paths, strict=True)}
    agree = len(pairs) == len(set(theirs)) == len(set(ours.paths))
    return seconds, 100.0 if agree else 100.0 * len(set(ours.paths)) / len(pairs)
