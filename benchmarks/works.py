"""The works: each a training and a test file of columns, parted by blanks, with the label last."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Setting
from benchmarks.rows import Sentence, labels_of, read_rows, take, write_rows

QUICK = 10  # a quick run has a tenth of the training data


@dataclass(frozen=True, slots=True)
class Work:
    """A training task in the form passed to contenders."""

    name: str
    train: str
    test: str
    columns: str
    target: str
    features: str
    metric: str  # "F1" or "accuracy"

    def given(self) -> dict[str, Any]:
        """The task as JSON-compatible values."""
        return asdict(self)

    def quality(self, found: list[list[str]]) -> float:
        """Of labels for the test file, in %."""
        report = trellis.evaluate([labels_of(sentence) for sentence in read_rows(self.test)], found)
        return 100 * (report.headline if self.metric == "F1" else report.token_accuracy)

    def n_tokens(self) -> int:
        """Of the test file."""
        return sum(map(len, read_rows(self.test)))

    def n_train_tokens(self) -> int:
        """Of the training file."""
        return sum(map(len, read_rows(self.train)))

    def with_train(self, path: Path) -> Work:
        """The same with another training file."""
        return replace(self, train=str(path))


def chunks(setting: Setting, folder: Path) -> Work:
    """CoNLL-2000, 22 labels of chunks from words and parts of speech."""
    train, test = (read_rows(setting.file(f"conll2000/{part}.txt")) for part in ("train", "test"))
    return _written("chunks", setting, folder, train, test, "word,pos,label", "label", "chunking", "F1")


def conll_pos(setting: Setting, folder: Path) -> Work:
    """CoNLL-2000, 44 parts of speech from words."""
    train, test = (take(read_rows(setting.file(f"conll2000/{part}.txt")), 0, 1) for part in ("train", "test"))
    return _written("conll-pos", setting, folder, train, test, "word,pos", "pos", "default", "accuracy")


def brown(setting: Setting, folder: Path) -> Work:
    """The Brown corpus, 174 parts of speech."""
    train, test = (read_rows(setting.file(f"brown-pos/{part}.tsv.gz")) for part in ("train", "test"))
    return _written("brown", setting, folder, train, test, "word,pos", "pos", "default", "accuracy")


def upos(setting: Setting, folder: Path) -> Work:
    """UD English-EWT, 17 universal parts of speech."""
    return _ewt(setting, folder, "upos", 3)


def xpos(setting: Setting, folder: Path) -> Work:
    """UD English-EWT, 49 parts of speech of the Penn Treebank."""
    return _ewt(setting, folder, "xpos", 4)


def typos(setting: Setting, folder: Path) -> Work:
    """Typed letters to intended letters, 26 labels; a word is a sequence."""

    def words(name: str) -> list[Sentence]:
        lines = setting.file(f"typos/{name}.tsv").read_text(encoding="utf-8").split("\n")
        pairs = [line.split("\t") for line in lines if line]
        return [list(zip(typed, true, strict=True)) for typed, true in pairs]

    return _written(
        "typos",
        setting,
        folder,
        words("train10"),
        words("test10"),
        "letter,label",
        "label",
        "letters",
        "accuracy",
    )


def part(work: Work, share: int) -> Work:
    """The same with every ``share``-th sentence of the training file."""
    path = Path(work.train).with_suffix(f".{share}.txt")
    write_rows(path, read_rows(work.train)[::share])
    return work.with_train(path)


def _ewt(setting: Setting, folder: Path, name: str, field: int) -> Work:
    def part(path: Path) -> list[Sentence]:
        opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
        sentences: list[Sentence] = [[]]
        with opened(path, "rt", encoding="utf-8") as file:
            for line in file:
                fields = line.rstrip("\n").split("\t")
                if fields[0].isdigit():
                    sentences[-1].append((fields[1].replace(" ", "_"), fields[field]))
                elif not line.strip():
                    sentences.append([])
        return [sentence for sentence in sentences if sentence]

    stem = "ud-english-ewt/en_ewt-ud-"
    train, test = part(setting.file(f"{stem}train.conllu.gz")), part(setting.file(f"{stem}test.conllu"))
    return _written(name, setting, folder, train, test, "word,pos", "pos", "default", "accuracy")


def _written(
    name: str,
    setting: Setting,
    folder: Path,
    train: list[Any],
    test: list[Any],
    *rest: str,
) -> Work:
    if setting.quick:
        train, test = train[: len(train) // QUICK], test[: len(test) // 4]
    files = [folder / f"{name}.{part}.txt" for part in ("train", "test")]
    write_rows(files[0], train)
    write_rows(files[1], test)
    return Work(name, str(files[0]), str(files[1]), *rest)
