"""How time and memory grow: with the data, with the labels, with the order and with threads.

The data is a part of the Brown corpus, the perceptron has one epoch, the CRF a few iterations. Labels are made fewer by
joining tags and more by splitting frequent ones by their words, so that the text stays the same. The exponent is the
slope of a line through the logarithms, by least squares.
"""

from __future__ import annotations

import tempfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import Result, Setting
from benchmarks.compare import Contender, rotate
from benchmarks.rows import Sentence, read_rows, write_rows
from benchmarks.turns import Turn

TIMES = (1, 2, 4, 8)  # of the data
LABELS = (5, 12, 25, 50, 100, 200)
SENTENCES = 5000  # at one time the data
SPLIT = 4  # tags, those of the most words
CUBED = 50  # labels at most at order 2 without a tag dictionary: it grows with their cube
TRAIN, TAG = "benchmarks.contenders.growing:train", "benchmarks.contenders.growing:tag"


def run(setting: Setting) -> Result:
    """Each size in turn, the best of a few rounds."""
    sentences = read_rows(setting.file("brown-pos/train.tsv.gz"))
    n = SENTENCES // 10 if setting.quick else SENTENCES
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {k: folder / f"times{k}.txt" for k in TIMES}
        for k, file in files.items():
            write_rows(file, with_labels(sentences[: k * n], 25))
        for what, options in (
            ("perceptron, 1 epoch", {"learner": "perceptron"}),
            ("CRF, 5 iterations, 2 threads", {"learner": "crf", "n_threads": 2}),
            ("CRF, 5 iterations, 1 thread", {"learner": "crf", "n_threads": 1}),
        ):
            rows += _series(what, "tokens", files, TRAIN, options, setting)
        for n_threads in (2, 1):
            what = f"tagging, {n_threads} thread{'s' if n_threads > 1 else ''}"
            rows += _series(what, "tokens", files, TAG, {"n_threads": n_threads}, setting)
        files = {k: folder / f"labels{k}.txt" for k in LABELS}
        for k, file in files.items():
            write_rows(file, with_labels(sentences[:n], k))
        for order, dictionary in ((1, False), (1, True), (2, False), (2, True)):
            what = f"perceptron, order {order}{', tag dictionary' if dictionary else ''}"
            some = {k: file for k, file in files.items() if order == 1 or dictionary or k <= CUBED}
            options = {"learner": "perceptron", "order": order, "tag_dictionary": dictionary}
            rows += _series(what, "allowed" if dictionary else "labels", some, TRAIN, options, setting)
    return Result(
        f"growth, Brown, {n:,} sentences at one time the data",
        rows,
        notes=[
            "Seconds are of learning or tagging alone; exponent: of seconds (and of MB) as a power of what grows, over",
            "all sizes of a series. With a tag dictionary, what grows is the mean number of labels a token may have.",
            f"Order 2 without a tag dictionary is measured up to {CUBED} labels.",
        ],
    )


def with_labels(sentences: list[Sentence], n_labels: int) -> list[Sentence]:
    """The sentences with as many labels: rare tags joined into one, or the most frequent split by word."""
    counts = Counter(tag for sentence in sentences for _, tag in sentence)
    tags = [tag for tag, _ in counts.most_common()]
    if n_labels <= len(tags):
        kept = set(tags[: n_labels - 1])
        return [[(word, tag if tag in kept else "other") for word, tag in sentence] for sentence in sentences]
    # The tags of the most words can be split into any number of parts.
    words = Counter(tag for tag, _ in {(tag, word) for sentence in sentences for word, tag in sentence})
    tags = [tag for tag, _ in words.most_common()]
    share, more = divmod(n_labels - len(tags), SPLIT)
    parts = {tag: 1 + share + (rank < more) for rank, tag in enumerate(tags[:SPLIT])}

    def split(word: str, tag: str) -> str:
        return f"{tag}.{zlib.crc32(word.encode()) % parts.get(tag, 1)}"

    return [[(word, split(word, tag)) for word, tag in sentence] for sentence in sentences]


def _series(
    what: str, grows: str, files: dict[int, Path], call: str, options: dict[str, Any], setting: Setting
) -> list[dict[str, Any]]:
    contenders = [
        Contender(str(k), call, {"train": str(file), "model": f"{file}.model"} | options) for k, file in files.items()
    ]
    turns = rotate(contenders, min(2, setting.rounds))
    best = {k: min(turns[str(k)], key=lambda turn: turn.seconds) for k in files if str(k) in turns}
    sizes = [float(turn.figures[grows]) for turn in best.values()]
    rows = [
        {
            "series": what,
            "grows": grows,
            "size": float(turn.figures[grows]),
            "labels": turn.figures["labels"],
            "seconds": turn.seconds,
            "cpu": turn.cpu,
            "peak_mb": turn.peak_mb,
        }
        for turn in best.values()
    ]
    rows[-1] |= {
        "exponent": exponent(sizes, [turn.seconds for turn in best.values()]),
        "exponent of MB": exponent(sizes, [_megabytes(turn) for turn in best.values()]),
    }
    return rows


def _megabytes(turn: Turn) -> float:
    """What the data added to a process that has done nothing yet."""
    return max(1.0, turn.peak_mb - float(turn.figures["bare_mb"]))


def exponent(sizes: list[float], figures: list[float]) -> float:
    """The slope of log figure over log size."""
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])
