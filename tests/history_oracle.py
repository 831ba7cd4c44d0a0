"""Templates with the labels before a token, by brute force: features are named, weights a dict, paths all of them."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import trellis

Key = tuple[str, str]  # a feature's name and its run of labels, as `heaviest` writes them
Weights = dict[Key, float]

# Templates by how many labels before they are about, and at which word they look.
TEMPLATES = {
    "word[0]": (0, 0),
    "label[-1] & word[0]": (1, 0),
    "label[-2..-1] & word[0]": (2, 0),
    "label[-3..-1] & word[-1]": (3, -1),
}
START = "<start>"


def _history(n: int) -> str:
    return "label[-1]" if n == 1 else f"label[-{n}..-1]"


def features_of(words: Sequence[str], path: Sequence[str], templates: Iterable[str], order: int) -> Weights:
    """How often each feature occurs."""
    phi: Weights = defaultdict(float)
    for t in range(len(words)):

        def run(n: int, t: int = t) -> str:
            """The label at t with the n before it; START once, where they reach beyond the sentence."""
            return " ".join([START, *path[: t + 1]] if n > t else path[t - n : t + 1])

        for template in templates:
            history, offset = TEMPLATES[template]
            value = words[t + offset] if t + offset >= 0 else f"_B-{-t - offset}"
            prefix = f"{_history(history)} & " if history else ""
            phi[f"{prefix}word[{offset}]={value}", run(history) if history else path[t]] += 1
        for n in range(1, min(order, t + 1) + 1):
            phi[_history(n), run(n)] += 1
    return phi


def minus(a: Weights, b: Weights) -> Weights:
    return {key: a.get(key, 0) - b.get(key, 0) for key in a.keys() | b.keys() if a.get(key, 0) != b.get(key, 0)}


def dot(a: Weights, b: Weights) -> float:
    return sum(value * b.get(key, 0) for key, value in a.items())


def weights_in(tagger: trellis.Tagger) -> Weights:
    """All weights of a model by name."""
    return {(one.feature, one.label): one.weight for one in tagger.top_features(10**6)}


class Paths:
    """All label sequences of a sentence with their features."""

    def __init__(self, words: Sequence[str], labels: Sequence[str], templates: Iterable[str], order: int) -> None:
        self.paths = list(itertools.product(labels, repeat=len(words)))
        self.phi = [features_of(words, path, templates, order) for path in self.paths]

    def scores(self, w: Weights) -> list[float]:
        return [dot(phi, w) for phi in self.phi]

    def probabilities(self, w: Weights) -> dict[tuple[str, ...], float]:
        scores = self.scores(w)
        log_z = math.log(sum(math.exp(score) for score in scores))
        return {path: math.exp(score - log_z) for path, score in zip(self.paths, scores, strict=True)}
