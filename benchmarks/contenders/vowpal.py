"""Vowpal Wabbit's learning to search, through the Python package; features go to it by a text file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import vowpalwabbit

from benchmarks.clock import Clock, best
from benchmarks.rows import ATTRIBUTES, Sentence, labels_of, read_rows
from benchmarks.settings import VOWPAL, VOWPAL_PASSES

Work = dict[str, Any]


def _write(work: Work, path: Path, sentences: list[Sentence], number: dict[str, int]) -> None:
    attributes = ATTRIBUTES[work["features"]]
    with path.open("w", encoding="utf-8") as file:
        for sentence in sentences:
            for token, found in zip(sentence, attributes(sentence), strict=True):
                said = " ".join(found).replace(":", "_").replace("|", "&")  # both mean something to it
                file.write(f"{number.get(token[-1], 1)} |a {said}\n")
            file.write("\n")


def train(work: Work, model: str, learner: str = "three") -> Work:
    """Learning has its reading of the text file in it: both are one to it."""
    text, cache = Path(f"{model}.txt"), Path(f"{model}.cache")
    with Clock() as total:
        sentences = read_rows(work["train"])
        names = sorted({label for sentence in sentences for label in labels_of(sentence)})
        _write(work, text, sentences, {name: i for i, name in enumerate(names, 1)})
        cache.unlink(missing_ok=True)
        files = ["-d", str(text), "-f", model, "--quiet", "--passes", str(VOWPAL_PASSES[learner])]
        if VOWPAL_PASSES[learner] > 1:
            files += ["--cache_file", str(cache)]
        with Clock() as training:
            vowpalwabbit.Workspace(arg_list=["--search", str(len(names)), *VOWPAL, *files]).finish()
        Path(f"{model}.labels").write_text(json.dumps(names), encoding="utf-8")
    return training.figures() | {"total": total.seconds}


def _tag(work: Work, model: str, sentences: list[Sentence], place: Path) -> list[list[str]]:
    names = json.loads(Path(f"{model}.labels").read_text(encoding="utf-8"))
    text, out = Path(f"{place}.in"), Path(f"{place}.out")
    _write(work, text, sentences, {})
    arguments = ["-t", "-i", model, "-d", str(text), "-p", str(out), "--quiet"]
    vowpalwabbit.Workspace(arg_list=arguments).finish()
    with out.open(encoding="utf-8") as file:
        return [[names[int(float(number)) - 1] for number in line.split()] for line in file if line.strip()]


def label(work: Work, model: str, repeats: int = 2) -> Work:
    """Through files, and the model is loaded: it has no quicker way from Python for whole sentences."""
    sentences = read_rows(work["test"])
    figures, found = best(lambda: _tag(work, model, sentences, Path(model)), repeats)
    return figures | {"labels": found}


def tag_file(work: Work, model: str, source: str, output: str) -> Work:
    """The script that its user writes."""
    sentences = read_rows(source)
    with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123
        for sentence, labels in zip(sentences, _tag(work, model, sentences, Path(output)), strict=True):
            file.writelines(f"{' '.join(token)} {one}\n" for token, one in zip(sentence, labels, strict=True))
            file.write("\n")
    return {}
