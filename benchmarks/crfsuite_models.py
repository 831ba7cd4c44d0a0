"""A model of CRFsuite in our hands: the same labels, the same probabilities, how much faster; and a search over c1, c2.

Features are feature dicts as in python-crfsuite's tutorial, of CoNLL-2000. The model is trained by python-crfsuite. The
search is GridSearchCV over four settings, three folds, with the estimators of sklearn-crfsuite and
of trellis.interfaces.sklearn.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pycrfsuite
import sklearn_crfsuite
from sklearn.model_selection import GridSearchCV

import trellis
from benchmarks.common import Result, Setting, best_of, points, seconds, timed, versus
from trellis.interfaces.sklearn import CRF, metrics, scorers

SEARCHED = 1500  # sentences
GRID = {"c1": [0.05, 0.2], "c2": [0.05, 0.2]}
FIXED = {"algorithm": "lbfgs", "max_iterations": 50, "all_possible_transitions": True}

Sentence = list[dict[str, Any]]


def features(corpus: trellis.Corpus) -> list[Sentence]:
    """Features of each token: word, spelling, and neighbours."""
    return [
        [_token(words, tags, i) for i in range(len(words))]
        for words, tags in zip(corpus.sentences("word"), corpus.sentences("pos"), strict=True)
    ]


def _token(words: list[str], tags: list[str], i: int) -> dict[str, Any]:
    word = words[i]
    out: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": tags[i],
        "postag[:2]": tags[i][:2],
    }
    for name, j in (("-1", i - 1), ("+1", i + 1)):
        if 0 <= j < len(words):
            out |= {
                f"{name}:word.lower()": words[j].lower(),
                f"{name}:postag": tags[j],
                f"{name}:istitle": words[j].istitle(),
            }
        else:
            out["BOS" if j < 0 else "EOS"] = True
    return out


def run(setting: Setting) -> Result:
    """Train, compare, time; then search."""
    train, test = (trellis.read(setting.file(f"conll2000/{part}.txt")) for part in ("train", "test"))
    train = train[:500] if setting.quick else train
    X, y, Z = features(train), train.sentences("label"), features(test)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.crfsuite")
        trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.1, "c2": 0.1, "max_iterations": 50})
        for xseq, yseq in zip(X, y, strict=True):
            trainer.append(xseq, yseq)
        trainer.train(path)
        theirs, ours = pycrfsuite.Tagger(), trellis.load(path)
        theirs.open(path)
        rows = [
            *_same(ours, theirs, Z),
            *_speed(ours, theirs, Z, setting.rounds),
            *_opening(path, Z[0], setting.rounds),
        ]
    rows += _search(X[:SEARCHED], y[:SEARCHED], Z[:500], test.sentences("label")[:500])
    return Result("A model of CRFsuite on CoNLL-2000's test file, and a search over c1 and c2", rows, "python-crfsuite")


def _same(ours: trellis.Tagger, theirs: Any, sentences: list[Sentence]) -> list[dict[str, Any]]:
    labels = [theirs.tag(sentence) for sentence in sentences]
    found = ours.tag_batch(sentences)
    pairs = [(a, b) for one, other in zip(labels, found, strict=True) for a, b in zip(one, other, strict=True)]
    worst = 0.0
    for sentence, posterior in zip(sentences, ours.marginals_batch(sentences), strict=True):
        theirs.set(sentence)
        worst = max(
            worst,
            *(
                abs(theirs.marginal(label, i) - p.get(label, 0.0))
                for i, p in enumerate(posterior)
                for label in ours.labels
            ),
        )
    return [
        points("labels that are the same, %", 100 * sum(a == b for a, b in pairs) / len(pairs), 100.0, bar=0),
        {"what": "probabilities differ at most", "trellis": worst, "wanted": 1e-6},
    ]


def _speed(ours: trellis.Tagger, theirs: Any, sentences: list[Sentence], rounds: int) -> list[dict[str, Any]]:
    lists = [[list(token) for token in pycrfsuite.ItemSequence(sentence).items()] for sentence in sentences]
    rows = list[dict[str, Any]]()
    for what, given in (("dicts", sentences), ("lists of strings", lists)):
        for threads in (1, 2):
            mine, real = best_of(
                rounds,
                seconds(lambda given=given, threads=threads: ours.tag_batch(given, n_threads=threads)),
                seconds(lambda given=given: [theirs.tag(sentence) for sentence in given]),
            )
            name = f"tagging from {what}, s, {threads} thread{'s' if threads > 1 else ''}"
            rows.append(versus(name, mine, real, better="less", bar=10 if threads == 2 else None))
    return rows


def _opening(path: str, sentence: Sentence, rounds: int) -> list[dict[str, Any]]:
    """The file is in the cache of the system, and imports are done."""

    def opened() -> Any:
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return tagger

    alone = best_of(20 * rounds, seconds(lambda: trellis.load(path)), seconds(opened))
    tagging = best_of(
        20 * rounds, seconds(lambda: trellis.load(path).tag(sentence)), seconds(lambda: opened().tag(sentence))
    )
    return [
        versus("opening its model, s", *alone, better="less", bar=0.2),
        versus("opening its model and one sentence, s", *tagging, better="less"),
    ]


def _search(X: list[Sentence], y: Any, Z: list[Sentence], gold: Any) -> list[dict[str, Any]]:
    found = dict[str, tuple[float, Any]]()
    for name, estimator in (("trellis", CRF(**FIXED)), ("rival", sklearn_crfsuite.CRF(**FIXED))):
        found[name] = timed(
            lambda estimator=estimator: GridSearchCV(estimator, GRID, cv=3, scoring=scorers.flat_f1).fit(X, y)
        )
    (mine, best), (real, theirs) = found["trellis"], found["rival"]
    f1 = [100 * metrics.flat_f1_score(gold, one.predict(Z), average="weighted") for one in (best, theirs)]
    same = "same" if best.best_params_ == theirs.best_params_ else f"{best.best_params_}, {theirs.best_params_}"
    return [
        versus("GridSearchCV, 12 trainings, s", mine, real, better="less", bar=8),
        points(f"its F1 on 500 test sentences; best parameters: {same}", *f1, bar=-0.1),
    ]
