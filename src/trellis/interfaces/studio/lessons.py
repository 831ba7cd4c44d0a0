"""The perceptron and Viterbi, step by step, for the studio's Learn view: small enough to be followed by eye.

A word has the features word=the and suffix=he; a label has those of its word and of the label before it. Weights are
whole numbers: every mistake adds one to what is right and takes one from what was answered (Collins 2002, figure 1).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from trellis._support.errors import ArgumentError

EPOCHS, MOST_WORDS, MOST_LABELS = 6, 60, 12
START = "<start>"

Weights = defaultdict[tuple[str, str], int]  # (feature, label)


def lessons(sentences: list[list[tuple[str, str]]]) -> list[dict[str, Any]]:
    """All steps until a pass has no mistake: the sentence, its best path, what changes, the table of Viterbi."""
    words = [[word for word, _ in sentence] for sentence in sentences]
    labels = sorted({label for sentence in sentences for _, label in sentence})
    if not labels or "" in labels:
        raise ArgumentError("every word needs a label: the/D dog/N")
    if sum(map(len, words)) > MOST_WORDS or len(labels) > MOST_LABELS:
        raise ArgumentError(f"a lesson has at most {MOST_WORDS} words and {MOST_LABELS} labels")
    weights: Weights = defaultdict(int)
    steps = []
    for epoch in range(1, EPOCHS + 1):
        mistakes = 0
        for i, sentence in enumerate(sentences):
            gold = [label for _, label in sentence]
            found = viterbi(words[i], labels, weights)
            changes: defaultdict[tuple[str, str], int] = defaultdict(int)
            for path, by in ((gold, 1), (found["best"], -1)):
                for feature in path_features(words[i], path):
                    changes[feature] += by
            changed = {feature: by for feature, by in changes.items() if by}
            for feature, by in changed.items():
                weights[feature] += by
            mistakes += bool(changed)
            heaviest = sorted((pair for pair in weights.items() if pair[1]), key=lambda pair: (-abs(pair[1]), pair[0]))
            about = {"epoch": epoch, "sentence": i, "words": words[i], "gold": gold, "labels": labels}
            rows = {"changes": list(changed.items()), "weights": heaviest}
            steps.append({**about, **found, **{name: [[*f, by] for f, by in some] for name, some in rows.items()}})
        if not mistakes:
            break
    return steps


def features(words: list[str], t: int) -> list[str]:
    """What a label sees of its word."""
    return [f"word={words[t]}", f"suffix={words[t][-2:]}"]


def path_features(words: list[str], path: list[str]) -> list[tuple[str, str]]:
    """The features of a sentence with its labels, each with the label that it counts for."""
    before = [START, *path]
    own = [(feature, label) for t, label in enumerate(path) for feature in features(words, t)]
    return own + [(f"before={before[t]}", label) for t, label in enumerate(path)]


def viterbi(words: list[str], labels: list[str], weights: Weights) -> dict[str, Any]:
    """best[t][z] = own[t][z] + max over y of best[t-1][y] + pair[y][z]; the first of equal ones."""
    table, back, own, pairs = list[list[int]](), list[list[int]](), list[list[int]](), list[list[int]]()
    for t in range(len(words)):
        own.append([sum(weights.get((feature, z), 0) for feature in features(words, t)) for z in labels])
        best, before = (table[-1], labels) if t else ([0], [START])
        for rows in (table, back, pairs):
            rows.append([])
        for z, label in enumerate(labels):
            steps = [weights.get((f"before={one}", label), 0) for one in before]
            y = max(range(len(before)), key=lambda y: (best[y] + steps[y], -y))
            table[-1].append(best[y] + steps[y] + own[-1][z])
            back[-1].append(y)
            pairs[-1].append(steps[y])
    z = max(range(len(labels)), key=lambda z: (table[-1][z], -z))
    path = [z]
    for t in range(len(words) - 1, 0, -1):
        path.append(back[t][path[-1]])
    return {"best": [labels[z] for z in reversed(path)], "table": table, "back": back, "own": own, "pair": pairs}
