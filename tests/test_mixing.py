"""Online learners on shards, mixed after every epoch: against their twins, with the same bytes on all workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equal_models import learnt
from online_twin import Case, Twin, case, flat
from samples import random_corpus

import trellis
from trellis import AROW, MIRA, PassiveAggressive, Perceptron
from trellis._support.errors import LearnerError

EPOCHS, SHARDS = 2, 3
LEARNERS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {  # how to make it, of what rule its twin is
    "perceptron": (Perceptron, {}, ("perceptron",)),
    "4-best mira": (MIRA, {"k": 4, "C": 0.5}, ("MIRA", 4, 0.5)),
    "pa": (PassiveAggressive, {"C": 0.2}, ("PA-I", 1, 0.2)),
    "arow": (AROW, {"r": 2.0}, ("AROW", 1, 2.0)),
}


def mixed(given: Case, rule: tuple[Any, ...], mix: str) -> tuple[Twin, np.ndarray]:
    """A twin with the weights after all epochs, and their average: by the definition, over dense vectors."""
    result = Twin(given, *rule)
    total = np.zeros(len(result.w))
    for _ in range(EPOCHS):
        changes = []
        for _, examples in given.problem.shards(SHARDS):
            twin = Twin(given, *rule)
            twin.w, twin.variance = result.w.copy(), result.variance.copy()
            twin.epoch(examples.tolist())
            mean = twin.total / len(examples) - result.w
            precision = 1 / twin.variance.astype(float) - 1 / result.variance.astype(float)
            changes.append([twin.w.astype(float) - result.w, mean, precision])
        sums, touched = np.sum(changes, axis=0), (np.abs(changes) > 1e-9).any(axis=1).sum(axis=0)
        end, mean, precision = sums / (len(changes) if mix == "uniform" else np.maximum(1, touched))
        total += result.w + mean
        result.w = result.w + end.astype(np.float32)
        result.variance = (1 / (1 / result.variance.astype(float) + precision)).astype(np.float32)
    return result, total / EPOCHS


@pytest.mark.parametrize("mix", ["uniform", "touched"])
@pytest.mark.parametrize("kind", ["plain", "edges", "values", "weights", "seen", "initial", "parts"])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", LEARNERS)
def test_weights_are_the_twins(name: str, order: int, kind: str, mix: Any) -> None:
    learner, options, rule = LEARNERS[name]
    given = case(kind, order, n_sentences=12)  # of this size no two outputs score the same but for rounding
    last, mean = mixed(given, rule, mix)
    for average, expected in ((False, last.w), (True, mean)):
        more = {"epochs": EPOCHS, "average": average, "shuffle": False, "shards": SHARDS, "mix": mix}
        weights, history = learner(**more, **options).fit(given.problem, None)
        assert len(history) == EPOCHS
        np.testing.assert_allclose(flat(weights, last), expected, rtol=1e-5, atol=1e-6)


def test_shards_are_runs_of_tokens() -> None:
    problem = case("plain", 1, n_sentences=40).problem
    for n in (1, 2, 7, 1000):
        shards = problem.shards(n)
        with_tokens = np.flatnonzero(np.diff(problem.starts))
        assert np.array_equal(np.concatenate([examples for _, examples in shards]), with_tokens)
        assert all(len(examples) for _, examples in shards)
        assert [place for place, _ in shards] == sorted({place for place, _ in shards})
        if n < 8:
            sizes = [np.diff(problem.starts)[examples].sum() for _, examples in shards]
            assert max(sizes) - min(sizes) <= 2 * np.diff(problem.starts).max()


CORPUS = random_corpus(3, 60, n_words=30, n_labels=5, longest=9)


def train(corpus: Any = CORPUS, **more: Any) -> trellis.Tagger:
    """On four shards, if nothing else is asked for."""
    given: dict[str, Any] = {"features": ["word[0]", "label[-1] & word[0]"], "learner": Perceptron(epochs=4, shards=4)}
    return trellis.train(corpus, target="label", **(given | more))


@pytest.mark.parametrize("learner", [Perceptron(shards=5, batch=3), MIRA(k=3, shards=4), AROW(shards=9, mix="uniform")])
def test_threads_and_streams_give_the_same_bytes(learner: Any, tmp_path: Path) -> None:
    trellis.write(CORPUS.take(np.flatnonzero(np.diff(CORPUS.starts))), tmp_path / "a.txt")
    read = trellis.read(tmp_path / "a.txt", columns="word,pos,label")
    stream = trellis.stream(tmp_path / "a.txt", columns="word,pos,label")
    expected = learnt(train(read, learner=learner, n_threads=1))
    for corpus, n_threads in ((read, 2), (read, 7), (stream, 1), (stream, 4)):
        assert learnt(train(corpus, learner=learner, n_threads=n_threads)) == expected


def test_more_shards_learn_something_else_and_learn_it_well() -> None:
    models = {shards: train(learner=Perceptron(epochs=10, shards=shards)) for shards in (1, 2, 6)}
    assert len({learnt(model) for model in models.values()}) == 3
    accuracy = {shards: model.evaluate(CORPUS).accuracy for shards, model in models.items()}
    assert min(accuracy.values()) > accuracy[1] - 0.05, accuracy


def test_training_continues_from_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "some.checkpoint"
    for rule in (Perceptron, AROW):
        expected = learnt(train(learner=rule(epochs=5, shards=4)))
        train(learner=rule(epochs=2, shards=4), checkpoint=path)
        assert learnt(train(learner=rule(epochs=5, shards=4), checkpoint=path)) == expected
        with pytest.raises(trellis.TrellisError, match="a checkpoint of another training"):
            train(learner=rule(epochs=5, shards=3), checkpoint=path)
        path.unlink()


def test_large_values_do_not_hide_small_changes() -> None:
    """Changes of variances are about the squares of values, and those of weights about their inverses."""
    attributes = [[{word: 1e9} for word in sentence] for sentence in CORPUS.sentences("word")]
    large = trellis.read({"word": attributes, "label": CORPUS.sentences("label")})

    def accuracy(shards: int) -> float:
        learner = AROW(epochs=5, shards=shards)
        return trellis.train(large, target="label", features=["word[0]"], learner=learner).evaluate(large).accuracy

    assert accuracy(3) > accuracy(1) - 0.05 > 0.2


def test_what_has_no_shards() -> None:
    with pytest.raises(LearnerError, match="vote cannot be combined with shards; omit one"):
        train(learner=Perceptron(shards=2, vote=True))
    with pytest.raises(
        LearnerError, match="shards support label pairs, and label triples of few labels; use a smaller order"
    ):
        train(learner=Perceptron(shards=2), order=3, features=["word[0]"])
    with pytest.raises(LearnerError, match="shards above 1"):
        Perceptron(mix="uniform")
    with pytest.raises(LearnerError, match="shards must be"):
        Perceptron(shards=0)
