"""sklearn-crfsuite: CRFsuite behind fit and predict, which takes all attributes at once."""

from __future__ import annotations

from typing import Any

import joblib
import sklearn_crfsuite

from benchmarks.clock import Clock, best
from benchmarks.contenders.crfsuite import _figures
from benchmarks.rows import ATTRIBUTES, labels_of, read_rows
from benchmarks.settings import CRFSUITE

Work = dict[str, Any]


def train(work: Work, model: str, learner: str, epochs: int | None = None) -> Work:
    """Learning time as in its own log."""
    algorithm, parameters = CRFSUITE[learner]
    attributes = ATTRIBUTES[work["features"]]
    with Clock() as total:
        crf = sklearn_crfsuite.CRF(
            algorithm=algorithm,
            model_filename=f"{model}.crfsuite",
            **parameters | ({} if epochs is None else {"max_iterations": epochs}),
        )
        sentences = read_rows(work["train"])
        given = [attributes(sentence) for sentence in sentences]
        labels = [labels_of(sentence) for sentence in sentences]
        with Clock() as training:
            crf.fit(given, labels)
        joblib.dump(crf, model)
    return _figures(crf.training_log_, training) | {"total": total.seconds}


def label(work: Work, model: str, repeats: int = 2) -> Work:
    """All sentences in one call."""
    sentences, crf, attributes = read_rows(work["test"]), joblib.load(model), ATTRIBUTES[work["features"]]
    figures, found = best(lambda: crf.predict([attributes(sentence) for sentence in sentences]), repeats)
    return figures | {"labels": [list(labels) for labels in found]}


def beliefs(work: Work, model: str) -> Work:
    """All sentences in one call."""
    sentences, crf, attributes = read_rows(work["test"]), joblib.load(model), ATTRIBUTES[work["features"]]
    figures, found = best(lambda: crf.predict_marginals([attributes(sentence) for sentence in sentences]), 1)
    return figures | {"labels": [[max(token, key=token.get) for token in sentence] for sentence in found]}


def tag_file(work: Work, model: str, source: str, output: str) -> Work:
    """The script that its user writes."""
    crf, attributes, sentences = joblib.load(model), ATTRIBUTES[work["features"]], read_rows(source)
    found = crf.predict([attributes(sentence) for sentence in sentences])
    with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123
        for sentence, labels in zip(sentences, found, strict=True):
            file.writelines(f"{' '.join(token)} {one}\n" for token, one in zip(sentence, labels, strict=True))
            file.write("\n")
    return {}
