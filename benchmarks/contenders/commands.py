"""Peers that are built by hand and used where their commands are on the PATH: Wapiti, CRF++, hunpos, MarMoT.

MarMoT is a jar; ``marmot`` is to be a script that calls ``java -cp marmot.jar`` with its arguments.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rows import read_rows, take
from benchmarks.settings import CRFPP, WAPITI

Work = dict[str, Any]
# The preset ``chunking`` in the language that both read; B asks for label bigrams.
_PLACES = [
    *([(k, 0)] for k in range(-2, 3)),
    *([(k, 0), (k + 1, 0)] for k in (-1, 0)),
    *([(k, 1)] for k in range(-2, 3)),
    *([(k, 1), (k + 1, 1)] for k in range(-2, 2)),
    *([(k, 1), (k + 1, 1), (k + 2, 1)] for k in range(-2, 1)),
]
TEMPLATE = "".join(
    f"U{i:02}:{'/'.join(f'%x[{row},{column}]' for row, column in places)}\n" for i, places in enumerate(_PLACES)
)


def _clocked(command: Sequence[str], **options: Any) -> dict[str, float]:
    begun, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, **options)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"seconds": time.perf_counter() - begun, "cpu": cpu}


def _learnt(command: Sequence[str], model: str) -> Work:
    """The whole of a command that reads, makes features and learns; both print the objective of every iteration."""
    log = Path(f"{model}.log")
    with log.open("wb") as file:
        figures = _clocked(command, stdout=file, stderr=subprocess.STDOUT)
    objectives = re.findall(r"\bobj=([\d.e+]+)", log.read_text(encoding="utf-8", errors="replace"))
    return figures | {"objective": float(objectives[-1]), "epochs": len(objectives)}


def train_wapiti(work: Work, model: str, learner: str = "crf") -> Work:
    """By L-BFGS."""
    pattern = Path(f"{model}.pattern")
    pattern.write_text(TEMPLATE + "B\n", encoding="utf-8")
    return _learnt(["wapiti", "train", *WAPITI, "-p", str(pattern), work["train"], model], model)


def wapiti_file(work: Work, model: str, source: str, output: str) -> Work:
    """Its own command."""
    return _clocked(["wapiti", "label", "-m", model, source, output])


def train_crfpp(work: Work, model: str, learner: str = "crf") -> Work:
    """By L-BFGS."""
    template = Path(f"{model}.template")
    template.write_text(TEMPLATE + "B\n", encoding="utf-8")
    return _learnt(["crf_learn", *CRFPP, str(template), work["train"], model], model)


def crfpp_file(work: Work, model: str, source: str, output: str) -> Work:
    """Its own command."""
    return _clocked(["crf_test", "-m", model, "-o", output, source])


def train_hunpos(work: Work, model: str, learner: str = "hmm", epochs: int = 1) -> Work:
    """The whole of its command."""
    text = "".join(
        "".join(f"{token[0]}\t{token[-1]}\n" for token in sentence) + "\n" for sentence in read_rows(work["train"])
    )
    return _clocked(["hunpos-train", model], input=text.encode())


def hunpos_file(work: Work, model: str, source: str, output: str) -> Work:
    """Its own command, which reads words and writes words with tags."""
    text = "".join("".join(f"{token[0]}\n" for token in sentence) + "\n" for sentence in read_rows(source))
    with Path(output).open("wb") as file:
        return _clocked(["hunpos-tag", model], input=text.encode(), stdout=file)


def train_marmot(work: Work, model: str, learner: str = "crf", epochs: int = 10) -> Work:
    """Its trainer, order 1."""
    form = f"form-index=0,tag-index={work['columns'].count(',')},{work['train']}"
    options = ["-train-file", form, "-tag-morph", "false", "-order", "1", "-model-file", model]
    return _clocked(["marmot", "marmot.morph.cmd.Trainer", *options])


def marmot_file(work: Work, model: str, source: str, output: str) -> Work:
    """Its annotator."""
    files = ["--model-file", model, "--test-file", f"form-index=0,{source}", "--pred-file", output]
    return _clocked(["marmot", "marmot.morph.cmd.Annotator", *files])


def marmot_morph(train: str, test: str) -> Work:
    """Order 2 and all else as it comes. Files have rows of word, part of speech and features ("_": none); gives what
    training took, and the last two joined by "|" for the words of ``test``."""
    with tempfile.TemporaryDirectory() as folder:
        model, output = str(Path(folder) / "model"), str(Path(folder) / "tagged")
        files = ["-train-file", f"form-index=0,tag-index=1,morph-index=2,{train}", "-model-file", model]
        figures = _clocked(["marmot", "marmot.morph.cmd.Trainer", *files], stdout=subprocess.DEVNULL)
        marmot_file({}, model, test, output)
        tagged = read_rows(output)
    return figures | {"labels": [[f"{token[5]}|{token[7]}".removesuffix("|_") for token in rows] for rows in tagged]}


def _label(tag_file: Callable[..., Work], column: int = -1) -> Callable[..., Work]:
    """Tagging the test file is all they do: from file to file, model loaded."""

    def label(work: Work, model: str) -> Work:
        with tempfile.TemporaryDirectory() as folder:
            output = str(Path(folder) / "tagged")
            figures = tag_file(work, model, work["test"], output)
            return figures | {"labels": take(read_rows(output), column)}

    return label


label_wapiti, label_crfpp = _label(wapiti_file), _label(crfpp_file)
label_hunpos, label_marmot = _label(hunpos_file, 1), _label(marmot_file, 5)
