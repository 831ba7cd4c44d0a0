"""The perceptron and Viterbi, step by step, for the studio's Learn view: small enough to be followed by eye.

A word has the features word=the and suffix=he; a label has those of its word and of the label before it. Weights are
whole numbers: every mistake adds one to what is right and takes one from what was answered (Collins 2002, figure 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from trellis._support.errors import ArgumentError

EPOCHS, MOST_WORDS, MOST_LABELS = 6, 60, 12
START = "<start>"

Weights = Mapping[tuple[str, str], int]  # by feature and label; default 0


def lessons(sentences: list[list[tuple[str, str]]]) -> list[dict[str, Any]]:
    """All steps until a pass without mistakes: the sentence, its best path, changes, the Viterbi table."""
    labels = sorted({label for sentence in sentences for _, label in sentence})
    if not labels or "" in labels:
        raise ArgumentError("every word needs a label: the/D dog/N")
    if sum(map(len, sentences)) > MOST_WORDS or len(labels) > MOST_LABELS:
        raise ArgumentError(f"a lesson has at most {MOST_WORDS} words and {MOST_LABELS} labels")
    weights, steps = Counter[tuple[str, str]](), list[dict[str, Any]]()
    for epoch in range(1, EPOCHS + 1):
        for i, sentence in enumerate(sentences):
            words, gold = [word for word, _ in sentence], [label for _, label in sentence]
            answer = viterbi(words, labels, weights)
            changes = Counter(path_features(words, gold))
            changes.subtract(path_features(words, answer["best"]))
            weights.update(changes)
            heaviest = sorted(weights.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
            rows = {"changes": changes.items(), "weights": heaviest}
            facts = {"epoch": epoch, "sentence": i, "words": words, "gold": gold, "labels": labels, **answer}
            steps.append(facts | {name: [[*pair, n] for pair, n in diff if n] for name, diff in rows.items()})
        if not any(step["changes"] for step in steps[-len(sentences) :]):
            break
    return steps


def features(word: str) -> list[str]:
    """The features of a word."""
    return [f"word={word}", f"suffix={word[-2:]}"]


def path_features(words: list[str], path: list[str]) -> list[tuple[str, str]]:
    """The features of a sentence with its labels, each with the label that it counts for."""
    emissions = [(feature, label) for word, label in zip(words, path, strict=True) for feature in features(word)]
    return emissions + [(f"before={previous}", label) for previous, label in zip([START, *path], path, strict=False)]


def viterbi(words: list[str], labels: list[str], weights: Weights) -> dict[str, Any]:
    """best[t][z] = own[t][z] + max over y of best[t-1][y] + pair[y][z]; the first of equal ones."""
    emit = np.array([[sum(weights[feature, z] for feature in features(word)) for z in labels] for word in words])
    first, *rest = np.array([[weights[f"before={y}", z] for z in labels] for y in (START, *labels)])
    pairs, table, pointers, steps = np.array(rest), [first + emit[0]], [np.zeros(len(labels), int)], [first]
    for scores in emit[1:]:
        totals = table[-1][:, None] + pairs
        pointers.append(totals.argmax(axis=0))
        steps.append(pairs[pointers[-1], np.arange(len(labels))])
        table.append(scores + totals.max(axis=0))
    path = [int(table[-1].argmax())]
    for places in pointers[:0:-1]:
        path.append(int(places[path[-1]]))
    tables = {"table": table, "back": pointers, "own": emit, "pair": steps}
    return {"best": [labels[z] for z in reversed(path)], **{name: np.array(t).tolist() for name, t in tables.items()}}
