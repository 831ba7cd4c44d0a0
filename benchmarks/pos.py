"""Parts of speech of CoNLL-2000 from words alone: the default features against NLTK's PerceptronTagger."""

from __future__ import annotations

import random
from importlib.metadata import version

import trellis
from benchmarks.common import Result, Setting, best_of, points, read_rows, seconds, take, timed, versus

EPOCHS = 5


def run(setting: Setting) -> Result:
    """Train both in turn, then tag with both in turn."""
    from nltk.tag.perceptron import PerceptronTagger

    train = take(read_rows(setting.file("conll2000/train.txt")), 0, 1)
    test = read_rows(setting.file("conll2000/test.txt"))
    sentences, gold = take(test, 0), take(test, 1)
    n_tokens = sum(map(len, sentences))

    def train_ours() -> trellis.Tagger:
        corpus = trellis.read(train, columns="word,pos")
        return trellis.train(corpus, target="pos", learner=trellis.Perceptron(epochs=EPOCHS))

    def train_theirs() -> PerceptronTagger:
        random.seed(1)  # it shuffles
        tagger = PerceptronTagger(load=False)
        tagger.train(train, nr_iter=EPOCHS)
        return tagger

    turns = [(timed(train_ours), timed(train_theirs)) for _ in range(setting.rounds)]
    our_train, their_train = (min(turn[who][0] for turn in turns) for who in (0, 1))
    tagger, rival = turns[-1][0][1], turns[-1][1][1]

    def tag_theirs() -> list[list[str]]:
        return [[tag for _, tag in rival.tag(sentence)] for sentence in sentences]

    def tag_ours(n_threads: int | None) -> float:
        fresh = trellis.Tagger(tagger.model)  # has met no word yet
        return timed(lambda: fresh.tag_batch(sentences, n_threads=n_threads))[0]

    accuracy = [
        100 * trellis.evaluate(gold, found).token_accuracy
        for found in (tagger.tag_batch(sentences), tag_theirs())
    ]
    ours, ours_1, theirs = best_of(
        setting.rounds, lambda: tag_ours(None), lambda: tag_ours(1), seconds(tag_theirs)
    )
    return Result(
        f"CoNLL-2000 parts of speech, {n_tokens:,} test tokens, {EPOCHS} epochs",
        [
            points("accuracy, % (gain in points)", *accuracy, bar=0.0),
            versus("training, s", our_train, their_train, better="less", bar=10.0),
            *(
                versus(what, n_tokens / elapsed, n_tokens / theirs, better="more", bar=10.0)
                for what, elapsed in (
                    ("tagging, tokens/s, all threads", ours),
                    ("tagging, tokens/s, one thread", ours_1),
                )
            ),
        ],
        f"NLTK {version('nltk')}, PerceptronTagger(load=False).train(sentences, nr_iter={EPOCHS})",
    )
