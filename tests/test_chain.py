"""Chain kernels and their NumPy reference against all label sequences, and against each other."""

from __future__ import annotations

import doctest
import itertools
from collections.abc import Callable

import numpy as np
import oracle
import pytest
from chain_answers import best_path, kbest, kbest_lists, log_partition, marginals, path_score
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments import reference
from trellis.engine import chain
from trellis.engine.chain import Chains, Potentials, Tables

KINDS = ("floats", "ties", "forbidden", "mixed")
CASES = list(itertools.product((1, 2), (False, True), (False, True), KINDS))
few = settings(max_examples=25, derandomize=True, deadline=None)


def random_scores(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    whole = rng.integers(-2, 3, shape).astype(float)
    forbidden = rng.random(shape) < 0.25
    if kind == "floats":
        return rng.normal(size=shape) * 3
    if kind == "ties":
        return whole
    if kind == "forbidden":
        return np.where(forbidden, -np.inf, whole)
    return np.where(forbidden, -np.inf, np.where(rng.random(shape) < 0.5, whole, rng.normal(size=shape)))


def random_potentials(
    seed: int, T: int, L: int, order: int, per_token: bool, with_end: bool, kind: str
) -> reference.Potentials:
    rng = np.random.default_rng(seed)
    edge = random_scores(rng, kind, *((T,) if per_token else ()), L + 1, L)
    tri = random_scores(rng, kind, L + 1, L + 1, L) if order == 2 else None
    end = random_scores(rng, kind, L) if with_end else None
    return reference.Potentials(random_scores(rng, kind, T, L), edge, tri, end)


def native(p: reference.Potentials) -> Potentials:
    return Potentials(p.emit, p.edge, p.tri, p.end)


@pytest.fixture(params=CASES, ids=lambda c: f"order{c[0]}-{'edges' if c[1] else 'edge'}-{'end-' * c[2]}{c[3]}")
def small(request: pytest.FixtureRequest) -> list[reference.Potentials]:
    """One sentence of every length 0 to 4 with every number of labels 1 to 4."""
    seed = CASES.index(request.param) * 100
    return [random_potentials(seed + 10 * T + L, T, L, *request.param) for T in range(5) for L in range(1, 5)]


# ---------------------------------------------------------------------------- against enumeration


def test_best_path(small: list[reference.Potentials]) -> None:
    for p in small:
        path, score = reference.viterbi(p)
        assert (path, score) == best_path(native(p))
        expected, best = oracle.ranked(p)[0]
        assert score == best
        if best > -np.inf:
            assert path == expected
        assert len(path) == len(p.emit)
        assert reference.path_score(p, path) == oracle.score_of(p, path) == score
        assert path_score(native(p), path) == score


def test_k_best(small: list[reference.Potentials]) -> None:
    for p in small:
        every = oracle.ranked(p)
        possible = [one for one in every if one[1] > -np.inf] or [reference.viterbi(p)]
        for k in (1, 2, 5, 300):
            expected = possible[:k]
            assert reference.kbest(p, k) == expected
            assert kbest(native(p), k) == expected


def test_sums(small: list[reference.Potentials]) -> None:
    for p in small:
        log_z, node, edge = oracle.sums(p)
        assert log_partition(native(p)) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
        assert reference.log_partition(p) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
        for got in (reference.marginals(p), marginals(native(p))):
            assert got.log_z == pytest.approx(log_z, rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(got.node, node, rtol=1e-10, atol=1e-14)
            np.testing.assert_allclose(got.edge, edge, rtol=1e-10, atol=1e-14)


def test_padded_tables_and_temperature(small: list[reference.Potentials]) -> None:
    """Rows padded as the decoder has them give the same bits, whatever is in the padding."""
    for p in small:
        T, L = p.emit.shape
        edge = p.edge if p.edge.ndim == 3 else p.edge[None]
        tables = Tables(
            *(
                None
                if table is None
                else np.pad(table, [(0, 0)] * (table.ndim - 1) + [(0, -L % 8)], constant_values=np.nan)
                for table in (p.emit, edge, p.tri, p.end)
            )  # type: ignore[arg-type]
        )
        starts = np.array([0, T])
        chains = Chains(tables, starts)
        found = kbest_lists(chains, 3)[0]
        assert found == kbest(native(p), 3)
        assert best_path(native(p)) == found[0]
        cooled = Potentials(*(None if table is None else table / 1.7 for table in (p.emit, p.edge, p.tri, p.end)))
        for got, wanted in zip(chains.pair_marginals(1, 1.7), marginals(cooled), strict=True):
            np.testing.assert_array_equal(got, wanted)
        assert chains.log_partition(1, 1.7)[0] == log_partition(cooled)


def test_allowed_labels(small: list[reference.Potentials]) -> None:
    rng = np.random.default_rng(0)
    for p in small:
        T, L = p.emit.shape
        allowed = [sorted(rng.choice(L, rng.integers(1, L + 1), replace=False).tolist()) for _ in range(T)]
        every = [one for one in oracle.ranked(p, allowed) if one[1] > -np.inf]
        restricted = reference.Potentials(reference.restrict(p.emit, allowed), p.edge, p.tri, p.end)
        path, score = best_path(native(p), allowed)
        assert all(z in labels for z, labels in zip(path, allowed, strict=True))
        if every:
            assert (path, score) == every[0] == reference.viterbi(restricted)
            assert kbest(native(p), 7, allowed) == every[:7]
        else:
            assert score == -np.inf
        pruned, whole = marginals(native(p), allowed), reference.marginals(restricted)
        assert log_partition(native(p), allowed) == pruned.log_z
        for got, expected in zip(pruned, whole, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-14)


# ---------------------------------------------------------------------------- larger, against the reference


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("L", [7, 17, 25])
def test_many_labels(L: int, case: tuple[int, bool, bool, str]) -> None:
    """More labels than a vector has lanes, in blocks of every size."""
    p = random_potentials(L, 6, L, *case)
    assert reference.viterbi(p) == best_path(native(p))
    assert marginals(native(p)).log_z == pytest.approx(reference.log_partition(p), rel=1e-12)
    for got, expected in zip(marginals(native(p)), reference.marginals(p), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-13)
    if case[3] == "ties":
        single = Potentials(p.emit.astype(np.float32), p.edge, p.tri, p.end)
        assert single.edge.dtype == np.float32
        assert best_path(single) == reference.viterbi(p)
        assert log_partition(single) == pytest.approx(reference.log_partition(p), rel=1e-12)
        everything = [range(L)] * 6
        assert best_path(native(p), everything) == reference.viterbi(p)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("spread", [1e3, 1e4])
def test_huge_spreads(order: int, spread: float) -> None:
    for seed in range(8):
        p = random_potentials(seed, 12, 5, order, seed % 2 == 0, True, KINDS[seed % 4])
        tri = None if p.tri is None else p.tri * spread
        p = reference.Potentials(p.emit * spread, p.edge * spread, tri, p.end)
        got, expected = marginals(native(p)), reference.marginals(p)
        assert got.log_z == pytest.approx(expected.log_z, rel=1e-12)
        assert best_path(native(p))[1] <= got.log_z + 1e-15 * abs(got.log_z)  # rounded differently
        np.testing.assert_allclose(got.node, expected.node, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(got.edge, expected.edge, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_sums_of_scores_far_apart(order: int) -> None:
    """A path that is far behind at one token, or until the last, may be the only one that counts."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = random_potentials(seed, 8, 3, order, seed % 2 == 0, True, KINDS[seed % 4])
        far = rng.choice([20.0, 85.0, 400.0])
        tables = [
            None if x is None else x * np.where(rng.random(x.shape) < 0.3, far, 0.5)
            for x in (p.emit, p.edge, p.tri, p.end)
        ]
        p = reference.Potentials(*(None if x is None else np.nan_to_num(x, neginf=-np.inf, nan=0) for x in tables))
        got, expected = marginals(native(p)), reference.marginals(p)
        assert got.log_z == pytest.approx(expected.log_z, rel=1e-12, abs=1e-9)
        np.testing.assert_allclose(got.node, expected.node, atol=1e-8)
        np.testing.assert_allclose(got.edge, expected.edge, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2])
def test_a_path_that_vanished_may_win_at_the_end(order: int) -> None:
    """A falls behind by 750 at the first token, B by 12 at each of the others and by 700 at the end."""
    for first, step, last in ((-750.0, -12.0, -700.0), (-360.0, 0.0, -800.0), (-750.0, 0.0, -760.0)):
        emit, end = np.zeros((6, 2)), np.array([0.0, last])
        emit[0, 0] = first
        edge = np.full((3, 2), -np.inf)
        edge[[0, 1, 2, 2], [0, 1, 0, 1]] = 0, step, 0, 0
        tri = None if order == 1 else np.zeros((3, 3, 2))
        p = reference.Potentials(emit, edge, tri, end)
        got, expected = marginals(native(p)), reference.marginals(p)
        assert got.log_z == pytest.approx(expected.log_z, rel=1e-12)
        np.testing.assert_allclose(got.node, expected.node, atol=1e-9)


# ---------------------------------------------------------------------------- laws


@st.composite
def potentials(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> reference.Potentials:
    T, L = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    order, per_token, with_end = draw(st.sampled_from([1, 2])), draw(st.booleans()), draw(st.booleans())
    kind, seed = draw(st.sampled_from(kinds)), draw(st.integers(0, 2**31))
    return random_potentials(seed, T, L, order, per_token, with_end, kind)


@few
@given(potentials(("floats",)))
def test_marginals_are_probabilities(p: reference.Potentials) -> None:
    log_z, node, edge = marginals(native(p))
    np.testing.assert_allclose(node.sum(axis=1), 1, rtol=1e-10)
    np.testing.assert_allclose(edge.sum(axis=1), node, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(edge[1:, :-1].sum(axis=2), node[:-1], rtol=1e-10, atol=1e-14)
    assert (edge[0, :-1] == 0).all()
    assert (edge[1:, -1] == 0).all()
    assert best_path(native(p))[1] <= log_z + 1e-12


@few
@given(st.integers(0, 12), st.integers(1, 9), st.sampled_from([1, 2]))
def test_zero_potentials_count_paths(T: int, L: int, order: int) -> None:
    tri = np.zeros((L + 1, L + 1, L)) if order == 2 else None
    p = Potentials(np.zeros((T, L)), np.zeros((L + 1, L)), tri)
    assert log_partition(p) == pytest.approx(T * np.log(L), rel=1e-12, abs=1e-12)
    assert best_path(p) == ([0] * T, 0.0)
    np.testing.assert_allclose(marginals(p).node, 1 / L)


@few
@given(potentials(("floats",)), st.data())
def test_gradient_of_log_partition_is_marginals(p: reference.Potentials, data: st.DataObject) -> None:
    T, L = p.emit.shape
    t, z = data.draw(st.integers(0, T - 1)), data.draw(st.integers(0, L - 1))
    y = data.draw(st.integers(0, L - 1)) if t else L
    edges = p.edge if p.edge.ndim == 3 else np.repeat(p.edge[None], T, axis=0)
    h = 1e-4

    def log_z(emit_step: float, edge_step: float) -> float:
        emit, edge = p.emit.copy(), edges.copy()
        emit[t, z] += emit_step
        edge[t, y, z] += edge_step
        return log_partition(Potentials(emit, edge, p.tri, p.end))

    got = marginals(native(p))
    assert (log_z(h, 0) - log_z(-h, 0)) / (2 * h) == pytest.approx(got.node[t, z], abs=1e-7)
    assert (log_z(0, h) - log_z(0, -h)) / (2 * h) == pytest.approx(got.edge[t, y, z], abs=1e-7)


@few
@given(potentials(), st.integers(1, 40))
def test_k_best_paths_differ_and_descend(p: reference.Potentials, k: int) -> None:
    found = kbest(native(p), k)
    assert found == reference.kbest(p, k)
    assert found[0] == best_path(native(p))
    assert len({tuple(path) for path, _ in found}) == len(found) <= k
    assert found == sorted(found, key=lambda one: (-one[1], one[0][::-1]))
    assert all(path_score(native(p), path) == score for path, score in found)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_batches_and_threads(case: tuple[int, bool, bool, str]) -> None:
    """Batches are bit-identical to sentences one by one, for any number of threads."""
    lengths = [3, 0, 1, 7, 2, *range(40), 0]
    starts = np.cumsum([0, *lengths])
    n_labels = 3
    p = random_potentials(0, int(starts[-1]), n_labels, *case)
    rng = np.random.default_rng(1)
    allowed = [rng.choice(n_labels, rng.integers(1, 4), replace=False).tolist() for _ in range(starts[-1])]
    questions: list[Callable[..., object]] = [
        lambda chains, n: chains.best(n),
        lambda chains, n: kbest_lists(chains, 3, n),
        lambda chains, n: chains.log_partition(n),
        lambda chains, n: chains.marginals(n),
        lambda chains, n: chains.pair_marginals(n),
        lambda chains, n: chains.path_scores(np.arange(len(p.emit)) % 3, n),
    ]
    for question, labels in itertools.product(questions, (None, allowed)):
        chains = Chains.of(native(p), starts, labels)
        whole = question(chains, 1)
        for n_threads in (2, 4):
            assert repr_bits(question(chains, n_threads)) == repr_bits(whole)
    one_by_one = [
        Potentials(p.emit[a:b], p.edge[a:b] if case[1] else p.edge, p.tri, p.end) for a, b in itertools.pairwise(starts)
    ]
    paths, scores = Chains.of(native(p), starts, allowed).best(2)
    many = kbest_lists(Chains.of(native(p), starts), 3)
    log_z, node, edge = Chains.of(native(p), starts).pair_marginals()
    for i, (a, b) in enumerate(itertools.pairwise(starts)):
        q = one_by_one[i]
        assert best_path(q, allowed[a:b]) == (paths[a:b].tolist(), scores[i])
        assert kbest(q, 3) == many[i]
        alone = marginals(q)
        assert repr_bits(alone) == repr_bits((float(log_z[i]), node[a:b], edge[a:b]))
        assert log_partition(q) == log_z[i]


def repr_bits(result: object) -> object:
    """Something that is equal only if all bits are."""
    if isinstance(result, np.ndarray):
        return result.shape, result.tobytes()
    return [repr_bits(part) for part in result] if isinstance(result, tuple | list) else result


# ---------------------------------------------------------------------------- the reference's perceptron


def test_perceptron_update_of_the_paper() -> None:
    """The example of section 2.1: the/D man/N saw/V the/D dog/N tagged with saw/N."""
    D, N, V = range(3)
    null = 3
    words = [[0], [1], [2], [0], [3]]
    weights = reference.DenseWeights.zeros(4, 3, order=2)
    gold, best = [D, N, V, D, N], [D, N, N, D, N]
    reference.add_features_of(words, gold, weights, 1.0)
    reference.add_features_of(words, best, weights, -1.0)
    tri = weights.tri
    assert tri is not None
    assert {tuple(i): tri[tuple(i)] for i in np.argwhere(tri).tolist()} == {
        (D, N, V): 1, (N, V, D): 1, (V, D, N): 1, (D, N, N): -1, (N, N, D): -1, (N, D, N): -1,
    }  # fmt: skip
    assert weights.emit[2].tolist() == [0, -1, 1]
    assert tri[null].sum() == 0
    phi = reference.features_of(words, gold, 4, 3, order=2)
    assert phi.emit.sum() == phi.edge.sum() == 5
    assert phi.edge[null, D] == 1


@pytest.mark.parametrize("order", [1, 2])
def test_perceptron_learns_and_averages(order: int) -> None:
    """Labels that alternate: feature 0 says nothing after the first word, transitions must."""
    sentences = [[[0]] + [[1]] * n for n in (2, 3, 4)]
    golds = [[t % 2 for t in range(len(tokens))] for tokens in sentences]
    alpha, gamma = reference.perceptron(sentences, golds, 2, 2, order, epochs=5)
    for tokens, gold in zip(sentences, golds, strict=True):
        assert reference.viterbi(reference.potentials(alpha, tokens))[0] == gold
        assert reference.viterbi(reference.potentials(gamma, tokens))[0] == gold
    # The definition computed differently: the mean of the final weights of shorter trainings.
    steps = []
    weights = reference.DenseWeights.zeros(2, 2, order)
    for _ in range(5):
        for tokens, gold in zip(sentences, golds, strict=True):
            reference.perceptron_step(weights, tokens, gold)
            steps.append([table.copy() for table in weights.tables()])
    for i, table in enumerate(gamma.tables()):
        np.testing.assert_allclose(table, np.mean([step[i] for step in steps], axis=0), rtol=1e-12)
    # A score is Phi . alpha.
    phi = reference.features_of(sentences[0], golds[0], 2, 2, order)
    product = sum(float((a * b).sum()) for a, b in zip(phi.tables(), alpha.tables(), strict=True))
    assert product == reference.path_score(reference.potentials(alpha, sentences[0]), golds[0])


# ---------------------------------------------------------------------------- what is told and refused


def test_documented_example() -> None:
    assert doctest.testmod(chain) == (0, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"emit": np.zeros(3)}, "emit must have shape"),
        ({"emit": np.zeros((3, 0))}, "emit must have shape"),
        ({"edge": np.zeros((2, 2))}, "edge must have shape"),
        ({"edge": np.zeros((4, 3, 2))}, "edge must have shape"),
        ({"tri": np.zeros((3, 3, 3))}, "tri must have shape"),
        ({"end": np.zeros((3, 2))}, "end must have shape"),
        ({"end": np.zeros((3, 2)), "tri": np.zeros((3, 3, 2))}, "end must have shape"),
    ],
)
def test_wrong_shapes(change: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Potentials(**{"emit": np.zeros((3, 2)), "edge": np.zeros((3, 2)), **change})


def test_wrong_values() -> None:
    p = Potentials(np.zeros((3, 2)), np.zeros((3, 2)))
    for starts in ([], [0], [1, 3], [0, 2, 1, 3], [0, 4]):
        with pytest.raises(ValueError, match="starts"):
            Chains.of(p, starts).best()
    for allowed in ([[0]], [[0], [], [1]], [[0], [2], [1]], [[-1], [0], [1]]):
        with pytest.raises(ValueError, match="allowed"):
            best_path(p, allowed)
    for path in ([0, 1], [0, 1, 2], [0, -1, 0]):
        with pytest.raises(ValueError, match="path: must have a label from 0 to"):
            path_score(p, path)
    with pytest.raises(ValueError, match="k must be from 1"):
        kbest(p, 0)
    for bad, name in itertools.product((np.nan, np.inf), ("emit", "edge", "tri", "end")):
        tables = {
            "emit": np.zeros((3, 2)),
            "edge": np.zeros((3, 2)),
            "tri": np.zeros((3, 3, 2)),
            "end": np.zeros(2),
        }
        tables[name].flat[1] = bad
        with pytest.raises(ValueError, match=f"{name}.*finite or minus infinity"):
            best_path(Potentials(**tables))
