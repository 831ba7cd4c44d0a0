"""Templates that join looks with labels before the token: trained, decoded, saved and explained as brute force says."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged import model_bytes
from equal_models import learnt
from gradient_oracle import slope_of
from gradients import gradient_of
from history_oracle import TEMPLATES, Paths, Weights, dot, features_of, minus, weights_in

import trellis
from trellis import AROW, CRF, MIRA, LearnerError, ModelError, PassiveAggressive, Perceptron, TemplateError
from trellis.corpus.corpus import Corpus
from trellis.corpus.schemes import Span, spans
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.learner import Learner
from trellis.learning.parameters import Parameters

ALL = list(TEMPLATES)
CHOICES = [["word[0]", "label[-2..-1] & word[0]"], ALL, ["word[0]", "label[-3..-1] & word[-1]"]]


def sample(seed: int = 1, labels: str = "XYZ", n: int = 12) -> tuple[list[list[str]], list[list[str]]]:
    draw = random.Random(seed)
    words = [[draw.choice("abc") for _ in range(draw.randrange(1, 5))] for _ in range(n)]
    return words, [[draw.choice(labels) for _ in sentence] for sentence in words]


def corpus_of(seed: int = 1, **more: Any) -> Corpus:
    words, labels = sample(seed, **more)
    return trellis.read({"word": words, "label": labels})


def train(features: list[str], learner: Any, corpus: Any = None, **more: Any) -> trellis.Tagger:
    return trellis.train(corpus or corpus_of(), target="label", features=features, learner=learner, **more)


# ------------------------------------------------------------ online learners


def stepped(learner: Any, d: Weights, w: Weights, variance: Weights, cost: float) -> None:
    """One step of a learner away from a wrong path, d = Phi(gold) - Phi(path)."""
    size = 1.0
    if isinstance(learner, PassiveAggressive | MIRA):
        loss = (cost if isinstance(learner, MIRA) else math.sqrt(cost)) - dot(d, w)
        size = max(0.0, min(learner.effective()["C"], loss / dot(d, d)))
    if isinstance(learner, AROW):
        loss = cost - dot(d, w)
        size = 0.0 if loss <= 0 else loss / (sum(variance[k] * v * v for k, v in d.items()) + learner.r)
    for key, value in d.items():
        w[key] += size * variance[key] * value
    if isinstance(learner, AROW) and size:
        for key, value in d.items():
            variance[key] = 1 / (1 / variance[key] + value * value / learner.r)


@pytest.mark.parametrize(
    ("features", "order"),
    [*((features, None) for features in CHOICES), (["word[0]"], 3), (["word[0]"], 4)],
    ids=["2", "1 2 3", "3", "order 3", "order 4"],
)
@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(epochs=3, average=False, shuffle=False),
        Perceptron(epochs=3, shuffle=False),
        PassiveAggressive(epochs=2, shuffle=False),
        MIRA(epochs=2, k=1, C=0.125, shuffle=False),  # sums of eighths are exact, so that ties are ties
        AROW(epochs=2, shuffle=False),
    ],
    ids=["last", "averaged", "PA", "MIRA", "AROW"],
)
def test_online_learners_step_as_a_dict_of_features_does(learner: Any, features: list[str], order: int | None) -> None:
    words, labels = sample()
    tagger = train(features, learner, **({"order": order} if order else {}))
    order = order or max(TEMPLATES[template][0] for template in features)
    assert tagger.order == order
    w: Weights = defaultdict(float)
    total: Weights = defaultdict(float)
    variance: Weights = defaultdict(lambda: 1.0)
    for _ in range(learner.epochs):
        for sentence, gold in zip(words, labels, strict=True):
            every = Paths(sentence, tagger.labels, features, order)
            costs = [sum(y != z for y, z in zip(path, gold, strict=True)) for path in every.paths]
            augmented = isinstance(learner, MIRA | AROW)
            scores = [s + c * augmented for s, c in zip(every.scores(w), costs, strict=True)]
            rank = [tuple(map(tagger.labels.index, path[::-1])) for path in every.paths]
            best = min(range(len(scores)), key=lambda i: (-round(scores[i], 4), rank[i]))
            d = minus(features_of(sentence, gold, features, order), every.phi[best])
            if costs[best]:
                stepped(learner, d, w, variance, costs[best])
            for key, value in w.items():
                total[key] += value
    n = learner.epochs * len(words)
    wanted = {key: value / n for key, value in total.items()} if learner.average else w
    found = weights_in(tagger)
    longest = max(TEMPLATES[template][0] for template in features) or order
    assert any(key.startswith(f"label[-{longest}..-1]") for key, _ in found)
    for key in found.keys() | wanted.keys():
        assert found.get(key, 0) == pytest.approx(wanted.get(key, 0), abs=2e-4), key


def test_batches_have_the_same_bits_on_any_number_of_threads() -> None:
    one, three = (train(ALL, Perceptron(epochs=3, batch=4), corpus_of(3, n=40), n_threads=n) for n in (1, 3))
    assert one.to_bytes() == three.to_bytes()


@pytest.mark.parametrize("partial", [False, True])
def test_a_stream_gives_the_bytes_of_the_whole(partial: bool) -> None:
    words, labels = sample(5, n=30)
    if partial:
        labels = [[z if i % 3 else "" for i, z in enumerate(row)] for row in labels]
    corpus = trellis.read({"word": words, "label": labels})
    stream = trellis.stream(lambda: [corpus[:7], corpus[7:20], corpus[20:]])
    learner = Perceptron(epochs=2, shuffle=False)
    found = [learnt(train(ALL, learner, given, labels=trellis.Labels(partial=partial))) for given in (stream, corpus)]
    assert found[0] == found[1]


def test_a_checkpoint_resumes_with_the_same_bits(tmp_path: Path) -> None:
    def stop(event: trellis.Event) -> None:
        if event.epoch == 2:
            raise trellis.StopTrainingError

    kept = tmp_path / "kept"
    train(ALL, Perceptron(epochs=4), checkpoint=kept, observer=stop)
    resumed, whole = train(ALL, Perceptron(epochs=4), checkpoint=kept), train(ALL, Perceptron(epochs=4))
    assert weights_in(resumed) == weights_in(whole)


# ------------------------------------------------------------ gradients


class Kept(Learner):
    """Keeps the problem that it is given."""

    abilities, default_pairs = frozenset({"orders", "histories"}), "seen"

    def fit(self, problem: ChainProblem, observer: Any = None) -> Any:
        self.problem = problem
        raise trellis.StopTrainingError


def problem_of(features: list[str], corpus: Any = None, **more: Any) -> ChainProblem:
    keeper = Kept()
    with pytest.raises(trellis.StopTrainingError):
        train(features, keeper, corpus, **more)
    return keeper.problem


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("features", CHOICES, ids=["2", "1 2 3", "3"])
@pytest.mark.parametrize("kind", ["plain", "partial", "tag dictionary"])
def test_gradients_are_those_of_finite_differences(kind: str, features: list[str], start: bool) -> None:
    words, labels = sample(2, n=5)
    if kind == "partial":
        labels = [[z if i % 3 else "X|Y" if i % 2 else "" for i, z in enumerate(row)] for row in labels]
    corpus = trellis.read({"word": words, "label": labels})
    more: dict[str, Any] = {
        "partial": {"labels": trellis.Labels(partial=True)},
        "tag dictionary": {"search": trellis.Search(tag_dictionary=1)},
    }.get(kind, {})
    problem = problem_of(features, corpus, **more)
    parameters = Parameters.of(problem, transitions="seen", start=start, sparse=True)
    assert parameters.edge_rows is not None
    objective = parameters.objective(local=False, single=False)
    x = np.random.default_rng(0).normal(size=parameters.size)
    losses, slope = gradient_of(objective, x, None, 1)
    assert np.allclose(losses, objective.losses(x, 2), rtol=1e-12)
    assert np.allclose(slope, slope_of(lambda at: float(objective.losses(at, 1).sum()), x), atol=1e-6)
    for n_threads in (2, 3):
        assert np.array_equal(gradient_of(objective, x, None, n_threads)[1], slope)


@pytest.mark.parametrize("features", CHOICES, ids=["2", "1 2 3", "3"])
def test_a_crf_minimises_what_all_paths_say(features: list[str]) -> None:
    words, labels = sample(4, n=6)
    corpus = trellis.read({"word": words, "label": labels})
    tagger = train(features, CRF(c2=0.3, tolerance=1e-12, precision="double", start=True), corpus)
    order, w = tagger.order, weights_in(tagger)
    every = [Paths(sentence, tagger.labels, features, order) for sentence in words]

    def objective(w: Weights) -> float:
        total = 0.3 * sum(value * value for value in w.values())
        for paths, gold in zip(every, labels, strict=True):
            total -= math.log(paths.probabilities(w)[tuple(gold)])
        return total

    assert tagger.training["history"][-1]["objective"] == pytest.approx(objective(w), rel=1e-6)
    for key in w:
        slope = (objective({**w, key: w[key] + 1e-3}) - objective({**w, key: w[key] - 1e-3})) / 2e-3
        assert slope == pytest.approx(0, abs=1e-3), key


def test_adagrad_comes_close_and_has_the_same_bits_on_any_number_of_threads() -> None:
    corpus = corpus_of(6, n=20)
    best = train(ALL, CRF(c2=0.3), corpus).training["history"][-1]["objective"]
    one, two = (train(ALL, CRF(c2=0.3, solver="adagrad", epochs=60), corpus, n_threads=n) for n in (1, 2))
    assert one.to_bytes() == two.to_bytes()
    assert best < one.training["history"][-1]["objective"] < 1.1 * best
    sparse = train(ALL, CRF(c1=0.5, c2=0.0), corpus)
    assert 0 < len(weights_in(sparse)) < len(weights_in(one)) / 2


@pytest.mark.parametrize("features", CHOICES, ids=["2", "1 2 3", "3"])
def test_frank_wolfe_closes_the_gap_that_all_paths_say(features: list[str]) -> None:
    """½ |w|² + sum_i C H_i(w), by all paths, comes down to the dual objective."""
    words, labels = sample(12, n=8)
    corpus = trellis.read({"word": words, "label": labels})
    learner = trellis.HMSVM(solver="frank-wolfe", cost="hamming", C=1.0, epochs=300, tolerance=0.01)
    tagger = train(features, learner, corpus)
    w, primal, last = weights_in(tagger), 0.0, tagger.training["history"][-1]
    for sentence, gold in zip(words, labels, strict=True):
        every = Paths(sentence, tagger.labels, features, tagger.order)
        right = dot(features_of(sentence, gold, features, tagger.order), w)
        costs = [sum(y != z for y, z in zip(path, gold, strict=True)) for path in every.paths]
        primal += max(cost + score - right for cost, score in zip(costs, every.scores(w), strict=True))
    primal += 0.5 * sum(value * value for value in w.values())
    assert last["objective"] == pytest.approx(primal, rel=1e-5)
    assert 0 <= primal - last["dual"] < 0.02 * primal


# ------------------------------------------------------------ tagging

SPANS = ("O", "B-P", "I-P")
ANSWERS = {
    "CRF": CRF(c2=0.02),
    "single": CRF(c2=0.02, solver="adagrad", precision="single"),
    "perceptron": Perceptron(epochs=3),
}


@pytest.mark.parametrize("features", CHOICES, ids=["2", "1 2 3", "3"])
@pytest.mark.parametrize("learner", ANSWERS.values(), ids=ANSWERS)
def test_every_answer_is_that_of_all_paths(learner: Any, features: list[str], tmp_path: Path) -> None:
    draw = random.Random(7)
    words = [[draw.choice("abc") for _ in range(4)] for _ in range(12)]
    corpus = trellis.read({"word": words, "label": [[draw.choice(SPANS) for _ in sentence] for sentence in words]})
    tagger = train(features, learner, corpus)
    tagger.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    assert again.to_bytes() == tagger.to_bytes()
    w = weights_in(again)
    for sentence in (["a"], ["b", "new"], list("cab"), list("abca")):
        every = Paths(sentence, tagger.labels, features, tagger.order)
        scores = dict(zip(every.paths, every.scores(w), strict=True))
        best = max(scores.values())
        assert scores[tuple(tagger.tag(sentence))] == pytest.approx(best, abs=1e-4)
        for (path, score), wanted in zip(
            again.kbest(sentence, 5), sorted(scores.values(), reverse=True)[:5], strict=False
        ):
            assert score == pytest.approx(wanted, abs=1e-4)
            assert scores[tuple(path)] == pytest.approx(wanted, abs=1e-4)
        probability = every.probabilities(w)
        posterior = again.marginals(sentence)
        for t, z in ((t, z) for t in range(len(sentence)) for z in tagger.labels):
            assert posterior[t][z] == pytest.approx(sum(p for path, p in probability.items() if path[t] == z), abs=1e-4)
        whole = sum(p for path, p in probability.items() if spans(path) == [Span("P", 0, len(sentence))])
        assert again.span_probability(sentence, ("P", 0, len(sentence))) == pytest.approx(whole, abs=1e-4)
        explained = again.explain(sentence)
        for path in (explained, explained.second):
            assert path is not None
            assert path.score == pytest.approx(scores[tuple(path.output)], abs=1e-4)
            terms = {(term.feature, term.label) for term in path.terms}
            counts = features_of(sentence, path.output, features, tagger.order)
            assert terms == {key for key in counts if w.get(key)}


def test_rows_of_a_damaged_file_are_errors() -> None:
    """What native code follows is checked: runs of labels out of range, or without n-grams."""
    model = train(ALL, Perceptron(epochs=2)).model
    weights, rows, n = model.weights, model.weights.edge_rows, len(model.labels)
    assert rows is not None
    assert weights.ngrams is not None
    first = (n + 1) * weights.edge.shape[1]
    short = int(weights.ngrams.lengths(n).argmin()) + n + 2

    def with_column(column: int) -> Any:
        labels = rows.labels.copy()
        labels[-1] = column
        return replace(model, weights=replace(weights, edge_rows=replace(rows, labels=labels)))

    for damaged in (
        with_column(first + n + 2 + len(weights.ngrams.parents)),
        with_column(first + short),
        with_column(first),
        with_column(2**32 - 1),
        replace(model, order=2, weights=replace(weights, ngrams=None, tri=np.zeros((n + 1, n + 1, 8), np.float32))),
        replace(model, vocabulary=replace(model.vocabulary, templates=tuple(pairs_only(model.vocabulary.templates)))),
        replace(model, family="local"),
    ):
        with pytest.raises((ModelError, ValueError)):
            trellis.Tagger.from_bytes(model_bytes(damaged))
    assert trellis.Tagger.from_bytes(model_bytes(model)).order == 3


def pairs_only(templates: Any) -> Any:
    """Templates that say that all their runs are pairs."""
    return (replace(template, history=min(template.history, 1)) for template in templates)


def test_many_threads_and_many_sentences_tag_alike() -> None:
    tagger = train(ALL, Perceptron(epochs=3), corpus_of(8, n=60))
    sentences = sample(9, n=200)[0]
    one_by_one = [tagger.tag(sentence) for sentence in sentences]
    assert tagger.tag_batch(sentences, n_threads=3) == one_by_one
    assert [best[0][0] for best in tagger.kbest_batch(sentences, 1, n_threads=2)] == one_by_one


# ------------------------------------------------------------ orders, warm starts, errors


def test_labels_alone_raise_the_order() -> None:
    words = ["word[0]", "label[-3..-1]"]
    tagger = train(words, Perceptron())
    assert tagger.order == 3
    assert learnt(tagger) == learnt(train(["word[0]"], Perceptron(), order=3))
    assert train(["word[0]", "label[-2] & label[-1]"], Perceptron()).order == 2
    assert train(["word[0]", "label[-2..-1]"], Perceptron(), order=4).order == 4
    assert train(["word[0]", "label[-1]"], Perceptron()).order == 1
    with pytest.raises(LearnerError, match=r"templates of label\[-3..-1\] need order 3 or more, not 2"):
        train(words, Perceptron(), order=2)
    with pytest.raises(TemplateError, match="all templates read only labels; add one that reads a column, or bias"):
        train(["label[-2..-1]"], Perceptron())


@pytest.mark.parametrize("learner", [Perceptron(epochs=2), CRF(c2=0.1)], ids=["perceptron", "CRF"])
def test_training_starts_from_a_model_with_such_templates(learner: Any) -> None:
    """New words, new labels, a higher order; what was learnt is where training starts."""
    first = train(ALL, learner, corpus_of(10))
    before = weights_in(first)
    words, labels = sample(11, labels="XYZW")
    words[0].append("new")
    labels[0].append("W")
    more = trellis.read({"word": words, "label": labels})
    assert n_at_start(first, more) == len(before)
    trained = trellis.train(more, learner=learner, init=first, order=4)
    assert trained.order == 4
    assert any(feature == "label[-3..-1] & word[-1]=new" or "W" in label for feature, label in weights_in(trained))
    still = trellis.train(more, learner=Perceptron(epochs=1), init=first, sample_weight=[0.0] * 11 + [1e-9])
    found = weights_in(still)
    assert all(found[key] == pytest.approx(value, abs=1e-4) for key, value in before.items())


def n_at_start(tagger: trellis.Tagger, corpus: Any) -> int:
    """How many weights a batch learner starts with."""
    keeper = Kept()
    with pytest.raises(trellis.StopTrainingError):
        trellis.train(corpus, learner=keeper, init=tagger)
    parameters = Parameters.of(keeper.problem, transitions="seen", start=True, sparse=True)
    return parameters.weights(parameters.start()).n_nonzero


@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(vote=True),
        trellis.KernelPerceptron(),
        trellis.HMM(),
        trellis.MaxEnt(),
        trellis.HMSVM(solver="dual"),
        trellis.SequenceBoost(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_other_learners_name_the_template(learner: Any) -> None:
    why = r"does not support 'label\[-2..-1\] & word\[0\]', .* online learner without vote, CRF"
    with pytest.raises(LearnerError, match=type(learner).__name__ + " .*" + why):
        train(["word[0]", "label[-2..-1] & word[0]"], learner)
