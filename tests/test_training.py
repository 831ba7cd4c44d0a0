"""What all learners offer: weights of sentences, partial labels, warm starts, early stopping, checkpoints."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from equal_models import learnt
from samples import learners, random_corpus
from test_parsing import TEMPLATES, treebank

import trellis
from trellis._support import tensor_file
from trellis._support.errors import LearnerError, ModelError
from trellis.engine.kernels import Observations
from trellis.learning.options import flat_options_of, grouped
from trellis.learning.run import Event, StopTrainingError
from trellis.tasks.parsing.train import train as train_parser
from trellis.tasks.tagging.options import TaggingOptions


def products(a: Observations, b: Observations) -> Any:
    """A kernel that is a function."""
    return a.dot(b)


LEARNERS = learners(6) | {
    "perceptron": trellis.Perceptron(epochs=6, shuffle=True),
    "kernel perceptron": trellis.KernelPerceptron(epochs=6, shuffle=True),
    "hmsvm poly": trellis.HMSVM(epochs=6, kernel="poly", cost="hamming"),
    "hmsvm function": trellis.HMSVM(epochs=6, kernel=products),
}
OTHERS = {"frank-wolfe": trellis.HMSVM(solver="frank-wolfe", epochs=20), "hmm": trellis.HMM()}
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
    assert [event.epoch for event in seen] == list(range(5, len(whole.training["history"]) + 1))
    assert saved(resumed, tmp_path / "resumed") == saved(whole, tmp_path / "whole")
    assert resumed.tag_batch(dev) == whole.tag_batch(dev)


def damaged(path: Path, name: str, how: str) -> dict[str, Any] | None:
    """The tensors of a checkpoint with one changed; None if the change has no effect."""
    tensors, metadata = tensor_file._split(path.read_bytes(), path, "")
    array = np.array(tensors[name])
    changes = {
        "gone": lambda: None,
        "other type": lambda: array.astype("<f4" if array.dtype != np.float32 else "<i4"),
        "longer": lambda: np.concatenate([array, array[:1]]) if len(array) else None,
        "another dimension": lambda: array.reshape(-1, 1) if array.ndim == 1 else array.reshape(-1),
    }
    changed = changes[how]()
    if changed is None and how != "gone":
        return None
    rest = {key: value for key, value in tensors.items() if key != name}
    tensors = rest if changed is None else {**rest, name: np.ascontiguousarray(changed)}
    tensor_file.write_tensors(path, metadata["format"], tensors, metadata["text"])
    return tensors


RESUMED = ("perceptron", "crf", "crf-l1", "maxent gis", "hmsvm poly", "crf adagrad", "boost", "frank-wolfe")
SOLVERS = LEARNERS | {
    "crf": trellis.CRF(epochs=6),
    "crf-l1": trellis.CRF(c1=0.1, epochs=6),
    "crf adagrad": trellis.CRF(solver="adagrad", epochs=4),
    "maxent gis": trellis.MaxEnt(solver="gis", epochs=4),
    "boost": trellis.SequenceBoost(epochs=8),
    "frank-wolfe": trellis.HMSVM(solver="frank-wolfe", epochs=4, tolerance=1e-9),
}


@pytest.mark.parametrize("how", ["gone", "other type", "longer", "another dimension"])
@pytest.mark.parametrize("name", RESUMED)
def test_damaged_checkpoints_are_one_error(name: str, how: str, tmp_path: Path) -> None:
    """Whatever its digest says: arrays that are not those of the training are an error of the family."""
    corpus, checkpoint = corpus_of(0, 6), tmp_path / "checkpoint"
    options: dict[str, Any] = {"learner": SOLVERS[name], "dev": corpus_of(1, 3), "checkpoint": checkpoint}

    def stop(event: Event) -> None:
        if event.epoch == 2:
            raise StopTrainingError

    train(corpus, **options, observer=stop)
    content = checkpoint.read_bytes()
    for tensor in tensor_file._split(content, checkpoint, "")[0]:
        checkpoint.write_bytes(content)
        if damaged(checkpoint, tensor, how) is None:
            continue
        try:
            train(corpus, **options, observer=stop)
        except trellis.TrellisError as error:
            assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("value", [np.inf, np.nan, -1e300])
@pytest.mark.parametrize("part", ["alpha", "past"])
def test_checkpoints_with_alphas_that_no_training_gives(part: str, value: float, tmp_path: Path) -> None:
    checkpoint, learner = tmp_path / "checkpoint", trellis.KernelPerceptron(epochs=2)
    train(corpus_of(0, 6), learner=learner, checkpoint=checkpoint)
    tensors, about = tensor_file._split(checkpoint.read_bytes(), checkpoint, "")
    name = next(name for name in tensors if name.endswith(part))
    tensors = {**tensors, name: np.full_like(tensors[name], value)}
    tensor_file.write_tensors(checkpoint, about["format"], tensors, about["text"])
    with pytest.raises(trellis.TrellisError):
        train(corpus_of(0, 6), learner=replace(learner, epochs=3), checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("key", "value"), [("done", "x"), ("done", 7), ("history", [{}]), ("best_score", None), ("since_best", 1.5)]
)
def test_damaged_records_of_checkpoints(key: str, value: Any, tmp_path: Path) -> None:
    corpus, checkpoint = corpus_of(0, 6), tmp_path / "checkpoint"
    options: dict[str, Any] = {"learner": trellis.Perceptron(epochs=2), "checkpoint": checkpoint}
    train(corpus, **options)
    tensors, metadata = tensor_file._split(checkpoint.read_bytes(), checkpoint, "")
    text = json.dumps(json.loads(metadata["text"]) | {key: value})
    tensor_file.write_tensors(checkpoint, metadata["format"], tensors, text)
    with pytest.raises(ModelError, match="damaged or not a checkpoint"):
        train(corpus, **options)


# Every parameter of train with its first and its changed value; the list must be complete.
CHANGED: dict[str, tuple[Any, Any]] = {
    "corpus": (corpus_of(0), corpus_of(2)),
    "target": ("label", "pos"),
    "features": (FEATURES, [*FEATURES, "label[-1] & word[0]"]),
    "learner": (trellis.MIRA(epochs=3), trellis.MIRA(epochs=3, C=0.2)),
    "order": (3, 2),
    "min_count": (0, 12),
    "pairs": ("all", "seen"),
    "tag_dictionary": (False, 2),
    "beam": (None, 3),
    "prune": (False, 0.9),
    "partial": (False, True),
    "scheme": (None, "iob2"),
    "segments": (False, True),
    "sample_weight": (None, [1.0, 2.0] * 15),
    "label_weights": (None, {"L0": 3.0}),
    "label_costs": (None, {("L0", "L1"): 3.0}),
    "label_parts": (None, "L"),
    "init": (None, "a tagger"),
    "dev": (corpus_of(1), corpus_of(3)),
    "metric": ("token", "sentence"),
    "patience": (2, 9),
    "checkpoint": (None, None),
    "checkpoint_every": (1, 2),
    "bagging": (1, 2),
    "documents": (False, True),
    "observer": (None, lambda event: None),
    "verbose": (False, True),
    "n_threads": (1, 2),
    "info": (None, {"note": "another"}),
}
REFUSED = ("bagging", "documents")  # which take no checkpoint
WITHOUT_EFFECT = ("checkpoint_every", "observer", "n_threads", "info", "patience", "verbose")  # on an epoch


def test_every_parameter_is_changed_once() -> None:
    assert {*CHANGED, "workers"} == {"corpus", *flat_options_of(TaggingOptions)}  # those: test_workers.py


@pytest.mark.parametrize("name", [name for name in CHANGED if name not in ("checkpoint", *REFUSED)])
def test_a_checkpoint_is_of_one_training(name: str, tmp_path: Path) -> None:
    """With one parameter changed it is rejected; or the training is the same, and so is the model."""
    given = {key: first for key, (first, _) in CHANGED.items()} | {"checkpoint": tmp_path / "checkpoint"}
    corpus = given.pop("corpus")
    changed = {"corpus": corpus} | given | {name: CHANGED[name][1]}
    if name in ("scheme", "segments"):  # labels of one
        words = [["a", "b", "c"], ["c", "b"]] * 8
        labels = [["B-X", "I-X", "O"], ["O", "B-X"]] * 8
        corpus = changed["corpus"] = trellis.read({"word": words, "label": labels})
        given["dev"] = changed["dev"] = corpus
    if name == "segments":
        given["order"] = changed["order"] = 1
    if name in ("init", "scheme", "segments"):
        given["label_costs"] = changed["label_costs"] = None
    if name == "init":
        changed |= {"init": train(corpus_of(2)), "features": None}
        given["features"] = list(FEATURES)
    trellis.train(corpus, **grouped(TaggingOptions, given))
    kept = (tmp_path / "checkpoint").read_bytes()
    if name in WITHOUT_EFFECT:
        found = trellis.train(changed.pop("corpus"), **grouped(TaggingOptions, changed))
        fresh = trellis.train(
            corpus, **grouped(TaggingOptions, changed | {"checkpoint": None, "checkpoint_every": None})
        )
        assert saved(found, tmp_path / "found") == saved(fresh, tmp_path / "fresh")
        return
    with pytest.raises(ModelError, match=r"checkpoint of another training .*; delete it or choose another file"):
        trellis.train(changed.pop("corpus"), **grouped(TaggingOptions, changed))
    assert (tmp_path / "checkpoint").read_bytes() == kept


@pytest.mark.parametrize("name", [*LEARNERS, "boost by folds"])
def test_a_checkpoint_continues_with_more_epochs(name: str, tmp_path: Path) -> None:
    """To the same bits as if there had been so many from the start; fewer than there are is an error."""
    learner = trellis.SequenceBoost(epochs=6, folds=2) if name == "boost by folds" else LEARNERS[name]
    if name == "boost":  # whose last round is scored, also where others are not
        learner = replace(learner, score_every=1)
    corpus, dev = corpus_of(0), corpus_of(1)
    options: dict[str, Any] = {} if name == "boost by folds" else {"dev": dev}
    short, checkpoint = replace(learner, epochs=3), tmp_path / "checkpoint"
    train(corpus, learner=short, checkpoint=checkpoint, **options)
    if name == "boost by folds":  # number of rounds of all folds
        with pytest.raises(ModelError, match="another training"):
            train(corpus, learner=learner, checkpoint=checkpoint)
        return
    resumed = train(corpus, learner=learner, checkpoint=checkpoint, patience=9, **options)
    whole = train(corpus, learner=learner, patience=9, **options)
    assert len(resumed.training["history"]) > 3
    assert saved(resumed, tmp_path / "resumed") == saved(whole, tmp_path / "whole")
    with pytest.raises(ModelError, match=r"a checkpoint after \d+ epochs, more than the 1 of this training; use more"):
        train(corpus, learner=replace(learner, epochs=1), checkpoint=checkpoint, **options)


@pytest.mark.parametrize("epochs", [2, 5])
def test_frank_wolfe_continues_with_more_epochs(epochs: int, tmp_path: Path) -> None:
    """To the same weights: the exact gap, which is measured after the last epoch, changes none."""
    corpus, learner = corpus_of(0), trellis.HMSVM(solver="frank-wolfe", epochs=6, tolerance=0.5)
    train(corpus, learner=replace(learner, epochs=epochs), checkpoint=tmp_path / "checkpoint")
    resumed = train(corpus, learner=learner, checkpoint=tmp_path / "checkpoint")
    whole = train(corpus, learner=learner)
    assert len(resumed.training["history"]) == len(whole.training["history"])
    found, expected = resumed.model.weights, whole.model.weights
    assert np.array_equal(found.rows.weights, expected.rows.weights)
    assert np.array_equal(found.edge, expected.edge)


def test_a_checkpoint_knows_words_values_and_edges(tmp_path: Path) -> None:
    """What the numbers of a problem do not show, or only some of its arrays do."""
    words, labels = [["a", "b"], ["b"]] * 3, [["A", "B"], ["B"]] * 3
    renamed = [[{"a": "x", "b": "y"}[w] for w in s] for s in words]
    train(trellis.read({"word": words, "label": labels}), checkpoint=tmp_path / "words")
    with pytest.raises(ModelError, match="another training"):
        train(trellis.read({"word": renamed, "label": labels}), checkpoint=tmp_path / "words")
    for value in (1.0, 2.0):
        bags = [[{"p": value}, {"q": 1.0}]] * 3
        corpus = trellis.read({"attributes": bags, "label": [["A", "B"]] * 3})
        options: dict[str, Any] = {"features": ["attributes[0]"], "checkpoint": tmp_path / "values"}
        if value == 1.0:
            train(corpus, **options)
            continue
        with pytest.raises(ModelError, match="another training"):
            train(corpus, **options)


def test_damaged_checkpoints(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    train(corpus_of(0), checkpoint=checkpoint)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    with pytest.raises(ModelError, match="checkpoint"):
        train(corpus_of(0), checkpoint=checkpoint)


def test_a_training_that_lost_patience_stays_there(tmp_path: Path) -> None:
    options: dict[str, Any] = {"learner": trellis.Perceptron(epochs=40), "dev": corpus_of(1), "patience": 3}
    whole = train(corpus_of(0), checkpoint=tmp_path / "checkpoint", **options)
    seen: list[Event] = []
    again = train(corpus_of(0), checkpoint=tmp_path / "checkpoint", observer=seen.append, **options)
    assert seen == []
    assert saved(again, tmp_path / "again") == saved(whole, tmp_path / "whole")


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

    assert len(train(corpus_of(0), learner=LEARNERS[name], observer=stop).training["history"]) == 2


def test_patience() -> None:
    learner = trellis.Perceptron(epochs=40)
    scores = [e["dev_score"] for e in train(corpus_of(0), learner=learner, dev=corpus_of(1)).training["history"]]
    history = train(corpus_of(0), learner=learner, dev=corpus_of(1), patience=3).training["history"]
    best = max(range(len(history)), key=lambda i: (history[i]["dev_score"], -i))
    assert len(history) == best + 4 < 40
    assert [e["dev_score"] for e in history] == scores[: len(history)]


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({"patience": 2}, "patience needs a dev corpus"),
        ({"metric": "token"}, "metric needs a dev corpus"),
        ({"checkpoint_every": 2}, "checkpoint_every needs checkpoint"),
    ],
)
def test_parameters_without_effect_are_errors(options: dict[str, Any], needs: str) -> None:
    with pytest.raises(LearnerError, match=needs):
        train(corpus_of(0), **options)


def test_notes_never_change_the_record(tmp_path: Path) -> None:
    """A model has an entry for its user's notes, whatever their names."""
    plain = train(corpus_of(0))
    names = (*plain.training, "history", "document_features", "scheme", "idle_strings", "calibration", "user")
    notes = dict.fromkeys(names, "mine")
    tagger = train(corpus_of(0), info=notes)
    tagger.save(tmp_path / "model")
    again = trellis.load(tmp_path / "model")
    assert again.info == notes
    assert again.training == plain.training
    assert again.evaluate(corpus_of(1)).n_tokens


def test_a_dev_corpus_that_compares_nothing() -> None:
    for words, labels in (([], []), ([[]], [[]])):
        with pytest.raises(trellis.CorpusError, match="no sentences to compare epochs on"):
            train(corpus_of(0), dev={"word": words, "label": labels})
    with pytest.raises(trellis.CorpusError, match=r"no label of the dev corpus \(X, Y\) occurs in training"):
        train(corpus_of(0), dev={"word": [["a", "b"]], "label": [["Y", "X"]]})


@pytest.mark.parametrize("metric", ["token", "sentence", "auto"])
def test_metrics(metric: str) -> None:
    dev = corpus_of(1)
    tagger = train(corpus_of(0), learner=trellis.Perceptron(epochs=5), dev=dev, metric=metric)
    report = tagger.evaluate(dev)
    figure = report.sentence_accuracy if metric == "sentence" else report.token_accuracy
    assert max(event["dev_score"] for event in tagger.training["history"]) == figure
    with pytest.raises(LearnerError, match="metric must be 'auto' or 'token' or 'sentence' or 'span', not 'f2'"):
        train(corpus_of(0), dev=dev, metric="f2")


def test_the_metric_of_spans() -> None:
    """F1 of spans differs from token accuracy; labels without spans have no F1."""
    words = [["the", "old", "man"], ["a", "man"], ["the", "man", "saw", "old", "ships"], ["ships"]] * 4
    labels = [["B", "I", "I"], ["B", "I"], ["B", "I", "O", "B", "I"], ["B"]] * 4
    given = {"word": words, "label": [[z if z == "O" else f"{z}-NP" for z in s] for s in labels]}
    corpus = trellis.read(given)
    dev = trellis.read({"word": [["the", "ships", "saw", "man"]], "label": [["B-NP", "I-NP", "O", "B-NP"]]})
    learner = trellis.Perceptron(epochs=3, average=False, shuffle=False)
    scores = {}
    for metric in ("span", "auto", "token"):
        events: list[Event] = []
        options: dict[str, Any] = {"learner": learner, "features": ["word[-1]"], "observer": events.append}
        train(corpus, dev=dev, metric=metric, **options)
        scores[metric] = [event.dev_score for event in events]
        for n, score in enumerate(scores[metric], 1):
            shorter = trellis.Perceptron(epochs=n, average=False, shuffle=False)
            report = train(corpus, learner=shorter, features=["word[-1]"]).evaluate(dev)
            assert score == (report.token_accuracy if metric == "token" else report.f1)
    assert scores["span"] == scores["auto"] != scores["token"]
    with pytest.raises(LearnerError, match="needs span labels"):
        train(corpus_of(0), dev=corpus_of(1), metric="span")


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", [*LEARNERS, "hmm"])
def test_dev_scores_are_the_taggers(name: str, order: int) -> None:
    """The score that chose an epoch is the one its tagger has, to the bit, with all that restricts labels."""
    words = [["a", "b", "c"], ["c", "b", "a", "a"], ["b", "a"], ["c", "d"]] * 3
    labels = [["B", "I", "O"], ["O", "B", "I", "I"], ["B", "I"], ["O", "O"]] * 3
    corpus = trellis.read({"word": words, "label": [[z if z == "O" else f"{z}-X" for z in s] for s in labels]})
    dev = trellis.read({"word": [["b", "c", "e", "a"]], "label": [["B-X", "O", "O", "B-X"]]})
    learner = trellis.HMM() if name == "hmm" else LEARNERS[name]
    for options in (
        {},
        {"labels": trellis.Labels(scheme="iob2")},
        {
            "labels": trellis.Labels(scheme="iob2"),
            "search": trellis.Search(tag_dictionary=2),
        },
    ):
        given: dict[str, Any] = {"learner": learner, "order": order, "dev": dev, **options}
        tagger = train(corpus, features=["word[0]", "word[-1]"], metric="token", **given)
        best = max(event["dev_score"] for event in tagger.training["history"] if "dev_score" in event)
        assert best == tagger.evaluate(dev).token_accuracy


# ------------------------------------------------------------ weights of sentences


@pytest.mark.parametrize("learner", [trellis.CRF(), trellis.MaxEnt(), trellis.CRF(c1=0.2)], ids=["crf", "maxent", "l1"])
def test_a_weight_of_two_is_the_sentence_twice(learner: Any) -> None:
    corpus = corpus_of(0, 12)
    weights = np.array([1.0, 2.0, 3.0] * 4)
    copies = corpus.take(np.repeat(np.arange(12), weights.astype(int)))
    one = train(corpus, learner=learner, sample_weight=weights)
    other = train(copies, learner=learner)
    ours, theirs = (t.training["history"][-1]["objective"] for t in (one, other))
    assert ours == pytest.approx(theirs, rel=1e-3)
    same = [one.tag(s["word"]) == other.tag(s["word"]) for s in corpus]
    assert sum(same) >= 11


@pytest.mark.parametrize("name", ["perceptron", "mira", "pa", "arow"])
def test_a_weight_of_nothing_is_no_sentence(name: str) -> None:
    """Sentences of weight 0 cause no update: without averaging the result is the same without them."""
    corpus, kind = corpus_of(0, 20), type(LEARNERS[name])
    learner = kind(epochs=3, average=False, shuffle=False)
    options: dict[str, Any] = {
        "learner": learner,
        "features": trellis.Features(["word[0]"], pairs="all"),
    }
    weighed = train(corpus, sample_weight=np.array([1.0] * 10 + [0.0] * 10), **options)
    alone = train(corpus[:10], **options)
    assert [e["updates"] for e in weighed.training["history"]] == [e["updates"] for e in alone.training["history"]]
    for words, labels in zip(corpus[:10].sentences("word"), corpus[:10].sentences("label"), strict=True):
        assert weighed.score(words, labels) == alone.score(words, labels)


def test_weights_that_make_no_sense() -> None:
    for weights in ([1.0], [-1.0] * 30, [np.nan] * 30):
        with pytest.raises(LearnerError, match="sample_weight"):
            train(corpus_of(0), sample_weight=weights)
    with pytest.raises(LearnerError, match="'X'"):
        train(corpus_of(0), labels=trellis.Labels(costs={"X": 1.0}), learner=trellis.MIRA())
    with pytest.raises(LearnerError, match="number from 0 to"):
        train(corpus_of(0), labels=trellis.Labels(costs={"L0": -1.0}), learner=trellis.MIRA())


@pytest.mark.parametrize("name", ["perceptron", "crf", "maxent", "exponential", "boost"])
def test_costs_are_never_ignored(name: str) -> None:
    with pytest.raises(LearnerError, match="does not support label_costs; use MIRA, PassiveAggressive, AROW or HMSVM"):
        train(corpus_of(0), labels=trellis.Labels(costs={"L0": 2.0}), learner=LEARNERS[name])


def test_costs_move_mistakes() -> None:
    """If the data are ambiguous, the label with the higher cost is predicted."""
    corpus = trellis.read({"word": [["a"]] * 10, "label": [["L0"], ["L1"]] * 5})
    for dear in ("L0", "L1"):
        learner = trellis.MIRA(epochs=20, C=100.0)
        tagger = trellis.train(
            corpus, target="label", features=["word[0]"], learner=learner, labels=trellis.Labels(costs={dear: 20.0})
        )
        assert tagger.tag(["a"]) == [dear]


def test_costs_by_pairs_name_the_gold_label_first() -> None:
    """One step of MIRA by hand: where features are not shared, the margin is the cost of (gold, other)."""
    corpus = trellis.read({"word": [["a"]], "label": [["L0"]]})
    both = trellis.read({"word": [["a"], ["b"]], "label": [["L0"], ["L1"]]})
    options: dict[str, Any] = {"features": ["word[0]"], "order": 0}
    learner = trellis.MIRA(epochs=1, C=100.0, average=False)
    for costs, margins in (
        ({("L0", "L1"): 3.0}, (3.0, 1.0)),
        ({("L1", "L0"): 3.0}, (1.0, 3.0)),
        ({("L0", "L1"): 3.0, ("L1", "L0"): 0.5}, (3.0, 0.5)),
        ({"L1": 7.0}, (1.0, 7.0)),
    ):
        tagger = train(both, learner=learner, labels=trellis.Labels(costs=costs), **options)
        for word, gold, other, margin in (("a", "L0", "L1", margins[0]), ("b", "L1", "L0", margins[1])):
            assert tagger.score([word], [gold]) - tagger.score([word], [other]) == pytest.approx(margin)
    with pytest.raises(LearnerError, match="'L1'"):
        train(corpus, learner=learner, labels=trellis.Labels(costs={("L0", "L1"): 3.0}), **options)


# ------------------------------------------------------------ partial labels


def hidden(corpus: trellis.Corpus, how: str) -> trellis.Corpus:
    """The corpus with some labels unknown, or known to be one of two."""
    sentences = corpus.sentences("label")
    seen = sorted({label for sentence in sentences for label in sentence})
    other = {label: seen[(i + 1) % len(seen)] for i, label in enumerate(seen)}
    change = {"unknown": lambda y: "", "one of two": lambda y: f"{y}|{other[y]}"}[how]
    partial = [[change(y) if (i + t) % 3 == 0 else y for t, y in enumerate(s)] for i, s in enumerate(sentences)]
    return trellis.read({"word": corpus.sentences("word"), "label": partial})


PARTIAL = ["perceptron", "mira", "pa", "arow", "crf", "crf l1", "crf adagrad", "exponential"]


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_labels_that_are_whole_change_nothing(name: str) -> None:
    corpus = corpus_of(0)
    plain = train(corpus, learner=LEARNERS[name])
    assert learnt(train(corpus, learner=LEARNERS[name], labels=trellis.Labels(partial=True))) == learnt(plain)


@pytest.mark.parametrize("how", ["unknown", "one of two"])
@pytest.mark.parametrize("name", PARTIAL)
def test_partial_labels_are_learnt_from(name: str, how: str) -> None:
    words = [["a", "b", "c"], ["c", "b", "a"], ["b", "a"], ["c"]] * 6
    corpus = trellis.read({"word": words, "label": [[w.upper() for w in s] for s in words]})
    tagger = train(
        hidden(corpus, how), learner=LEARNERS[name], labels=trellis.Labels(partial=True), features=["word[0]"], order=0
    )
    assert tagger.evaluate(corpus).token_accuracy == 1.0


def test_labels_that_are_missing_and_labels_with_bars() -> None:
    corpus = trellis.read({"word": [["a", "b", "a"], ["b", "a"]], "label": [["A|X", "B", ""], ["B", "A|X"]]})
    options: dict[str, Any] = {"learner": trellis.CRF(epochs=20), "features": ["word[0]"]}
    assert sorted(train(corpus, labels=trellis.Labels(partial=True), **options).labels) == ["A", "B", "X"]
    tagger = train(corpus, labels=trellis.Labels(partial="missing"), **options)
    assert sorted(tagger.labels) == ["A|X", "B"]
    assert tagger.tag(["a", "b", "a"]) == ["A|X", "B", "A|X"]


def test_the_likelihood_of_partial_labels_by_enumeration() -> None:
    """The objective is minus the log of the share of paths that agree, plus the penalty."""
    from itertools import product

    corpus = trellis.read({"word": [["a", "b", "a"]], "label": [["L0", "", "L1|L2"]]})
    events: list[Event] = []
    learner = trellis.CRF(c2=0.3, epochs=1, warm_up=0)
    tagger = train(corpus, learner=learner, labels=trellis.Labels(partial=True), observer=events.append)
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
    with pytest.raises(LearnerError, match=r"does not support partial labels"):
        train(hidden(corpus_of(0), "unknown"), learner=learner, labels=trellis.Labels(partial=True))


# ------------------------------------------------------------ what makes no sense


@pytest.mark.parametrize("learner", [trellis.CRF, 3, object()])
def test_learners_that_are_none(learner: Any) -> None:
    with pytest.raises(LearnerError, match="learner must be a learner"):
        train(corpus_of(0), learner=learner)


def test_a_cutoff_that_leaves_nothing() -> None:
    with pytest.raises(LearnerError, match="removes all features; use a smaller value"):
        train(corpus_of(0), features=trellis.Features(min_count=100_000))


def test_unannotated_conllu(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("1\tAnn\t_\tPROPN\t_\t_\t0\troot\t_\t_\n2\tran\t_\t_\t_\t_\t1\tdep\t_\t_\n\n")
    with pytest.raises(trellis.CorpusError, match=r"a.conllu:2: no label in column 'upos'"):
        trellis.train(path, target="upos")
    assert trellis.train(path, target="upos", labels=trellis.Labels(partial=True)).labels == ("PROPN",)


def test_numbers_of_numpy_are_welcome(tmp_path: Path) -> None:
    """As parameters and in info; values that are not JSON-compatible are errors before training."""
    corpus = corpus_of(0)
    options: dict[str, Any] = {
        "order": np.int64(2),
        "features": trellis.Features(min_count=np.int32(1)),
        "search": trellis.Search(tag_dictionary=np.int64(2)),
    }
    numbers = {"info": {"n": np.int64(1), "share": np.float32(0.5), "yes": np.bool_(True)}}
    tagger = train(corpus, **options, **numbers, dev=corpus_of(1), patience=np.int64(3))
    tagger.save(tmp_path / "model")
    assert trellis.load(tmp_path / "model").info == tagger.info
    assert tagger.info == {"n": 1, "share": 0.5, "yes": True}
    assert tagger.order == 2

    def never(event: Event) -> None:
        raise AssertionError("training began")

    for info in ({"a": object()}, {"a": np.zeros(2)}, {"a": {1, 2}}, {("a", "b"): 1}, {"a": "\ud800"}):
        with pytest.raises(LearnerError, match="info must be a dict that JSON can represent"):
            train(corpus, info=info, observer=never)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"features": trellis.Features(min_count=-1)}, "min_count must be a whole number of at least 0, not -1"),
        ({"features": trellis.Features(min_count=1.5)}, "min_count must be a whole number"),
        ({"search": trellis.Search(tag_dictionary=-1)}, "tag_dictionary must be"),
        ({"search": trellis.Search(tag_dictionary="yes")}, "tag_dictionary must be"),
        ({"order": 100}, "order must be a whole number from 0 to 99, not 100"),
        ({"order": 3, "learner": trellis.HMSVM()}, "HMSVM supports orders 0 to 2, not 3; online learners, CRF"),
        ({"search": trellis.Search(prune=1.5)}, "prune must be 'auto', True, False, a share above 0"),
        ({"order": "1"}, "order must be"),
        ({"features": trellis.Features(pairs="some")}, "pairs must be 'seen' or 'all', not 'some'"),
        ({"labels": trellis.Labels(partial="no")}, "partial must be True, False or 'missing', not 'no'"),
        ({"patience": 0, "dev": corpus_of(1)}, "patience must be a whole number of at least 1, not 0"),
        ({"sample_weight": "heavy"}, "sample_weight must be one number per sentence"),
        ({"checkpoint": "c", "checkpoint_every": 0.5}, "checkpoint_every must be"),
        ({"features": trellis.Features(pairs="")}, "pairs must be"),
        ({"info": [("a", 1)]}, "info must be a dict"),
        ({"init": "model"}, "init must be a tagger, as returned by trellis"),
        ({"observer": 3}, "observer must be a function"),
        ({"learner": trellis.MIRA(), "labels": trellis.Labels(costs=[1.0])}, "label_costs must be a dict"),
        ({"learner": trellis.MIRA(), "labels": trellis.Labels(costs={("L0", "L1"): "x"})}, "must be a number from 0"),
        (
            {"learner": trellis.MIRA(), "labels": trellis.Labels(costs={("L0", "L1", "L0"): 1.0})},
            "a pair \\(gold, predicted\\)",
        ),
        ({"learner": trellis.MIRA(), "labels": trellis.Labels(costs={3: 1.0})}, "a pair \\(gold, predicted\\)"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense(options: dict[str, Any], why: str) -> None:
    with pytest.raises(LearnerError, match=why) as error:
        train(corpus_of(0), **options)
    assert "\n" not in str(error.value)


def test_truth_values_of_numpy_are_truth_values() -> None:
    words, labels = [["a", "b"]] * 4, [["B-X", "O"]] * 4
    for value in (True, False):
        tagger = train({"word": words, "label": labels}, segments=np.bool_(value))
        assert (tagger.model.segments is not None) == value


TREES = treebank(8, 1)
WORDS = trellis.read({"word": [["the", "dog"], ["a", "cat"]], "pos": [["D", "N"], ["D", "N"]]})
WALKS: dict[str, tuple[Callable[[], Any], str, int]] = {
    "tagger": (lambda: trellis.train(WORDS, target="pos"), "tagging", 18),
    "parser": (lambda: train_parser(TREES, features=TEMPLATES), "parsing", 20),
}


@pytest.mark.parametrize("kind", WALKS)
def test_a_fit_walks_through_few_files(kind: str) -> None:
    """Functions of few files are called from a corpus to a model by the default learner, none of another task's."""
    train_one, own, most = WALKS[kind]
    root, files = str(Path(trellis.__file__).parent), set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            files.add(frame.f_code.co_filename.removeprefix(root))

    train_one()  # with its imports
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        train_one()
    finally:
        sys.setprofile(before)
    assert len(files) <= most, sorted(files)
    assert {name.split("/")[2] for name in files if name.startswith("/tasks/")} == {own}


@pytest.mark.parametrize("name", [*LEARNERS, "frank-wolfe", "hmm"])
def test_threads_that_share_a_learner(name: str) -> None:
    """Learners have no state: simultaneous trainings give the same results as sequential ones."""
    learner, corpus = (LEARNERS | OTHERS)[name], corpus_of(0)
    with ThreadPoolExecutor(4) as pool:
        found = {tagger.to_bytes() for tagger in pool.map(lambda _: train(corpus, learner=learner), range(4))}
    assert found == {train(corpus, learner=learner).to_bytes()}


# ------------------------------------------------------------ great numbers


def of_values(value: float) -> dict[str, Any]:
    """A corpus that every learner learns, with attributes of that value."""
    kinds = [[t * (i + 1) % 3 for t in range(4)] for i in range(6)]
    return {
        "attributes": [[{f"x{k}": value} for k in some] for some in kinds],
        "label": [[f"L{k}" for k in some] for some in kinds],
    }


@pytest.mark.parametrize("value", [1e-3, 1e6, 1e10, 1e12])
@pytest.mark.parametrize("name", [*LEARNERS, "frank-wolfe", "hmm"])
def test_values_of_any_size(name: str, value: float) -> None:
    learner = (LEARNERS | OTHERS)[name]
    if name in ("hmsvm", "hmsvm function"):
        learner = replace(learner, epochs=1000)
    tagger = train(of_values(value), learner=learner, features=["attributes[0]"])
    if value > 1:  # a step of AdaGrad, of boosting or of L-BFGS is too small where values are
        assert tagger.evaluate(of_values(value)).token_accuracy == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"corpus": of_values(1e13)}, "values of attributes must be from -1e.12 to 1e.12"),
        ({"sample_weight": [1e300] * 6}, "sample_weight must be numbers from 0 to 1e.12"),
        (
            {"labels": trellis.Labels(costs={"L0": 1e300}), "learner": trellis.MIRA()},
            "the cost of 'L0' must be a number from 0 to 1e.12",
        ),
        ({"learner": trellis.KernelPerceptron(degree=100, coef0=1e12)}, "'poly' reaches 1e.12.100 here"),
        ({"learner": trellis.HMM(), "sample_weight": [1e13] * 6}, "sample_weight must be"),
    ],
)
def test_numbers_that_are_too_great_are_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnerError, match=message):
        train(**{"corpus": of_values(1.0), "features": ["attributes[0]"], **changes})


def test_weights_that_are_not_finite_are_an_error() -> None:
    with pytest.raises(
        LearnerError, match="training diverged: weights are not finite; use smaller steps, costs or sample weights"
    ):
        train(of_values(1.0), features=["attributes[0]"], learner=trellis.AROW(), sample_weight=[1e12] * 6)


@pytest.mark.parametrize("name", [*sorted(LEARNERS.keys() - {"arow"}), "hmm"])
def test_the_greatest_sample_weights(name: str) -> None:
    learner = (LEARNERS | OTHERS)[name]
    tagger = train(of_values(1.0), learner=learner, features=["attributes[0]"], sample_weight=[1e12] * 6)
    assert tagger.evaluate(of_values(1.0)).token_accuracy == 1.0


# ------------------------------------------------------------ memory


@pytest.mark.parametrize(
    ("learner", "size"), [(trellis.KernelPerceptron(), "15.1 GB"), (trellis.SequenceBoost(), "85.0 GB")]
)
@pytest.mark.filterwarnings("ignore::trellis.TrellisWarning")
def test_what_cannot_fit_is_rejected_at_once(
    learner: trellis.Learner, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [f"L{i}" for i in range(978)]
    corpus = trellis.read({"word": [labels], "label": [labels]})
    monkeypatch.setattr("trellis.tasks.tagging.training.encoding.free_bytes", lambda: 12_000_000_000)
    name = type(learner).__name__
    said = f"order 2 with 978 labels needs {size} for the label tables of {name}, and 12.0 GB of memory are available"
    with pytest.raises(LearnerError, match=said):
        trellis.train(corpus, target="label", learner=learner, order=2)
    monkeypatch.setattr("trellis.tasks.tagging.training.encoding.free_bytes", lambda: None)  # not known
    monkeypatch.setattr("trellis.tasks.tagging.train.encode", lambda setup: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trellis.train(corpus, target="label", learner=learner, order=2)


def test_free_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trellis._support import memory

    free = memory.free_bytes()
    assert free is None or free > 10_000_000
    monkeypatch.setattr(memory, "_meminfo", lambda: 9000)  # the machine's own number changes between two reads
    (tmp_path / "limit").write_text("5000\n")
    (tmp_path / "used").write_text("2000\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(memory, "_GROUPS", [(str(tmp_path / "limit"), str(tmp_path / "used"))])
    assert memory.free_bytes() == 3000
    monkeypatch.setattr(memory, "_GROUPS", [(str(tmp_path / "none"), str(tmp_path / "used"))])
    assert memory.free_bytes() == 9000


LABEL_WEIGHTS = {"word": [["a", "b"], ["b"], ["c", "a", "a"]], "y": [["A", "B"], ["B"], ["C", "A", "A"]]}


@pytest.mark.parametrize("learner", [trellis.CRF(), trellis.MaxEnt(), trellis.Perceptron(), trellis.ExponentialLoss()])
def test_label_weights_are_sentence_weights_by_the_mean_of_labels(learner):
    options = {"target": "y", "features": ["word[0]"], "learner": learner}
    by_labels = trellis.train(LABEL_WEIGHTS, labels=trellis.Labels(weights={"A": 4.0, "C": 0.5}), **options)
    by_hand = trellis.train(LABEL_WEIGHTS, sample_weight=[2.5, 1.0, 8.5 / 3], **options)
    assert learnt(by_labels) == learnt(by_hand)
    both = trellis.train(
        LABEL_WEIGHTS, labels=trellis.Labels(weights={"A": 4.0, "C": 0.5}), sample_weight=[2, 1, 1], **options
    )
    assert learnt(both) == learnt(trellis.train(LABEL_WEIGHTS, sample_weight=[5.0, 1.0, 8.5 / 3], **options))


def test_label_weights_change_what_a_crf_prefers():
    data = {"word": [["x"]] * 3, "y": [["A"], ["A"], ["B"]]}
    options = {"target": "y", "features": ["word[0]"], "learner": trellis.CRF()}
    assert trellis.train(data, **options).tag(["x"]) == ["A"]
    assert trellis.train(data, labels=trellis.Labels(weights={"B": 3.0}), **options).tag(["x"]) == ["B"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"X": 1.0}, "unknown label 'X'; the labels are A, B, C"),
        ({"A": "much"}, "the weight of 'A' must be a number from 0 to"),
        ({"A": -1.0}, "from 0 to"),
        ([1.0], "label_weights must be a dict from labels to numbers, not"),
        ({"A": 0.0, "B": 0.0, "C": 0.0}, "no training data remains"),
    ],
)
def test_label_weights_that_make_no_sense(given, why):
    with pytest.raises(LearnerError, match=why):
        trellis.train(LABEL_WEIGHTS, target="y", labels=trellis.Labels(weights=given))


def test_epochs_are_logged_for_those_who_listen(caplog: pytest.LogCaptureFixture) -> None:
    corpus = {"w": [["a", "b"]], "y": [["A", "B"]]}
    with caplog.at_level("INFO", "trellis"):
        trellis.train(corpus, target="y", features=["w[0]"], learner=trellis.Perceptron(epochs=2), dev=corpus)
    assert [record.name for record in caplog.records] == ["trellis"] * 2
    assert caplog.messages[0].startswith("epoch 1 of 2, ")
    assert "(best)" in caplog.messages[0]
    caplog.clear()
    trellis.train(corpus, target="y", features=["w[0]"])
    assert not caplog.records
