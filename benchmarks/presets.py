"""What presets and the default learner give, on dev sentences; and the settings that were chosen there, on test.

Dev sentences: the dev files of UD English-EWT and French-Sequoia; the last 1,536 sentences of CoNLL-2000's train, the
last 2,500 words of train10 and fold 9 of the handwritten letters, each with what is before it for training. A folder
``conll2002`` with esp.train, esp.testa, ned.train and ned.testa adds names, folders ``ud-hungarian-szeged`` and
``ud-turkish-imst`` two treebanks; they are not among the usual data. Test files see one setting per bar, with all of
train for training. Seconds are those of the processor, one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import trellis
from benchmarks.common import Result, Setting, verdict
from experiments.data import corpus_of_letters, letters, noun_phrases
from experiments.steps import Setting as PaperSetting
from trellis.features.presets import LETTER_RUNS

HELD_OUT, HELD_OUT_WORDS = 1536, 2500
MANY = ", UPOS and features"
TREEBANKS = {
    "EWT": "ud-english-ewt/en_ewt",
    "Sequoia": "ud-french-sequoia/fr_sequoia",
    f"Sequoia{MANY}": "ud-french-sequoia/fr_sequoia",
    f"Hungarian{MANY}": "ud-hungarian-szeged/hu_szeged",
    f"Turkish{MANY}": "ud-turkish-imst/tr_imst",
}
CLUSTERS = "brown-clusters/bllip-clusters.gz"
PERCEPTRON, SHUFFLED = trellis.Perceptron(epochs=10, shuffle=False), trellis.Perceptron(epochs=15, shuffle=True)
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
    reranked: bool = False  # by a CRF over the 20 best of folds

    def train(self, corpus: trellis.Corpus, target: str) -> trellis.Tagger | trellis.Reranker:
        """The model of this row."""
        options = {"target": target, "features": self.features, "learner": LEARNERS[self.learner], **self.more}

        def tagger(part: trellis.Corpus) -> trellis.Tagger:
            return trellis.train(part, n_threads=1, **options)

        if not self.reranked:
            return tagger(corpus)
        return trellis.Reranker.train(corpus, tagger=tagger, learner=trellis.CRF(c2=1.0), n_threads=1)


def figure(model: trellis.Tagger | trellis.Reranker, corpus: trellis.Corpus) -> float:
    """Accuracy, or F1 where labels mark spans."""
    return 100 * model.evaluate(corpus, n_threads=1).headline


def clusters(path: Any) -> list[str]:
    """Brown clusters of a word: paths of several lengths, and those of neighbours together."""
    looks = [f'cluster(lower(word[0]), "{path}", {bits})' for bits in (4, 6, 10)]
    whole = [f'cluster(lower(word[{offset}]), "{path}")' for offset in (-1, 0, 1)]
    return [*looks, whole[1], f"{whole[0]} & {whole[1]}", f"{whole[1]} & {whole[2]}"]


def asked(setting: Setting) -> Iterator[Asked]:
    """The rows to measure."""
    pairs = clusters(setting.file(CLUSTERS))
    for task in ("EWT", "Sequoia"):
        for learner in LEARNERS:
            yield Asked(task, "default", "default", learner)
        yield Asked(task, "rich", "rich", wanted=95.2 if task == "EWT" else None)
    yield Asked("EWT", "rich, clusters", ["rich", *pairs], wanted=95.7)
    for task in [task for task, stem in TREEBANKS.items() if (setting.data / stem).parent.is_dir() and MANY in task]:
        for what, features, more in (
            ("default", "default", {}),
            ("morphology", "morphology", {}),
            ("morphology, label parts", "morphology", {"labels": trellis.Labels(parts="|")}),
        ):
            yield Asked(task, what, features, more={"search": trellis.Search(prune=True), **more})
    bagged = {"bagging": 10}
    for task, wanted in (("noun phrases", (94.5, 94.6)), ("all phrases", (94.1, None))):
        for learner in LEARNERS:
            yield Asked(task, "chunking", "chunking", learner)
        for learner in list(LEARNERS)[1:]:
            yield Asked(task, "phrases", "phrases", learner)
        yield Asked(task, "phrases, bagging=10", "phrases", more=bagged)
        yield Asked(task, "phrases, reranked", "phrases", wanted=wanted[0], reranked=True)
        looks = ["phrases", *pairs[:4]]
        yield Asked(task, "phrases, clusters", looks)
        yield Asked(task, "phrases, clusters, reranked", looks, wanted=wanted[1], reranked=True)
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
            yield Asked(task, "ner, document features", "ner", more={"documents": True})


def data_of(setting: Setting, task: str) -> Data:
    """The sentences of a task."""
    match task:
        case _ if task in TREEBANKS:
            names = ("train.conllu.gz" if task == "EWT" else "train.conllu", "dev.conllu")
            train, dev = (trellis.read(setting.file(f"{TREEBANKS[task]}-ud-{name}")) for name in names)
            test = trellis.read(setting.file(f"{TREEBANKS[task]}-ud-test.conllu")) if task == "EWT" else None
            return Data(train, dev, "upos+feats" if MANY in task else "upos", train, test)
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


# The former preset ``default``, for comparing speed.
BEFORE = [
    *("bias", "word[-2]", "word[-1]", "word[0]", "word[1]", "word[2]", "word[-1] & word[0]", "word[0] & word[1]"),
    *("lower(word[0])", *(f"{end}fix(lower(word[0]), {k})" for end in ("pre", "suf") for k in (1, 2, 3, 4))),
    *("shape(word[-1])", "shape(word[0])", "shape(word[1])", "has_digit(word[0])", "has_hyphen(word[0])"),
    *("has_upper(word[0])", "is_first & is_capitalized(word[0])"),
    *("suffix(lower(word[-1]), 3)", "suffix(lower(word[1]), 3)"),
]


def speeds(setting: Setting) -> list[dict[str, Any]]:
    """How fast the preset ``default`` trains and tags beside the one before, in turns, best of all rounds."""
    data = data_of(setting, "EWT")
    best = dict[tuple[str, str], float]()
    for _ in range(setting.rounds):
        for name, features in (("before", BEFORE), ("now", "default")):
            begun = time.process_time()
            tagger = trellis.train(data.train, target="upos", features=features, learner=PERCEPTRON, n_threads=1)
            trained = time.process_time()
            tagger.tag_column(data.train, n_threads=1)
            for work, took in (("training", trained - begun), ("tagging", time.process_time() - trained)):
                best[work, name] = min(best.get((work, name), took), took)
    shares = {work: best[work, "before"] / best[work, "now"] for work in ("training", "tagging")}
    return [
        {"task": "EWT", "features": f"speed of default, {work}, before = 1", "learner": "perceptron", "speed": share}
        | {"wanted": 0.75, "met": verdict(share >= 0.75)}
        for work, share in shares.items()
    ]


def run(setting: Setting) -> Result:
    """Each setting on dev; those of the bars on test too."""
    rows, data = list[dict[str, Any]](), dict[str, Data]()
    for one in asked(setting):
        if one.task not in data:
            data = {one.task: data_of(setting, one.task)}
        here = data[one.task]
        if setting.quick:
            here = Data(here.train[:300], here.dev[:100], here.target, here.train[:300], here.test)
        begun = time.process_time()
        model = one.train(here.train, here.target)
        trained = time.process_time()
        model.predict_corpus(here.dev, n_threads=1)  # words are known then
        begun_again = time.process_time()
        model.predict_corpus(here.dev, n_threads=1)
        took = time.process_time() - begun_again
        row = {"task": one.task, "features": one.what, "learner": one.learner, "dev": figure(model, here.dev)}
        row |= {"training, s": trained - begun, "tokens/s": here.dev.n_tokens / took}
        if one.wanted is not None and here.whole is not None and here.test is not None:
            whole = model if here.whole is here.train else one.train(here.whole, here.target)
            on_test = figure(whole, here.test)
            row |= {"test": on_test, "wanted": one.wanted, "met": verdict(on_test >= one.wanted)}
        rows.append(row)
    return Result("Presets and learners: accuracy, or F1 of phrases and names", [*rows, *speeds(setting)])
