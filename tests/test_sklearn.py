"""Taggers inside scikit-learn: searches, cross-validation, pipelines, clones, pickles; sklearn-crfsuite's estimator."""

from __future__ import annotations

import inspect
import logging
import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pycrfsuite
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from sklearn.utils.metadata_routing import get_routing_for_object

import trellis
from trellis.interfaces.sklearn import CRF, SequenceTagger, metrics, scorers
from trellis.learning.options import options_of
from trellis.tasks.tagging.options import TaggingOptions

WORDS = [["the", "dog", "sees", "a", "cat"], ["a", "big", "cat"], ["dogs", "bark"], ["the", "cat", "sees", "dogs"]] * 6
TAGS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "dogs": "N", "sees": "V", "bark": "V", "big": "A"}
Y = [[TAGS[word] for word in sentence] for sentence in WORDS]
X = [[{"w": word, "s": word[-1], "n": len(word)} for word in sentence] for sentence in WORDS]


def tagger(**more) -> SequenceTagger:
    return SequenceTagger(**{"learner": trellis.CRF(epochs=20), "features": ["word[0]", "suffix(word[0], 1)"], **more})


def test_fit_predict_and_probabilities():
    fitted = tagger().fit(WORDS, Y)
    found = fitted.predict(WORDS)
    assert found.dtype == object
    assert found.shape == (24,)
    assert found.tolist() == Y
    assert fitted.score(WORDS, Y) == 1.0
    assert set(fitted.classes_) == set("DNVA")
    probabilities = fitted.predict_proba(WORDS)
    assert probabilities[0].shape == (5, 4)
    assert np.allclose(probabilities[0].sum(axis=1), 1, atol=1e-5)
    assert fitted.classes_[probabilities[0].argmax(axis=1)].tolist() == Y[0]


@pytest.mark.parametrize(
    "given",
    [
        WORDS,
        [[(word, word[-1]) for word in sentence] for sentence in WORDS],
        X,
        [[[f"w={word}"] for word in sentence] for sentence in WORDS],
        pd.DataFrame({"word": WORDS, "end": [[word[-1] for word in sentence] for sentence in WORDS]}),
        np.array([*WORDS, None], dtype=object)[:-1],
    ],
    ids=["strings", "tuples", "dicts", "lists", "frame", "array"],
)
def test_what_a_sentence_may_be(given):
    fitted = SequenceTagger(trellis.Perceptron(epochs=5)).fit(given, Y)
    assert fitted.score(given, Y) == 1.0
    assert len(cross_val_predict(fitted, given, Y, cv=3)) == len(WORDS)


def test_sentences_of_equal_length_stay_lists():
    same = [["the", "dog"], ["a", "cat"], ["the", "cat"], ["a", "dog"]]
    found = cross_val_predict(tagger(), same, [["D", "N"]] * 4, cv=2)
    assert found.shape == (4,)
    assert metrics.sequence_accuracy_score([["D", "N"]] * 4, found) == 1.0


def test_parameters_of_the_learner():
    one = tagger()
    assert one.get_params()["learner__c2"] == 1.0
    assert "learner__c2" not in one.get_params(deep=False)
    one.set_params(learner__c2=0.5, order=2)
    assert one.learner.c2 == 0.5
    assert one.order == 2
    copy = clone(one)
    assert copy.get_params() == one.get_params()
    with pytest.raises(ValueError, match="CRF has no parameter 'c3'"):
        one.set_params(learner__c3=1)
    with pytest.raises(ValueError, match="set learner first"):
        SequenceTagger().set_params(learner__c2=1)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        one.set_params(colour=1)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV])
def test_searches(search, tmp_path):
    more = {"n_iter": 2, "random_state": 0} if search is RandomizedSearchCV else {}
    found = search(tagger(), {"learner__c2": np.array([0.1, 1.0])}, cv=2, scoring=scorers.flat_f1, **more).fit(WORDS, Y)
    assert found.best_params_["learner__c2"] in (0.1, 1.0)
    assert found.predict(WORDS).tolist() == Y
    again = pickle.loads(pickle.dumps(found))
    assert again.predict(WORDS[:2]).tolist() == Y[:2]
    found.best_estimator_.tagger_.save(tmp_path / "model")  # also with a parameter that is NumPy's number


@pytest.mark.usefixtures("control_c")
@pytest.mark.parametrize(
    "estimator", [SequenceTagger(trellis.CRF(epochs=20)), CRF(max_iterations=10)], ids=["SequenceTagger", "CRF"]
)
def test_control_c_ends_a_search(estimator, caplog, monkeypatch):
    """Not only the training under way, which in ``trellis.train`` would end with the best epoch so far."""
    epochs = []

    class Interrupt(logging.Handler):
        def emit(self, record):
            epochs.append(record.getMessage())
            if len(epochs) == 2:
                signal.raise_signal(signal.SIGINT)

    caplog.set_level(logging.INFO, "trellis")
    monkeypatch.setattr(logging.getLogger("trellis"), "handlers", [Interrupt()])
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(estimator, {"c2" if isinstance(estimator, CRF) else "learner__c2": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert len(epochs) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_cross_validation_pipelines_and_curves():
    assert cross_val_score(tagger(), WORDS, Y, cv=3, scoring=scorers.flat_accuracy).mean() > 0.8
    assert cross_val_score(tagger(), WORDS, Y, cv=3, scoring=scorers.sequence_accuracy).shape == (3,)
    lower = FunctionTransformer(lambda given: [[word.lower() for word in sentence] for sentence in given])
    pipeline = Pipeline([("lower", lower), ("tagger", tagger())]).fit([[w.upper() for w in s] for s in WORDS], Y)
    assert pipeline.score(WORDS, Y) == 1.0
    pipeline.set_params(tagger__learner__c2=2.0)
    sizes, *_ = learning_curve(tagger(), WORDS, Y, cv=2, train_sizes=[0.5, 1.0])
    assert len(sizes) == 2
    parts = train_test_split(WORDS, Y, random_state=0)
    assert tagger().fit(parts[0], parts[2]).score(parts[1], parts[3]) == 1.0


def test_weights_of_sentences():
    # The same word with two labels: the weight decides.
    words, labels = [["x"], ["x"]], [["A"], ["B"]]
    for weights, label in (([9.0, 1.0], "A"), ([1.0, 9.0], "B")):
        fitted = SequenceTagger(trellis.CRF(), ["word[0]"]).fit(words, labels, sample_weight=weights)
        assert fitted.predict([["x"]])[0] == [label]
        assert fitted.score(words, labels, sample_weight=weights) == 0.9
    with sklearn.config_context(enable_metadata_routing=True):
        asked = tagger().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        assert get_routing_for_object(asked).fit.requests["sample_weight"] is True
        GridSearchCV(asked, {"order": [0, 1]}, cv=2).fit(WORDS, Y, sample_weight=np.ones(24))


def test_what_is_not_fitted_or_wrong_is_said():
    with pytest.raises(NotFittedError):
        tagger().predict(WORDS)
    with pytest.raises(trellis.ArgumentError, match="no column 'word'"):
        tagger().fit(WORDS, Y).predict(X)


# Checks of scikit-learn that make sense where X is a list of sentences. The others feed tables of numbers: dtypes,
# n_features_in_, sparse matrices, NaN, the order of samples, one-dimensional X.
CHECKS = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_mixin_order,
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
]


@pytest.mark.parametrize("estimator", [SequenceTagger, CRF])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_checks_of_scikit_learn(check, estimator):
    check(estimator.__name__, estimator())


@pytest.mark.filterwarnings("ignore:Can't test estimator")
@pytest.mark.parametrize("estimator", [SequenceTagger, CRF])
def test_check_estimator(estimator):
    results = estimator_checks.check_estimator(estimator())
    assert all(result["status"] == "passed" for result in results)


def test_html_shows_parameters():
    assert "SequenceTagger" in tagger()._repr_html_()


# ------------------------------------------------------------ sklearn-crfsuite's estimator


@pytest.mark.parametrize("algorithm", [None, "lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_crf_of_every_algorithm(algorithm):
    crf = CRF(algorithm, max_iterations=20).fit(X, Y)
    assert crf.predict(X).tolist() == Y
    assert crf.predict_single(X[0]) == Y[0]
    assert crf.score(X, Y) == 1.0
    assert crf.classes_ == ["D", "N", "V", "A"]
    marginals = crf.predict_marginals_single(X[0])
    assert all(sum(token.values()) == pytest.approx(1, abs=1e-5) for token in marginals)
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X).tolist() == Y


def test_crf_has_the_weights_of_crfsuite(tmp_path):
    crf = CRF(c1=0.05, c2=0.1, all_possible_transitions=True, delta=1e-8).fit(X, Y)
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.05, "c2": 0.1, "feature.possible_transitions": True})
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.set("delta", 1e-8)
    trainer.train(str(tmp_path / "theirs"))
    theirs = pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "theirs"))
    known = theirs.info()
    for ours, wanted in ((crf.state_features_, known.state_features), (crf.transition_features_, known.transitions)):
        for key in ours.keys() | wanted.keys():
            assert ours.get(key, 0.0) == pytest.approx(wanted.get(key, 0.0), abs=0.02)


def test_crf_attributes_before_and_after_fit(tmp_path):
    crf = CRF(model_filename=str(tmp_path / "model.crfsuite"))
    for name in ("tagger_", "classes_", "size_", "attributes_", "num_attributes_", "state_features_", "training_log_"):
        assert getattr(crf, name) is None
    crf.fit(X, Y, X_dev=X[:4], y_dev=Y[:4])
    assert crf.num_attributes_ == len(crf.attributes_)
    assert crf.size_ == (tmp_path / "model.crfsuite").stat().st_size
    assert crf.training_log_.last_iteration["item_accuracy"] == 1.0
    assert crf.training_log_.last_iteration["scores"]["N"].f1 == 1.0
    assert crf.tagger_.tag(X[0]) == Y[0]
    other = CRF(model_filename=str(tmp_path / "model.crfsuite"))
    assert other.predict(X).tolist() == Y
    theirs = pycrfsuite.Tagger()
    theirs.open(crf.model_filename)
    assert theirs.labels() == crf.classes_
    assert [theirs.tag(x) for x in X] == Y


def test_crf_warns_of_what_has_no_effect_and_rejects_what_is_wrong(capsys):
    with pytest.warns(UserWarning, match="num_memories has no effect"):
        CRF(num_memories=3).fit(X, Y)
    with pytest.raises(ValueError, match="lbfgs has no parameter 'gamma'"):
        CRF(gamma=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="no algorithm 'sgd'"):
        CRF("sgd").fit(X, Y)
    with pytest.raises(ValueError, match="X_dev and y_dev"):
        CRF().fit(X, Y, X_dev=X)
    with pytest.raises(NotFittedError):
        CRF().predict(X)
    CRF(max_iterations=2, verbose=True).fit(X, Y)
    assert "Iteration #1" in capsys.readouterr().out


def test_crf_takes_generators_and_searches():
    crf = CRF(max_iterations=10).fit(((token for token in x) for x in X), (tuple(y) for y in Y))
    assert crf.predict(X).tolist() == Y
    search = GridSearchCV(CRF(max_iterations=10), {"c1": [0.0, 0.1], "c2": [0.1]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.8


def test_metrics():
    gold, found = [["B-NP", "I-NP"], ["O"]], [["B-NP", "O"], ["O"]]
    assert metrics.flat_accuracy_score(gold, found) == pytest.approx(2 / 3)
    assert metrics.flat_f1_score(gold, found, average="micro") == pytest.approx(2 / 3)
    assert metrics.flat_precision_score(gold, found, average=None, labels=["O"]).tolist() == [0.5]
    assert metrics.flat_recall_score(gold, found, average=None, labels=["O"]).tolist() == [1.0]
    assert metrics.flat_fbeta_score(gold, found, beta=1, average="micro") == pytest.approx(2 / 3)
    assert "I-NP" in metrics.flat_classification_report(gold, found, zero_division=0)
    assert metrics.sequence_accuracy_score(gold, found) == 0.5
    assert metrics.span_f1_score(gold, found) == 0.0
    with pytest.raises(ValueError, match="differ in length"):
        metrics.flat_accuracy_score([["O"]], [["O", "O"]])


def test_the_imports_and_the_search_of_the_tutorial():
    """That of sklearn-crfsuite, with the package's name replaced."""
    tutorial = """
import sklearn_crfsuite
from sklearn_crfsuite import scorers
from sklearn_crfsuite import metrics

crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=10, all_possible_transitions=True)
f1_scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=["D", "N"])
search = RandomizedSearchCV(crf, {"c1": [0.1, 0.2], "c2": [0.05]}, cv=2, n_iter=2, scoring=f1_scorer).fit(X, y)
report = metrics.flat_classification_report(y, search.best_estimator_.predict(X), labels=["D", "N"], digits=3)
accuracies = [scorer(search.best_estimator_, X, y) for scorer in (scorers.flat_accuracy, scorers.sequence_accuracy)]
"""
    names = {"make_scorer": make_scorer, "RandomizedSearchCV": RandomizedSearchCV, "X": X, "y": Y}
    exec(tutorial.replace("sklearn_crfsuite", "trellis.interfaces.sklearn"), names)
    assert names["accuracies"] == [1.0, 1.0]
    assert "1.000" in names["report"]


def test_files_are_where_they_were_asked_for(tmp_path: Path):
    CRF(max_iterations=2, model_filename=str(tmp_path / "m")).fit(X, Y)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("given", [WORDS, X, [[(word, word[-1]) for word in sentence] for sentence in WORDS]])
def test_sentences_without_tokens(given):
    fitted = SequenceTagger(trellis.CRF(epochs=5)).fit(given, Y)
    assert fitted.predict([]).tolist() == []
    assert fitted.predict([[], []]).tolist() == [[], []]
    assert [one.shape for one in fitted.predict_proba([[]])] == [(0, 4)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([[("a", "b"), ("c",)]], "token 1 is not a tuple of 2"),
        ([[("a", "b"), "cd"]], "token 1 is not a tuple"),
        (["the dog"], "a sentence must be a list of tokens, not str"),
        ({"word": [["a"]]}, "must be a list of sentences, each a list of tokens, not 'dict'"),
        ([None], "not NoneType"),
        (pd.DataFrame([[["a"], ["b"]]], columns=["word", "word"]), "X has two columns with the same name"),
        (pd.DataFrame({"word": ["abc"]}), "not str"),
    ],
)
def test_what_is_no_sentence(given, why):
    with pytest.raises((trellis.ArgumentError, trellis.CorpusError), match=why):
        SequenceTagger().fit(given, [["A"]])


def test_scores_of_other_lengths():
    fitted = tagger().fit(WORDS, Y)
    with pytest.raises(trellis.ArgumentError, match="y must have one label per token of X"):
        fitted.score(WORDS, Y[:-1])
    with pytest.raises(trellis.ArgumentError, match="one number per sentence"):
        fitted.score(WORDS, Y, sample_weight=[1.0])


def test_a_model_that_cannot_be_written_is_not_fitted(tmp_path):
    crf = CRF(max_iterations=2, model_filename=str(tmp_path / "none" / "m"))
    with pytest.raises(trellis.ModelError, match="cannot write"):
        crf.fit(X, Y)
    assert crf.classes_ is None


def test_parameters_of_learners_by_name_and_of_ones_own() -> None:
    class Own(trellis.Learner):
        def fit(self, problem: Any, observer: Any = None) -> Any:
            return trellis.Perceptron(epochs=1).fit(problem, observer)

    own = SequenceTagger(Own())
    assert own.get_params()["learner"] is own.learner
    with pytest.raises(ValueError, match="Own has no parameter 'c2'; it has no parameters"):
        own.set_params(learner__c2=1)
    assert SequenceTagger("crf").set_params(learner__c2=0.5).learner == trellis.CRF(c2=0.5)


def test_parameters_are_the_options_of_training() -> None:
    options = options_of(TaggingOptions)
    parameters = inspect.signature(SequenceTagger).parameters
    assert {"learner", "features", "order", "search", "labels"} <= set(parameters)
    groups = {"features", "search", "labels"}
    for name in set(parameters) - {"learner", "columns", "n_jobs", "random_state", *groups}:
        assert parameters[name].default == options[name].default
    assert all(parameters[name].default is None for name in groups)
    assert SequenceTagger(labels=trellis.Labels(scheme="iob2")).get_params()["labels"] == trellis.Labels(scheme="iob2")
    assert SequenceTagger(order=0).fit(WORDS, Y).tagger_.order == 0
    with pytest.raises(trellis.TrellisError, match="order"):
        SequenceTagger(order="many").fit(WORDS, Y)


def test_random_state() -> None:
    perceptron = trellis.Perceptron()
    for state in (7, np.int64(7)):
        fitted = SequenceTagger(perceptron, random_state=state).fit(WORDS, Y)
        assert fitted.tagger_.training["learner"]["seed"] == 7
        assert fitted.learner is perceptron  # the arguments are unchanged
    drawn = SequenceTagger(random_state=np.random.RandomState(1)).fit(WORDS, Y).tagger_
    assert drawn.training["learner"]["seed"] == np.random.RandomState(1).randint(2**31)
    for learner in (trellis.HMM(), trellis.Perceptron(shuffle=False)):  # without a seed
        assert "seed" not in SequenceTagger(learner, random_state=7).fit(WORDS, Y).tagger_.training["learner"]
