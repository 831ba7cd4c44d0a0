"""NLTK's PerceptronTagger, with the features it has."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from nltk.tag.perceptron import PerceptronTagger

from benchmarks.clock import Clock, best
from benchmarks.rows import read_rows, take

Work = dict[str, Any]


def train(work: Work, model: str, learner: str = "perceptron", epochs: int = 5) -> Work:
    """Features are made in every epoch, so learning has them in it."""
    with Clock() as total:
        sentences = take(read_rows(work["train"]), 0, -1)
        tagger = PerceptronTagger(load=False)
        random.seed(1)  # it shuffles
        with Clock() as training:
            tagger.train(sentences, nr_iter=epochs)
        kept = [tagger.model.weights, tagger.tagdict, sorted(tagger.classes)]
        Path(model).write_text(json.dumps(kept), encoding="utf-8")
    return training.figures() | {"total": total.seconds}


def _open(model: str) -> PerceptronTagger:
    tagger = PerceptronTagger(load=False)
    tagger.model.weights, tagger.tagdict, classes = json.loads(Path(model).read_text(encoding="utf-8"))
    tagger.classes = tagger.model.classes = set(classes)
    return tagger


def label(work: Work, model: str, repeats: int = 1) -> Work:
    """Sentence by sentence: it has no batches."""
    sentences, tagger = take(read_rows(work["test"]), 0), _open(model)
    figures, found = best(lambda: [tagger.tag(sentence) for sentence in sentences], repeats)
    return figures | {"labels": take(found, 1)}


def tag_file(work: Work, model: str, source: str, output: str) -> Work:
    """The script that its user writes."""
    tagger = _open(model)
    with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123
        for sentence in read_rows(source):
            file.writelines(f"{word} {tag}\n" for word, tag in tagger.tag([token[0] for token in sentence]))
            file.write("\n")
    return {}
