"""What presets and the default learner give, on dev sentences; and the settings that were chosen there, on test.

Dev sentences: the dev files of UD English-EWT and French-Sequoia; the last 1,536 sentences of CoNLL-2000's train, the
last 2,500 words of train10 and fold 9 of the handwritten letters, each with what is before it for training. A folder
``conll2002`` with esp.train, esp.testa, ned.train and ned.testa adds names; it is not among the usual data. Test files
see one setting per bar, with all of train for training. Seconds are those of the processor, one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import trellis
from benchmarks.common import Result, Setting, verdict
from trellis.features.presets import LETTER_RUNS
from trellis.papers.data import corpus_of_letters, letters, noun_phrases
from trellis.papers.steps import Setting as PaperSetting

HELD_OUT, HELD_OUT_WORDS = 1536, 2500
CLUSTERS = "brown-clusters/bllip-clusters.gz"
PERCEPTRON, SHUFFLED = trellis.Perceptron(), trellis.Perceptron(epochs=15, shuffle=True)
MIRA = trellis.MIRA(epochs=15, shuffle=True)  # the default
LEARNERS = {"perceptron": PERCEPTRON, "perceptron, 15 epochs, shuffled": SHUFFLED, "default": None}


@dataclass(frozen=True, slots=True)
class Data:
    """A task: training and dev sentences, and for the bars all of train and the test file."""

    train: trellis.Corpus
    dev: trellis.Corpus
    target: str
    whole: trellis.Corpus | None = None
    test: trellis.Corpus | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One row."""

    task: str
    what: str  # the features, in words
    features: Any
    learner: str = "default"
    more: dict[str, Any] = field(default_factory=dict)
    wanted: float | None = None  # on test


def clusters(path: Any) -> list[str]:
    """Brown clusters of a word: paths of several lengths, and those of neighbours together."""
    looks = [f'cluster(lower(word[0]), "{path}", {bits})' for bits in (4, 6, 10)]
    whole = [f'cluster(lower(word[{offset}]), "{path}")' for offset in (-1, 0, 1)]
    return [*looks, whole[1], f"{whole[0]} & {whole[1]}", f"{whole[1]} & {whole[2]}"]


def asked(setting: Setting) -> Iterator[Asked]:
    """What is measured."""
    pairs = clusters(setting.file(CLUSTERS))
    for task in ("EWT", "Sequoia"):
        for learner in LEARNERS:
            yield Asked(task, "default", "default", learner)
        yield Asked(task, "rich", "rich", wanted=95.2 if task == "EWT" else None)
    yield Asked("EWT", "rich, clusters", ["rich", *pairs], wanted=95.7)
    for what, features, more in (
        ("default", "default", {}),
        ("morphology", "morphology", {}),
        ("morphology, label parts", "morphology", {"label_parts": "|"}),
    ):
        yield Asked("Sequoia, UPOS and features", what, features, more={"prune": True, **more})
    bagged = {"bagging": 10}
    for task, wanted in (("noun phrases", (94.5, 94.6)), ("all phrases", (94.1, None))):
        for learner in LEARNERS:
            yield Asked(task, "chunking", "chunking", learner)
        for learner in list(LEARNERS)[1:]:
            yield Asked(task, "phrases", "phrases", learner)
        yield Asked(task, "phrases, bagging=10", "phrases", list(LEARNERS)[1], bagged, wanted[0])
        looks = pairs[:4]
        yield Asked(task, "phrases, clusters, bagging=10", ["phrases", *looks], list(LEARNERS)[1], bagged, wanted[1])
    for learner in LEARNERS:
        yield Asked("typed letters", "runs of letters", LETTER_RUNS, learner)
    yield Asked("typed letters", "letters", "letters")
    for learner in LEARNERS:
        yield Asked("handwritten letters", "pixels", "attributes", learner)
    if (setting.data / "conll2002").is_dir():
        for task in ("Spanish names", "Dutch names"):
            for learner in LEARNERS:
                yield Asked(task, "default", "default", learner)
            yield Asked(task, "ner", "ner")
            yield Asked(task, "ner, document features", "ner", more={"document_features": True})


def data_of(setting: Setting, task: str) -> Data:
    """The sentences of a task."""
    match task:
        case "EWT" | "Sequoia" | "Sequoia, UPOS and features":
            stem = "ud-english-ewt/en_ewt" if task == "EWT" else "ud-french-sequoia/fr_sequoia"
            names = ("train.conllu.gz" if task == "EWT" else "train.conllu", "dev.conllu", "test.conllu")
            train, dev, test = (trellis.read(setting.file(f"{stem}-ud-{name}")) for name in names)
            return Data(train, dev, "upos+feats" if "features" in task else "upos", train, test)
        case "noun phrases" | "all phrases":
            names = ("train.txt", "test.txt")
            read = [trellis.read(setting.file(f"conll2000/{name}"), columns="word,pos,label") for name in names]
            train, test = map(noun_phrases, read) if task == "noun phrases" else read
            return Data(train[:-HELD_OUT], train[-HELD_OUT:], "label", train, test)
        case "typed letters":
            lines = setting.file("typos/train10.tsv").read_text(encoding="utf-8").splitlines()
            typed, true = zip(*(line.split("\t") for line in lines if line), strict=True)
            words = trellis.read({"letter": list(map(list, typed)), "label": list(map(list, true))})
            return Data(words[:-HELD_OUT_WORDS], words[-HELD_OUT_WORDS:], "label")
        case "handwritten letters":
            *folds, last = letters(PaperSetting(data=setting.data))
            return Data(corpus_of_letters([w for fold in folds for w in fold]), corpus_of_letters(last), "label")
        case _:
            stem = "esp" if task == "Spanish names" else "ned"
            names = (f"conll2002/{stem}.train", f"conll2002/{stem}.testa")
            train, dev = (trellis.read(setting.file(name), columns="word,pos,label") for name in names)
            return Data(train, dev, "label")


def run(setting: Setting) -> Result:
    """Each setting on dev; those of the bars on test too."""
    rows, data = list[dict[str, Any]](), dict[str, Data]()
    for one in asked(setting):
        if one.task not in data:
            data = {one.task: data_of(setting, one.task)}
        here = data[one.task]
        if setting.quick:
            here = Data(here.train[:300], here.dev[:100], here.target, here.train[:300], here.test)
        options = {"target": here.target, "features": one.features, "learner": LEARNERS[one.learner], **one.more}
        begun = time.process_time()
        tagger = trellis.train(here.train, n_threads=1, **options)
        trained = time.process_time()
        tagger.tag_corpus(here.dev, n_threads=1)  # words are known then
        begun_again = time.process_time()
        tagger.tag_corpus(here.dev, n_threads=1)
        took = time.process_time() - begun_again
        row = {"task": one.task, "features": one.what, "learner": one.learner}
        row |= {"dev": 100 * tagger.evaluate(here.dev, n_threads=1).headline}
        row |= {"training, s": trained - begun, "tokens/s": here.dev.n_tokens / took}
        if one.wanted is not None and here.whole is not None and here.test is not None:
            whole = tagger if here.whole is here.train else trellis.train(here.whole, n_threads=1, **options)
            figure = 100 * whole.evaluate(here.test, n_threads=1).headline
            row |= {"test": figure, "wanted": one.wanted, "met": verdict(figure >= one.wanted)}
        rows.append(row)
    return Result("Presets and learners: accuracy, or F1 of phrases and names", rows)
