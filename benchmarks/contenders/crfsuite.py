"""python-crfsuite; its attributes come from a plain Python function, as its users write it."""

from __future__ import annotations

from typing import Any

import pycrfsuite

from benchmarks.clock import Clock, best, median_wait
from benchmarks.rows import ATTRIBUTES, labels_of, read_rows
from benchmarks.settings import CRFSUITE

Work = dict[str, Any]


def train(work: Work, model: str, learner: str, epochs: int | None = None) -> Work:
    """Learning time as in its own log: iterations only, after feature generation."""
    algorithm, parameters = CRFSUITE[learner]
    attributes = ATTRIBUTES[work["features"]]
    with Clock() as total:
        trainer = pycrfsuite.Trainer(algorithm, verbose=False)
        trainer.set_params(parameters | ({} if epochs is None else {"max_iterations": epochs}))
        for sentence in read_rows(work["train"]):
            trainer.append(attributes(sentence), labels_of(sentence))
        with Clock() as training:
            trainer.train(model)
    return _figures(trainer.logparser, training) | {"total": total.seconds}


def _figures(log: Any, training: Clock) -> Work:
    """From its log, which counts CPU seconds: brought to the clock by the ratio of the two over the whole call."""
    cpu = log.training_seconds or sum(iteration["time"] for iteration in log.iterations)
    return {
        "seconds": cpu * training.seconds / training.cpu,
        "cpu": cpu,
        "objective": log.last_iteration.get("loss"),
        "epochs": len(log.iterations),
        "weights": log.featgen_num_features,
    }


def _open(model: str) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    return tagger


def label(work: Work, model: str, repeats: int = 2) -> Work:
    """Sentence by sentence: it has no batches."""
    sentences, tagger, attributes = read_rows(work["test"]), _open(model), ATTRIBUTES[work["features"]]
    figures, found = best(lambda: [tagger.tag(attributes(sentence)) for sentence in sentences], repeats)
    return figures | {"labels": found}


def wait(work: Work, model: str) -> Work:
    """Test sentences of 23 to 27 words."""
    tagger, attributes = _open(model), ATTRIBUTES[work["features"]]
    some = [sentence for sentence in read_rows(work["test"]) if 23 <= len(sentence) <= 27]
    return median_wait(lambda sentence: tagger.tag(attributes(sentence)), some)


def start(work: Work, model: str, repeats: int = 5) -> Work:
    """Imports are done; the model file is in the cache of the system."""
    sentence, attributes = read_rows(work["test"])[0], ATTRIBUTES[work["features"]]
    _open(model)
    return best(lambda: _open(model).tag(attributes(sentence)), repeats)[0]


def beliefs(work: Work, model: str) -> Work:
    """One call per token and label, as required by its interface."""
    sentences, tagger, attributes = read_rows(work["test"]), _open(model), ATTRIBUTES[work["features"]]
    names = tagger.labels()

    def of_sentence(sentence: Any) -> list[dict[str, float]]:
        tagger.set(attributes(sentence))
        return [{name: tagger.marginal(name, t) for name in names} for t in range(len(sentence))]

    figures, found = best(lambda: [of_sentence(sentence) for sentence in sentences], 1)
    return figures | {"labels": [[max(token, key=token.get) for token in sentence] for sentence in found]}


def tag_file(work: Work, model: str, source: str, output: str) -> Work:
    """The script that its user writes."""
    tagger, attributes = _open(model), ATTRIBUTES[work["features"]]
    with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123
        for sentence in read_rows(source):
            for token, found in zip(sentence, tagger.tag(attributes(sentence)), strict=True):
                file.write(f"{' '.join(token)} {found}\n")
            file.write("\n")
    return {}
