"""What all learners offer: weights of sentences, partial labels, warm starts, early stopping, checkpoints."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import random_corpus

import trellis
from trellis.errors import LearnerError, ModelError
from trellis.learning.run import Event, StopTrainingError
from trellis.model.kernels import Observations


def products(a: Observations, b: Observations) -> Any:
    """A kernel that is a function."""
    return a.dot(b)


LEARNERS = {
    "perceptron": trellis.Perceptron(epochs=6, shuffle=True),
    "voted": trellis.Perceptron(epochs=6, vote=True),
    "mira": trellis.MIRA(epochs=6, k=2),
    "pa": trellis.PassiveAggressive(epochs=6),
    "arow": trellis.AROW(epochs=6),
    "crf": trellis.CRF(epochs=6),
    "crf l1": trellis.CRF(c1=0.1, epochs=6),
    "crf adagrad": trellis.CRF(solver="adagrad", epochs=6),
    "maxent": trellis.MaxEnt(epochs=6),
    "maxent gis": trellis.MaxEnt(solver="gis", epochs=6),
    "exponential": trellis.ExponentialLoss(epochs=6),
    "boost": trellis.SequenceBoost(epochs=6),
    "hmsvm": trellis.HMSVM(epochs=6),
    "hmsvm poly": trellis.HMSVM(epochs=6, kernel="poly", cost="hamming"),
    "hmsvm function": trellis.HMSVM(epochs=6, kernel=products),
    "kernel perceptron": trellis.KernelPerceptron(epochs=6, shuffle=True),
}
FEATURES = ["word[0]", "word[-1]", "suffix(word[0], 1)"]


def corpus_of(seed: int, n: int = 30) -> trellis.Corpus:
    return random_corpus(seed, n, n_words=8)


def train(corpus: Any, **options: Any) -> trellis.Tagger:
    given: dict[str, Any] = {"target": "label", "features": FEATURES} | options
    return trellis.train(corpus, **given)


def saved(tagger: trellis.Tagger, path: Path) -> bytes:
    tagger.save(path)
    return path.read_bytes()


# ------------------------------------------------------------ checkpoints


class KilledError(Exception):
    pass


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", LEARNERS)
def test_killed_and_resumed_gives_the_same_bits(name: str, order: int, tmp_path: Path) -> None:
    corpus, dev = corpus_of(0), corpus_of(1)
    options = {"learner": LEARNERS[name], "order": order, "dev": dev}
    whole = train(corpus, **options)

    def kill(event: Event) -> None:
        if event.epoch == 4:
            raise KilledError

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(KilledError):
        train(corpus, **options, checkpoint=checkpoint, observer=kill)
    seen: list[Event] = []
    resumed = train(corpus, **options, checkpoint=checkpoint, observer=seen.append)
    assert [event.epoch for event in seen] == list(range(5, len(whole.info["history"]) + 1))
    assert saved(resumed, tmp_path / "resumed") == saved(whole, tmp_path / "whole")
    assert resumed.tag_batch(dev) == whole.tag_batch(dev)


def test_a_checkpoint_is_of_one_training(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    train(corpus_of(0), checkpoint=checkpoint)
    with pytest.raises(ModelError, match="another training"):
        train(corpus_of(1), checkpoint=checkpoint)
    with pytest.raises(ModelError, match="another training"):
        train(corpus_of(0), checkpoint=checkpoint, learner=trellis.Perceptron(epochs=3))
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    with pytest.raises(ModelError, match="checkpoint"):
        train(corpus_of(0), checkpoint=checkpoint)


def test_checkpoints_every_so_many_epochs(tmp_path: Path) -> None:
    checkpoint, times = tmp_path / "checkpoint", []

    def look(event: Event) -> None:
        times.append(checkpoint.exists())

    train(
        corpus_of(0),
        learner=trellis.Perceptron(epochs=4),
        checkpoint=checkpoint,
        checkpoint_every=3,
        observer=look,
    )
    assert times == [False, False, True, True]
    with pytest.raises(LearnerError, match="checkpoint_every"):
        train(corpus_of(0), checkpoint=checkpoint, checkpoint_every=0)


# ------------------------------------------------------------ stopping


@pytest.mark.parametrize("name", LEARNERS)
def test_an_observer_may_stop_training(name: str) -> None:
    def stop(event: Event) -> None:
        if event.epoch == 2:
            raise StopTrainingError

    assert len(train(corpus_of(0), learner=LEARNERS[name], observer=stop).info["history"]) == 2


def test_patience() -> None:
    learner = trellis.Perceptron(epochs=40)
    scores = [e["dev_score"] for e in train(corpus_of(0), learner=learner, dev=corpus_of(1)).info["history"]]
    history = train(corpus_of(0), learner=learner, dev=corpus_of(1), patience=3).info["history"]
    best = max(range(len(history)), key=lambda i: (history[i]["dev_score"], -i))
    assert len(history) == best + 4 < 40
    assert [e["dev_score"] for e in history] == scores[: len(history)]
    with pytest.raises(LearnerError, match="patience"):
        train(corpus_of(0), patience=2)


@pytest.mark.parametrize("metric", ["token", "sentence", "auto"])
def test_metrics(metric: str) -> None:
    dev = corpus_of(1)
    tagger = train(corpus_of(0), learner=trellis.Perceptron(epochs=5), dev=dev, metric=metric)
    report = tagger.evaluate(dev)
    figure = report.sentence_accuracy if metric == "sentence" else report.token_accuracy
    assert max(event["dev_score"] for event in tagger.info["history"]) == figure
    with pytest.raises(LearnerError, match="no metric"):
        train(corpus_of(0), dev=dev, metric="f2")


# ------------------------------------------------------------ weights of sentences


@pytest.mark.parametrize(
    "learner", [trellis.CRF(), trellis.MaxEnt(), trellis.CRF(c1=0.2)], ids=["crf", "maxent", "l1"]
)
def test_a_weight_of_two_is_the_sentence_twice(learner: Any) -> None:
    corpus = corpus_of(0, 12)
    weights = np.array([1.0, 2.0, 3.0] * 4)
    copies = corpus.take(np.repeat(np.arange(12), weights.astype(int)))
    one = train(corpus, learner=learner, sample_weight=weights)
    other = train(copies, learner=learner)
    ours, theirs = (t.info["history"][-1]["objective"] for t in (one, other))
    assert ours == pytest.approx(theirs, rel=1e-3)
    same = [one.tag(s["word"]) == other.tag(s["word"]) for s in corpus]
    assert sum(same) >= 11


@pytest.mark.parametrize("name", ["perceptron", "mira", "pa", "arow"])
def test_a_weight_of_nothing_is_no_sentence(name: str) -> None:
    corpus, learner = corpus_of(0, 20), LEARNERS[name]
    plain = type(learner)(epochs=3)
    weights = np.array([1.0] * 10 + [0.0] * 10)
    tagger = train(corpus, learner=plain, sample_weight=weights)
    # Sentences that count for nothing make no step, but they do pass by: averages are over more moments.
    assert all(event["updates"] <= 10 for event in tagger.info["history"])


def test_weights_that_make_no_sense() -> None:
    for weights in ([1.0], [-1.0] * 30, [np.nan] * 30):
        with pytest.raises(LearnerError, match="sample_weight"):
            train(corpus_of(0), sample_weight=weights)
    with pytest.raises(LearnerError, match="'X'"):
        train(corpus_of(0), label_costs={"X": 1.0}, learner=trellis.MIRA())
    with pytest.raises(LearnerError, match="finite"):
        train(corpus_of(0), label_costs={"L0": -1.0}, learner=trellis.MIRA())


@pytest.mark.parametrize("name", ["perceptron", "crf", "maxent", "exponential", "boost"])
def test_costs_are_never_ignored(name: str) -> None:
    with pytest.raises(LearnerError, match="no place for label_costs"):
        train(corpus_of(0), label_costs={"L0": 2.0}, learner=LEARNERS[name])


def test_costs_move_mistakes() -> None:
    """Where the data decides nothing, the label that is dear to miss is given."""
    corpus = trellis.read({"word": [["a"]] * 10, "label": [["L0"], ["L1"]] * 5})
    for dear in ("L0", "L1"):
        learner = trellis.MIRA(epochs=20, C=100.0)
        tagger = trellis.train(
            corpus, target="label", features=["word[0]"], learner=learner, label_costs={dear: 20.0}
        )
        assert tagger.tag(["a"]) == [dear]


# ------------------------------------------------------------ partial labels


def hidden(corpus: trellis.Corpus, how: str) -> trellis.Corpus:
    """The corpus with some labels unknown, or known to be one of two."""
    sentences = corpus.sentences("label")
    seen = sorted({label for sentence in sentences for label in sentence})
    other = {label: seen[(i + 1) % len(seen)] for i, label in enumerate(seen)}
    change = {"unknown": lambda y: "", "one of two": lambda y: f"{y}|{other[y]}"}[how]
    partial = [
        [change(y) if (i + t) % 3 == 0 else y for t, y in enumerate(s)] for i, s in enumerate(sentences)
    ]
    return trellis.read({"word": corpus.sentences("word"), "label": partial})


PARTIAL = ["perceptron", "mira", "pa", "arow", "crf", "crf l1", "crf adagrad", "exponential"]


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_labels_that_are_whole_change_nothing(name: str, tmp_path: Path) -> None:
    corpus = corpus_of(0)
    plain = train(corpus, learner=LEARNERS[name])
    assert saved(train(corpus, learner=LEARNERS[name], partial=True), tmp_path / "a") == saved(
        plain, tmp_path / "b"
    )


@pytest.mark.parametrize("how", ["unknown", "one of two"])
@pytest.mark.parametrize("name", PARTIAL)
def test_partial_labels_are_learnt_from(name: str, how: str) -> None:
    words = [["a", "b", "c"], ["c", "b", "a"], ["b", "a"], ["c"]] * 6
    corpus = trellis.read({"word": words, "label": [[w.upper() for w in s] for s in words]})
    tagger = train(hidden(corpus, how), learner=LEARNERS[name], partial=True, features=["word[0]"], order=0)
    assert tagger.evaluate(corpus).token_accuracy == 1.0


def test_the_likelihood_of_partial_labels_by_enumeration() -> None:
    """The objective is minus the log of the share of paths that agree, plus the penalty."""
    from itertools import product

    corpus = trellis.read({"word": [["a", "b", "a"]], "label": [["L0", "", "L1|L2"]]})
    events: list[Event] = []
    learner = trellis.CRF(c2=0.3, epochs=1, warm_up=0)
    tagger = train(corpus, learner=learner, partial=True, observer=events.append)
    every = list(product(tagger.labels, repeat=3))
    scores = np.array([tagger.score(["a", "b", "a"], path) for path in every])
    agrees = np.array([p[0] == "L0" and p[2] in ("L1", "L2") for p in every])
    loss = np.log(np.exp(scores).sum()) - np.log(np.exp(scores[agrees]).sum())
    weights = tagger.model.weights
    norm = float(np.square(weights.rows.weights).sum() + np.square(weights.edge).sum())
    assert events[0].objective == pytest.approx(loss + 0.3 * norm, rel=1e-5)


@pytest.mark.parametrize(
    "learner", [trellis.MaxEnt(), trellis.HMM(), trellis.SequenceBoost()], ids=["maxent", "hmm", "boost"]
)
def test_learners_that_need_every_label(learner: Any) -> None:
    with pytest.raises(LearnerError, match=r"needs all|every label"):
        train(hidden(corpus_of(0), "unknown"), learner=learner, partial=True)


# ------------------------------------------------------------ warm starts


WARM = ["perceptron", "mira", "pa", "arow", "crf", "crf l1", "maxent", "exponential", "boost"]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", WARM)
def test_what_was_learnt_is_where_it_begins(name: str, order: int) -> None:
    """A model that gets everything right makes no mistake in the first epoch of going on."""
    words = [["a", "b", "c"], ["c", "b", "a"], ["b", "a"], ["c"]] * 4
    corpus = trellis.read({"word": words, "label": [[w.upper() for w in s] for s in words]})
    features = ["word[0]", "word[-1] & word[0]", *(["label[-1] & word[0]"] if order else [])]
    learner = type(LEARNERS[name])
    first = train(corpus, learner=LEARNERS[name], order=order, features=features)
    assert first.evaluate(corpus).token_accuracy == 1.0
    again = trellis.train(corpus, init=first, learner=learner(epochs=1))
    event = again.info["history"][0]
    if name == "perceptron":  # those with a margin count what costs lead to
        assert event["mistakes"] == 0
    assert again.evaluate(corpus).token_accuracy == 1.0
    if "objective" in event:
        assert event["objective"] <= first.info["history"][-1]["objective"] * (1 + 1e-6)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", WARM)
def test_new_labels_and_features(name: str, order: int) -> None:
    old = trellis.read({"word": [["a", "b"], ["b", "a"]] * 5, "label": [["A", "B"], ["B", "A"]] * 5})
    new = trellis.read(
        {"word": [["c", "d"], ["d", "c"], ["a", "c"]] * 5, "label": [["C", "D"], ["D", "C"], ["A", "C"]] * 5}
    )
    features = ["word[0]", "word[-1] & word[0]"]
    tagger = train(old, features=features, order=order)
    learner = type(LEARNERS[name])(epochs=20)
    both = trellis.train(new, init=tagger, learner=learner)
    assert both.labels == ("A", "B", "C", "D")
    assert both.tag(["c", "d"]) == ["C", "D"]
    assert both.tag(["a", "c"]) == ["A", "C"]
    if name in ("perceptron", "mira", "arow"):  # gradient learners may forget what they are not shown
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
        ({"features": "default"}, "its own features"),
        ({"order": 2}, "order 1"),
        ({"tag_dictionary": 3}, "tag dictionary"),
    ):
        with pytest.raises(LearnerError, match=why):
            trellis.train(corpus_of(1), init=tagger, **options)
    with pytest.raises(LearnerError, match="target"):
        trellis.train(corpus_of(1))
    with pytest.raises(LearnerError, match="HMM cannot start"):
        trellis.train(corpus_of(1), init=tagger, learner=trellis.HMM())
    with pytest.raises(LearnerError, match="with a tag dictionary"):
        trellis.train(corpus_of(1), init=train(corpus_of(0), tag_dictionary=2))


# ------------------------------------------------------------ what makes no sense


@pytest.mark.parametrize("learner", [trellis.CRF, 3, object()])
def test_learners_that_are_none(learner: Any) -> None:
    with pytest.raises(LearnerError, match="learner must be a learner"):
        train(corpus_of(0), learner=learner)


def test_a_cutoff_that_leaves_nothing() -> None:
    with pytest.raises(LearnerError, match="leaves no feature"):
        train(corpus_of(0), cutoff=100_000)


def test_unannotated_conllu(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("1\tAnn\t_\tPROPN\t_\t_\t0\troot\t_\t_\n2\tran\t_\t_\t_\t_\t1\tdep\t_\t_\n\n")
    with pytest.raises(trellis.CorpusError, match=r"a.conllu:2: no label in column 'upos'"):
        trellis.train(path, target="upos")
    assert trellis.train(path, target="upos", partial=True).labels == ("PROPN",)
