"""Brown clusters, held against the greedy algorithm as it is written: average mutual information by its definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis._support.errors import CorpusError
from trellis.features.brown import brown_clusters


def information(pairs: Counter[tuple[int, int]], left: Counter[int], right: Counter[int], n: int) -> float:
    """sum over pairs of p(a, b) log p(a, b) / (p(a) p(b))."""
    return sum(k / n * math.log(k * n / (left[a] * right[b])) for (a, b), k in pairs.items() if k)


def by_definition(
    sentences: list[list[int]], n_words: int, n_classes: int
) -> tuple[list[set[int]], list[tuple[set[int], set[int]]]]:
    """Classes in the end, and the pairs of classes that were merged after."""
    bigrams = Counter(pair for sentence in sentences for pair in itertools.pairwise(sentence))
    classes: list[set[int]] = []

    def lost(a: set[int], b: set[int]) -> float:
        def value(groups: list[set[int]]) -> float:
            of = {word: i for i, group in enumerate(groups) for word in group}
            pairs = Counter[tuple[int, int]]()
            for (x, y), k in bigrams.items():
                if x in of and y in of:
                    pairs[of[x], of[y]] += k
            left, right = Counter[int](), Counter[int]()
            for (x, y), k in pairs.items():
                left[x] += k
                right[y] += k
            return information(pairs, left, right, sum(pairs.values()))

        return value(classes) - value([*(g for g in classes if g is not a and g is not b), a | b])

    def merge_cheapest() -> tuple[set[int], set[int]]:
        a, b = min(itertools.combinations(classes, 2), key=lambda pair: round(lost(*pair), 9))
        classes.remove(a)
        classes.remove(b)
        classes.append(a | b)
        return a, b

    for word in range(n_words):
        classes.append({word})
        if len(classes) > n_classes:
            merge_cheapest()
    found = [set(group) for group in classes]
    return found, [merge_cheapest() for _ in range(len(classes) - 1)]


def random_text(seed: int, n_words: int) -> list[list[str]]:
    """Words of three kinds that follow one another."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n_words)
    weights = 1 / np.arange(1, n_words + 1)
    sentences = []
    for _ in range(800):
        sentence, kind = [], int(rng.integers(0, 3))
        for _ in range(int(rng.integers(1, 9))):
            some = np.flatnonzero(kinds == kind)
            sentence.append(f"w{rng.choice(some, p=weights[some] / weights[some].sum())}" if len(some) else "w0")
            kind = (kind + 1) % 3 if rng.random() < 0.9 else int(rng.integers(0, 3))
        sentences.append(sentence)
    return sentences


@pytest.mark.parametrize(("seed", "n_words", "n_classes"), [(1, 12, 3), (2, 15, 5), (3, 10, 4), (4, 18, 2), (5, 9, 8)])
def test_as_by_definition(seed: int, n_words: int, n_classes: int) -> None:
    text = random_text(seed, n_words)
    found = brown_clusters(trellis.read({"word": text}), n_classes)
    number = {word: i for i, word in enumerate(found.words)}
    classes, merges = by_definition([[number[w] for w in s] for s in text], len(number), n_classes)
    groups: dict[str, set[int]] = {}
    for word, path in zip(found.words, found.paths, strict=True):
        groups.setdefault(path, set()).add(number[word])
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, classes))
    for a, b in merges:  # what is merged is one node of the tree: all that begins with some path, and nothing else
        begin = [path for i, path in enumerate(found.paths) if i in a | b]
        common = next(
            begin[0][:k] for k in range(len(begin[0]), -1, -1) if all(p.startswith(begin[0][:k]) for p in begin)
        )
        assert {i for i, path in enumerate(found.paths) if path.startswith(common)} == a | b


def test_the_same_for_any_number_of_threads() -> None:
    corpus = trellis.read({"word": random_text(7, 60)})
    one, two = (brown_clusters(corpus, 20, n_threads=n) for n in (1, 2))
    assert one == two


def test_rare_words_are_left_out_and_cut(tmp_path: Path) -> None:
    text = [["a", "b", "rare", "a", "b"], ["b", "a"]] * 3 + [["once"]]
    found = brown_clusters(trellis.read({"word": text}), 2, min_count=4)
    assert found.words == ["a", "b"]
    assert found.counts == [9, 9]
    found.save(tmp_path / "c.tsv")
    assert (tmp_path / "c.tsv").read_text() == "0\ta\t9\n1\tb\t9\n"
    corpus = {"word": [["a", "b"]] * 2, "y": [["A", "B"]] * 2}
    tagger = trellis.train(corpus, target="y", features=[f'cluster(word[0], "{tmp_path / "c.tsv"}")'])
    assert tagger.tag(["b", "a"]) == ["B", "A"]


def test_more_classes_than_words() -> None:
    found = brown_clusters(trellis.read({"word": [["a", "b", "a", "c"]]}), 100)
    assert len(set(found.paths)) == 3


def test_what_cannot_be_clustered() -> None:
    corpus = trellis.read({"word": [["a", "b"]]})
    with pytest.raises(trellis.CorpusError, match="min_count"):
        brown_clusters(corpus, 5, min_count=9)
    with pytest.raises(trellis.ArgumentError, match="n_classes"):
        brown_clusters(corpus, 1)


def test_progress_and_interrupts() -> None:
    corpus = trellis.read({"word": random_text(8, 400)})
    seen = list[tuple[int, int]]()
    brown_clusters(corpus, 10, progress=lambda done, all_: seen.append((done, all_)))
    assert seen[0][0] == 0

    def stop(done: int, all_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        brown_clusters(corpus, 10, progress=stop)


@pytest.mark.parametrize("word", ["a\tb", "a\nb"])
def test_words_that_a_file_cannot_hold(word: str, tmp_path: Path) -> None:
    clusters = brown_clusters(trellis.read([[word, "c", "d"]]), 2)
    with pytest.raises(
        CorpusError, match="contains a tab or a line break, which a cluster file does not support; omit it"
    ):
        clusters.save(tmp_path / "clusters")
