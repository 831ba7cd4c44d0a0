"""Warm starts: training starts where the older model is, for every pair of learners."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import learners, random_corpus

import trellis
from trellis._support.errors import LearnerError

FEATURES = ["word[0]", "word[-1]", "suffix(word[0], 1)"]


LEARNERS = learners(5) | {
    "crf all": trellis.CRF(transitions="all", epochs=5),
    "maxent gis without prior": trellis.MaxEnt(solver="gis", c2=0.0, epochs=3),
    "boost": trellis.SequenceBoost(epochs=9),
    "hmm": trellis.HMM(),
    "frank-wolfe": trellis.HMSVM(solver="frank-wolfe", epochs=5),
}
NEVER = ("hmm", "hmsvm", "frank-wolfe", "kernel perceptron")  # they start from nothing else


def allowed(older: str, newer: str) -> bool:
    local = [name.startswith("maxent") for name in (older, newer)]
    return newer not in NEVER and older != "kernel perceptron" and local[0] == local[1]


class BeforeTheFirstStep(trellis.Learner):
    """Another learner, before its first epoch."""

    abilities = frozenset({"orders"})

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        for name in ("family", "default_pairs", "reads_names", "takes_init"):
            setattr(self, name, getattr(learner, name))

    def fit(self, problem: Any, observer: Any = None) -> Any:
        return self.learner.begin(problem).weights(), []


def older_and_new(order: int) -> tuple[trellis.Corpus, trellis.Corpus]:
    """Two corpora: the second has other words, and label pairs that the first does not have."""
    corpora = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        words = [[f"w{w}" for w in rng.integers(0, 6, rng.integers(1, 5)) * seed] for _ in range(12)]
        labels = [[f"L{rng.integers(0, 3)}" for _ in s] for s in words]
        corpora.append(trellis.read({"word": words, "label": labels}))
    return corpora[0], corpora[1]


@pytest.fixture(scope="module")
def older_models() -> dict[tuple[str, int], trellis.Tagger]:
    out = {}
    for (name, learner), order in product(LEARNERS.items(), (0, 1, 2)):
        edges = ["label[-1] & word[0]"] if order and name not in NEVER else []
        features = [*FEATURES, *edges]
        first, _ = older_and_new(order)
        out[name, order] = trellis.train(first, target="label", features=features, learner=learner, order=order)
    return out


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("older", "newer"), list(product(LEARNERS, LEARNERS)), ids=str)
def test_every_learner_starts_where_every_other_ended(
    older: str, newer: str, order: int, older_models: dict[tuple[str, int], trellis.Tagger]
) -> None:
    """Before its first step it scores exactly as the older model does; where it cannot, one line says so."""
    tagger, learner = older_models[older, order], LEARNERS[newer]
    first, second = older_and_new(order)
    if not allowed(older, newer):
        with pytest.raises(LearnerError, match=r"(cannot start from|does not support init).*; omit") as error:
            trellis.train(second, init=tagger, learner=learner)
        assert "\n" not in str(error.value)
        return
    rng = np.random.default_rng(0)
    for new_order in sorted({order, min(2, order + 1)}):
        start = trellis.train(second, init=tagger, learner=BeforeTheFirstStep(learner), order=new_order)
        assert start.order == new_order
        for words in [*first.sentences("word"), *second.sentences("word")]:
            path = [tagger.labels[z] for z in rng.integers(0, len(tagger.labels), len(words))]
            # Normalised over more labels before it, MaxEnt's sums are rounded in another order.
            near = 1e-6 if new_order > order and newer.startswith("maxent") else 0.0
            assert start.score(words, path) == pytest.approx(tagger.score(words, path), rel=near, abs=near)
            if "voted" not in (older, newer):
                assert start.tag(words) == tagger.tag(words)
        if new_order == order:  # and it does learn
            trained = trellis.train(second, init=tagger, learner=learner)
            assert trained.training["history"][0]["epoch"] == 1


ANY_ORDER = [name for name in LEARNERS if "orders" in LEARNERS[name].abilities and name not in NEVER]


@pytest.mark.parametrize(("order", "new_order"), [(2, 3), (3, 3), (3, 4)])
@pytest.mark.parametrize(
    ("older", "newer"),
    [pair for pair in product((*ANY_ORDER, "hmm", "frank-wolfe"), ANY_ORDER) if allowed(*pair)],
    ids=str,
)
def test_label_ngrams_start_where_they_were(older: str, newer: str, order: int, new_order: int) -> None:
    """With new labels, and from a table of triples."""
    first, second = older_and_new(order)
    tagger = train(first, learner=LEARNERS[older], order=order)
    new = () if newer.startswith("maxent") else ("new",)  # which MaxEnt would normalise over
    labels = [[*row[: len(row) - len(new)], *new] for row in second.sentences("label")]
    second = trellis.read({"word": second.sentences("word"), "label": labels})
    learner = BeforeTheFirstStep(LEARNERS[newer])
    start, rng = trellis.train(second, init=tagger, learner=learner, order=new_order), np.random.default_rng(0)
    assert start.order == new_order
    assert start.labels == (*tagger.labels, *new)
    for words in first.sentences("word"):
        path = [tagger.labels[z] for z in rng.integers(0, len(tagger.labels), len(words))]
        assert start.score(words, path) == pytest.approx(tagger.score(words, path), abs=1e-5)
    assert trellis.train(second, init=tagger, learner=LEARNERS[newer], order=new_order).training["history"]


def test_a_learner_that_stops_at_order_2_says_so() -> None:
    first, second = older_and_new(3)
    tagger = train(first, learner=trellis.Perceptron(epochs=2), order=3)
    with pytest.raises(LearnerError, match="SequenceBoost supports orders 0 to 2, not 3"):
        trellis.train(second, init=tagger, learner=trellis.SequenceBoost(epochs=2))
    with pytest.raises(LearnerError, match=r"HMSVM supports orders 0 to 2, not 3; .* HMSVM\(solver='frank-wolfe'\)"):
        train(first, learner=trellis.HMSVM(epochs=2), order=3)


class Caught(Exception):  # noqa: N818 - not an error: carries the problem out of the training
    pass


class Catch(trellis.CRF):
    """A learner that only looks at the problem it gets."""

    def fit(self, problem: Any, observer: Any = None) -> Any:
        raise Caught(problem)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("older", ["hmm", "mira", "hmsvm"])
def test_the_objective_starts_at_the_older_model(
    older: str, order: int, older_models: dict[tuple[str, int], trellis.Tagger]
) -> None:
    """By enumeration: 1 / p(gold) of every sentence, end scores and all."""
    tagger = older_models[older, order]
    _, corpus = older_and_new(order)
    with pytest.raises(Caught) as caught:
        trellis.train(corpus, init=tagger, learner=Catch())
    problem = caught.value.args[0]
    inverse = []
    for words, labels in zip(corpus.sentences("word"), corpus.sentences("label"), strict=True):
        scores = {path: tagger.score(words, path) for path in product(tagger.labels, repeat=len(words))}
        inverse.append(sum(np.exp(score - scores[tuple(labels)]) for score in scores.values()))
    crf = trellis.CRF(c2=0.0, precision="double").begin(problem)
    assert crf.function(crf.vector())[0] == pytest.approx(np.log(inverse).sum(), rel=1e-6)
    exponential = trellis.ExponentialLoss(c2=0.0).begin(problem)
    assert exponential.function(exponential.vector())[0] == pytest.approx(np.log(sum(inverse)), rel=1e-6)
    rounds = trellis.SequenceBoost().begin(problem)
    assert rounds.native.log_risk == pytest.approx(np.log(sum(inverse) - len(inverse)), rel=1e-5)


@pytest.mark.parametrize("name", [n for n in LEARNERS if n not in (*NEVER, "boost")])
def test_an_older_scheme_holds_on(name: str) -> None:
    words, labels = [["a", "b", "c"], ["c", "a"]] * 4, [["B-X", "I-X", "O"], ["O", "B-X"]] * 4
    corpus = trellis.read({"word": words, "label": labels})
    first = trellis.MaxEnt() if name.startswith("maxent") else trellis.Perceptron()
    tagger = train(corpus, learner=first, labels=trellis.Labels(scheme="iob2"))
    again = trellis.train(corpus, init=tagger, learner=LEARNERS[name])
    assert again.training["scheme"] == "iob2"
    for sentence in product("abc", repeat=3):
        found = ["O", *again.tag(list(sentence))]
        assert ("O", "I-X") not in list(pairwise(found))
    with pytest.raises(LearnerError, match="scheme='iobes' conflicts with the initial model"):
        trellis.train(corpus, init=tagger, learner=LEARNERS[name], labels=trellis.Labels(scheme="iobes"))
    broken = trellis.read({"word": [["a"]], "label": [["I-X"]]})
    with pytest.raises(trellis.CorpusError, match="cannot begin with 'I-X'"):
        trellis.train(broken, init=tagger, learner=LEARNERS[name])


def corpus_of(seed: int, n: int = 30) -> trellis.Corpus:
    return random_corpus(seed, n, n_words=8)


def train(corpus: Any, **options: Any) -> trellis.Tagger:
    given: dict[str, Any] = {"target": "label", "features": FEATURES} | options
    return trellis.train(corpus, **given)


WARM = ["perceptron", "mira", "pa", "arow", "crf", "crf l1", "maxent", "exponential", "boost"]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", WARM)
def test_what_was_learnt_is_where_it_begins(name: str, order: int) -> None:
    """A model that gets everything right makes no mistake in the first epoch of going on."""
    words = [["a", "b", "c"], ["c", "b", "a"], ["b", "a"], ["c"]] * 4
    corpus = trellis.read({"word": words, "label": [[w.upper() for w in s] for s in words]})
    features = ["word[0]", "word[-1] & word[0]", *(["label[-1] & word[0]"] if order else [])]
    learner = type(LEARNERS[name])
    longer = {} if name == "crf adagrad" else {"epochs": 9}
    first = train(corpus, learner=replace(LEARNERS[name], **longer), order=order, features=features)
    assert first.evaluate(corpus).token_accuracy == 1.0
    again = trellis.train(corpus, init=first, learner=learner(epochs=1))
    event = again.training["history"][0]
    if name == "perceptron":  # learners with a margin also count violations of it
        assert event["mistakes"] == 0
    assert again.evaluate(corpus).token_accuracy == 1.0
    if "objective" in event:
        assert event["objective"] <= first.training["history"][-1]["objective"] * (1 + 1e-6)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", WARM)
def test_new_labels_and_features(name: str, order: int) -> None:
    old = trellis.read({"word": [["a", "b"], ["b", "a"]] * 5, "label": [["A", "B"], ["B", "A"]] * 5})
    new = trellis.read(
        {"word": [["c", "d"], ["d", "c"], ["a", "c"]] * 5, "label": [["C", "D"], ["D", "C"], ["A", "C"]] * 5}
    )
    features = ["word[0]", "word[-1] & word[0]"]
    first = trellis.MaxEnt() if name == "maxent" else trellis.Perceptron()
    tagger = train(old, features=features, order=order, learner=first)
    learner = type(LEARNERS[name])(epochs=40)
    both = trellis.train(new, init=tagger, learner=learner)
    assert both.labels == ("A", "B", "C", "D")
    assert both.tag(["c", "d"]) == ["C", "D"]
    assert both.tag(["a", "c"]) == ["A", "C"]
    if name in ("perceptron", "mira", "arow"):  # gradient learners may forget labels that are not in the new data
        assert both.tag(["b", "a"]) == ["B", "A"]


def test_partial_fit_sees_every_attribute_of_before(tmp_path: Path) -> None:
    """Carried over and not changed: the scores of all old paths stay, through a file and back."""
    corpus = corpus_of(0)
    features = [*FEATURES, "label[-1] & word[0]", "shape(word[0]) & word[-2] & word[-1] & word[1] & word[2]"]
    tagger = train(corpus, features=features, learner=trellis.Perceptron(epochs=3), order=2)
    tagger.save(tmp_path / "m")
    tagger = trellis.load(tmp_path / "m")
    unrelated = trellis.read({"word": [["qq"]], "label": [[tagger.tag(["qq"])[0]]]})
    further = trellis.partial_fit(tagger, unrelated)
    for sentence in corpus:
        labels = sentence["label"]
        assert further.score(sentence["word"], labels) == pytest.approx(
            tagger.score(sentence["word"], labels), abs=1e-5
        )
    assert further.kbest(["qq", "v1"], 3)[0][0] == tagger.kbest(["qq", "v1"], 3)[0][0]


def test_attributes_of_before() -> None:
    first = trellis.read({"attributes": [[["x", "y"], ["z"]]], "label": [["A", "B"]]})
    second = trellis.read({"attributes": [[["z"], ["new"]]], "label": [["B", "C"]]})
    tagger = trellis.train(first, target="label", features="attributes", order=0)
    both = trellis.partial_fit(tagger, second, learner=trellis.Perceptron(epochs=5))
    assert [both.tag([[s]])[0] for s in ("x", "z", "new")] == ["A", "B", "C"]


def test_warm_starts_that_make_no_sense() -> None:
    tagger = train(corpus_of(0))
    for options, why in (
        ({"target": "word"}, "predicts 'label'"),
        ({"features": "default"}, "features differ from those of the initial model"),
        ({"order": 0}, "order=0 conflicts with the initial model, which has order 1"),
        ({"search": trellis.Search(tag_dictionary=3)}, "tag_dictionary cannot be combined with init"),
    ):
        with pytest.raises(LearnerError, match=why):
            trellis.train(corpus_of(1), init=tagger, **options)
    with pytest.raises(LearnerError, match="target"):
        trellis.train(corpus_of(1).sentences("word"))
    with pytest.raises(LearnerError, match="HMM does not support init"):
        trellis.train(corpus_of(1), init=tagger, learner=trellis.HMM())
    with pytest.raises(LearnerError, match="with a tag dictionary"):
        trellis.train(corpus_of(1), init=train(corpus_of(0), search=trellis.Search(tag_dictionary=2)))
