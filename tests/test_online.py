"""All learners by epochs against their twins: learner × order × what a problem may carry."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from online_twin import Twin, case, flat, vote
from samples import KINDS, random_corpus

import trellis
from experiments import reference
from trellis import AROW, MIRA, PassiveAggressive, Perceptron
from trellis._support.errors import LearnerError, ModelError
from trellis.engine.weights import Rows, padded
from trellis.interfaces.cli.training_options import build_learner
from trellis.learning.online import OnlineRun
from trellis.tasks.tagging.model import Tagger

EPOCHS = 3
LEARNERS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {  # how to make it, of what rule its twin is
    "perceptron": (Perceptron, {}, ("perceptron",)),
    "mira": (MIRA, {"C": 0.3}, ("MIRA", 1, 0.3)),
    "4-best mira": (MIRA, {"k": 4, "C": 0.5}, ("MIRA", 4, 0.5)),
    "pa": (PassiveAggressive, {"variant": "PA"}, ("PA",)),
    "pa-i": (PassiveAggressive, {"C": 0.2}, ("PA-I", 1, 0.2)),
    "pa-ii": (PassiveAggressive, {"variant": "PA-II", "C": 0.7}, ("PA-II", 1, 0.7)),
    "arow": (AROW, {"r": 2.0}, ("AROW", 1, 2.0)),
}
CASES = [
    "plain",
    "edges",
    "dictionary",
    "values",
    "partial",
    "weights",
    "costs",
    "constraints",
    "seen",
    "initial",
]
grid = pytest.mark.parametrize(
    ("name", "order", "kind"),
    list(itertools.product(LEARNERS, (0, 1, 2), [*CASES, "parts", "parts seen"])),
    ids=lambda value: str(value),
)


def wrong(event: trellis.Event, name: str) -> int | None:
    """Wrong tokens, under the name that says by which paths they are counted."""
    augmented = "mira" in name or "arow" in name
    assert (event.mistakes is None, event.violations is None) == (augmented, not augmented)
    return event.violations if augmented else event.mistakes


@grid
def test_weights_are_the_twins(name: str, order: int, kind: str) -> None:
    learner, options, rule = LEARNERS[name]
    given = case(kind, order)
    twin = Twin(given, *rule)
    counts = [twin.epoch(range(given.problem.n_sentences)) for _ in range(EPOCHS)]
    assert counts[0][1] > 0
    for average in (False, True):
        weights, history = learner(epochs=EPOCHS, average=average, shuffle=False, **options).fit(given.problem, None)
        assert [(wrong(e, name), e.updates) for e in history] == counts
        expected = twin.result(average)
        if name == "perceptron":
            np.testing.assert_array_equal(flat(weights, twin), expected)
        else:
            np.testing.assert_allclose(flat(weights, twin), expected, rtol=1e-5, atol=1e-6)
        if kind == "constraints":
            assert np.array_equal(np.isneginf(weights.edge), np.isneginf(given.problem.edge_base))
            assert np.array_equal(weights.end, given.problem.end_base)
        else:
            assert weights.end is None


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "edges", "partial", "weights", "constraints", "seen"])
@pytest.mark.parametrize("name", LEARNERS)
def test_batches_are_the_twins(name: str, kind: str, order: int) -> None:
    """Decoded by the weights before the batch, stepped in order; the same bits for any number of threads."""
    learner, options, rule = LEARNERS[name]
    given = case(kind, order, n_sentences=16)
    twin = Twin(given, *rule)
    counts = [twin.epoch(range(given.problem.n_sentences), batch=4) for _ in range(EPOCHS)]
    made = learner(epochs=EPOCHS, average=True, shuffle=False, batch=4, **options)
    fits = [made.fit(replace(given.problem, n_threads=n), None) for n in (1, 2, 3)]
    assert [(wrong(e, name), e.updates) for e in fits[0][1]] == counts
    found = [flat(weights, twin) for weights, _ in fits]
    if name == "perceptron":
        np.testing.assert_array_equal(found[0], twin.result(True))
    else:
        np.testing.assert_allclose(found[0], twin.result(True), rtol=1e-5, atol=1e-6)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_batches_vote_alike_on_any_number_of_threads() -> None:
    given = case("plain", 1, n_sentences=30)
    logs = []
    for n in (1, 2, 3):
        weights, _ = Perceptron(epochs=2, vote=True, batch=8).fit(replace(given.problem, n_threads=n), None)
        assert weights.votes is not None
        logs.append(weights.votes)
    for other in logs[1:]:
        assert np.array_equal(other.changes, logs[0].changes)
        assert np.array_equal(other.counts, logs[0].counts)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("n_labels", [1, 2, 9, 20])
def test_many_labels(name: str, n_labels: int) -> None:
    """Rows grow slot by slot and then become dense."""
    learner, options, rule = LEARNERS[name]
    given = case("plain", 1, n_sentences=40, n_labels=n_labels)
    twin = Twin(given, *rule)
    twin.epoch(range(40))
    weights, _ = learner(epochs=1, average=False, shuffle=False, **options).fit(given.problem, None)
    np.testing.assert_allclose(flat(weights, twin), twin.w, rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------ the voted perceptron


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_votes(order: int, kind: str) -> None:
    """Voting is what its definition says: decode with the weights of every moment."""
    for seed, (epochs, n) in enumerate([(1, 10), (4, 25)]):
        given = case(kind, order, seed, n_sentences=n)
        twin = Twin(given, "perceptron")
        for _ in range(epochs):
            twin.epoch(range(n))
        weights, _ = Perceptron(epochs=epochs, vote=True, shuffle=False).fit(given.problem, None)
        assert weights.votes is not None
        assert weights.votes.counts.sum() == epochs * n
        found = vote(given.problem.corpus, weights, 2).tolist()
        expected = [z for i in range(n) for z in twin.elected(i)]
        assert found == expected
        averaged, _ = Perceptron(epochs=epochs, shuffle=False).fit(given.problem, None)
        np.testing.assert_array_equal(flat(weights, twin), flat(averaged, twin))


@pytest.mark.parametrize(("order", "n"), [(1, 150), (2, 100), (4, 60)])
def test_votes_of_a_long_training(order: int, n: int) -> None:
    """Long stretches of moments are settled at once, and the path changes often enough."""
    given = case("plain", order, 3, n_sentences=n, n_labels=4)
    twin = Twin(given, "perceptron")
    for _ in range(2):
        twin.epoch(range(n))
    weights, _ = Perceptron(epochs=2, vote=True, shuffle=False).fit(given.problem, None)
    expected = [z for i in range(n) for z in twin.elected(i)]
    assert vote(given.problem.corpus, weights, 1).tolist() == expected
    averaged, _ = Perceptron(epochs=2, shuffle=False).fit(given.problem, None)
    by_average = [reference.viterbi(twin.potentials(i, flat(averaged, twin)))[0] for i in range(n)]
    assert [z for path in by_average for z in path] != expected


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        *((kind, None) for kind in ("plain", "order 0", "order 2", "edges", "edges 2")),
        *((kind, None) for kind in ("tag dictionary 2", "bag and columns", "cut-off")),
        *((kind, 3) for kind in ("plain", "edges", "tag dictionary", "bag and columns", "cut-off")),
    ],
)
def test_voted_taggers(kind: str, order: int | None, tmp_path: Path) -> None:
    chosen = KINDS[kind]
    chosen = chosen if order is None else replace(chosen, options={**chosen.options, "order": order})
    corpus, other = chosen.corpus(5, 30), chosen.corpus(6, 30)
    events: list[Any] = []
    tagger = chosen.train(corpus, learner=Perceptron(epochs=2, vote=True), dev=other, observer=events.append)
    assert tagger.evaluate(other).headline == max(e.dev_score for e in events)
    tagger.save(tmp_path / "voted")
    again = trellis.load(tmp_path / "voted")
    whole = tagger.tag_column(other).tolist()
    assert again.tag_column(other, n_threads=1).tolist() == whole
    rows: list[Any] = list(other)
    if "attributes" in tagger.columns:
        bags, starts = other.columns["attributes"].tolist(), other.starts.tolist()
        rows = [{**row, "attributes": bags[a:b]} for row, (a, b) in zip(rows, pairwise(starts), strict=True)]
    assert [z for labels in again.tag_batch(rows) for z in labels] == whole
    assert [z for row in rows for z in tagger.tag(row)] == whole
    averaged = chosen.train(corpus, learner=Perceptron(epochs=2), dev=None)
    if len(events) == 2 and events[1].best:
        for row in rows[:3]:
            assert tagger.kbest(row, 2) == averaged.kbest(row, 2)


@pytest.mark.parametrize("rules", [None, "iob2"])
def test_votes_keep_to_what_is_allowed(rules: str | None) -> None:
    """Every voter's best path among those allowed; the path first voted for wins among equals."""
    sentences = [["a", "b", "c"], ["b", "b"], ["c", "a", "a", "b"], ["d"], ["a", "d", "c"]]
    gold = [["B", "I", "O"], ["O", "B"], ["B", "O", "B", "I"], ["O"], ["B", "I", "I"]]
    data = {"word": sentences, "tag": gold}
    learner = Perceptron(epochs=3, vote=True)
    tagger = trellis.train(
        data, target="tag", features=["word[0]"], learner=learner, labels=trellis.Labels(scheme=rules)
    )
    model, n = tagger.model, len(tagger.labels)
    votes, n_rows, stride = model.weights.votes, model.weights.rows.n_attributes, padded(n)
    assert votes is not None
    rows, edge = np.zeros((n_rows, n), np.float32), np.where(np.isneginf(model.weights.edge), -np.inf, 0)
    voters = list[Tagger]()
    for u in range(len(votes.counts)):
        if u:
            here = slice(votes.starts[u - 1], votes.starts[u])
            for row, place, change in zip(votes.rows[here], votes.places[here], votes.changes[here], strict=True):
                if row < n_rows:
                    rows[row, place] += change
                else:
                    edge[place // stride, place % stride] += change
        sparse = Rows(
            (np.arange(n_rows + 1) * n).astype(np.uint32),
            np.tile(np.arange(n), n_rows).astype(np.uint16),
            rows.reshape(-1).copy(),
        )
        weights = replace(model.weights, rows=sparse, edge=edge.astype(np.float32), votes=None)
        voters.append(Tagger(replace(model, weights=weights)))
    differs = False
    for sentence in sentences:
        for label in tagger.labels[: 2 if rules else 3]:
            allowed = {len(sentence) - 1: label}
            if rules and label == "I" and len(sentence) == 1:
                continue
            counted: dict[tuple[str, ...], int] = {}
            for voter, count in zip(voters, votes.counts.tolist(), strict=True):
                path = tuple(voter.tag(sentence, allowed=allowed))
                counted[path] = counted.get(path, 0) + count
            expected = list(max(counted, key=lambda path: counted[path]))
            assert tagger.tag(sentence, allowed=allowed) == expected
            differs |= tagger.kbest(sentence, 1, allowed=allowed)[0][0] != expected
    assert differs  # from what the averaged weights give


def test_damaged_votes() -> None:
    tagger = KINDS["plain"].train(learner=Perceptron(epochs=1, vote=True))
    votes, model = tagger.model.weights.votes, tagger.model
    assert votes is not None

    def bad(name: str, at: int, value: float) -> Any:
        array = getattr(votes, name).copy()
        array[at] = value
        return replace(model, weights=replace(model.weights, votes=replace(votes, **{name: array})))

    for damaged in (
        bad("rows", -1, 10**6),
        bad("rows", 0, 10**6),
        bad("places", 0, 10**6),
        bad("counts", 0, -1),
        bad("starts", 1, 10**6),
        bad("changes", 0, np.nan),
    ):
        with pytest.raises(ModelError, match="inconsistent"):
            trellis.Tagger(damaged)


# ------------------------------------------------------------ margins


def test_steps_of_mira_meet_their_conditions() -> None:
    """Karush, Kuhn and Tucker: the step is a sum of d_i by sizes >= 0 that sum to C at most, to C where there is slack,
    and no size is above zero but where the margin is just missed or just met."""
    steps = 0
    for k, c, order, seed in itertools.product((1, 3), (0.05, 10.0), (1, 2), (0, 1)):
        given = case("plain", order, seed)
        twin = Twin(given, "MIRA", k, c)
        run = OnlineRun(given.problem, "MIRA", average=False, k=k, c=c)
        for i in range(given.problem.n_sentences):
            twin.w, n_steps = flat(run.weights(), twin), len(twin.steps)
            twin.epoch([i])
            run.epoch(np.array([i], np.int64))
            if len(twin.steps) == n_steps:
                continue
            before, d, costs = twin.steps[-1]
            after = flat(run.weights(), twin).astype(float)
            change, rows = after - before, np.array(d)
            losses = np.array(costs) - rows @ after
            slack = max(0.0, losses.max())
            # The step is sizes @ rows: found again as the nearest such sum whose tight constraints alone have a size.
            tight = [j for j in range(len(d)) if losses[j] > slack - 1e-4]
            sizes, *_ = np.linalg.lstsq(rows[tight].T, change, rcond=None)
            np.testing.assert_allclose(sizes @ rows[tight], change, atol=1e-5)
            if np.linalg.matrix_rank(rows[tight]) == len(tight):
                assert sizes.min() > -1e-5
                assert sizes.sum() < c + 1e-5
                assert slack < 1e-4 or sizes.sum() > c - 1e-5
                steps += 1
    assert steps > 50


# ------------------------------------------------------------ stop and go on


@pytest.mark.parametrize("kind", ["plain", "edges", "seen", "initial", "constraints", "values", "parts"])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", [*LEARNERS, "voted"])
def test_restored_runs_go_on_to_the_same_bits(name: str, order: int, kind: str) -> None:
    if (name, kind) == ("voted", "parts"):
        return  # votes are kept by labels alone
    given = case(kind, order, 1, n_sentences=20)
    _, _, rule = LEARNERS.get(name, (None, None, ("perceptron",)))
    settings = dict(zip(("rule", "k", "c"), rule, strict=False))
    all_of_them = np.arange(20, dtype=np.int64)

    def run() -> OnlineRun:
        return OnlineRun(given.problem, average=True, vote=name == "voted", **settings)

    first, second = run(), run()
    first.epoch(all_of_them)
    second.epoch(all_of_them[:7])  # what it did before does not matter
    state = {key: array.copy() for key, array in first.state().items()}
    second.restore(state)
    for _ in range(2):
        counts = [run.epoch(all_of_them) for run in (first, second)]
        assert counts[0] == counts[1]
        one, other = first.state(), second.state()
        assert one.keys() == other.keys()
        for key in one:
            assert one[key].dtype == other[key].dtype
            assert one[key].tobytes() == other[key].tobytes(), key
    a, b = first.weights(), second.weights()
    assert a.rows.weights.tobytes() == b.rows.weights.tobytes()
    assert a.edge.tobytes() == b.edge.tobytes()


def test_states_of_other_runs_are_refused() -> None:
    run = OnlineRun(case("plain", 1).problem, "perceptron", average=True)
    for other in (case("plain", 2), case("plain", 1, n_labels=9), case("edges", 1)):
        state = OnlineRun(other.problem, "perceptron", average=True).state()
        with pytest.raises(LearnerError, match="the saved state does not match this training"):
            run.restore(state)
    with pytest.raises(LearnerError, match="the saved state does not match this training"):
        run.restore(OnlineRun(case("plain", 1).problem, "AROW", average=True).state())
    with pytest.raises(LearnerError, match="the saved state does not match this training"):
        run.restore({})


# ------------------------------------------------------------ settings


@pytest.mark.parametrize(
    "bad",
    [
        lambda: MIRA(k=0),
        lambda: MIRA(C=0),
        lambda: MIRA(C=float("inf")),
        lambda: MIRA(epochs=0),
        lambda: PassiveAggressive(variant="PA-III"),  # type: ignore[arg-type]
        lambda: PassiveAggressive(C=-1),
        lambda: PassiveAggressive(shuffle=True, seed=-1),
        lambda: AROW(r=0),
        lambda: AROW(r=float("nan")),
        lambda: AROW(epochs=-1),
    ],
)
def test_parameters_that_make_no_sense(bad: Any) -> None:
    with pytest.raises(LearnerError, match="must"):
        bad()


def test_names_on_the_command_line() -> None:
    assert build_learner("mira", {}, ["k=5", "C=0.5"]) == MIRA(k=5, C=0.5)
    assert build_learner("pa", {}, ["variant=PA-II"]) == PassiveAggressive(variant="PA-II")
    assert build_learner("arow", {}, ["r=3"]) == AROW(r=3)
    assert build_learner("perceptron", {}, ["vote=true"]) == Perceptron(vote=True)


def test_weights_to_begin_with_must_fit() -> None:
    initial = case("initial", 2).problem.initial
    with pytest.raises(LearnerError, match="order 2"):
        Perceptron().fit(replace(case("plain", 1).problem, initial=initial), None)


@pytest.mark.parametrize("learner", [MIRA(), MIRA(k=3), PassiveAggressive(), AROW(), Perceptron(vote=True)])
def test_all_of_them_learn(learner: Any) -> None:
    corpus = random_corpus(7, 80)
    tagger = KINDS["plain"].train(corpus, learner=learner)
    guess = max(corpus.column("label").tolist().count(z) for z in tagger.labels) / corpus.n_tokens
    assert tagger.evaluate(corpus).token_accuracy > guess + 0.2


def test_batches_at_higher_orders_have_the_same_bits_on_any_number_of_threads() -> None:
    corpus, learner = random_corpus(3, 40), Perceptron(epochs=4, batch=6)
    found = [
        trellis.train(corpus, target="label", features=["word[0]"], learner=learner, order=4, n_threads=n).model.weights
        for n in (1, 2, 3)
    ]
    first = found[0]
    assert first.ngrams is not None
    for other in found[1:]:
        assert other.ngrams is not None
        assert np.array_equal(other.rows.weights, first.rows.weights)
        assert np.array_equal(other.edge, first.edge)
        assert np.array_equal(other.ngrams.parents, first.ngrams.parents)
        assert np.array_equal(other.ngrams.weights, first.ngrams.weights)


def test_batches_of_labels_with_parts_have_the_same_bits_on_any_number_of_threads() -> None:
    draw = random.Random(5)
    words = [[f"w{draw.randrange(40)}" for _ in range(12)] for _ in range(100)]
    labels = [["|".join(draw.choice(f"{i}ab") + str(i) for i in range(4)) for _ in sentence] for sentence in words]
    corpus, learner = trellis.read({"word": words, "label": labels}), Perceptron(epochs=2, batch=16)
    settings: Any = {
        "target": "label",
        "features": ["word[0]", "word[-1]", "word[1]"],
        "order": 0,
        "labels": trellis.Labels(parts="|"),
    }
    one, four = (trellis.train(corpus, learner=learner, n_threads=n, **settings).model.weights.rows for n in (1, 4))
    assert np.array_equal(one.labels, four.labels)
    assert np.array_equal(one.weights, four.weights)


def test_progress_tells_mistakes_from_violations_of_the_margin() -> None:
    """A learner that decodes by score plus cost has few right paths to show, however good its tagger is."""
    corpus = trellis.read({"word": [["a", "b", "a", "b"], ["b", "a", "b", "a"]], "label": [[*"ABAB"], [*"BABA"]]})
    for learner in (trellis.Perceptron, trellis.PassiveAggressive, trellis.MIRA, trellis.AROW, trellis.HMSVM):
        events = list[trellis.Event]()
        tagger = trellis.train(corpus, target="label", learner=learner(epochs=5), observer=events.append)
        assert tagger.evaluate(corpus).token_accuracy == 1
        text = "training error" if events[-1].mistakes is not None else "margin violations"
        assert text in events[-1].text()
        if events[-1].mistakes is not None:
            assert events[-1].mistakes == 0
        else:
            assert events[-1].violations is not None
