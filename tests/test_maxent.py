"""Maximum entropy: iterative scaling against L-BFGS, decoding against brute force over local probabilities."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gradient_oracle import SPECS, Spec, problem_of, scipys_optimum
from gradients import gradient_of
from random_models import with_ngrams
from samples import KINDS, random_corpus

import trellis
from experiments.reference import Potentials, restrict
from experiments.reference.loglinear import local_loss
from trellis import MaxEnt, _core
from trellis._support.arrays import Lists
from trellis._support.errors import LearnerError
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.parameters import Parameters
from trellis.learning.run import Event
from trellis.tasks.tagging.model import Tagger

SLOW = {"tolerance": 1e-13, "epochs": 2000}


def raw_potentials(tagger: Tagger, sentence: list) -> tuple[Potentials, list[list[int]] | None]:
    """Potentials as the weights have them, before they are normalised."""
    plain = Tagger(replace(tagger.model, family="scores"))
    chains = plain._decoder.chains(plain._decoder.encode([sentence]), None, 1)
    found, tags = with_ngrams(plain, chains.tables.potentials), plain.model.dictionary
    allowed = None
    if tags is not None:
        sets = plain._decoder.native.set_of(plain._decoder.encode([sentence])).tolist()
        allowed = [tags.labels[tags.starts[s] : tags.starts[s + 1]].tolist() for s in sets]
    return found, allowed


@pytest.mark.parametrize("name", SPECS)
def test_the_optimum_is_scipys(name: str) -> None:
    problem = problem_of(SPECS[name], 3)
    least, *_ = scipys_optimum(problem, local=True)
    events: list[Event] = []
    MaxEnt(c2=0.3, transitions="all", **SLOW).fit(problem, events.append)
    assert events[-1].objective == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("name", ["order 0", "order 1", "order 2", "order 3", "edges", "values", "weights"])
@pytest.mark.parametrize("c2", [0.0, 0.2])
def test_iterative_scaling_never_rises(name: str, c2: float) -> None:
    events: list[Event] = []
    learner = MaxEnt(c2=c2, solver="gis", epochs=100, transitions="all")
    learner.fit(mixed(problem_of(SPECS[name], 4)), events.append)
    values = np.array([event.objective for event in events])
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()
    assert values[-1] < values[0]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("c2", [0.0, 0.2])
def test_iterative_scaling_reaches_the_optimum(order: int, c2: float) -> None:
    corpus = trellis.read(
        {
            "word": [["a", "b"], ["a", "a"], ["b"], ["b", "a", "b"]],
            "label": [["X", "Y"], ["Y", "X"], ["X"], ["Y", "X", "X"]],
        }
    )
    found = []
    for learner in (MaxEnt(c2=c2, solver="gis", epochs=1000), MaxEnt(c2=c2, **SLOW)):
        tagger = trellis.train(corpus, target="label", features=["word[0]"], order=order, learner=learner)
        found.append(tagger.training["history"][-1]["objective"])
    assert found[0] == pytest.approx(found[1], rel=1e-6 if c2 else 1e-2)
    assert found[0] >= found[1] * (1 - 1e-6)


def mixed(problem: ChainProblem) -> ChainProblem:
    """The corpus again and again under other labels, so that nothing is certain."""

    def again(lists: Lists | None) -> Lists | None:
        if lists is None:
            return None
        starts, ids, values = lists
        sizes = np.tile(np.diff(starts), 3)
        return Lists(np.concatenate([[0], np.cumsum(sizes)]), np.tile(ids, 3), np.tile(values, 3))

    L, corpus = problem.n_labels, problem.corpus
    gold = np.concatenate([(problem.gold + i) % L for i in (0, 0, 1)]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.tile(np.diff(problem.starts), 3))])
    encoded = _core.Encoded(starts, again(corpus.lists), again(corpus.edge_lists), None, 4, corpus.n_edge_attributes, L)
    weights = problem.sentence_weights
    return replace(
        problem,
        corpus=encoded,
        gold=gold,
        starts=starts,
        sentence_weights=None if weights is None else np.tile(weights, 3),
    )


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        *((kind, None) for kind in ("plain", "order 0", "order 2", "edges", "edges 2")),
        *((kind, None) for kind in ("tag dictionary", "tag dictionary 2")),
        *itertools.product(("plain", "edges", "tag dictionary", "bag"), (3, 4)),
    ],
)
def test_decoding_is_brute_force_over_local_probabilities(kind: str, order: int | None) -> None:
    chosen = KINDS[kind]
    tagger = chosen.train(learner=MaxEnt(c2=0.1), **({} if order is None else {"order": order}))
    assert tagger.model.family == "local"
    assert (tagger.model.weights.ngrams is not None) == (order is not None)
    unseen = chosen.corpus(seed=7, n_sentences=15)
    names = [c for c in unseen.columns if c != "label"]
    for one in unseen:
        columns = [one[name] for name in names]
        length = len(columns[0])
        sentence = dict(zip(names, columns, strict=True))
        if length == 0 or length > 5:
            continue
        p, allowed = raw_potentials(tagger, sentence)
        if allowed is not None:
            p = replace(p, emit=restrict(p.emit, allowed))
        choices = [range(len(tagger.labels))] * length if allowed is None else allowed
        scored = sorted(((-local_loss(p, path), path) for path in itertools.product(*choices)), reverse=True)
        found = tagger.kbest(sentence, 3)
        for (labels, score), (expected, _) in zip(found, scored, strict=False):
            assert score == pytest.approx(expected, abs=1e-4)
            path = tuple(tagger.labels.index(label) for label in labels)
            assert -local_loss(p, path) == pytest.approx(score, abs=1e-4)
        assert tagger.tag(sentence) == found[0][0]
        total = sum(np.exp(score) for score, _ in scored)
        assert total == pytest.approx(1.0, abs=1e-4)
        every = tagger.kbest(sentence, len(tagger.labels) ** length)
        assert sum(np.exp(score) for _, score in every) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("method", ["lbfgs", "gis"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_dev_scores_are_those_of_tagging(order: int, method: str) -> None:
    corpus, dev = random_corpus(1, 30), random_corpus(2, 30)
    learner = MaxEnt(solver=method, epochs=5, c2=0.1)
    tagger = KINDS["edges"].train(corpus, learner=learner, dev=dev, order=order)
    scores = [event["dev_score"] for event in tagger.training["history"]]
    assert tagger.evaluate(dev).headline == pytest.approx(max(scores))


def test_a_saved_model_tags_the_same(tmp_path: Path) -> None:
    corpus = random_corpus(3, 20)
    tagger = KINDS["order 2"].train(corpus, learner=MaxEnt())
    tagger.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    words = [list(sentence["word"]) for sentence in corpus]
    assert again.tag_batch(words) == tagger.tag_batch(words)
    assert again.kbest(words[0], 2) == tagger.kbest(words[0], 2)


def test_correction_feature_is_part_of_the_weights() -> None:
    """One step of iterative scaling by hand: w_s += log(count / expected) / C, v likewise, weights w - v."""
    problem = problem_of(Spec(), 5)
    parameters = Parameters.of(problem, transitions="seen", start=True)
    objective = parameters.objective(local=True, single=False)
    _, slope = gradient_of(objective, np.zeros(parameters.size), None, 1)
    counts = parameters.gold_counts()
    starts = problem.corpus.lists[0]
    most = 1 + np.diff(starts).max()
    n = len(problem.gold)
    alive = counts > 0
    expected = counts + slope
    w = np.log(counts[alive] / expected[alive]) / most
    v = np.log((most * n - counts[alive].sum()) / (most * n - expected[alive].sum())) / most
    weights, _ = MaxEnt(c2=0, solver="gis", epochs=1).fit(problem, None)
    found = replace(parameters, problem=replace(problem, initial=weights)).start()
    np.testing.assert_allclose(found[alive], (w - v).astype(np.float32), rtol=1e-6)
    assert (found[~alive] == 0).all()


def test_what_it_cannot_do_it_says() -> None:
    problem = problem_of(Spec(partial=True), 1)
    with pytest.raises(LearnerError, match="does not support partial labels"):
        MaxEnt().fit(problem, None)
    with pytest.raises(LearnerError, match="iterative scaling needs non-negative attribute values; use solver="):
        KINDS["bag"].train(learner=MaxEnt(solver="gis"))
    for parameters in ({"c2": -1.0}, {"solver": "newton"}, {"epochs": 0}):
        with pytest.raises(LearnerError, match="must"):
            MaxEnt(**parameters)
