"""HM-SVMs: the optimum against a general solver, what holds at it, kernels against the features they stand for."""

import pickle
from collections import defaultdict
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from dual_oracle import enumerate_all, observed, solve
from samples import random_corpus

import trellis
from trellis._support.errors import LearnerError, ModelError
from trellis.engine.kernels import Observations

FEATURES = ["word[0]", "word[-1]", "suffix(word[0], 1)"]
Floats = npt.NDArray[np.float64]


def corpus_of(seed: int = 0, n: int = 6) -> trellis.Corpus:
    """Short sentences, so that all their label sequences can be written down."""
    return random_corpus(seed, n, n_words=5, n_labels=3, longest=4)


def train(corpus: trellis.Corpus, learner: Any, **options: Any) -> trellis.Tagger:
    given: dict[str, Any] = {"target": "label", "features": FEATURES} | options
    return trellis.train(corpus, learner=learner, **given)


def golds_of(tagger: trellis.Tagger, corpus: trellis.Corpus) -> list[list[int]]:
    return [[tagger.labels.index(z) for z in labels] for labels in corpus.sentences("label")]


def cubic(a: Observations, b: Observations) -> Floats:
    """A kernel of our own."""
    return (a.dot(b) / 4 + 1) ** 3


def squared(products: Floats) -> Floats:
    return (products + 1) ** 2


KERNELS: dict[str, tuple[dict[str, Any], Any]] = {
    "linear": ({"kernel": "linear"}, lambda x: x @ x.T),
    "poly": ({"kernel": "poly", "degree": 2}, lambda x: squared(x @ x.T)),
    "poly 3": (
        {"kernel": "poly", "degree": 3, "gamma": 0.3, "coef0": 0.5},
        lambda x: (0.3 * (x @ x.T) + 0.5) ** 3,
    ),
    "rbf": (
        {"kernel": "rbf", "gamma": 0.4},
        lambda x: np.exp(-0.4 * np.square(x[:, None] - x[None]).sum(axis=2)),
    ),
    "function": ({"kernel": cubic}, lambda x: (x @ x.T / 4 + 1) ** 3),
}


# ------------------------------------------------------------ the optimum


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("cost", ["zero-one", "hamming"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_optimum_is_that_of_a_general_solver(kernel: str, cost: str, order: int) -> None:
    options, values = KERNELS[kernel]
    corpus, C = corpus_of(order), 0.7
    weights = np.linspace(0.5, 2.0, len(corpus))
    learner = trellis.HMSVM(C=C, cost=cost, tolerance=1e-6, epochs=20_000, **options)  # type: ignore[arg-type]
    tagger = train(corpus, learner, order=order, sample_weight=weights)
    last = tagger.training["history"][-1]
    assert last["updates"] == 0

    every = enumerate_all(golds_of(tagger, corpus), len(tagger.labels), order)
    gram = every.gram(values(observed(tagger, corpus)))
    costs = every.hamming if cost == "hamming" else np.ones(len(every.paths))
    alpha, best = solve(gram, costs, every.sentence, C * weights)
    assert last["objective"] == pytest.approx(best, abs=1e-4)

    # w is unique where alpha need not be: all margins agree.
    margins = gram @ alpha
    words = corpus.sentences("word")
    golds = corpus.sentences("label")
    for k, (i, path) in enumerate(zip(every.sentence.tolist(), every.paths, strict=True)):
        found = tagger.score(words[i], golds[i]) - tagger.score(words[i], [tagger.labels[z] for z in path])
        assert found == pytest.approx(margins[k], abs=2e-3)


def losses_of(tagger: trellis.Tagger, corpus: trellis.Corpus, cost: str) -> list[dict[tuple[str, ...], float]]:
    """cost(y) - (score(gold) - score(y)) of every sequence y of every sentence, 0 of the gold one."""
    out = []
    for words, gold in zip(corpus.sentences("word"), corpus.sentences("label"), strict=True):
        right, found = tagger.score(words, gold), {}
        for path in product(tagger.labels, repeat=len(gold)):
            wrong = sum(a != b for a, b in zip(path, gold, strict=True))
            found[path] = (wrong if cost == "hamming" else float(wrong > 0)) - right + tagger.score(words, path)
        out.append(found)
    return out


@pytest.mark.parametrize("cost", ["zero-one", "hamming"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_optimality_conditions_at_the_stop(kernel: str, cost: str) -> None:
    """What has alpha > 0 has the greatest loss, but for epsilon; C is used up where there is slack."""
    corpus, C, epsilon = corpus_of(3, 10), 0.5, 1e-3
    options = KERNELS[kernel][0]
    tagger = train(corpus, trellis.HMSVM(C=C, cost=cost, tolerance=epsilon, epochs=5000, **options))  # type: ignore[arg-type]
    losses, golds = losses_of(tagger, corpus, cost), corpus.sentences("label")
    slack = [max(of.values()) for of in losses]
    used: dict[int, float] = defaultdict(float)
    dual = 0.0
    for one in tagger.support():
        path = list(golds[one.sentence])
        for t, gold, label in zip(one.positions, one.gold, one.labels, strict=True):
            assert path[t] == gold != label
            path[t] = label
        loss = losses[one.sentence][tuple(path)]
        assert one.alpha > 0
        assert loss >= slack[one.sentence] - epsilon - 1e-5
        used[one.sentence] += one.alpha
        dual += one.alpha * loss
    for i, xi in enumerate(slack):
        assert used[i] <= C + 1e-9
        if xi > epsilon + 1e-5:
            assert used[i] == pytest.approx(C, abs=1e-9)
    # primal - dual = sum C xi - sum alpha loss
    assert -1e-4 <= C * sum(slack) - dual <= C * len(corpus) * epsilon + 1e-4


@pytest.mark.parametrize("epochs", [1, 3, 100])
def test_propositions_3_and_4(epochs: int) -> None:
    """The slacks bound the number of sentences that are wrong, with costs the number of labels that are wrong."""
    corpus = corpus_of(1, 12)
    for cost in ("zero-one", "hamming"):
        tagger = train(corpus, trellis.HMSVM(C=0.2, cost=cost, epochs=epochs, kernel="poly"))  # type: ignore[arg-type]
        for i, of in enumerate(losses_of(tagger, corpus, cost)):
            gold = corpus.sentences("label")[i]
            found = tagger.tag(corpus.sentences("word")[i])
            wrong = sum(a != b for a, b in zip(found, gold, strict=True))
            assert max(of.values()) >= (wrong if cost == "hamming" else wrong > 0) - 1e-5


def test_the_objective_of_the_last_pass_is_the_primal() -> None:
    corpus, C = corpus_of(2, 8), 0.6
    tagger = train(corpus, trellis.HMSVM(C=C, epochs=3000))
    weights = tagger.model.weights
    norm = float(np.square(weights.rows.weights).sum() + np.square(weights.edge).sum())
    slack = sum(max(of.values()) for of in losses_of(tagger, corpus, "zero-one"))
    assert tagger.training["history"][-1]["objective"] == pytest.approx(norm / 2 + C * slack, rel=1e-5)


# ------------------------------------------------------------ kernels


def assert_same_scores(one: trellis.Tagger, other: trellis.Tagger, sentences: Any, within: float) -> None:
    for ours, theirs in sentences:
        n = len(ours)
        for path in product(one.labels, repeat=min(n, 3)):
            labels = [*path, *[one.labels[0]] * (n - len(path))]
            assert one.score(ours, labels) == pytest.approx(other.score(theirs, labels), abs=within)


def test_linear_in_the_dual_and_in_the_primal() -> None:
    corpus = corpus_of(4, 10)
    primal = train(corpus, trellis.HMSVM(tolerance=1e-4, epochs=3000))
    dual = train(corpus, trellis.HMSVM(tolerance=1e-4, epochs=3000, kernel=lambda a, b: a.dot(b)))
    poly = train(corpus, trellis.HMSVM(tolerance=1e-4, epochs=3000, kernel="poly", degree=1, coef0=0.0))
    assert primal.model.weights.expansion is None
    assert poly.model.weights.expansion is not None
    words = [(s, s) for s in corpus.sentences("word")]
    assert_same_scores(primal, dual, words, 1e-4)
    assert_same_scores(primal, poly, words, 1e-4)
    used = [sum(s.alpha for s in tagger.support()) for tagger in (primal, dual, poly)]
    assert used == pytest.approx([used[0]] * 3, rel=1e-3)


def written_out(bags: list[list[dict[str, float]]]) -> list[list[dict[str, float]]]:
    """The map of (<a, b> + 1)²: 1, sqrt(2) x_i, x_i², sqrt(2) x_i x_j."""
    root = np.sqrt(2.0)
    out = []
    for sentence in bags:
        tokens = []
        for bag in sentence:
            features = {"one": 1.0}
            features |= {f"{a}": root * x for a, x in bag.items()}
            features |= {f"{a}²": x * x for a, x in bag.items()}
            features |= {f"{a} {b}": root * bag[a] * bag[b] for a, b in combinations(sorted(bag), 2)}
            tokens.append(features)
        out.append(tokens)
    return out


@pytest.mark.parametrize("cost", ["zero-one", "hamming"])
def test_a_kernel_is_its_feature_map_written_out(cost: str) -> None:
    rng = np.random.default_rng(5)
    labels = corpus_of(5, 12).sentences("label")
    bags = [
        [{f"x{k}": float(rng.integers(-4, 5)) / 4 for k in rng.choice(5, 3, replace=False)} for _ in sentence]
        for sentence in labels
    ]
    learner: dict[str, Any] = {"C": 0.5, "cost": cost, "tolerance": 1e-5, "epochs": 20_000}
    options: dict[str, Any] = {"target": "label", "features": ["attributes[0]"], "order": 1}
    plain = trellis.read({"attributes": bags, "label": labels})
    mapped = trellis.read({"attributes": written_out(bags), "label": labels})
    kernel = trellis.train(plain, learner=trellis.HMSVM(kernel="poly", **learner), **options)
    linear = trellis.train(mapped, learner=trellis.HMSVM(**learner), **options)
    objectives = [tagger.training["history"][-1]["objective"] for tagger in (kernel, linear)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-4)
    assert_same_scores(kernel, linear, zip(bags, written_out(bags), strict=True), 5e-3)


def test_gamma_of_rbf_is_one_over_the_mean_of_squares() -> None:
    corpus = corpus_of(0)
    tagger = train(corpus, trellis.HMSVM(kernel="rbf", epochs=3))
    expansion = tagger.model.weights.expansion
    assert expansion is not None
    assert expansion.kernel.gamma == pytest.approx(1 / np.square(observed(tagger, corpus)).sum(axis=1).mean())


def test_observations() -> None:
    starts, ids = np.array([0, 2, 2, 5], np.int64), np.array([1, 3, 0, 3, 3], np.int32)
    ones = Observations(starts, ids, np.empty(0, np.float32), 4)
    dense = np.array([[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 2]], float)
    assert (ones.dense() == dense).all()
    assert (ones.dot(ones) == dense @ dense.T).all()
    assert (ones.squares() == np.square(dense).sum(axis=1)).all()
    assert (ones.take([2, 0]).dense() == dense[[2, 0]]).all()
    halves = Observations(starts, ids, np.array([1, 2, 3, 4, 5], np.float32) / 2, 4)
    assert (halves.dot(ones) == halves.dense() @ dense.T).all()
    assert (halves.squares() == np.square(halves.dense()).sum(axis=1)).all()


# ------------------------------------------------------------ the same bits


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_threads_and_memory_change_no_bit(kernel: str, tmp_path: Path) -> None:
    corpus = random_corpus(0, 40, n_words=12)
    files = []
    for n_threads, memory in ((1, 1024.0), (3, 1024.0), (2, 0.0), (2, 0.02)):
        learner = trellis.HMSVM(kernel=kernel, epochs=5, memory=1024.0 if kernel == "linear" else memory)
        tagger = train(corpus, learner, n_threads=n_threads)
        tagger.training["learner"].pop("memory", None)
        tagger.save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
        assert tagger.tag_batch(corpus.sentences("word"), n_threads=n_threads) == [
            tagger.tag(words) for words in corpus.sentences("word")
        ]
    assert len(set(files)) == 1


def test_seeds() -> None:
    corpus = random_corpus(0, 20)
    first, again, other = (
        [str(s) for s in train(corpus, trellis.HMSVM(epochs=2, seed=seed)).support()] for seed in (1, 1, 2)
    )
    assert first == again != other


# ------------------------------------------------------------ optional parts of a problem


def test_a_weight_is_a_number_of_copies() -> None:
    corpus = corpus_of(6, 8)
    weights = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0])
    copies = corpus.take(np.repeat(np.arange(8), weights.astype(int)))
    learner = trellis.HMSVM(kernel="poly", tolerance=1e-5, epochs=20_000)
    one, other = train(corpus, learner, sample_weight=weights), train(copies, learner)
    ours, theirs = (tagger.training["history"][-1]["objective"] for tagger in (one, other))
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert not {2, 6} & {s.sentence for s in one.support()}


def test_costs_of_labels_move_the_margin() -> None:
    """Most sentences say L1: it wins by what missing it costs, all slack being on the others' side."""
    corpus = trellis.read({"word": [["a"]] * 10, "label": [["L0"], ["L1"]] * 4 + [["L1"]] * 2})
    for kernel in ("linear", "poly"):
        for costs, margin in ((None, 1.0), ({"L1": 20.0}, 20.0)):
            learner = trellis.HMSVM(C=100.0, cost="hamming", kernel=kernel)
            tagger = train(corpus, learner, features=["word[0]"], labels=trellis.Labels(costs=costs))
            won = tagger.score(["a"], ["L1"]) - tagger.score(["a"], ["L0"])
            assert won == pytest.approx(margin, abs=0.05)
    with pytest.raises(LearnerError, match='need cost="hamming"'):
        train(corpus, trellis.HMSVM(), labels=trellis.Labels(costs={"L0": 2.0}))


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("order", [1, 2])
def test_schemes_and_tag_dictionaries(kernel: str, order: int) -> None:
    words = [["a", "b", "c"], ["c", "b"], ["b", "a", "b"], ["c"]] * 3
    labels = [["B-X", "I-X", "O"], ["O", "B-X"], ["B-X", "O", "B-X"], ["O"]] * 3
    corpus = trellis.read({"word": words, "label": labels})
    learner = trellis.HMSVM(kernel=kernel)
    tagger = train(corpus, learner, order=order, labels=trellis.Labels(scheme="iob2"))
    assert tagger.tag(["b", "c", "a"]) is not None
    for words_of in product("abc", repeat=3):
        found = tagger.tag(list(words_of))
        assert "I-X" not in [b for a, b in zip(["O", *found], found, strict=False) if a == "O"]
        assert tagger.kbest(list(words_of), 3)[0][0] == found
    tags = train(corpus, learner, order=order, search=trellis.Search(tag_dictionary=2), features=["word[0]"])
    assert all(tags.tag(["c", w])[0] == "O" for w in "abc")
    plain = train(corpus, learner, order=order)
    assert plain.constrained("iob2").tag(["b", "c"]) is not None


def test_what_it_refuses() -> None:
    corpus = corpus_of(0)
    for options, why in (
        ({"C": 0.0}, "C must be"),
        ({"C": float("nan")}, "C must be"),
        ({"kernel": "cubic"}, "kernel must be"),
        ({"kernel": "poly", "degree": 0}, "degree must be"),
        ({"kernel": "poly", "degree": 2.5}, "degree must be"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be"),
        ({"kernel": "rbf", "gamma": float("inf")}, "number"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0 must"),
        ({"cost": "linear"}, "cost must be"),
        ({"solver": "simplex"}, "solver must be"),
        ({"solver": "frank-wolfe", "kernel": "poly"}, "linear"),
        ({"tolerance": 0.0}, "tolerance must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"kernel": "rbf", "memory": -1.0}, "memory must"),
        ({"seed": -1}, "seed must be"),
    ):
        with pytest.raises(LearnerError, match=why) as error:
            trellis.HMSVM(**options)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)
    for more, why in (
        ({"features": trellis.Features(pairs="seen")}, "does not support pairs='seen'"),
        ({"features": ["word[0]", "label[-1] & word[0]"]}, "templates of label pairs"),
        ({"init": train(corpus, trellis.Perceptron()), "features": None}, "HMSVM does not support init"),
    ):
        with pytest.raises(LearnerError, match=why):
            train(corpus, trellis.HMSVM(), **more)  # type: ignore[arg-type]
    partial = trellis.read({"word": [["a", "b"]], "label": [["L0", "L1|L0"]]})
    with pytest.raises(LearnerError, match="does not support partial labels"):
        train(partial, trellis.HMSVM(), labels=trellis.Labels(partial=True))
    with pytest.raises(LearnerError, match="memory allows 0"):
        train(corpus, trellis.HMSVM(kernel=cubic, memory=0.0))
    with pytest.raises(LearnerError, match="cannot start from a kernel model"):
        trellis.train(corpus, init=train(corpus, trellis.HMSVM(kernel="poly", epochs=1)))


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (lambda a, b: np.zeros((1, 1)), "must return an array of shape"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "finite"),
    ],
)
def test_functions_that_are_no_kernels(kernel: Any, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        train(corpus_of(0), trellis.HMSVM(kernel=kernel))


# ------------------------------------------------------------ the tagger


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_ways_of_decoding_agree(kernel: str, order: int) -> None:
    corpus = corpus_of(7, 12)
    tagger = train(corpus, trellis.HMSVM(epochs=20, **KERNELS[kernel][0]), order=order)
    words = corpus.sentences("word")
    tagged = tagger.tag_batch(words)
    column = tagger.tag_column(corpus)
    assert [z for s in tagged for z in s] == [column.values[code] for code in column.codes.tolist()]
    for sentence, labels in zip(words, tagged, strict=True):
        if not sentence:
            continue
        assert tagger.tag(sentence) == labels
        scores = {p: tagger.score(sentence, p) for p in product(tagger.labels, repeat=len(sentence))}
        found = tagger.kbest(sentence, 4)
        assert found[0][0] == labels
        assert [s for _, s in found] == pytest.approx(sorted(scores.values(), reverse=True)[: len(found)], abs=1e-4)
        believed = tagger.marginals(sentence)
        total = sum(np.exp(s) for s in scores.values())
        share = sum(np.exp(s) for p, s in scores.items() if p[0] == labels[0]) / total
        assert believed[0][labels[0]] == pytest.approx(share, abs=1e-4)
        forced = tagger.tag(sentence, allowed={0: tagger.labels[1]})
        assert forced[0] == tagger.labels[1]
    assert tagger.calibrated(corpus).tag_batch(words) == tagged
    if kernel == "linear":
        assert tagger.explain(words[0]).output == tagged[0]
    else:
        with pytest.raises(ModelError, match="a kernel model has no feature weights to explain; see support"):
            tagger.explain(words[0])
    assert "Tagger(" in repr(tagger)


def test_support_sequences() -> None:
    corpus = corpus_of(8, 10)
    tagger = train(corpus, trellis.HMSVM(kernel="poly", epochs=4))
    golds = corpus.sentences("label")
    support = tagger.support()
    assert [s.sentence for s in support] == sorted(s.sentence for s in support)
    for one in support:
        assert one.positions == tuple(sorted(set(one.positions)))
        assert all(golds[one.sentence][t] == gold for t, gold in zip(one.positions, one.gold, strict=True))
        assert all(gold != label for gold, label in zip(one.gold, one.labels, strict=True))
        assert f"sentence {one.sentence}, alpha" in str(one)
    with pytest.raises(ModelError, match="no support sequences"):
        train(corpus, trellis.Perceptron()).support()


# ------------------------------------------------------------ files


@pytest.mark.parametrize("kernel", KERNELS)
def test_saved_and_loaded(kernel: str, tmp_path: Path) -> None:
    corpus, path = corpus_of(9, 12), tmp_path / "model"
    tagger = train(corpus, trellis.HMSVM(epochs=5, **KERNELS[kernel][0]))
    tagger.save(path)
    again = trellis.load(path, kernel=cubic) if kernel == "function" else trellis.load(path)
    copy = pickle.loads(pickle.dumps(tagger))
    for words in corpus.sentences("word"):
        assert tagger.kbest(words, 3) == again.kbest(words, 3) == copy.kbest(words, 3)
    assert tagger.support() == again.support()
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_function_must_be_given_again(tmp_path: Path) -> None:
    path = tmp_path / "model"
    tagger = train(corpus_of(0), trellis.HMSVM(kernel=cubic, epochs=2))
    assert tagger.training["learner"]["kernel"] == "test_hmsvm.cubic"
    tagger.save(path)
    with pytest.raises(ModelError, match=r"the kernel is a function, which files do not contain: trellis"):
        trellis.load(path)
    train(corpus_of(0), trellis.HMSVM(kernel="poly", epochs=2)).save(path)
    with pytest.raises(ModelError, match="s kernel is not a function; omit kernel"):
        trellis.load(path, kernel=cubic)


HOSTILE: dict[str, Any] = {
    "dual.kernel": [
        np.array([9.0, 2, 1, 1]),
        np.array([1.0, 0, 1, 1]),
        np.array([1.0, 2, np.nan, 1]),
        np.ones(3),
    ],
    "dual.observations.ids": [-1, 1 << 20],
    "dual.observations.starts": [-5, 1 << 40],
    "dual.observations.values": [np.array([1.0], np.float32)],
    "dual.expansion.labels": [60_000],
    "dual.expansion.starts": [-5, 1 << 40],
    "dual.expansion.coefs": [np.nan, np.zeros(1)],
    "dual.support.starts": [-5, 1 << 40],
    "dual.support.labels": [60_000],
    "dual.support.gold": [60_000],
    "dual.support.sentences": [-1],
    "dual.support.alphas": [np.zeros(1)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str, tmp_path: Path) -> None:
    from trellis._support.tensor_file import read_tensors, write_tensors
    from trellis.tasks.tagging import file as model_file

    path = tmp_path / "model"
    train(corpus_of(0, 12), trellis.HMSVM(kernel="poly", epochs=3)).save(path)
    opened = read_tensors(path, "a trellis model")
    tensors, text = opened.tensors, opened.text
    for change in HOSTILE[name]:
        changed = {key: np.array(array) for key, array in tensors.items()}
        if isinstance(change, np.ndarray):
            changed[name] = change
        else:
            changed[name][len(changed[name]) // 2] = change
        write_tensors(tmp_path / "hostile", model_file.FORMAT, changed, text)
        with pytest.raises(ModelError):
            trellis.load(tmp_path / "hostile")


def test_a_learner_tells_the_same_in_every_process() -> None:
    """Checkpoints are known by it: no address of a function."""
    assert trellis.HMSVM(kernel=cubic).parameters()["kernel"] == "test_hmsvm.cubic"


# ------------------------------------------------------------ stopping and going on


def test_a_solved_problem_stays_solved(tmp_path: Path) -> None:
    """Resuming after the last pass changes nothing."""
    corpus, checkpoint = corpus_of(0), tmp_path / "checkpoint"
    learner = trellis.HMSVM(kernel=cubic, epochs=5000)
    whole = train(corpus, learner, checkpoint=checkpoint, dev=corpus)
    seen: list[Any] = []
    again = train(corpus, learner, checkpoint=checkpoint, dev=corpus, observer=seen.append)
    assert seen == []
    assert again.training["history"] == whole.training["history"]
    assert again.tag_batch(corpus.sentences("word")) == whole.tag_batch(corpus.sentences("word"))


def test_the_dual_rises(tmp_path: Path) -> None:
    """Each pass solves one quadratic programme after another: the dual never falls, and ends below the primal."""
    from trellis.learning.dual_run import DualRun

    corpus = random_corpus(0, 15)
    learner = trellis.HMSVM(kernel="poly")
    seen: list[float] = []

    def fit(problem: Any, observer: Any) -> Any:
        run = DualRun(problem, learner)
        order = np.arange(problem.n_sentences)
        for _ in range(40):
            *_, gap = run.native.margin_pass(order, 1.0, 1e-9, False, 1)
            seen.append(run.native.dual)
        assert gap >= -1e-9
        return run.weights(), []

    class Fitting(trellis.HMSVM):
        def fit(self, problem: Any, observer: Any) -> Any:
            return fit(problem, observer)

    train(corpus, Fitting())
    assert all(b >= a - 1e-12 for a, b in pairwise(seen))
    assert seen[-1] > seen[0] > 0
