"""The same bits with any number of threads, on any processor, by any compiler: digests of models and probabilities.

The digests are in files/digests.json. ``make same-bits`` runs these tests with a core that clang compiled, for the
oldest processors and hardly optimised. ``python tests/test_same_bits.py`` writes them anew, after a change of results.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import BY_NAME

import trellis

DIGESTS = Path(__file__).parent / "files" / "digests.json"
WORDS = {
    "N": ["dog", "cat", "walk", "run"],
    "V": ["sees", "walk", "run", "bites"],
    "D": ["the", "a"],
    "J": ["big", "old"],
}
FOLLOWS = {"": "DJN", "D": "JNN", "J": "JN", "N": "VVD", "V": "DDJ"}


def corpus(n: int = 80) -> trellis.Corpus:
    """Words with tags and names, made by chance."""
    rng = random.Random(5)
    words, tags, names = list[list[str]](), list[list[str]](), list[list[str]]()
    for _ in range(n):
        labels = [""]
        for _ in range(rng.randrange(2, 9)):
            labels.append(rng.choice(FOLLOWS[labels[-1]]))
        tags.append(labels[1:])
        words.append([rng.choice(WORDS[label]) for label in tags[-1]])
        names.append(["O" if b == "V" else "I-X" if a in "DJN" and a else "B-X" for a, b in itertools.pairwise(labels)])
    return trellis.read({"word": words, "tag": tags, "name": names})


def tagger(learner: Any, target: str = "tag", **options: Any) -> Callable[..., trellis.Model]:
    """Trains such a tagger."""
    return partial(trellis.Tagger.train, corpus(), target=target, learner=learner, **options)


CASES: dict[str, Callable[..., trellis.Model]] = {
    "perceptron": tagger(trellis.Perceptron(epochs=3)),
    "mira": tagger(trellis.MIRA(epochs=3, k=3)),
    "arow": tagger(trellis.AROW(epochs=3)),
    "crf": tagger(trellis.CRF(epochs=12)),
    "crf, order 2": tagger(trellis.CRF(epochs=8), order=2),
    "crf, order 3": tagger(trellis.CRF(epochs=8), order=3),
    "crf, L1": tagger(trellis.CRF(epochs=8, c1=0.3)),
    "crf, adagrad": tagger(trellis.CRF(epochs=4, solver="adagrad")),
    "crf of segments": tagger(trellis.CRF(epochs=8), target="name", segments=True),
    "crf, tag dictionary": tagger(trellis.CRF(epochs=8), search=trellis.Search(tag_dictionary=1)),
    "maximum entropy": tagger(trellis.MaxEnt(epochs=8)),
    "exponential loss": tagger(trellis.ExponentialLoss(epochs=8)),
    "boosting": tagger(trellis.SequenceBoost(epochs=20)),
    "hm-svm": tagger(trellis.HMSVM(epochs=4)),
    "hmm": tagger(trellis.HMM()),
    **{
        name: partial(BY_NAME[name].train, learner=trellis.CRF(epochs=5))
        for name in ("parser", "non-projective parser", "tree parser", "reranker")
    },
}


def digest_of(model: trellis.Model) -> str:
    """Of the weights, and of a tagger's probabilities."""
    tensors, _ = model._stored()
    found = hashlib.blake2b(digest_size=8)
    for name in sorted(tensors):
        if tensors[name].dtype.kind == "f":
            found.update(np.ascontiguousarray(tensors[name]).tobytes())
    for sentence in corpus(10).sentences("word") if isinstance(model, trellis.Tagger) else ():
        found.update(np.ascontiguousarray(model.marginals(sentence).node).tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_weights_and_probabilities_have_the_same_bits(case: str, n_threads: int) -> None:
    assert digest_of(CASES[case](n_threads=n_threads)) == json.loads(DIGESTS.read_text())[case]


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps({case: digest_of(train()) for case, train in CASES.items()}, indent=2) + "\n")
