"""The native perceptron against its twin: the same weights, bit for bit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from feature_oracle import Twin
from opened import weights_of
from samples import KINDS, random_corpus

import trellis
from experiments import reference
from trellis import Perceptron, _core
from trellis._support.errors import CorpusError, LearnerError
from trellis.learning.run import Event

EPOCHS = 3


def shuffled(n: int, seed: int, epoch: int) -> list[int]:
    return _core.shuffled(n, seed * 1_000_003 + epoch).tolist()


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_twins(kind: str, shuffle: bool) -> None:
    chosen = KINDS[kind]
    corpus = chosen.corpus(seed=5)
    options = {"order": 1, **chosen.options}
    twin = Twin(chosen.templates, corpus, **options)
    counts = [twin.epoch(shuffled(len(corpus), 7, e + 1) if shuffle else range(len(corpus))) for e in range(EPOCHS)]
    assert counts[0][1] > 0
    for average in (False, True):
        events: list[Event] = []
        tagger = chosen.train(
            corpus,
            learner=Perceptron(epochs=EPOCHS, average=average, shuffle=shuffle, seed=7 if shuffle else 0),
            observer=events.append,
        )
        assert list(tagger.labels) == twin.labels
        assert weights_of(tagger, list(chosen.templates), corpus) == twin.result(average)
        assert [(e.mistakes, e.updates) for e in events] == counts


@pytest.mark.parametrize("order", [1, 2])
def test_the_twin_is_the_reference(order: int) -> None:
    """The dict of strings and reference.perceptron are the same algorithm."""
    templates = KINDS["plain"].templates
    corpus = random_corpus(3)
    twin = Twin(templates, corpus, order=order)
    ids: dict[Any, int] = {}
    sentences = [[[ids.setdefault(key, len(ids)) for key, _ in token] for token in s] for s in twin.sentences]
    alpha, gamma = reference.perceptron(sentences, twin.golds, len(ids), len(twin.labels), order, EPOCHS)
    for _ in range(EPOCHS):
        twin.epoch(range(len(corpus)))
    for average, weights in ((False, alpha), (True, gamma)):
        found = {("emit", key, z): weights.emit[a, z] for key, a in ids.items() for z in range(len(twin.labels))}
        found |= {("edge", y, z): weights.edge[y, z] for y, z in np.ndindex(*weights.edge.shape)}
        if weights.tri is not None:
            found |= {("tri", *at): weights.tri[at] for at in np.ndindex(*weights.tri.shape)}
        assert {k: np.float32(w) for k, w in found.items() if np.float32(w) != 0} == twin.result(average)


@pytest.mark.parametrize("n_labels", [1, 2, 7, 9, 40])
def test_many_labels(n_labels: int) -> None:
    """Rows grow slot by slot and then become dense: the weights are those of the twin all the way."""
    corpus = random_corpus(1, 60, n_words=4, n_labels=n_labels, longest=5)
    templates = ["word[0]", "bias"]
    twin = Twin(templates, corpus, order=0)
    for average in (False, True):
        tagger = trellis.train(
            corpus,
            target="label",
            features=templates,
            order=0,
            learner=Perceptron(epochs=2, average=average, shuffle=False),
        )
        if not average:
            twin.epoch(range(len(corpus)))
            twin.epoch(range(len(corpus)))
        assert weights_of(tagger, templates, corpus) == twin.result(average)


def test_seeds() -> None:
    corpus = random_corpus(2, 30)

    def trained(seed: int) -> Any:
        learner = Perceptron(epochs=2, shuffle=True, seed=seed)
        return weights_of(KINDS["plain"].train(corpus, learner=learner), list(KINDS["plain"].templates), corpus)

    assert trained(1) == trained(1)
    assert trained(1) != trained(2)
    assert trained(2**70) == trained(2**70)


def test_shuffles_are_permutations() -> None:
    for n in (0, 1, 2, 50):
        assert sorted(_core.shuffled(n, 3).tolist()) == list(range(n))
    first = [_core.shuffled(3, seed).tolist() for seed in range(600)]
    counts = [first.count(list(p)) for p in itertools.permutations(range(3))]
    assert min(counts) > 60  # 100 are expected of each


def test_events() -> None:
    corpus = random_corpus(4)
    events: list[Event] = []
    tagger = KINDS["plain"].train(corpus, learner=Perceptron(epochs=4), observer=events.append)
    assert [e.epoch for e in events] == [1, 2, 3, 4]
    for e in events:
        assert (e.epochs, e.tokens, e.dev_score, e.best) == (4, corpus.n_tokens, None, False)
        assert 0 <= e.updates <= e.mistakes <= corpus.n_tokens
        assert e.seconds >= 0
    assert tagger.training["history"] == [e.to_dict() for e in events]
    assert "seconds" not in tagger.training["history"][0]


@pytest.mark.parametrize("kind", ["plain", "edges", "order 2", "tag dictionary", "bag and columns", "folds", "files"])
@pytest.mark.parametrize("average", [False, True])
def test_the_best_epoch_on_dev_is_kept(kind: str, average: bool) -> None:
    chosen = KINDS[kind]
    corpus, dev = chosen.corpus(5, 20), chosen.corpus(11, 20)
    events: list[Event] = []
    tagger = chosen.train(corpus, learner=Perceptron(epochs=6, average=average), dev=dev, observer=events.append)
    scores = [e.dev_score for e in events]
    best = scores.index(max(scores)) + 1  # the first among equals
    assert [e.best for e in events] == [s > max(scores[:i], default=-1.0) for i, s in enumerate(scores)]
    same = chosen.train(corpus, learner=Perceptron(epochs=best, average=average))
    names = list(chosen.templates)
    assert weights_of(tagger, names, corpus) == weights_of(same, names, corpus)
    assert tagger.evaluate(dev).headline == max(scores)
    # The score is that of tagging: training and tagging see the same features of another corpus.
    for n in (1, 2):
        alone = chosen.train(corpus, learner=Perceptron(epochs=n, average=average))
        assert alone.evaluate(dev).headline == scores[n - 1]


def test_labels_that_only_dev_has() -> None:
    dev = trellis.read({"word": [["a", "new"]], "pos": [["P0", "P9"]], "label": [["L0", "never"]]})
    tagger = KINDS["plain"].train(random_corpus(0), dev=dev)
    assert "never" not in tagger.labels
    assert all(0 <= e["dev_score"] < 1 for e in tagger.training["history"])


@pytest.mark.parametrize(
    "bad",
    [
        {"learner": lambda: Perceptron(epochs=0)},
        {"learner": lambda: Perceptron(epochs=-3)},
        {"learner": lambda: Perceptron(shuffle=True, seed=-1)},
        {"learner": lambda: Perceptron(epochs=2.5)},
        {"learner": lambda: Perceptron(shuffle=True, seed="1")},
        {"features": trellis.Features(min_count=-1)},
        {"search": trellis.Search(tag_dictionary=-2)},
        {"order": 100},
        {"order": -1},
        {"features": trellis.Features(pairs="some")},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_parameters_that_make_no_sense(bad: dict[str, Any]) -> None:
    def attempt() -> None:
        options = {k: v() if callable(v) else v for k, v in bad.items()}
        trellis.train(random_corpus(0), target="label", **options)

    with pytest.raises(LearnerError, match="must"):
        attempt()


def test_edge_templates_need_an_order() -> None:
    features = ["label[-1] & word[0]"]
    with pytest.raises(LearnerError, match="need order 1 or more, not 0"):
        trellis.train(random_corpus(0), target="label", features=features, order=0)
    assert trellis.train(random_corpus(0), target="label", features=features).order == 1
    with pytest.raises(LearnerError, match="column of words"):
        KINDS["bag"].train(tag_dictionary=True)


def test_missing_labels(tmp_path: Path) -> None:
    file = tmp_path / "train.tsv"
    file.write_text("a\tX\n\nb\tY\nc\t\n")
    with pytest.raises(CorpusError, match=r"train\.tsv:4: no label in column 'label'"):
        trellis.train(file, target="label", features=["word[0]"])
    with pytest.raises(CorpusError, match="no column 'chunk'"):
        trellis.train(random_corpus(0), target="chunk")
    with pytest.raises(CorpusError, match="no sentences"):
        trellis.train(random_corpus(0)[:0], target="label")


@pytest.mark.parametrize("min_count", [1, 2, 3, 5, 100])
def test_tag_dictionaries(min_count: int) -> None:
    """Frequent words have the labels they were seen with, all others those of rare words."""
    corpus = random_corpus(6, 25)
    seen, rare = Twin(["word[0]"], corpus, tag_dictionary=min_count).tags
    tagger = KINDS["plain"].train(corpus, tag_dictionary=min_count)
    tags = tagger.model.dictionary
    assert tags is not None
    sets = [tags.labels[a:b].tolist() for a, b in itertools.pairwise(tags.starts.tolist())]
    assert len({tuple(s) for s in sets}) == len(sets)
    words = tagger.model.vocabulary.columns[0].values.tolist()
    assert [sets[s] for s in tags.set_of.tolist()] == [sorted(seen.get(word, rare)) for word in words]
    assert sets[0] == sorted(rare)


def test_the_usual_tag_dictionary() -> None:
    """True means words seen five times."""
    five, usual = (KINDS["plain"].train(random_corpus(6, 25), tag_dictionary=t).model.dictionary for t in (5, True))
    assert five is not None
    assert usual is not None
    assert five.set_of.tolist() == usual.set_of.tolist()


def test_theorem_1() -> None:
    """Separable data: at most R²/delta² mistakes are ever made, whatever the order (Collins 2002)."""
    words = ["a", "b", "c", "d"]
    rng = np.random.default_rng(0)
    sentences = [[(words[w], f"L{w % 2}") for w in rng.integers(0, 4, 3)] for _ in range(20)]
    # U scores +1 for each word with its own label and -1 with the other one, divided by its norm, sqrt(8).
    norm = np.sqrt(8)
    # A wrong label costs U at least 2: the margin. It changes two weights by one each, so R² is that of three
    # wrong labels, in the worst case three times the same word: 2 · 3².
    delta, r2 = 2 / norm, 2 * 3**2
    for seed in range(5):
        events: list[Event] = []
        trellis.train(
            trellis.read(sentences, columns="word,label"),
            target="label",
            features=["word[0]"],
            order=0,
            learner=Perceptron(epochs=20, shuffle=True, seed=seed),
            observer=events.append,
        )
        assert 0 < sum(e.updates for e in events) <= r2 / delta**2
        assert events[-1].updates == 0


def test_unused_features_are_dropped() -> None:
    """Attributes that no update touched leave no row."""
    tagger = KINDS["plain"].train(trellis.read([[("a", "X"), ("b", "X")]], columns="word,label"))
    assert tagger.model.weights.rows.n_attributes == 0
    assert tagger.model.weights.n_nonzero == 0
    assert tagger.tag(["b", "zzz"]) == ["X", "X"]
