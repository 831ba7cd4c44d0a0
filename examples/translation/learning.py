"""The weights of a translator, learnt by `trellis.StructuredModel`: perceptrons with three kinds of updates, and MIRA.

A translation y can be derived in many ways, or in none: the right output is hidden, and has to be found before the
learner can step towards it. Liang et al. 2006 look at three ways to choose it:

    bold     the best derivation of the reference itself; where there is none the sentence is left out
    local    of the k best derivations the one whose words are nearest to the reference, by BLEU
    hybrid   bold where the reference can be derived, else local

The rest is the general learner: w += Phi(chosen) - Phi(best), or MIRA's smallest step after which the chosen one beats
the k best by what they lose in BLEU.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from examples.translation.corpus import Pair, Words
from examples.translation.decoder import Decoder
from examples.translation.features import UNTUNED, Derivation, words_of
from trellis import MIRA, Learner, Perceptron, StructuredModel, Weights
from trellis.learning.feature_problem import FeatureWeights
from trellis.learning.run import Observer

Update = Literal["bold", "local", "hybrid"]
ORDER = 4  # of n-grams in BLEU


def sentence_bleu(words: Words, reference: Words) -> float:
    """BLEU+1 (Lin and Och 2004), from 0 to 1: one is added to the counts of n-grams of two words and more."""
    if not words:
        return 0.0
    total = 0.0
    for n in range(1, ORDER + 1):
        ours = Counter(zip(*(words[i:] for i in range(n)), strict=False))
        theirs = Counter(zip(*(reference[i:] for i in range(n)), strict=False))
        right, more = (ours & theirs).total(), n > 1
        if right + more == 0:
            return 0.0
        total += math.log((right + more) / (ours.total() + more))
    return math.exp(total / ORDER + min(0.0, 1 - len(reference) / len(words)))


@dataclass
class Translation:
    """Translation as a problem of `trellis.StructuredModel`: an input is a sentence, and an output a derivation."""

    decoder: Decoder
    update: Update = "hybrid"
    k: int = 50  # how many derivations local updates choose from
    _lists: tuple[Words, Weights, list[Derivation]] | None = field(default=None, init=False, repr=False)

    def argmax(self, x: Words, weights: Weights) -> Derivation:
        """The best derivation that the beam finds."""
        return self.kbest(x, weights, 1)[0]

    def kbest(self, x: Words, weights: Weights, k: int) -> list[Derivation]:
        """The k best; of derivations that say the same only the first."""
        if k == 1 and (self._lists is None or self._lists[0] is not x or self._lists[1] is not weights):
            return self.decoder.kbest(x, weights, 1)
        different = dict[Words, Derivation]()
        for derivation in self._list(x, weights):
            different.setdefault(words_of(derivation), derivation)
        return list(different.values())[:k]

    def features(self, x: Words, y: Derivation) -> Mapping[str, float]:
        """Phi."""
        return self.decoder.features.of_derivation(y)

    def cost(self, x: Words, y: Words, z: Derivation) -> float:
        """1 - BLEU+1."""
        return 1 - sentence_bleu(words_of(z), y)

    def target(self, x: Words, y: Words, weights: Weights) -> Derivation | None:
        """The derivation to step towards."""
        if self.update != "local":
            reached = self.decoder.kbest(x, weights, 1, reference=y)
            if reached or self.update == "bold":
                return reached[0] if reached else None
        return min(self._list(x, weights), key=lambda z: self.cost(x, y, z))

    def _list(self, x: Words, weights: Weights) -> list[Derivation]:
        """The k best derivations; kept, for a learner asks for them twice."""
        if self._lists is None or self._lists[0] is not x or self._lists[1] is not weights:
            self._lists = (x, weights, self.decoder.kbest(x, weights, self.k))
        return self._lists[2]


def untuned(decoder: Decoder) -> StructuredModel:
    """The weights before anything is learnt, as a model."""
    return StructuredModel(
        Translation(decoder), tuple(UNTUNED), FeatureWeights(np.array(list(UNTUNED.values()), np.float32))
    )


@dataclass(frozen=True, slots=True)
class Setting:
    """A way to learn. Training starts from ``scale`` times the untuned weights: the greater, the smaller the steps."""

    update: Update
    learner: Learner
    scale: float = 1.0


SETTINGS = {
    "perceptron, bold": Setting("bold", Perceptron(epochs=3, shuffle=True), 100.0),
    "perceptron, local": Setting("local", Perceptron(epochs=3, shuffle=True), 100.0),
    "perceptron, hybrid": Setting("hybrid", Perceptron(epochs=3, shuffle=True), 100.0),
    "MIRA, local": Setting("local", MIRA(k=10, C=0.01, epochs=3, shuffle=True)),
}


def learn(
    decoder: Decoder,
    pairs: Sequence[Pair],
    setting: Setting,
    *,
    dev: Sequence[Pair],
    observer: Observer | None = None,
) -> StructuredModel:
    """Learn from pairs; the epoch that is best on ``dev`` is kept."""

    def metric(outputs: list[Derivation], right: list[Words]) -> float:
        return bleu([words_of(output) for output in outputs], right)

    problem = Translation(decoder, setting.update)
    init = {name: setting.scale * weight for name, weight in UNTUNED.items()}
    return StructuredModel.train(
        pairs, problem=problem, learner=setting.learner, init=init, dev=dev, metric=metric, observer=observer
    )


def translate(model: StructuredModel, sentences: Sequence[Words]) -> list[Words]:
    """The best translation of each sentence."""
    return [words_of(model.predict(sentence)) for sentence in sentences]


def bleu(translations: Sequence[Words], references: Sequence[Words]) -> float:
    """BLEU of a whole text, by sacrebleu; the words are as they are in the files."""
    import sacrebleu

    ours, theirs = ([" ".join(words) for words in texts] for texts in (translations, references))
    return float(sacrebleu.corpus_bleu(ours, [theirs], tokenize="none", force=True).score)
