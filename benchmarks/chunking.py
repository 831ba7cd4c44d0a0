"""Chunking of CoNLL-2000, all phrases: the averaged perceptron here and in python-crfsuite.

Both get the 19 templates of the preset ``chunking`` and ten epochs. python-crfsuite's attributes come from a
plain Python function, as its users write it; trellis makes its own.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import trellis
from benchmarks.common import (
    Result,
    Setting,
    best_of,
    peak_mb,
    points,
    read_rows,
    seconds,
    take,
    timed,
    versus,
)

EPOCHS = 10
Sentence = list[tuple[str, ...]]  # (word, pos) or (word, pos, label) a token


def attributes(sentence: Sentence) -> list[list[str]]:
    """The attributes of every token of (word, pos, ...), as lists of strings."""
    words = ["_B-2", "_B-1", *[token[0] for token in sentence], "_B+1", "_B+2"]
    tags = ["_B-2", "_B-1", *[token[1] for token in sentence], "_B+1", "_B+2"]
    around = zip(*(words[k:] for k in range(5)), *(tags[k:] for k in range(5)), strict=False)
    return [
        [
            f"w[-2]={a}",
            f"w[-1]={b}",
            f"w[0]={c}",
            f"w[1]={d}",
            f"w[2]={e}",
            f"w[-1]|w[0]={b}|{c}",
            f"w[0]|w[1]={c}|{d}",
            f"pos[-2]={p}",
            f"pos[-1]={q}",
            f"pos[0]={r}",
            f"pos[1]={s}",
            f"pos[2]={t}",
            f"pos[-2]|pos[-1]={p}|{q}",
            f"pos[-1]|pos[0]={q}|{r}",
            f"pos[0]|pos[1]={r}|{s}",
            f"pos[1]|pos[2]={s}|{t}",
            f"pos[-2]|pos[-1]|pos[0]={p}|{q}|{r}",
            f"pos[-1]|pos[0]|pos[1]={q}|{r}|{s}",
            f"pos[0]|pos[1]|pos[2]={r}|{s}|{t}",
        ]
        for a, b, c, d, e, p, q, r, s, t in around
    ]


def train_trellis(path: Path | str, pairs: str = "all") -> tuple[trellis.Tagger, float]:
    """From a file to a tagger; also the seconds of an average epoch."""
    learner = trellis.Perceptron(epochs=EPOCHS)
    seconds: list[float] = []
    tagger = trellis.train(
        trellis.read(path),
        target="label",
        features="chunking",
        learner=learner,
        pairs=pairs,
        observer=lambda event: seconds.append(event.seconds or 0.0),
    )
    return tagger, sum(seconds) / EPOCHS


def train_crfsuite(path: Path | str, model: str) -> tuple[float, float]:
    """From a file to a model file; seconds of an average epoch by a clock around train and by its log."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer("ap", verbose=False)
    trainer.set_params({"max_iterations": EPOCHS, "epsilon": 0.0})
    for sentence in read_rows(path):
        trainer.append(attributes(sentence), [token[2] for token in sentence])
    elapsed, _ = timed(lambda: trainer.train(model))
    iterations = trainer.logparser.iterations
    if len(iterations) != EPOCHS:
        raise RuntimeError(f"python-crfsuite ran {len(iterations)} epochs, not {EPOCHS}")
    return elapsed / EPOCHS, sum(iteration["time"] for iteration in iterations) / EPOCHS


def run(setting: Setting) -> Result:
    """Train both in turn, then tag with both in turn."""
    import pycrfsuite

    train, test = setting.file("conll2000/train.txt"), setting.file("conll2000/test.txt")
    rows = read_rows(test)
    gold, sentences = take(rows, 2), take(rows, 0, 1)
    n_tokens = sum(map(len, sentences))
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "model")
        ours, theirs = [], []
        for _ in range(setting.rounds):
            total, (tagger, epoch) = timed(lambda: train_trellis(train))
            ours.append((total, epoch, epoch))
            total, epochs = timed(lambda: train_crfsuite(train, file))
            theirs.append((total, *epochs))
        our_total, our_epoch, _ = map(min, zip(*ours, strict=True))
        their_total, their_epoch, their_logged = map(min, zip(*theirs, strict=True))
        our_peak = peak_mb("benchmarks.chunking", "train_trellis", str(train))
        seen_peak = peak_mb("benchmarks.chunking", "train_trellis", str(train), "seen")
        their_peak = peak_mb("benchmarks.chunking", "train_crfsuite", str(train), file)
        rival = pycrfsuite.Tagger()
        rival.open(file)

        def fresh() -> trellis.Tagger:
            """A tagger that has met no word yet."""
            return trellis.Tagger(tagger.model)

        def tag_theirs() -> list[list[str]]:
            return [rival.tag(attributes(sentence)) for sentence in sentences]

        f1 = [_f1(gold, tagger.tag_batch(sentences)), _f1(gold, tag_theirs())]
        seen_f1 = _f1(gold, train_trellis(train, "seen")[0].tag_batch(sentences))
        new, new_1, met, met_1, other = best_of(
            3 * setting.rounds,
            lambda: _seconds_to_tag(fresh(), sentences, None),
            lambda: _seconds_to_tag(fresh(), sentences, 1),
            lambda: _seconds_to_tag(tagger, sentences, None),
            lambda: _seconds_to_tag(tagger, sentences, 1),
            seconds(tag_theirs),
        )
        lone = [sentence for sentence in sentences if 23 <= len(sentence) <= 27]
        wait_new, wait_met, wait_other = best_of(
            setting.rounds,
            lambda: _median_wait(fresh().tag, lone),
            lambda: _median_wait(tagger.tag, lone),
            lambda: _median_wait(lambda sentence: rival.tag(attributes(sentence)), lone),
        )
    return Result(
        f"CoNLL-2000, {n_tokens:,} test tokens, averaged perceptron, {EPOCHS} epochs",
        [
            points("F1, % (gain in points)", *f1, bar=-0.3),
            points("the same, pairs='seen'", seen_f1, f1[1], bar=-0.3),
            versus("learning, s an epoch", our_epoch, their_epoch, better="less", bar=3.0),
            versus("the same, by its own log", our_epoch, their_logged, better="less", bar=3.0),
            versus("file to model, s", our_total, their_total, better="less"),
            versus("peak memory of that, MB", our_peak, their_peak, better="less", bar=1.0),
            versus("the same, pairs='seen'", seen_peak, their_peak, better="less"),
            *(
                versus(what, n_tokens / elapsed, n_tokens / other, better="more", bar=5.0)
                for what, elapsed in (
                    ("tagging, tokens/s, all threads", new),
                    ("tagging, tokens/s, one thread", new_1),
                    ("the same words again, all threads", met),
                    ("the same words again, one thread", met_1),
                )
            ),
            versus("one sentence, median µs", 1e6 * wait_new, 1e6 * wait_other, better="less", bar=5.0),
            versus("the same words again, median µs", 1e6 * wait_met, 1e6 * wait_other, better="less"),
        ],
        f"python-crfsuite {version('python-crfsuite')}, Trainer('ap'), max_iterations={EPOCHS}, epsilon=0",
        [
            "Tagging begins with a tagger that has met no word yet; then the same words again.",
            f"One sentence: {len(lone)} test sentences of 23 to 27 words, each by itself.",
            "pairs='seen' gives weights to the labels an attribute was seen with, as the rival does.",
        ],
    )


def _f1(gold: list[list[str]], found: list[list[str]]) -> float:
    return 100 * trellis.evaluate(gold, found).headline


def _seconds_to_tag(tagger: trellis.Tagger, sentences: list[Sentence], n_threads: int | None) -> float:
    return timed(lambda: tagger.tag_batch(sentences, n_threads=n_threads))[0]


def _median_wait(tag: Callable[[Sentence], list[str]], sentences: list[Sentence]) -> float:
    waits = []
    for sentence in sentences:
        begun = time.perf_counter()
        tag(sentence)
        waits.append(time.perf_counter() - begun)
    return statistics.median(waits)
