"""The generic learner: every learner with every structure that answers it, and chains as a special case."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis
from experiments import reference
from trellis._support import tensor_file
from trellis.tasks.structured.problem import Parts, Weights

WORDS = [
    ["the", "dog", "barks"],
    ["a", "cat", "sees", "the", "dog"],
    ["dogs", "bark"],
    ["the", "bark", "barks", "a", "lot"],
]
TAGS = ["D N V", "D N V D N", "N V", "D N V D N"]
SENTENCES = [(tuple(x), tuple(y.split())) for x, y in zip(WORDS, TAGS, strict=True)]
LABELS = ("D", "N", "V")


def phi(x: Sequence[str], y: Sequence[str]) -> dict[str, float]:
    """Words and suffixes with labels, and label pairs."""
    out: dict[str, float] = {}
    for t, (word, label) in enumerate(zip(x, y, strict=True)):
        for name in (f"{word}|{label}", f"-{word[-1]}|{label}", f"{y[t - 1] if t else '^'}>{label}"):
            out[name] = out.get(name, 0.0) + 1
    return out


class Listed:
    """All label sequences of a sentence, one by one: GEN."""

    def features(self, x: Any, y: Any) -> dict[str, float]:
        return phi(x, y)

    def candidates(self, x: Any) -> list[Any]:
        return list(itertools.product(LABELS, repeat=len(x)))


class ListedWithCosts(Listed):
    def cost(self, x: Any, y: Any, z: Any) -> float:
        return float(sum(a != b for a, b in zip(y, z, strict=True)))


class Searched(Listed):
    """The same, of which only the best can be asked."""

    candidates = None  # type: ignore[assignment]

    def _ranked(self, x: Any, score: Any, k: int) -> list[Any]:
        # Ties as in chains: the lowest label wins, decided from the last label backwards.
        every = sorted(itertools.product(LABELS, repeat=len(x)), key=lambda y: y[::-1])
        return sorted(every, key=lambda y: -score(y))[:k]

    def argmax(self, x: Any, weights: Weights) -> Any:
        return self._ranked(x, lambda y: weights.score(phi(x, y)), 1)[0]

    def kbest(self, x: Any, weights: Weights, k: int) -> list[Any]:
        return self._ranked(x, lambda y: weights.score(phi(x, y)), k)

    def augmented(self, x: Any, y: Any, weights: Weights) -> Any:
        return self._ranked(x, lambda z: weights.score(phi(x, z)) + self.cost(x, y, z), 1)[0]

    def cost(self, x: Any, y: Any, z: Any) -> float:
        return float(sum(a != b for a, b in zip(y, z, strict=True)))


class Lattice:
    """The same as paths of a lattice: node 1 + 3 t + z is label z of word t."""

    binary = False

    def _edges(self, x: Any) -> list[tuple[int, int, int, int]]:
        """(head, tail, token, label); the last ones lead to the goal."""
        n = len(x)
        steps = [
            (1 + 3 * t + z, 1 + 3 * (t - 1) + y if t else 0, t, z)
            for t in range(n)
            for z in range(3)
            for y in range(3 if t else 1)
        ]
        return [*steps, *((1 + 3 * n, 1 + 3 * (n - 1) + z, n, z) for z in range(3))]

    def parts(self, x: Any) -> Parts:
        edges, n = self._edges(x), len(x)
        features: list[dict[str, float]] = []
        for _, tail, t, z in edges:
            if t == n:
                features.append({})
                continue
            before = LABELS[(tail - 1) % 3] if t else "^"
            features.append({f"{x[t]}|{LABELS[z]}": 1, f"-{x[t][-1]}|{LABELS[z]}": 1, f"{before}>{LABELS[z]}": 1})
        # As a hypergraph every word is a leaf, the second tail of its edges.
        shift = n if self.binary else 0
        heads = [head + shift for head, _, _, _ in edges]
        tails = [[tail + shift, *([t] if self.binary and t < n else [])] for _, tail, t, _ in edges]
        return Parts(trellis.Hypergraph(heads, tails), features)

    def edges(self, x: Any, y: Any) -> list[int]:
        chosen = [LABELS.index(label) for label in y]
        return [
            e
            for e, (_, tail, t, z) in enumerate(self._edges(x))
            if (t == len(x) and chosen[-1] == z)
            or (t < len(x) and chosen[t] == z and (t == 0 or chosen[t - 1] == (tail - 1) % 3))
        ]

    def output(self, x: Any, edges: Sequence[int]) -> Any:
        every = self._edges(x)
        return tuple(LABELS[every[e][3]] for e in reversed(edges) if every[e][2] < len(x))


class Forest(Lattice):
    """The same as derivations of a hypergraph whose edges have two tails."""

    binary = True


class Stepwise:
    """The same label by label, where one label is all that is seen of those before."""

    def choices(self, x: Any, done: Any) -> Any:
        return LABELS if len(done) < len(x) else ()

    def features(self, x: Any, done: Any, choice: str) -> dict[str, float]:
        word = x[len(done)]
        return {f"{word}|{choice}": 1, f"-{word[-1]}|{choice}": 1, f"{done[-1] if done else '^'}>{choice}": 1}

    def signature(self, x: Any, done: Any) -> str:
        return str(done[-1])


STRUCTURES: dict[str, Any] = {
    "list": ListedWithCosts,
    "search": Searched,
    "lattice": Lattice,
    "hypergraph": Forest,
    "steps": Stepwise,
}


def fit(problem: Any, learner: Any, update: str | None = None) -> trellis.StructuredModel:
    """Of steps with a beam as wide as the space."""
    if not isinstance(problem, Stepwise):
        return trellis.StructuredModel.train(SENTENCES, problem=problem, learner=learner)
    return trellis.StructuredModel.train(
        SENTENCES, problem=problem, learner=replace(learner, update=update) if update else learner, beam=3
    )


@pytest.mark.parametrize(("problem", "cost"), [(ListedWithCosts(), 3 / 3), (Listed(), None)])
def test_a_report_has_the_mean_cost_where_there_is_one(problem: Any, cost: float | None) -> None:
    model, (x, y) = trellis.StructuredModel.train(SENTENCES, problem=problem), SENTENCES[0]
    report = model.evaluate([(x, y), SENTENCES[2], (x, tuple("VVD"))])  # nothing of D N V is right in the last one
    assert (report.n_examples, report.accuracy, report.mean_cost) == (3, 2 / 3, cost)


LEARNERS: dict[str, Any] = {
    "perceptron": trellis.Perceptron(epochs=5, average=False, shuffle=False),
    "averaged": trellis.Perceptron(epochs=5, shuffle=False),
    "voted": trellis.Perceptron(epochs=5, vote=True, shuffle=False),
    "PA": trellis.PassiveAggressive(epochs=5, variant="PA"),
    "PA-I": trellis.PassiveAggressive(epochs=5),
    "PA-II": trellis.PassiveAggressive(epochs=5, variant="PA-II"),
    "MIRA": trellis.MIRA(epochs=5),
    "3-best MIRA": trellis.MIRA(epochs=5, k=3),
    "AROW": trellis.AROW(epochs=5),
    "CRF": trellis.CRF(c2=0.1),
    "CRF, L1": trellis.CRF(c1=0.1, c2=0.1),
    "CRF, AdaGrad": trellis.CRF(c2=0.1, solver="adagrad"),
    "exponential": trellis.ExponentialLoss(c2=0.1),
    "Frank-Wolfe": trellis.HMSVM(solver="frank-wolfe", cost="hamming", C=1.0, epochs=200),
    "Frank-Wolfe, zero-one": trellis.HMSVM(solver="frank-wolfe", C=1.0, epochs=200),
}
SUMS = ("CRF", "CRF, L1", "CRF, AdaGrad", "exponential", "Frank-Wolfe", "Frank-Wolfe, zero-one")


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_learns_every_structure_that_answers_it(name: str, structure: str, tmp_path: Path) -> None:
    problem, learner = STRUCTURES[structure](), LEARNERS[name]
    if structure in ("search", "steps") and name in SUMS:
        with pytest.raises(trellis.LearnerError, match="give it candidates"):
            fit(problem, learner)
        return
    model = fit(problem, learner)
    assert [model.predict(x) for x, _ in SENTENCES] == [y for _, y in SENTENCES]
    x = ("the", "cat", "barks")
    found = model.kbest(x, 4)
    scores = {y: model.score(phi(x, y)) for y in itertools.product(LABELS, repeat=3)}
    assert [score for _, score in found] == pytest.approx(sorted(scores.values(), reverse=True)[:4], abs=1e-5)
    assert all(scores[y] == pytest.approx(score, abs=1e-5) for y, score in found)
    assert sum(term.weight for term in model.explain(x).terms) == pytest.approx(found[0][1], abs=1e-5)
    model.save(tmp_path / "m")
    again = trellis.StructuredModel.load(tmp_path / "m", problem=problem)
    assert again.names == model.names
    assert again.info == model.info
    assert again.weights.values.tobytes() == model.weights.values.tobytes()
    assert again.predict(x) == model.predict(x)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("AROW",)])
def test_structures_agree(name: str) -> None:
    """The same outputs packed in other ways give the same weights."""
    models = {
        key: trellis.StructuredModel.train(SENTENCES, problem=make(), learner=LEARNERS[name])
        for key, make in STRUCTURES.items()
        if key in ("lattice", "hypergraph")
    }
    first = models["lattice"]
    for model in models.values():
        for feature in first.names:
            assert model[feature] == pytest.approx(first[feature], abs=1e-4)


def test_the_same_bits_for_any_number_of_threads() -> None:
    for learner in (
        trellis.Perceptron(epochs=3, batch=3),
        trellis.MIRA(epochs=3, batch=3),
        trellis.CRF(),
        trellis.CRF(solver="adagrad"),
    ):
        digests = {
            trellis.StructuredModel.train(
                SENTENCES, problem=Lattice(), learner=learner, n_threads=n
            ).weights.values.tobytes()
            for n in (1, 2, 5)
        }
        assert len(digests) == 1


# ---------------------------------------------------------------------------- chains are a special case


def by_name(tagger: trellis.Tagger) -> dict[str, float]:
    """The weights of a tagger under the names of ``phi``."""
    out = {}
    for one in tagger.top_features(10_000):
        kind, _, value = one.feature.partition("=")
        before, _, label = one.label.partition(" ")
        name = {"word[0]": f"{value}|{one.label}", "end[0]": f"-{value}|{one.label}"}
        out[name.get(kind, f"{'^' if before not in LABELS else before}>{label}")] = one.weight
    return out


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("structure", ["search", "lattice", "hypergraph", "steps"])
def test_a_chain_as_a_problem_gives_the_weights_of_the_tagger_bit_for_bit(average: bool, structure: str) -> None:
    learner = trellis.Perceptron(epochs=4, average=average, shuffle=False)
    model = fit(STRUCTURES[structure](), learner, "standard")
    corpus = {
        "word": [list(x) for x, _ in SENTENCES],
        "end": [[word[-1] for word in x] for x, _ in SENTENCES],
        "label": [list(y) for _, y in SENTENCES],
    }
    tagger = trellis.train(corpus, target="label", features=["word[0]", "end[0]"], learner=learner, order=1)
    weights = by_name(tagger)
    assert len(weights) > 20
    assert {name: model[name] for name in model.names if model[name]} == weights


@pytest.mark.parametrize("structure", ["search", "lattice", "hypergraph"])
def test_a_chain_as_a_problem_gives_the_weights_of_the_reference(structure: str) -> None:
    words = sorted({word for x, _ in SENTENCES for word in x})
    ends = sorted({word[-1] for word in words})
    tokens = [[[words.index(w), len(words) + ends.index(w[-1])] for w in x] for x, _ in SENTENCES]
    golds = [[LABELS.index(label) for label in y] for _, y in SENTENCES]
    final, averaged = reference.perceptron(tokens, golds, len(words) + len(ends), 3, 1, 4)
    for average, wanted in ((False, final), (True, averaged)):
        model = trellis.StructuredModel.train(
            SENTENCES,
            problem=STRUCTURES[structure](),
            learner=trellis.Perceptron(epochs=4, average=average, shuffle=False),
        )
        for z, label in enumerate(LABELS):
            for f, name in enumerate([*words, *(f"-{end}" for end in ends)]):
                assert model[f"{name}|{label}"] == pytest.approx(wanted.emit[f, z], abs=1e-6)
            for y, before in enumerate((*LABELS, "^")):
                assert model[f"{before}>{label}"] == pytest.approx(wanted.edge[y, z], abs=1e-6)


def best_by(weights: dict[str, float], x: Any) -> Any:
    return Searched()._ranked(x, lambda y: sum(weights.get(f, 0) * v for f, v in phi(x, y).items()), 1)[0]


def figure_2(epochs: int) -> Iterator[dict[str, float]]:
    """The perceptron of figure 2 in a few lines over dicts: its weights after each example."""
    weights: dict[str, float] = {}
    for x, y in SENTENCES * epochs:
        z = best_by(weights, x)
        if z != y:
            for features, sign in ((phi(x, y), 1), (phi(x, z), -1)):
                for f, v in features.items():
                    weights[f] = weights.get(f, 0) + sign * v
        yield dict(weights)


@pytest.mark.parametrize("average", [False, True])
def test_figure_2_by_hand(average: bool) -> None:
    moments = list(figure_2(4))
    wanted = moments[-1]
    if average:
        wanted = {f: sum(weights.get(f, 0) for weights in moments) / len(moments) for f in wanted}
    for make in STRUCTURES.values():
        if make is ListedWithCosts:
            continue  # other ties
        model = fit(make(), trellis.Perceptron(epochs=4, average=average, shuffle=False), "standard")
        for f, w in wanted.items():
            assert model[f] == pytest.approx(w, abs=1e-6)


# ---------------------------------------------------------------------------- oracles


def test_the_objective_of_a_crf_is_that_of_all_outputs() -> None:
    model = trellis.StructuredModel.train(
        SENTENCES, problem=Lattice(), learner=trellis.CRF(c2=0.3, tolerance=1e-10, warm_up=0)
    )
    values = {name: float(model[name]) for name in model.names}
    loss = 0.3 * sum(w * w for w in values.values())
    gradient = {name: 0.6 * w for name, w in values.items()}
    for x, y in SENTENCES:
        every = {z: model.score(phi(x, z)) for z in itertools.product(LABELS, repeat=len(x))}
        log_z = float(np.logaddexp.reduce(list(every.values())))
        loss += log_z - every[y]
        for z, score in every.items():
            for f, v in phi(x, z).items():
                gradient[f] += math.exp(score - log_z) * v
        for f, v in phi(x, y).items():
            gradient[f] -= v
    assert model.training["history"][-1]["objective"] == pytest.approx(loss, rel=1e-5)
    assert max(map(abs, gradient.values())) < 1e-3  # the optimum


def test_costs_of_edges_and_of_candidates() -> None:
    class Dear(Lattice):
        def costs(self, x: Any, y: Any) -> list[float]:
            right = set(self.edges(x, y))
            return [0.0 if e in right else 2.0 for e in range(len(self._edges(x)))]

    learner = trellis.MIRA(epochs=1, C=100.0, average=False)
    single = trellis.StructuredModel.train(SENTENCES[:1], problem=Lattice(), learner=learner)
    double = trellis.StructuredModel.train(SENTENCES[:1], problem=Dear(), learner=learner)
    for name in single.names:
        assert double[name] == pytest.approx(2 * single[name], abs=1e-5)


def test_where_the_right_output_is_no_candidate_the_cheapest_stands_for_it() -> None:
    class Rerank(ListedWithCosts):
        def candidates(self, x: Any) -> list[Any]:
            return [y for y in super().candidates(x) if y != ("D", "N", "V")]

    example = [(("the", "dog", "barks"), ("D", "N", "V"))]
    model = trellis.StructuredModel.train(
        example, problem=Rerank(), learner=trellis.Perceptron(epochs=50, average=False, shuffle=False)
    )
    assert sum(a != b for a, b in zip(model.predict(example[0][0]), example[0][1], strict=True)) == 1

    class NoCosts(Rerank):
        cost = None  # type: ignore[assignment]

    with pytest.raises(trellis.LearnerError, match="example 0: y is not among the candidates"):
        trellis.StructuredModel.train(example, problem=NoCosts())


def test_votes_are_those_of_all_moments() -> None:
    """Against a count over all weight vectors, kept one by one."""
    learner = trellis.Perceptron(epochs=3, vote=True, shuffle=False)
    x = ("a", "bark", "sees")
    for make in (Searched, Lattice, Forest, Stepwise):
        model = fit(make(), learner, "standard")
        votes = Counter(best_by(weights, x) for weights in figure_2(3))
        assert model.predict(x) == max(votes, key=lambda y: votes[y])


def test_sample_weights_count() -> None:
    twice = trellis.StructuredModel.train(
        [*SENTENCES, SENTENCES[0]], problem=Lattice(), learner=trellis.CRF(tolerance=1e-9, warm_up=0)
    )
    weighted = trellis.StructuredModel.train(
        SENTENCES, problem=Lattice(), learner=trellis.CRF(tolerance=1e-9, warm_up=0), sample_weight=[2, 1, 1, 1]
    )
    for name in twice.names:
        assert weighted[name] == pytest.approx(twice[name], abs=1e-3)
    without = trellis.StructuredModel.train(SENTENCES, problem=Lattice(), sample_weight=[0, 0, 1, 0])
    assert without["the|D"] == 0


# ---------------------------------------------------------------------------- bad input


class Odd(Lattice):
    """Whatever it is told to give in place of what is right."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def parts(self, x: Any) -> Any:
        return self.given.get("parts", super().parts(x))

    def edges(self, x: Any, y: Any) -> Any:
        return self.given.get("edges", super().edges(x, y))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=object()),
            "problem needs the methods features and candidates, f",
        ),
        (lambda: trellis.StructuredModel.train(SENTENCES), "problem is missing.* give problem="),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Lattice),
            r"an instance, not a class; give Lattice\(\)",
        ),
        (lambda: trellis.StructuredModel.train([], problem=Lattice()), "examples must be a list of pairs"),
        (lambda: trellis.StructuredModel.train(5, problem=Lattice()), "examples must be a list of pairs"),  # type: ignore[arg-type]
        (lambda: trellis.StructuredModel.train([1], problem=Lattice()), "example 0 must be a pair"),  # type: ignore[list-item]
        (lambda: trellis.StructuredModel.train(SENTENCES, problem=Lattice(), learner="best"), "unknown learner 'best'"),  # type: ignore[arg-type]
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Lattice(), learner=trellis.HMM()),
            "HMM supports chains only; use an online",
        ),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Lattice(), learner=trellis.HMSVM()),
            "HMSVM supports chains only",
        ),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Lattice(), learner=trellis.MaxEnt()),
            "MaxEnt.* supports chains only",
        ),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Lattice(), learner=trellis.CRF(transitions="all")),
            "transitions='all' has an effect only for chains; omit it",
        ),
        (
            lambda: trellis.StructuredModel.train(
                SENTENCES, problem=Lattice(), learner=trellis.CRF(precision="single")
            ),
            "has an effect only for chains; omit it",
        ),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Lattice(), sample_weight=[1]),
            "sample_weight needs one number per example, 4",
        ),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Odd(parts=5)),
            "example 0: parts\\(x\\) must return trellis.Parts, not int",
        ),
        (
            lambda: trellis.StructuredModel.train(
                SENTENCES, problem=Odd(parts=Parts(trellis.Hypergraph([1], [0]), []))
            ),
            "each of the 1 edges, not for 0",
        ),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Odd(edges=[0])),
            "example 0: edges\\(x, y\\) has no edge into node",
        ),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Odd(edges=[99])),
            "example 0: edges\\(x, y\\) returns edge 99",
        ),
        (lambda: trellis.StructuredModel.train(SENTENCES, problem=Odd(edges="ab")), "must return edge indices"),
        (
            lambda: trellis.StructuredModel.train(SENTENCES, problem=Searched(), learner=trellis.Perceptron(batch=4)),
            "batch has an effect only for problems with candidates or parts; omit it",
        ),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(call: Any, message: str) -> None:
    with pytest.raises(trellis.TrellisError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), "x", None, 1e300])
def test_features_are_finite_numbers(value: Any) -> None:
    class Bad(Listed):
        def features(self, x: Any, y: Any) -> dict[str, float]:
            return {"f": value}

    with pytest.raises(
        trellis.ArgumentError,
        match="example 0, edge 0: feature 'f' must have a number from -1e\\+12 to 1e\\+12 as its value",
    ):
        trellis.StructuredModel.train(SENTENCES, problem=Bad())


def test_files_that_are_no_model(tmp_path: Path) -> None:
    model = trellis.StructuredModel.train(SENTENCES, problem=Lattice(), learner=trellis.Perceptron(vote=True))
    model.save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    (tmp_path / "cut").write_bytes(data[:-4])
    changed = bytearray(data)
    changed[-2] ^= 1
    (tmp_path / "changed").write_bytes(bytes(changed))
    (tmp_path / "none").write_bytes(b"no model")
    for name in ("cut", "changed", "none", "missing"):
        with pytest.raises(trellis.ModelError):
            trellis.StructuredModel.load(tmp_path / name, problem=Lattice())
    tensors, metadata = tensor_file._split(data, tmp_path, "")
    for part in ("counts", "starts", "features", "changes"):
        matrix = {f"votes.{part}": tensors[f"votes.{part}"].reshape(-1, 1)}
        tensor_file.write_tensors(tmp_path / "matrix", metadata["format"], {**tensors, **matrix}, metadata["text"])
        with pytest.raises(trellis.ModelError, match="inconsistent votes"):
            trellis.StructuredModel.load(tmp_path / "matrix", problem=Lattice())
    with pytest.raises(trellis.ModelError, match="needs the problem it was trained on"):
        trellis.load(tmp_path / "m")


# ------------------------------------------------------------ held-out pairs

NOISY = [(x, y) for x, y in SENTENCES] + [(x, (*y[:-1], "D")) for x, y in SENTENCES[:2]]


def share_of_right(outputs: list[Any], right: list[Any]) -> float:
    """A metric that can be named in a checkpoint."""
    return sum(map(tuple.__eq__, outputs, right)) / len(right)


def right_share(model: trellis.StructuredModel, pairs: Sequence[Any]) -> float:
    return sum(model.predict(x) == y for x, y in pairs) / len(pairs)


@pytest.mark.parametrize("kind", [Listed, Searched])
def test_the_best_epoch_on_held_out_pairs_is_kept(kind: type) -> None:
    dev = [*SENTENCES, *NOISY[-1:]]
    epochs = [
        trellis.StructuredModel.train(NOISY, problem=kind(), learner=trellis.Perceptron(epochs=n, average=False))
        for n in range(1, 7)
    ]
    shares = [right_share(model, dev) for model in epochs]
    assert len(set(shares)) > 1
    best = shares.index(max(shares))
    assert best < 5
    kept = trellis.StructuredModel.train(
        NOISY, problem=kind(), learner=trellis.Perceptron(epochs=6, average=False), dev=dev
    )
    assert [event["dev_score"] for event in kept.training["history"]] == pytest.approx(shares)
    assert {name: kept[name] for name in epochs[best].names} == {n: epochs[best][n] for n in epochs[best].names}
    tired = trellis.StructuredModel.train(
        NOISY, problem=kind(), learner=trellis.Perceptron(epochs=6, average=False), dev=dev, patience=1
    )
    falls = next((i for i in range(1, 6) if shares[i] <= max(shares[:i])), 5)
    assert len(tired.training["history"]) == falls + 1


def test_a_metric_of_ones_own() -> None:
    seen = []

    def tokens(outputs: list[Any], right: list[Any]) -> float:
        seen.append(len(outputs))
        return sum(a == b for y, z in zip(outputs, right, strict=True) for a, b in zip(y, z, strict=True)) / 100

    model = trellis.StructuredModel.train(
        SENTENCES, problem=Listed(), learner=trellis.CRF(epochs=3), dev=SENTENCES, metric=tokens
    )
    assert seen == [4] * len(model.training["history"])
    assert model.training["history"][-1]["dev_score"] == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"patience": 2}, "needs a dev corpus"),
        ({"metric": len}, "needs a dev corpus"),
        ({"dev": []}, "dev examples must be a list of pairs"),
        ({"dev": [1]}, "dev example 0 must be a pair"),
        ({"dev": SENTENCES, "patience": 0}, "patience must be a whole number of at least 1"),
        ({"dev": SENTENCES, "metric": lambda outputs, right: "good"}, "the value of metric"),
        ({"dev": SENTENCES, "metric": lambda outputs, right: -3.0}, "the value of metric"),
    ],
)
def test_held_out_pairs_that_make_no_sense(given: dict[str, Any], why: str) -> None:
    with pytest.raises(trellis.TrellisError) as told:
        trellis.StructuredModel.train(SENTENCES, problem=Listed(), **given)
    assert why in str(told.value)
    assert "\n" not in str(told.value)


# ------------------------------------------------------------ checkpoints

RESUMED = [
    trellis.Perceptron(epochs=6, shuffle=True, seed=3),
    trellis.Perceptron(epochs=6, vote=True),
    trellis.PassiveAggressive(epochs=6),
    trellis.MIRA(epochs=6, k=3),
    trellis.AROW(epochs=6),
    trellis.HMSVM(solver="frank-wolfe", epochs=6, tolerance=1e-9),
    trellis.HMSVM(solver="frank-wolfe", epochs=6, average=True, tolerance=1e-9),
    trellis.CRF(epochs=12, tolerance=1e-9),
    trellis.CRF(c1=0.1, epochs=12, tolerance=1e-9),
    trellis.CRF(solver="adagrad", epochs=6),
    trellis.ExponentialLoss(epochs=12),
]


@pytest.mark.parametrize("learner", RESUMED, ids=repr)
@pytest.mark.parametrize("held_out", [False, True])
def test_a_training_that_was_stopped_resumes_to_the_same_bits(
    learner: trellis.Learner, held_out: bool, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"dev": SENTENCES[:3]} if held_out else {}
    whole = trellis.StructuredModel.train(NOISY, problem=ListedWithCosts(), learner=learner, **how)
    whole.save(tmp_path / "whole")

    class KilledError(Exception):
        pass

    def kill(event: trellis.Event) -> None:
        if event.epoch == 3:
            raise KilledError

    file = tmp_path / "checkpoint"
    with pytest.raises(KilledError):
        trellis.StructuredModel.train(
            NOISY, problem=ListedWithCosts(), learner=learner, checkpoint=file, observer=kill, **how
        )
    seen = []
    again = trellis.StructuredModel.train(
        NOISY,
        problem=ListedWithCosts(),
        learner=learner,
        checkpoint=file,
        observer=lambda event: seen.append(event.epoch),
        **how,
    )
    again.save(tmp_path / "again")
    assert seen[:1] == [4]
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()


def test_frank_wolfe_continues_with_more_epochs(tmp_path: Path) -> None:
    def fit(epochs: int, **options: Any) -> list[float]:
        learner = trellis.HMSVM(solver="frank-wolfe", epochs=epochs, tolerance=0.5)
        return trellis.StructuredModel.train(
            NOISY, problem=ListedWithCosts(), learner=learner, **options
        ).weights.values.tolist()

    for epochs in range(1, 6):
        fit(epochs, checkpoint=tmp_path / str(epochs))
        assert fit(6, checkpoint=tmp_path / str(epochs)) == fit(6)


def test_a_checkpoint_is_of_one_training_alone(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    dev: dict[str, Any] = {"dev": SENTENCES[:2], "metric": share_of_right}
    trellis.StructuredModel.train(
        NOISY,
        problem=ListedWithCosts(),
        learner=trellis.Perceptron(epochs=2),
        checkpoint=file,
        checkpoint_every=2,
        **dev,
    )
    others: list[dict[str, Any]] = [
        {"examples": SENTENCES},
        {"dev": SENTENCES[:1]},
        {"dev": [(SENTENCES[0][0], SENTENCES[1][1]), SENTENCES[1]]},
        {"metric": None},
        {"init": {"a": 1.0}},
        {"learner": trellis.Perceptron(epochs=2, average=False)},
        {"learner": trellis.MIRA(epochs=2)},
        {"problem": Listed()},
        {"sample_weight": [1, 1, 1, 1, 1, 2]},
    ]
    for other in others:
        given = {"problem": ListedWithCosts(), "examples": NOISY, "learner": trellis.Perceptron(epochs=2), **dev}
        given |= other
        with pytest.raises(trellis.ModelError, match="a checkpoint of another training"):
            trellis.StructuredModel.train(given.pop("examples"), problem=given.pop("problem"), checkpoint=file, **given)
    with pytest.raises(trellis.LearnerError, match="needs a problem with candidates"):
        trellis.StructuredModel.train(NOISY, problem=Searched(), checkpoint=file)
    with pytest.raises(trellis.LearnerError, match="checkpoint_every needs checkpoint="):
        trellis.StructuredModel.train(NOISY, problem=Listed(), checkpoint_every=2)
    more = trellis.StructuredModel.train(
        NOISY, problem=ListedWithCosts(), learner=trellis.Perceptron(epochs=4), checkpoint=file, patience=9, **dev
    )
    whole = trellis.StructuredModel.train(
        NOISY, problem=ListedWithCosts(), learner=trellis.Perceptron(epochs=4), patience=9, **dev
    )
    assert np.array_equal(more.weights.values, whole.weights.values)
    assert more.info == whole.info
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(trellis.ModelError, match="checkpoint"):
        trellis.StructuredModel.train(
            NOISY, problem=ListedWithCosts(), learner=trellis.Perceptron(epochs=2), checkpoint=file, **dev
        )


def test_a_state_that_is_none_is_an_error() -> None:
    from trellis.tasks.structured.encoding import Encoder

    encoded = Encoder(ListedWithCosts()).encode(NOISY)
    for learner in (trellis.Perceptron(vote=True), trellis.HMSVM(solver="frank-wolfe", epochs=2)):
        work = learner.begin(encoded)  # type: ignore[arg-type]
        work.step(1)
        state = dict(work.state())
        for name, array in state.items():
            for bad in (array[:-1], np.full_like(array, 2**30), array.astype(np.int16)):
                if name in (
                    "dual",
                    "table.weights",
                    "table.sums",
                    "log.changes",
                    "log.clocks",
                    "mixtures.amounts",
                    "mixtures.costs",
                ):
                    bad = array[:-1]  # any number will do
                if name == "clock" or len(bad) == len(array) == 0:
                    continue
                with pytest.raises(trellis.LearnerError, match="the saved state does not match this training"):
                    work.restore({**state, name: bad})
        with pytest.raises(trellis.LearnerError):
            work.restore({})
        work.restore(state)


@pytest.mark.parametrize("kind", [Listed, Searched])
def test_a_name_that_no_file_can_hold_is_an_error_when_it_is_met(kind: Any) -> None:
    class Halved(kind):  # type: ignore[misc]
        def features(self, x: Any, y: Any) -> dict[str, float]:
            return {"a\ud800": 1.0, **phi(x, y)}

    with pytest.raises(trellis.ArgumentError, match=r"feature 'a\\ud800': a lone surrogate cannot be saved"):
        trellis.StructuredModel.train(SENTENCES, problem=Halved())


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"patience": 2}, "patience needs a dev corpus"),
        ({"metric": max}, "metric needs a dev corpus"),
        ({"dev": SENTENCES, "patience": 0}, "patience must be a whole number of at least 1"),
        ({"dev": []}, "dev examples must be a list of pairs"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"observer": 3}, "observer must be a function"),
        ({"learner": trellis.Perceptron(update="early")}, "update has an effect only with a beam"),
        ({"learner": "boost"}, "SequenceBoost supports chains only"),
        ({"checkpoint_every": 2}, "checkpoint_every needs checkpoint="),
        ({"checkpoint": "c", "checkpoint_every": 0}, "checkpoint_every must be"),
    ],
)
def test_settings_are_checked_before_features_are_asked_for(settings: dict[str, Any], why: str) -> None:
    class Unasked(Listed):
        def features(self, x: Any, y: Any) -> dict[str, float]:
            raise AssertionError

    with pytest.raises(trellis.TrellisError, match=why):
        trellis.StructuredModel.train(SENTENCES, problem=Unasked(), **settings)


def test_a_learner_by_its_name() -> None:
    named, given = (
        trellis.StructuredModel.train(SENTENCES, problem=Listed(), learner=one) for one in ("mira", trellis.MIRA())
    )
    assert [named[name] for name in named.names] == [given[name] for name in given.names]


class Sized(Listed):
    """A problem with attributes, and no ``==`` of its own."""

    def __init__(self, size: int, costs: Any = None) -> None:
        self.size, self.costs = size, costs


def test_models_are_equal_by_what_their_problems_are() -> None:
    def trained(problem: Any) -> trellis.StructuredModel:
        return trellis.StructuredModel.train(SENTENCES, problem=problem, learner=trellis.Perceptron(epochs=1))

    costs = np.arange(3.0)
    assert trained(Sized(1)) == trained(Sized(1))
    assert trained(Sized(1, costs)) == trained(Sized(1, costs.copy()))
    assert trained(Sized(1)) != trained(Sized(2))
    assert trained(Sized(1, costs)) != trained(Sized(1, costs + 1))
    named = Sized(1)
    named.name = "named"  # type: ignore[attr-defined]
    assert trained(Sized(1)) != trained(named)
    assert trained(named) != trained(Sized(1))


def test_a_file_needs_an_object_as_its_problem(tmp_path: Path) -> None:
    model = trellis.StructuredModel.train(SENTENCES, problem=Listed())
    model.save(tmp_path / "model")
    for needs, why in (({}, "problem="), ({"problem": None}, "problem="), ({"problem": Listed}, "give Listed")):
        with pytest.raises(trellis.ModelError, match=why) as error:
            trellis.load(tmp_path / "model", **needs)
        assert "\n" not in str(error.value)


def test_epochs_count_outputs_or_parts() -> None:
    for problem, unit, n in ((Listed(), "outputs", 4), (Searched(), "outputs", 4), (Lattice(), "parts", None)):
        event = trellis.StructuredModel.train(SENTENCES, problem=problem).training["history"][0]
        assert event["unit"] == unit
        assert n is None or event["tokens"] == n
