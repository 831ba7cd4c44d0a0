"""Other parsers, trained and run on the same files: UDPipe 1, MaltParser and MSTParser, each where it is there.

UDPipe is a package, of benchmarks/peers.txt. The other two are Java programs: the environment names their class paths,
``MALTPARSER`` and ``MSTPARSER``; a parser that is not named gives no row.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trellis
from benchmarks.common import Result, Setting
from experiments import steps
from experiments.data import Parts
from experiments.papers.parsing import DATA, treebank
from trellis.evaluation.attachment import attachment

Row = dict[str, Any]
Trees = list[tuple[list[int], list[str]]]

# A second run parses the test file this many times more: the difference excludes start-up and loading.
REPEATS = 3


@dataclass(frozen=True, slots=True)
class _Program:
    """A parser in Java: how it is trained on one file of ten columns, and run on another."""

    name: str
    variable: str
    train: str
    parse: str


# MaltParser with its defaults, except for liblinear instead of the slow kernels of libsvm.
PROGRAMS = (
    _Program(
        "MaltParser, liblinear",
        "MALTPARSER",
        "org.maltparser.Malt -c model -w . -i train -m learn -l liblinear",
        "org.maltparser.Malt -c model -w . -i test -o parsed -m parse",
    ),
    *(
        _Program(
            f"MSTParser, order {order}",
            "MSTPARSER",
            f"mstparser.DependencyParser train train-file:train model-name:model order:{order} format:CONLL",
            f"mstparser.DependencyParser test test-file:test model-name:model output-file:parsed order:{order} "
            "format:CONLL",
        )
        for order in (1, 2)
    ),
)


def run(setting: Setting) -> Result:
    """Every parser that is on this machine, on every treebank that it can be trained on in reasonable time."""
    rows = list[Row]()
    for name in DATA:
        parts = treebank(steps.Setting(setting.data, setting.quick), name)
        for program in PROGRAMS:
            # MSTParser would train for hours on the treebanks that have labels.
            if os.environ.get(program.variable) and (program.variable != "MSTPARSER" or name == "wsj-sample"):
                rows.append(_java(name, parts, program))
        if "deprel" in parts.train.columns:
            rows += _udpipe(name, parts)
    return Result(
        "other dependency parsers on the same files, gold tags, by their defaults; test files",
        rows,
        notes=[f"Java: seconds by the wall, speed from {REPEATS} times the test file without start-up and loading"],
    )


def _row(name: str, parser: str, test: trellis.Corpus, trees: Trees, times: Row) -> Row:
    gold = _trees(test)
    report = attachment(_words(test), gold, trees, subtypes=False)
    scores = {"UAS, %": 100 * report.uas}
    if "deprel" in test.columns:
        scores["LAS, %"] = 100 * report.las
    return {"corpus": name, "parser": parser, **scores, **times}


def _java(name: str, parts: Parts, program: _Program) -> Row:
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)

        def run(arguments: str) -> float:
            begun = time.perf_counter()
            command = ["java", "-Xmx12g", "-cp", os.environ[program.variable], *arguments.split()]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            return time.perf_counter() - begun

        _write(parts.train, folder / "train")
        trained = run(program.train)
        _write(parts.test, folder / "test", times=1 + REPEATS)
        long = run(program.parse)
        _write(parts.test, folder / "test")
        short = run(program.parse)
        lines = [line.split("\t") for line in (folder / "parsed").read_text().splitlines()]
    trees: Trees = [([], [])]
    for fields in lines:
        if len(fields) > 1:
            trees[-1][0].append(int(fields[6]))
            trees[-1][1].append(fields[7])
        elif trees[-1][0]:
            trees.append(([], []))
    speed = REPEATS * len(parts.test) / (long - short)
    times = {"sentences/s": speed, "training, s": trained}
    return _row(name, program.name, parts.test, [tree for tree in trees if tree[0]], times)


def _write(corpus: trellis.Corpus, file: Path, times: int = 1) -> None:
    """Write the ten columns of CoNLL-X; missing columns are underscores."""

    def column(*names: str) -> Iterable[list[str]]:
        for name in names:
            if name in corpus.columns and set(corpus.column(name).values) != {"_"}:
                return corpus.sentences(name)
        return [["_"] * len(words) for words in _words(corpus)]

    coarse, fine = column("upos", "pos"), column("xpos", "upos", "pos")  # MaltParser uses fine tags
    parts = (_words(corpus), column("lemma"), coarse, fine, column("feats"), column("head"), column("deprel"))
    sentences = [
        "".join(
            f"{at}\t" + "\t".join((*fields, "_", "_")) + "\n" for at, fields in enumerate(zip(*one, strict=True), 1)
        )
        for one in zip(*parts, strict=True)
    ]
    file.write_text("\n".join(sentences * times) + "\n", encoding="utf-8")


def _words(corpus: trellis.Corpus) -> list[list[str]]:
    return corpus.sentences("form" if "form" in corpus.columns else "word")


def _trees(corpus: trellis.Corpus) -> Trees:
    heads = [[int(head) for head in one] for one in corpus.sentences("head")]
    labelled = "deprel" in corpus.columns
    labels = corpus.sentences("deprel") if labelled else [["_"] * len(one) for one in heads]
    return list(zip(heads, labels, strict=True))


def _udpipe(name: str, parts: Parts) -> list[Row]:
    """UDPipe 1's parser with its defaults; the epoch is selected on dev, as for trellis."""
    try:
        from ufal.udpipe import InputFormat, Model, Pipeline, ProcessingError, Sentence, Sentences, Trainer
    except ImportError:
        return []
    error = ProcessingError()

    def sentences(file: Path) -> Any:
        reader, out, sentence = InputFormat.newConlluInputFormat(), Sentences(), Sentence()
        reader.setText(file.read_text())
        while reader.nextSentence(sentence, error):
            out.append(sentence)
            sentence = Sentence()
        return out

    with tempfile.TemporaryDirectory() as folder:
        files = {part: Path(folder) / f"{part}.conllu" for part in parts._fields}
        for part, file in files.items():
            trellis.write(getattr(parts, part), file)
        cpu = time.process_time()
        train, dev = sentences(files["train"]), sentences(files["dev"])
        trained = Trainer.train("morphodita_parsito", train, dev, "none", "none", "", error)
        seconds = time.process_time() - cpu
        model, parsed = Path(folder) / "model", Path(folder) / "parsed.conllu"
        model.write_bytes(trained)
        pipeline = Pipeline(Model.load(str(model)), "conllu", "none", Pipeline.DEFAULT, "conllu")
        text, cpu = files["test"].read_text(), time.process_time()
        parsed.write_text(pipeline.process(text, error))
        took = time.process_time() - cpu
        trees = _trees(trellis.read(parsed))
    times = {"sentences/s": len(parts.test) / took, "training, CPU s": seconds}
    return [_row(name, "UDPipe 1", parts.test, trees, times)]
