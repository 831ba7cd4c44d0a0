"""Block-coordinate Frank-Wolfe against its twin, against the optimum over all paths, and against its own laws."""

from __future__ import annotations

import itertools
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frank_wolfe_twin import FrankWolfeTwin
from online_twin import Case, case, flat
from samples import KINDS, random_corpus

import trellis
from trellis._support.errors import LearnerError
from trellis.engine.weights import Ngrams
from trellis.learners.dual import FrankWolfeRun
from trellis.learning.chain_problem import ChainProblem
from trellis.learning.run import Event, StopTrainingError, run

KINDS_OF_PROBLEM = ["plain", "edges", "dictionary", "values", "weights", "costs", "constraints", "seen", "parts"]
grid = pytest.mark.parametrize(
    ("cost", "order", "kind"),
    [
        one
        for one in itertools.product(("hamming", "zero-one"), (0, 1, 2, 3), KINDS_OF_PROBLEM)
        if one[0] == "hamming" or one[2] != "costs"
    ],
    ids=str,
)


def large(**options: Any) -> trellis.HMSVM:
    """The learner as large data wants it."""
    return trellis.HMSVM(**{"C": 0.3, "cost": "hamming", "epochs": 50, **options, "solver": "frank-wolfe"})


def begin(problem: ChainProblem, **options: Any) -> Any:
    return large(**options).begin(problem)


def fit_frank_wolfe(problem: ChainProblem, observer: Any = None, **options: Any) -> Any:
    return run(problem, begin(problem, **options), observer)


def pair(
    kind: str, order: int, cost: Any, C: float, *, average: bool = False, **size: int
) -> tuple[FrankWolfeTwin, FrankWolfeRun]:
    given = case(kind, order, **size)
    return FrankWolfeTwin(given, C, cost), begin(given.problem, C=C, cost=cost, average=average)


def vectors(run: FrankWolfeRun, twin: FrankWolfeTwin) -> np.ndarray:
    """v_i of every sentence, made of the shares that the run keeps."""
    state, given, L = run.state(), twin.case, twin.case.n_labels
    out = np.zeros_like(twin.blocks)
    parents, labels = state["ngrams.parents"], state["ngrams.labels"]
    ngrams = Ngrams(parents, labels, np.zeros(len(labels), np.float32))
    for i, (first, last) in enumerate(itertools.pairwise(state["mixtures.starts"])):
        for p in range(first, last):
            t, x, y, z = state["mixtures.parts"].reshape(-1, 4)[p].tolist()
            amount = state["mixtures.amounts"][p]
            for a, value in given.tokens[i][t]:
                for column in twin.columns[z]:
                    out[i, a * twin.width + column] += amount * value * twin.exists[a, column]
            if given.order:
                out[i, twin.at_pairs + y * twin.stride + z] += amount
                for a in given.edges[i][t]:
                    out[i, twin.at_edges + a * twin.pairs + y * twin.stride + z] += amount
            if given.order == 2:
                out[i, twin.at_tri + (x * (L + 1) + y) * twin.stride + z] += amount
            elif given.order > 2 and t:
                [longest] = ngrams.label_runs([x - L - 2], L)
                assert len(longest) == min(given.order + 1, t + 2)
                for length in range(3, len(longest) + 1):
                    out[i, twin.ngram(longest[-length:])] += amount
    return out


# ------------------------------------------------------------ the twin


@grid
def test_steps_are_the_twins(cost: str, order: int, kind: str) -> None:
    for C in (0.1, 1.0):
        twin, run = pair(kind, order, cost, C, seed=order // 3)
        n = twin.case.problem.n_sentences
        for _ in range(3):
            counts = twin.epoch(range(n))
            *found, gap = run.epoch(np.arange(n))
            assert tuple(found) == counts
            np.testing.assert_allclose(gap, twin.gap, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(run.dual, twin.dual, rtol=1e-5)
            np.testing.assert_allclose(flat(run.weights(), twin), twin.w, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(vectors(run, twin), twin.blocks, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(run.state()["mixtures.costs"], twin.costs, rtol=1e-5, atol=1e-6)
        run.average = True
        np.testing.assert_allclose(flat(run.weights(), twin), twin.result(True), rtol=1e-5, atol=1e-6)
        assert twin.dual > 0


@pytest.mark.parametrize("n_labels", [1, 2, 9, 20])
@pytest.mark.parametrize("cost", ["hamming", "zero-one"])
def test_many_labels(cost: str, n_labels: int) -> None:
    """Rows grow slot by slot and then become dense; with one label there is no wrong path."""
    twin, run = pair("plain", 1, cost, 0.3, n_sentences=30, n_labels=n_labels)
    twin.epoch(range(30))
    run.epoch(np.arange(30))
    np.testing.assert_allclose(flat(run.weights(), twin), twin.w, rtol=1e-5, atol=1e-6)
    assert (run.dual == 0) == (n_labels == 1)


# ------------------------------------------------------------ the optimum


@grid
def test_the_optimum_lies_between_dual_and_primal(cost: Any, order: int, kind: str) -> None:
    for C in (0.1, 1.0):
        twin, _ = pair(kind, order, cost, C, n_sentences=7, n_labels=3 if kind == "constraints" else 2, seed=1)
        best = twin.optimum()
        for average in (False, True):
            weights, history = fit_frank_wolfe(twin.case.problem, C=C, cost=cost, epochs=3000, average=average)
            last = history[-1]
            assert last.objective is not None
            assert last.dual is not None
            assert last.gap == last.objective - last.dual <= 0.01 * last.objective
            assert last.dual <= best + 1e-6
            assert best <= last.objective + 1e-6
            w = flat(weights, twin).astype(float)
            np.testing.assert_allclose(last.objective, twin.primal(w), rtol=1e-6)


@grid
def test_losses_by_enumeration(cost: Any, order: int, kind: str) -> None:
    twin, run = pair(kind, order, cost, 0.5)
    run.epoch(np.arange(10))
    w = flat(run.weights(), twin).astype(float)
    np.testing.assert_allclose(run.primal(run.weights()), twin.primal(w), rtol=1e-6)
    assert twin.losses(w).sum() > 0


# ------------------------------------------------------------ laws


@pytest.mark.parametrize("order", [0, 1, 2, 4])
@pytest.mark.parametrize("cost", ["hamming", "zero-one"])
def test_every_step_is_as_long_as_it_should_be(cost: str, order: int) -> None:
    """The dual along the way from one mixture to the new path is greatest where the step ended."""
    lengths = []
    for C, seed in itertools.product((0.05, 2.0), (0, 1)):
        twin, run = pair("values", order, cost, C, seed=seed)
        for i in list(range(10)) * 3:
            before, costs = vectors(run, twin), run.state()["mixtures.costs"].copy()
            twin.w = flat(run.weights(), twin)
            path = twin.most_violated(i, twin.potentials(i))[1] if twin.case.golds[i] else []
            _, stepped, gap = run.epoch(np.array([i]))
            after = vectors(run, twin)
            others = np.delete(after - before, i, axis=0)
            assert not others.any()
            if not stepped:
                continue
            towards = twin.phi(i, twin.case.golds[i]) - twin.phi(i, path) - before[i]
            dearer = twin.cost(i, path) - costs[i]

            def dual(step: float) -> float:
                w = twin.C @ before + twin.C[i] * step * towards  # noqa: B023
                return float(twin.C @ costs + twin.C[i] * step * dearer - 0.5 * w @ w)  # noqa: B023

            step = float((after[i] - before[i]) @ towards / (towards @ towards))
            lengths.append(step)
            np.testing.assert_allclose(after[i], before[i] + step * towards, atol=1e-9)
            assert 0 < step <= 1 + 1e-9
            for other in (0.0, step - 0.01, step + 0.01, 1.0):
                if 0 <= other <= 1:
                    assert dual(step) >= dual(other) - 1e-9
            # The slope at the start of the way is what the step was told its gap is.
            np.testing.assert_allclose((dual(1e-6) - dual(0)) / 1e-6, gap, rtol=1e-3, atol=1e-5)
    assert min(lengths) < 0.5 < 1 - 1e-9 < max(lengths)


@pytest.mark.parametrize("kind", ["plain", "edges", "weights"])
def test_the_dual_never_falls(kind: str) -> None:
    twin, run = pair(kind, 1, "hamming", 0.5, n_sentences=12)
    duals = [0.0]
    for _ in range(10):
        for i in range(12):
            run.epoch(np.array([i]))
            assert run.dual >= duals[-1]
            duals.append(run.dual)
            assert run.dual <= run.primal(run.weights()) + 1e-6
    assert duals[-1] > duals[12] > 0
    assert duals[-1] <= twin.primal(np.zeros(len(twin.w)))


@grid
def test_weights_are_the_sum_of_blocks(cost: Any, order: int, kind: str) -> None:
    twin, run = pair(kind, order, cost, 0.7)
    for _ in range(20):
        run.epoch(np.arange(10))
    kept = run.dual
    total = twin.C @ vectors(run, twin)
    np.testing.assert_allclose(flat(run.weights(), twin), total, atol=1e-5)
    run.native_weights.renewed(run.native)
    np.testing.assert_allclose(flat(run.weights(), twin), total, rtol=1e-7, atol=1e-9)
    exact = twin.C @ run.state()["mixtures.costs"] - 0.5 * total @ total
    np.testing.assert_allclose(run.dual, exact, rtol=1e-12)
    np.testing.assert_allclose(kept, exact, rtol=1e-5)


def test_the_average_is_its_definition() -> None:
    """Step k counts k times, also where it did not move, and where the weights were made anew."""
    twin, run = pair("plain", 2, "hamming", 0.5)
    moments = []
    for k in range(35):
        run.epoch(np.array([k * 7 % 10]))
        run.average = False
        moments.append(flat(run.weights(), twin).astype(float))
        if k == 20:
            run.native_weights.renewed(run.native)
    run.average = True
    k = np.arange(1, 36)
    np.testing.assert_allclose(flat(run.weights(), twin), k @ np.array(moments) / k.sum(), rtol=1e-5, atol=1e-7)


def ends_of(words: list[str], labels: list[str], weights: Any = None, **options: Any) -> tuple[float, float]:
    """Where the optimum of a corpus must lie: its dual and its primal after training, near each other."""
    corpus = trellis.read({"word": [list(s) for s in words], "label": [list(s) for s in labels]})
    events: list[Event] = []
    trellis.train(
        corpus,
        target="label",
        features=["word[0]", "word[-1]"],
        learner=large(epochs=3000, tolerance=2e-3, **options),
        sample_weight=weights,
        observer=events.append,
    )
    last = events[-1]
    assert last.dual is not None
    assert last.objective is not None
    assert 0 < last.objective - last.dual <= 2e-3 * last.objective
    return last.dual, last.objective


WORDS, LABELS = ["abc", "ab", "bca", "caa", "b"], ["XYZ", "XX", "YZX", "ZXX", "Z"]


def test_one_token_makes_the_costs_the_same() -> None:
    words, labels = list("abcabdab"), list("XYZXYZYX")
    hamming, zero_one = (ends_of(words, labels, C=0.4, cost=cost) for cost in ("hamming", "zero-one"))
    assert max(hamming[0], zero_one[0]) <= min(hamming[1], zero_one[1])
    hamming, zero_one = (ends_of(WORDS, LABELS, C=0.4, cost=cost) for cost in ("hamming", "zero-one"))
    assert zero_one[1] < hamming[0]


def test_costs_of_one_are_no_costs() -> None:
    given = case("plain", 1).problem
    ones = np.ones((3, 3), np.float32) - np.eye(3, dtype=np.float32)
    one, _ = fit_frank_wolfe(given, C=0.3, epochs=5)
    other, _ = fit_frank_wolfe(replace(given, label_costs=ones), C=0.3, epochs=5)
    np.testing.assert_array_equal(one.rows.weights, other.rows.weights)


def test_a_weight_of_two_is_the_sentence_twice() -> None:
    weights = np.array([2.0, 1.0, 0.0, 1.0, 3.0])
    copies = [i for i, n in enumerate(weights) for _ in range(int(n))]
    weighted = ends_of(WORDS, LABELS, weights, C=0.4)
    copied = ends_of([WORDS[i] for i in copies], [LABELS[i] for i in copies], C=0.4)
    assert max(weighted[0], copied[0]) <= min(weighted[1], copied[1])
    plain = ends_of(WORDS, LABELS, C=0.4)
    assert plain[0] > weighted[1] or plain[1] < weighted[0]


# ------------------------------------------------------------ the loop


def test_it_stops_at_the_gap() -> None:
    given = case("plain", 1, n_sentences=20).problem
    ends = []
    for gap in (0.3, 0.05, 0.005):
        _, history = fit_frank_wolfe(given, C=0.2, tolerance=gap, epochs=2000)
        last = history[-1]
        assert last.gap is not None
        assert last.objective is not None
        assert last.gap <= gap * last.objective
        assert all(
            e.objective is None or e.gap > gap * e.objective  # type: ignore[operator]
            for e in history[:-1]
        )
        ends.append(len(history))
    assert ends[0] < ends[1] < ends[2] < 2000
    _, history = fit_frank_wolfe(given, C=0.2, tolerance=1e-9, epochs=3)
    assert len(history) == 3
    assert [e.objective is None for e in history] == [True, True, False]
    assert all(e.dual is not None and e.gap is not None for e in history)


def test_the_order_of_sentences() -> None:
    given = case("plain", 1, n_sentences=20).problem

    def weights(**options: Any) -> bytes:
        return fit_frank_wolfe(given, C=0.2, epochs=2, **options)[0].rows.weights.tobytes()

    assert weights(seed=1) == weights(seed=1) != weights(seed=2)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    corpus, ends = random_corpus(1, 200), []
    for n_threads in (1, 2, 5):
        events: list[Event] = []
        tagger = KINDS["edges 2"].train(corpus, learner=large(epochs=3), n_threads=n_threads, observer=events.append)
        last = events[-1]
        ends.append((tagger.model.weights.rows.weights.tobytes(), last.objective, last.dual))
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize("name", [name for name in KINDS if "votes" not in name])
def test_all_kinds_of_models(name: str) -> None:
    chosen = KINDS[name]
    corpus = chosen.corpus(7, 60)
    tagger = chosen.train(corpus, learner=large(C=1.0, epochs=20))
    guess = max(corpus.column("label").tolist().count(z) for z in tagger.labels) / corpus.n_tokens
    assert tagger.evaluate(corpus).token_accuracy > guess + 0.05
    assert tagger.training["learner"]["name"] == "HMSVM"
    assert tagger.training["history"][-1]["gap"] > 0


def test_dev_and_patience() -> None:
    corpus, dev = random_corpus(1, 30), random_corpus(2, 30)
    events: list[Event] = []
    tagger = KINDS["plain"].train(
        corpus, learner=large(epochs=40, tolerance=1e-6), dev=dev, patience=3, observer=events.append
    )
    assert len(events) < 40
    assert tagger.evaluate(dev).headline == max(e.dev_score for e in events)  # type: ignore[type-var]


def test_an_observer_ends_training() -> None:
    def stop(event: Event) -> None:
        if event.epoch == 2:
            raise StopTrainingError

    _, history = fit_frank_wolfe(case("plain", 1).problem, C=0.1, tolerance=1e-9, epochs=9, observer=stop)
    assert len(history) == 2


@pytest.mark.usefixtures("control_c")
def test_control_c_is_heard_within_an_epoch() -> None:
    corpus = random_corpus(1, 300)
    problem: list[Any] = []

    class Catch(trellis.Learner):
        def fit(self, given: Any, observer: Any) -> Any:
            problem.append(given)
            raise StopTrainingError

    with pytest.raises(StopTrainingError):
        trellis.train(corpus, target="label", learner=Catch())
    run = begin(problem[0], C=0.1, cost="zero-one", average=True)
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run.epoch(np.tile(np.arange(300), 100_000))
    timer.join()


# ------------------------------------------------------------ stop and go on


@pytest.mark.parametrize("kind", ["plain", "edges", "seen", "constraints", "values"])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_restored_runs_go_on_to_the_same_bits(order: int, kind: str) -> None:
    given, everyone = case(kind, order, 1, n_sentences=20), np.arange(20)

    def run() -> FrankWolfeRun:
        return begin(given.problem, C=0.4, cost="hamming", average=True)

    first, second = run(), run()
    first.epoch(everyone)
    second.epoch(everyone[:7])  # what it did before does not matter
    second.restore({key: array.copy() for key, array in first.state().items()})
    for _ in range(2):
        assert first.epoch(everyone) == second.epoch(everyone)
        first.native_weights.renewed(first.native)
        second.native_weights.renewed(second.native)
        one, other = first.state(), second.state()
        assert one.keys() == other.keys()
        for key in one:
            assert one[key].dtype == other[key].dtype
            assert one[key].tobytes() == other[key].tobytes(), key
    assert first.weights().rows.weights.tobytes() == second.weights().rows.weights.tobytes()


@pytest.mark.parametrize("killed_at", [1, 4, 7])
def test_a_killed_training_goes_on(killed_at: int, tmp_path: Path) -> None:
    corpus = random_corpus(4, 40)

    def train(observer: Any = None, checkpoint: Path | None = None) -> trellis.Tagger:
        learner = large(C=0.3, tolerance=0.1, epochs=60)
        return KINDS["plain"].train(corpus, learner=learner, observer=observer, checkpoint=checkpoint)

    def kill(event: Event) -> None:
        if event.epoch == killed_at:
            raise InterruptedError

    whole = train()
    assert 7 < len(whole.training["history"]) < 60
    with pytest.raises(InterruptedError):
        train(kill, tmp_path / "checkpoint")
    resumed = train(None, tmp_path / "checkpoint")
    again = train(None, tmp_path / "checkpoint")  # it knows that it had come to its end
    for other in (resumed, again):
        assert other.training["history"] == whole.training["history"]
        assert other.model.weights.rows.weights.tobytes() == whole.model.weights.rows.weights.tobytes()
        assert other.model.weights.edge.tobytes() == whole.model.weights.edge.tobytes()


def test_states_of_other_runs_are_refused() -> None:
    def run(given: Case) -> FrankWolfeRun:
        return begin(given.problem, C=0.4, cost="hamming", average=True)

    ours = run(case("plain", 1))
    ours.epoch(np.arange(10))
    state = ours.state()
    for other in (case("plain", 2), case("plain", 1, n_labels=9), case("edges", 1), case("plain", 1, 5, 11)):
        theirs = run(other)
        theirs.epoch(np.arange(10))
        with pytest.raises(LearnerError, match="the saved state does not match this training"):
            ours.restore(theirs.state())
    with pytest.raises(LearnerError, match="the saved state does not match this training"):
        ours.restore({})
    for name, place, value in (("parts", 0, 99), ("parts", 3, 9), ("starts", 1, 9999), ("starts", 1, -1)):
        bad = {key: array.copy() for key, array in state.items()}
        bad[f"mixtures.{name}"][place] = value
        with pytest.raises(LearnerError, match="the saved state does not match this training"):
            ours.restore(bad)
    falling = {key: array.copy() for key, array in state.items()}
    first, last = falling["mixtures.starts"][:2]
    tokens = falling["mixtures.parts"][0::4]
    tokens[first:last] = tokens[first:last][::-1].copy()
    with pytest.raises(LearnerError, match="ascending order"):
        ours.restore(falling)
    ours.restore(state)


# ------------------------------------------------------------ settings


@pytest.mark.parametrize(
    "bad", [{"C": 0}, {"C": float("inf")}, {"tolerance": 0.0}, {"epochs": 0}, {"seed": -1}, {"cost": "f1"}]
)
def test_parameters_that_make_no_sense(bad: dict[str, Any]) -> None:
    with pytest.raises(LearnerError, match="must"):
        large(**bad)


def test_what_has_no_place_in_it() -> None:
    with pytest.raises(LearnerError, match="partial"):
        fit_frank_wolfe(case("partial", 1).problem, C=1.0)
    with pytest.raises(LearnerError, match=r"init cannot be combined|does not support init"):
        fit_frank_wolfe(case("initial", 1).problem, C=1.0)
    with pytest.raises(LearnerError, match='cost="hamming"'):
        large(cost="zero-one").fit(case("costs", 1).problem)
    tagger = KINDS["plain"].train()
    with pytest.raises(LearnerError, match=r"init cannot be combined|does not support init"):
        trellis.train(random_corpus(1), learner=large(), init=tagger)


@pytest.mark.parametrize("cost", ["zero-one", "hamming"])
@pytest.mark.parametrize("order", [1, 2])
def test_both_solvers_solve_the_same_problem(cost: Any, order: int) -> None:
    """No dual is above the other's primal, and both gaps are small: so the objectives agree to those gaps."""
    corpus = random_corpus(3, 8)
    ends = []
    for solver in ("dual", "frank-wolfe"):
        learner = trellis.HMSVM(C=0.1, cost=cost, solver=solver, tolerance=1e-4, epochs=3000)
        events: list[Event] = []
        KINDS["plain"].train(corpus, learner=learner, order=order, pairs="all", observer=events.append)
        ends.append(events[-1])
    exact, close = ends
    assert close.dual <= exact.objective * (1 + 1e-4)
    assert exact.objective <= close.objective * (1 + 1e-4)
    assert close.objective - close.dual <= 0.0101 * close.objective
    assert close.objective == pytest.approx(exact.objective, rel=0.011)
