"""The theorems on generated data: bounds that hold, R and margins against all paths."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import refused

import trellis
from experiments import bounds
from experiments.__main__ import main

WORDS, TAGS = "abcdefgh", "XYZ"


def generated(seed: int, n: int, noise: float, longest: int = 5) -> dict[str, list[list[str]]]:
    """Words whose labels are known, but for some that are drawn."""
    rng = np.random.default_rng(seed)
    words = [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(1, longest + 1))] for _ in range(n)]
    labels = [[TAGS[WORDS.index(w) % 3] if rng.random() >= noise else TAGS[rng.integers(3)] for w in x] for x in words]
    return {"word": words, "label": labels}


def study(data: Any, **more: Any) -> bounds.Study:
    return bounds.study(data, target="label", **{"features": ["word[0]", "word[-1]"], "order": 1, **more})


def phi(x: list[str], y: Any, order: int) -> dict[Any, float]:
    """Phi by hand: words here and before with labels, and label n-grams."""
    out: dict[Any, float] = {}
    for t in range(len(x)):
        before = [y[i] if i >= 0 else None for i in range(t - order, t)]
        names = [("here", x[t], y[t]), ("before", x[t - 1] if t else None, y[t])]
        names += [("labels", *before[order - back :], y[t]) for back in range(1, order + 1)]
        for name in names:
            out[name] = out.get(name, 0.0) + 1
    return out


def distance(x: list[str], y: Any, z: Any, order: int) -> float:
    a, b = phi(x, y, order), phi(x, z, order)
    return math.sqrt(sum((a.get(k, 0) - b.get(k, 0)) ** 2 for k in {*a, *b}))


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_radius_is_the_greatest_distance(order: int) -> None:
    data = generated(1, 12, 0.2, longest=4)
    found = study(data, order=order, epochs=1)
    assert found.radius_is_exact
    wanted = max(
        distance(x, y, z, order)
        for x, y in zip(data["word"], data["label"], strict=True)
        for z in itertools.product(TAGS, repeat=len(x))
    )
    assert found.radius == pytest.approx(wanted)


def test_where_paths_are_too_many_the_radius_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for features in (["word[0]"], ["word[0]", "label[-1] & word[0]"], ["word[0]", "label[-2..-1] & word[0]"]):
        data = generated(2, 20, 0.2)
        exact = study(data, features=features, order=2, epochs=1)
        with monkeypatch.context() as patch:
            patch.setattr(bounds, "MOST_PATHS", 0)
            bound = study(data, features=features, order=2, epochs=1)
        assert exact.radius_is_exact
        assert not bound.radius_is_exact
        assert exact.radius <= bound.radius <= 2 * exact.radius


@pytest.mark.parametrize("order", [1, 2])
def test_margins_are_those_of_all_paths(order: int) -> None:
    data = generated(3, 15, 0.1, longest=4)
    learner = trellis.Perceptron(epochs=3, average=False, shuffle=False)
    tagger = trellis.train(data, target="label", features=["word[0]", "word[-1]"], order=order, learner=learner)
    length = math.sqrt(sum(term.weight**2 for term in tagger.top_features(None)))
    found = next(one for one in study(data, order=order, epochs=3).margins if one.weights == "perceptron's")
    for x, y, margin in zip(data["word"], data["label"], found.margins, strict=True):
        others = [tagger.score(x, list(z)) for z in itertools.product(TAGS, repeat=len(x)) if list(z) != y]
        assert margin == pytest.approx((tagger.score(x, y) - max(others)) / length, abs=1e-5)
    eps = np.maximum(0, found.delta - found.margins)
    assert found.deviation == pytest.approx(math.sqrt((eps**2).sum()), rel=1e-9)


def test_the_delta_is_that_of_the_least_bound() -> None:
    assert bounds.best_bound(np.array([2.0, 5.0]), 1.0) == (
        2.0,
        0.0,
        0.25,
    )  # separable: R² / delta² at the least margin
    margins, radius = [1.0, -0.5, 0.8, 2.0], 1.5
    delta, deviation, bound = bounds.best_bound(np.array([*margins, math.inf]), radius)

    def bound_at(delta: float) -> float:
        return (radius + math.sqrt(sum(max(0.0, delta - m) ** 2 for m in margins))) ** 2 / delta**2

    assert deviation == pytest.approx(math.sqrt(sum(max(0.0, delta - m) ** 2 for m in margins)))
    assert bound == pytest.approx(bound_at(delta))
    assert bound <= 1.01 * min(bound_at(0.01 * i) for i in range(1, 20000))


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_mistakes_never_exceed_the_bounds_in_any_order_of_examples(noise: float, seed: int) -> None:
    data = generated(seed, 30, noise)
    rng = np.random.default_rng(seed)
    for order in (np.arange(30), np.arange(30)[::-1], rng.permutation(30)):
        given = {name: [rows[i] for i in order] for name, rows in data.items()}
        found = study(given, epochs=30)
        assert found.mistakes[0] <= found.bound_2
        if noise == 0:
            assert found.separable
            assert found.bound_1 is not None
            assert sum(found.mistakes) <= found.bound_1
            assert found.mistakes[-1] == 0  # separable data are learnt


def test_inseparable_data_are_never_learnt() -> None:
    data = {"word": [["a"], ["a"], ["b"]], "label": [["X"], ["Y"], ["X"]]}
    found = study(data, features=["word[0]"], order=0, epochs=50)
    assert not found.separable
    assert found.bound_1 is None
    assert found.delta is None
    assert found.most_margin is None
    assert min(found.mistakes) > 0
    assert found.mistakes[0] <= found.bound_2


def test_the_greatest_margin_is_that_of_the_quadratic_programme() -> None:
    """Against a general solver over all paths."""
    scipy = pytest.importorskip("scipy.optimize")
    data = generated(5, 10, 0.0, longest=3)
    found = study(data, epochs=10)
    rows = [
        (phi(x, y, 1), phi(x, z, 1))
        for x, y in zip(data["word"], data["label"], strict=True)
        for z in itertools.product(TAGS, repeat=len(x))
        if list(z) != y
    ]
    names = sorted({k for pair in rows for features in pair for k in features}, key=str)
    d = np.array([[a.get(k, 0) - b.get(k, 0) for k in names] for a, b in rows])
    # min ½ |d^T a|² - sum a, a >= 0: the dual of the hard margin
    gram = d @ d.T
    solved = scipy.minimize(
        lambda a: 0.5 * a @ gram @ a - a.sum(),
        np.zeros(len(d)),
        jac=lambda a: gram @ a - 1,
        bounds=[(0, None)] * len(d),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "ftol": 1e-14, "gtol": 1e-8},
    )
    wanted = 1 / math.sqrt(-2 * solved.fun)
    assert found.delta is not None
    assert found.most_margin is not None
    assert found.delta <= wanted * (1 + 1e-3)
    assert found.delta == pytest.approx(wanted, rel=0.01)
    assert wanted * (1 - 1e-3) <= found.most_margin <= 1.03 * wanted


@pytest.mark.parametrize("size", [2, 20, 2000])
def test_mistakes_do_not_depend_on_how_many_outputs_there_are(size: int) -> None:
    """R and the margin are the same for any number of outputs, and so is the bound: one mistake."""

    class Choice:
        def candidates(self, x: str) -> list[int]:
            return list(range(size))

        def features(self, x: str, y: int) -> dict[str, float]:
            return {f"{x} right": 1.0} if y == size - 1 else {f"{x} wrong": 1.0}

    updates: list[int] = []
    examples = [("a", size - 1)] * 5
    learner = trellis.Perceptron(epochs=3, average=False)
    trellis.StructuredModel.train(
        examples, problem=Choice(), learner=learner, observer=lambda event: updates.append(event.updates or 0)
    )
    assert updates == [1, 0, 0]  # R² = 2 = delta², so R² / delta² = 1


def test_held_out_errors_stand_beside_theorem_3() -> None:
    found = study(generated(8, 200, 0.0), epochs=2, held_out=generated(9, 50, 0.0))
    assert found.held_out_error is not None
    assert found.held_out_error <= found.bound_3
    voted = trellis.train(
        generated(8, 200, 0.0), target="label", features=["word[0]", "word[-1]"], order=1,
        learner=trellis.Perceptron(epochs=1, vote=True),
    )  # fmt: skip
    assert 1 - voted.evaluate(generated(9, 50, 0.0)).sentence_accuracy == found.held_out_error


def test_tables_and_plain_data() -> None:
    found = study(generated(1, 20, 0.0), epochs=2, held_out=generated(2, 5, 0.0))
    names = [name for name, _, _ in found.rows()]
    assert names[:2] == ["sentences", "R"]
    assert {"theorem 1", "theorem 2", "theorem 3", "held out"} <= set(names)
    assert found.to_dict()["theorem_2"] == found.bound_2


def test_bad_input_is_one_clear_line() -> None:
    with pytest.raises(trellis.TrellisError, match="epochs must be a whole number of at least 1"):
        study(generated(1, 5, 0.0), epochs=0)
    with pytest.raises(trellis.TrellisError, match="no column"):
        bounds.study(generated(1, 5, 0.0), target="tag")


# ---------------------------------------------------------------------------- the command


def written(path: Path, data: dict[str, list[list[str]]]) -> str:
    rows = zip(data["word"], data["label"], strict=True)
    path.write_text("\n".join("".join(f"{w} {z}\n" for w, z in zip(*row, strict=True)) for row in rows))
    return str(path)


def test_what_the_theorems_are_not_about() -> None:
    corpus = {"word": [["a", "b"]], "tag": [["X", "Y"]]}
    with pytest.raises(trellis.CorpusError, match="no sentences to test on"):
        bounds.study(corpus, target="tag", features=["word[0]"], held_out={"word": [], "tag": []})
    with pytest.raises(trellis.LearnerError, match=r"'label\[same\]' .* exact search; omit it"):
        bounds.study(corpus, target="tag", features=["word[0]", "label[same]"])


def test_the_command(tmp_path: Path, call: Any) -> None:
    train, test = written(tmp_path / "a.txt", generated(1, 30, 0.0)), written(tmp_path / "b.txt", generated(2, 9, 0.0))
    picture = tmp_path / "m.svg"
    shown = call(f"bounds {train} --order 1 --epochs 4 --held-out {test} --plot {picture} --quiet", main=main)
    assert shown.code == 0, shown.err
    for name in ("R", "mistakes, all passes", "margin", "theorem 1", "theorem 2", "theorem 3", "held out"):
        assert f"\n{name} " in shown.out
    assert "<svg" in picture.read_text()
    as_json = json.loads(call(f"bounds {train} --order 1 --epochs 4 --json --quiet", main=main).out)
    assert as_json["mistakes"][-1] == 0
    assert as_json["held_out_error"] is None
    assert sum(as_json["mistakes"]) <= as_json["theorem_1"]
    refused(call(f"bounds {train} --target none --quiet", main=main), "none")
    refused(call(f"bounds {train} --plot m.foo --quiet", main=main), "m.foo")
