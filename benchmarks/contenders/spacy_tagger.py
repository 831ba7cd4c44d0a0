"""spaCy's tagger, a small neural network, on a blank English pipeline."""

from __future__ import annotations

import random
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch

from benchmarks.clock import Clock, best
from benchmarks.rows import labels_of, read_rows, take

Work = dict[str, Any]


def train(work: Work, model: str, learner: str = "network", epochs: int = 2) -> Work:
    """Features are its network's, so learning has them in it."""
    fix_random_seed(1)
    with Clock() as total:
        nlp = spacy.blank("en")
        nlp.add_pipe("tagger")
        examples = [
            Example.from_dict(Doc(nlp.vocab, words=[token[0] for token in sentence]), {"tags": labels_of(sentence)})
            for sentence in read_rows(work["train"])
        ]
        optimizer = nlp.initialize(lambda: examples)
        with Clock() as training:
            for _ in range(epochs):
                random.shuffle(examples)
                for batch in minibatch(examples, size=32):
                    nlp.update(batch, sgd=optimizer, drop=0.1)
        nlp.to_disk(model)
    return training.figures() | {"total": total.seconds}


def label(work: Work, model: str, repeats: int = 1) -> Work:
    """In batches; the words are given, so its tokenizer has no part in it."""
    sentences, nlp = take(read_rows(work["test"]), 0), spacy.load(model)

    def tag() -> list[list[str]]:
        docs = (Doc(nlp.vocab, words=sentence) for sentence in sentences)
        return [[token.tag_ for token in doc] for doc in nlp.pipe(docs, batch_size=128)]

    figures, found = best(tag, repeats)
    return figures | {"labels": found}
