"""Warm starts of both parsers: older weights under new numbers, their objective, and what they are good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_parsing import TEMPLATES, inputs, treebank

import trellis
from trellis._support.errors import TrellisError
from trellis.learning.problem import Problem
from trellis.tasks.parsing.weights import rows_of

# More looks than a key has bits for: keys of the first ones are folded.
LONG = " & ".join(f"word[head{i:+d}]" for i in range(-12, 13) if i)
PARSING: dict[str, Any] = {"features": [*TEMPLATES, LONG], "prune_weights": 0.0}
VALUES = "attributes.weights"
TEXT = """
( (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))) (. .)))
( (S (NP (DT a) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT a) (NN mat)))) (. .)))
( (S (NP (NN rain)) (VP (VBD fell)) (. .)))
( (S (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT a) (NN cat)))) (VP (VBD ran)) (. .)))
( (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NP (DT a) (NN cat)) (PP (IN on) (NP (DT the) (NN mat))))) (. .)))
( (S (NP (DT the) (NN man)) (VP (VBD saw) (NP (DT the) (NN dog)) (PP (IN with) (NP (NN eyes)))) (. .)))
"""
TREES = [tree for one in trellis.parse_trees(TEXT) if (tree := one.clean()) is not None]


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> list[Problem]:
    """The problems that CRFs are given."""
    seen, begin = list[Problem](), trellis.CRF.begin

    def noting(self: trellis.CRF, problem: Problem) -> Any:
        seen.append(problem)
        return begin(self, problem)

    monkeypatch.setattr(trellis.CRF, "begin", noting)
    return seen


def objective(problem: Any, c2: float) -> float:
    """Of the weights that training starts with."""
    vector = problem.flat_vector()
    x = vector.start()
    losses = vector.objective(local=False, single=False).losses(x, 1)
    return float(losses.sum()) + c2 * float(x @ x)


def joined(*corpora: trellis.Corpus) -> trellis.Corpus:
    return trellis.read({name: [s[name] for c in corpora for s in c] for name in ("word", "pos", "head", "deprel")})


@pytest.mark.parametrize(("order", "projective"), [(1, True), (2, True), (1, False)])
def test_a_parser_without_mistakes_stays_as_it_is(order: int, projective: bool) -> None:
    """All weights are carried over, of words and labels that the new trees do not have too."""
    corpus, others = treebank(12, 3, longest=4), treebank(30, 4)
    learner = trellis.Perceptron(epochs=30, shuffle=False)
    options = {**PARSING, "order": order, "projective": projective}
    older = trellis.Parser.train(corpus, learner=learner, **options)
    known = [i for i in range(len(corpus)) if older.evaluate(corpus.take([i])).all.las == 1.0]
    assert len(known) > 2
    part = corpus.take(known[::-1][:3])
    newer = trellis.Parser.train(part, learner=trellis.Perceptron(epochs=2, shuffle=False), init=older, **options)
    assert newer.training["history"][0]["updates"] == 0
    assert sorted(newer.weights[VALUES].tolist()) == sorted(older.weights[VALUES].tolist())
    for i in range(len(others)):
        ours, theirs = newer.parse(inputs(others, i)), older.parse(inputs(others, i))
        assert (ours.heads, ours.labels) == (theirs.heads, theirs.labels)
        assert ours.score == pytest.approx(theirs.score, rel=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_the_first_objective_of_a_parser_is_that_of_the_older_weights(order: int, problems: list[Problem]) -> None:
    corpus, more = treebank(20, 0), treebank(10, 9)
    learner = trellis.CRF(epochs=20, c2=0.5)
    older = trellis.Parser.train(corpus, learner=learner, order=order, **PARSING)
    weights = dict(older.weights)
    newer = trellis.Parser.train(corpus, learner=learner, order=order, init=older, **PARSING)
    vector: Any = problems[-1].flat_vector()  # type: ignore[attr-defined]
    assert all(np.array_equal(a, weights[name]) for name, a in vector.weights(vector.start()).items())
    last = older.training["history"][-1]["objective"]
    assert objective(problems[-1], 0.5) == pytest.approx(last, rel=1e-5)
    assert newer.training["history"][0]["objective"] <= last * (1 + 1e-6)
    # Other trees come first, so that all numbers change; those of the older corpus have the same loss.
    united = joined(more, corpus)
    trellis.Parser.train(united, learner=learner, order=order, init=older, **PARSING)
    vector = problems[-1].flat_vector()  # type: ignore[attr-defined]
    assert sorted(vector.start()[vector.start() != 0]) == sorted(weights[VALUES][: -n_filtered(older)])


def n_filtered(parser: Any) -> int:
    """Weights of the filter, which stand last and are 1."""
    return len(list(rows_of(parser.weights))[-1].weights)


def test_older_weights_help_on_few_trees() -> None:
    corpus, few, test = treebank(120, 0), treebank(4, 1), treebank(60, 0)
    learner = trellis.MIRA(epochs=1, shuffle=False)
    older = trellis.Parser.train(corpus, learner=trellis.MIRA(epochs=5, shuffle=False), **PARSING)
    plain = trellis.Parser.train(few, learner=learner, **PARSING).evaluate(test).all.las
    warm = trellis.Parser.train(few, learner=learner, init=older, **PARSING).evaluate(test).all.las
    assert warm > plain + 0.1


@pytest.mark.parametrize(
    "learner", [trellis.Perceptron(epochs=2, batch=4), trellis.MIRA(k=3, epochs=2), trellis.AROW(epochs=2)]
)
def test_online_learners_start_from_a_parser_with_other_labels(learner: trellis.Learner) -> None:
    corpus = treebank(20, 5)
    older = trellis.Parser.train(corpus, learner=learner, **PARSING)
    columns = {name: [list(s[name]) for s in treebank(10, 6)] for name in ("word", "pos", "head", "deprel")}
    columns["deprel"] = [["new" if label == "mod" else label for label in labels] for labels in columns["deprel"]]
    columns["word"][0][0] = "Unseen"
    newer = trellis.Parser.train(columns, learner=learner, init=older, **PARSING)
    assert set(newer.labels) == {"root", "mod", "obj", "new"}
    assert newer.evaluate(trellis.read(columns)).all.las > 0


def test_what_parsers_cannot_start_from() -> None:
    older = trellis.Parser.train(treebank(5, 0), learner=trellis.Perceptron(epochs=1), **PARSING)
    phrases = trellis.TreeParser.train(TREES, learner=trellis.Perceptron(epochs=1))
    for call, message in (
        (
            lambda: trellis.Parser.train(treebank(5, 0), features=TEMPLATES, init=older),
            "init was trained with other features",
        ),
        (
            lambda: trellis.Parser.train(treebank(5, 0), order=1, init=older, **PARSING),
            "init was trained with other features, order or filter; use the same",
        ),
        (lambda: trellis.Parser.train(treebank(5, 0), init=phrases, **PARSING), "init must be a Parser"),  # type: ignore[arg-type]
        (
            lambda: trellis.TreeParser.train(TREES, features="rules", init=phrases),
            "init was trained with other features",
        ),
        (lambda: trellis.TreeParser.train(TREES, vertical=2, init=phrases), "another vertical or horizontal"),
        (lambda: trellis.TreeParser.train(TREES, init=older), "init must be a TreeParser"),  # type: ignore[arg-type]
        (lambda: trellis.TreeParser.train(TREES, learner="pcfg", init=phrases), "init has no effect"),
    ):
        with pytest.raises(TrellisError, match=message) as caught:
            call()  # type: ignore[no-untyped-call]
        assert "\n" not in str(caught.value)


def test_a_checkpoint_is_of_one_warm_start(tmp_path: Any) -> None:
    corpus, path = treebank(8, 0), tmp_path / "checkpoint"
    older = trellis.Parser.train(corpus, learner=trellis.Perceptron(epochs=1), **PARSING)
    learner = trellis.Perceptron(epochs=2)
    whole = trellis.Parser.train(corpus, learner=learner, init=older, **PARSING)
    trellis.Parser.train(corpus, learner=trellis.Perceptron(epochs=1), init=older, checkpoint=path, **PARSING)
    resumed = trellis.Parser.train(corpus, learner=learner, init=older, checkpoint=path, **PARSING)
    assert all(np.array_equal(a, whole.weights[name]) for name, a in resumed.weights.items())
    with pytest.raises(trellis.ModelError, match="another training"):
        trellis.Parser.train(corpus, learner=learner, checkpoint=path, **PARSING)


@pytest.mark.parametrize("markov", [{}, {"vertical": 2, "horizontal": 1}])
@pytest.mark.parametrize("learner", [trellis.Perceptron(epochs=20, shuffle=False), trellis.AROW(epochs=5)])
def test_a_tree_parser_starts_from_all_that_the_trees_have(learner: trellis.Learner, markov: dict[str, int]) -> None:
    """Trees in another order have other numbers of attributes and rules; nothing is lost of the same trees."""
    older = trellis.TreeParser.train(TREES, learner=learner, **markov)
    again = trellis.Perceptron(epochs=1, shuffle=False)
    assert older.evaluate(TREES).f1 == 1.0
    newer = trellis.TreeParser.train(TREES[::-1], learner=again, init=older, **markov)
    assert newer.training["history"][0]["updates"] == 0
    ours, theirs = newer.model.rows, older.model.rows
    assert sorted(ours.weights.tolist()) == sorted(theirs.weights.tolist())
    for tree in TREES:
        words = list(zip(tree.words, tree.pos, strict=True))
        [(output, score)], [(expected, older_score)] = newer.kbest(words, 1), older.kbest(words, 1)
        assert output == expected
        assert score == pytest.approx(older_score, rel=1e-6)


def test_the_first_objective_of_a_tree_parser_is_that_of_the_older_weights(problems: list[Problem]) -> None:
    learner = trellis.CRF(epochs=20, c2=0.5)
    older = trellis.TreeParser.train(TREES, learner=learner)
    last = older.training["history"][-1]["objective"]
    for order in (TREES, TREES[::-1]):
        newer = trellis.TreeParser.train(order, learner=learner, init=older)
        assert objective(problems[-1], 0.5) == pytest.approx(last, rel=1e-5)
        assert newer.training["history"][0]["objective"] <= last * (1 + 1e-6)


def test_older_weights_help_on_few_phrases() -> None:
    older = trellis.TreeParser.train(TREES, learner=trellis.Perceptron(epochs=10, shuffle=False), prune=0.0)
    options: dict[str, Any] = {"learner": trellis.Perceptron(epochs=1, shuffle=False), "prune": 0.0}
    cold, warm = (
        trellis.TreeParser.train(TREES[4:], **options),
        trellis.TreeParser.train(TREES[4:], init=older, **options),
    )
    assert cold.training["history"][0]["mistakes"] > 0
    assert warm.training["history"][0]["mistakes"] == 0


def test_variances_of_a_warm_start_without_a_filter() -> None:
    """A new training has no attribute then, and its variances begin as one."""
    corpus, learner = treebank(12, 3, longest=4), trellis.AROW(epochs=2, shuffle=False)
    older = trellis.Parser.train(corpus, learner=learner, filter=None, **PARSING)
    newer = trellis.Parser.train(corpus, learner=trellis.AROW(epochs=1), filter=None, init=older, **PARSING)
    assert newer.training["history"][0]["updates"] <= older.training["history"][0]["updates"]
