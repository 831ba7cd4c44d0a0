"""The kernel perceptron: with the linear kernel it is the perceptron, with others that of their feature maps."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from dual_oracle import observed
from samples import random_corpus

import trellis
from experiments import reference
from trellis._support.errors import LearnerError

FEATURES = ["word[0]", "word[-1]", "suffix(word[0], 1)"]


def train(corpus: trellis.Corpus, learner: Any, **options: Any) -> trellis.Tagger:
    given: dict[str, Any] = {"target": "label", "features": FEATURES} | options
    return trellis.train(corpus, learner=learner, **given)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_linear_is_the_perceptron(order: int, average: bool, shuffle: bool) -> None:
    corpus = random_corpus(order, 25)
    weights = np.resize([1.0, 2.0, 0.0, 0.5], len(corpus))
    options: dict[str, Any] = {"epochs": 6, "average": average, "shuffle": shuffle}
    plain = train(corpus, trellis.Perceptron(**options), order=order, sample_weight=weights)
    dual = train(corpus, trellis.KernelPerceptron(kernel="linear", **options), order=order, sample_weight=weights)
    ours, theirs = dual.model.weights, plain.model.weights
    assert ours.expansion is None
    assert [e["mistakes"] for e in dual.training["history"]] == [e["mistakes"] for e in plain.training["history"]]
    np.testing.assert_allclose(ours.edge, theirs.edge, rtol=1e-5, atol=1e-6)
    for words, labels in zip(corpus.sentences("word"), corpus.sentences("label"), strict=True):
        assert dual.score(words, labels) == pytest.approx(plain.score(words, labels), rel=1e-5, abs=1e-5)


def dual_perceptron(
    k: npt.NDArray[np.float64], golds: list[list[int]], n_labels: int, order: int, epochs: int
) -> tuple[dict[tuple[int, tuple[int, ...]], int], npt.NDArray[np.float64]]:
    """Algorithm 1 in the dual, by its definition: alpha of every sequence, and the emit scores of all tokens."""
    alpha: dict[tuple[int, tuple[int, ...]], int] = {}
    starts = np.concatenate([[0], np.cumsum([len(gold) for gold in golds])])
    null = n_labels

    def scores() -> tuple[npt.NDArray[np.float64], reference.DenseWeights]:
        beta = np.zeros((len(k), n_labels))
        w = reference.DenseWeights.zeros(0, n_labels, order)
        for (i, path), count in alpha.items():
            for labels, by in ((golds[i], count), (path, -count)):
                x = y = null
                for t, z in enumerate(labels):
                    beta[starts[i] + t, z] += by
                    w.edge[y, z] += by * (order >= 1)
                    if w.tri is not None:
                        w.tri[x, y, z] += by
                    x, y = y, z
        return k @ beta, w

    for _ in range(epochs):
        for i, gold in enumerate(golds):
            emit, w = scores()
            best, _ = reference.viterbi(reference.Potentials(emit[starts[i] : starts[i + 1]], w.edge, w.tri))
            if best != gold:
                alpha[i, tuple(best)] = alpha.get((i, tuple(best)), 0) + 1
    return alpha, scores()[0]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_it_is_algorithm_1_in_the_dual(order: int) -> None:
    """Whole numbers throughout, so that even ties are the same."""
    corpus = random_corpus(order + 10, 15)
    learner = trellis.KernelPerceptron(epochs=4, degree=2, average=False, shuffle=False)
    tagger = train(corpus, learner, order=order)
    golds = [[tagger.labels.index(z) for z in labels] for labels in corpus.sentences("label")]
    x = observed(tagger, corpus)
    alpha, emit = dual_perceptron((x @ x.T + 1) ** 2, golds, len(tagger.labels), order, 4)
    found = {}
    for one in tagger.support():
        path = list(golds[one.sentence])
        for t, label in zip(one.positions, one.labels, strict=True):
            path[t] = tagger.labels.index(label)
        found[one.sentence, tuple(path)] = one.alpha
    assert found == alpha != {}
    expansion = tagger.model.weights.expansion
    assert expansion is not None
    lists: Any = tagger._decoder.attribute_lists(tagger._decoder.encode(corpus))
    assert tagger._decoder.expansion is not None
    np.testing.assert_array_equal(expansion.emit(tagger._decoder.expansion, lists, 2), emit)


@pytest.mark.parametrize("average", [False, True])
def test_a_kernel_is_its_feature_map_written_out(average: bool) -> None:
    """<a, b>² is the map to all ordered pairs of attributes."""
    corpus = random_corpus(2, 25)
    bags = [[[w, w[-1], p] for w, p in zip(s["word"], s["pos"], strict=True)] for s in corpus]
    pairs = [[[f"{a} {b}" for a, b in product(bag, bag)] for bag in sentence] for sentence in bags]
    labels = corpus.sentences("label")
    options: dict[str, Any] = {"target": "label", "features": ["attributes[0]"], "order": 1}
    kernel = trellis.train(
        {"attributes": bags, "label": labels},
        learner=trellis.KernelPerceptron(degree=2, coef0=0.0, epochs=5, average=average),
        **options,
    )
    linear = trellis.train(
        {"attributes": pairs, "label": labels},
        learner=trellis.Perceptron(epochs=5, average=average),
        **options,
    )
    for bag, pair, gold in zip(bags, pairs, labels, strict=True):
        assert kernel.tag(bag) == linear.tag(pair)
        assert kernel.score(bag, gold) == pytest.approx(linear.score(pair, gold), rel=1e-5, abs=1e-4)


def test_threads_change_no_bit(tmp_path: Path) -> None:
    corpus = random_corpus(0, 40)
    files = []
    for n_threads in (1, 3):
        train(corpus, trellis.KernelPerceptron(kernel="rbf", epochs=4), n_threads=n_threads).save(tmp_path / "m")
        files.append((tmp_path / "m").read_bytes())
    assert files[0] == files[1]


def test_it_learns_what_no_linear_model_can() -> None:
    """The label is whether two attributes are the same: exclusive or."""
    bags = [[[f"a{a}", f"b{b}"]] for a in (0, 1) for b in (0, 1)] * 3
    labels = [["same" if s[0][0][1] == s[0][1][1] else "other"] for s in bags]
    corpus = trellis.read({"attributes": bags, "label": labels})
    options: dict[str, Any] = {"features": ["attributes[0]"], "order": 0}
    linear = train(corpus, trellis.Perceptron(epochs=50), **options)
    assert linear.evaluate(corpus).token_accuracy < 1.0
    for learner in (trellis.KernelPerceptron(epochs=50), trellis.HMSVM(kernel="poly", C=100.0)):
        assert train(corpus, learner, **options).evaluate(corpus).token_accuracy == 1.0


def test_what_it_refuses() -> None:
    for options, why in (
        ({"epochs": 0}, "epochs must be"),
        ({"kernel": 3}, "kernel must be"),
        ({"degree": 0}, "degree must be"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"memory": -1.0}, "memory must"),
        ({"shuffle": True, "seed": -1}, "seed must be"),
    ):
        with pytest.raises(LearnerError, match=why):
            trellis.KernelPerceptron(**options)  # type: ignore[arg-type]
    corpus = random_corpus(0)
    with pytest.raises(LearnerError, match="does not support label_costs; use MIRA, PassiveAggressive, AROW or HMSVM"):
        train(corpus, trellis.KernelPerceptron(), labels=trellis.Labels(costs={"L0": 2.0}))
    with pytest.raises(LearnerError, match="KernelPerceptron does not support init"):
        train(corpus, trellis.KernelPerceptron(), init=train(corpus, trellis.Perceptron()), features=None)


def test_a_pass_in_pieces_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between pieces Python hears Ctrl-C; they change nothing."""
    corpus = random_corpus(5, 30, n_words=8)
    found = []
    for size in (10**6, 16, 1):
        monkeypatch.setattr("trellis.learners.dual.AT_ONCE", size)
        learner = trellis.KernelPerceptron(epochs=4, shuffle=True)
        found.append(trellis.train(corpus, target="label", features=["word[0]"], learner=learner).to_bytes())
    assert found[0] == found[1] == found[2]
