"""chaine: CRFsuite behind another binding, which takes a dict a token."""

from __future__ import annotations

from typing import Any

import chaine

from benchmarks.clock import Clock, best
from benchmarks.rows import ATTRIBUTES, Sentence, labels_of, read_rows
from benchmarks.settings import CRFSUITE

Work = dict[str, Any]


def _dicts(work: Work, sentence: Sentence) -> list[dict[str, str]]:
    return [
        dict(attribute.split("=", 1) if "=" in attribute else (attribute, "1") for attribute in token)
        for token in ATTRIBUTES[work["features"]](sentence)
    ]


def train(work: Work, model: str, learner: str, epochs: int | None = None) -> Work:
    """Learning has its loading of the attributes in it: it shows no log."""
    algorithm, parameters = CRFSUITE[learner]
    with Clock() as total:
        trainer = chaine.Trainer(algorithm, **parameters | ({} if epochs is None else {"max_iterations": epochs}))
        sentences = read_rows(work["train"])
        given = [_dicts(work, sentence) for sentence in sentences]
        labels = [labels_of(sentence) for sentence in sentences]
        with Clock() as training:
            trainer.train(given, labels, model_filepath=model)
    return training.figures() | {"total": total.seconds}


def label(work: Work, model: str, repeats: int = 2) -> Work:
    """Sentence by sentence."""
    sentences, opened = read_rows(work["test"]), chaine.Model(model)
    figures, found = best(lambda: [opened.predict_single(_dicts(work, sentence)) for sentence in sentences], repeats)
    return figures | {"labels": [list(labels) for labels in found]}


def tag_file(work: Work, model: str, source: str, output: str) -> Work:
    """The script that its user writes."""
    opened = chaine.Model(model)
    with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123
        for sentence in read_rows(source):
            for token, found in zip(sentence, opened.predict_single(_dicts(work, sentence)), strict=True):
                file.write(f"{' '.join(token)} {found}\n")
            file.write("\n")
    return {}
