"""What tests of the command line share: small files, and ways to run a command."""

from __future__ import annotations

import gzip
import importlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from trellis.interfaces.cli.main import module_of, run
from trellis.interfaces.cli.options import Parser

NOUNS, VERBS = ("dog", "cat", "boat", "tree"), ("sees", "likes", "finds")
SENTENCES = [(("the", "DT", "B-NP"), (n, "NN", "I-NP"), (v, "VB", "B-VP")) for n in NOUNS for v in VERBS]
COLUMNS = "".join("".join(f"{w} {p} {c}\n" for w, p, c in s) + "\n" for s in SENTENCES)
TRAIN = "train.txt --columns word,pos,chunk --target chunk --features chunking --learner perceptron --order 1"


def conllu(upos: dict[str, str]) -> str:
    out = []
    for i, sentence in enumerate(SENTENCES):
        out.append(f"# sent_id = {i}\n1-2\tthe{sentence[1][0]}" + "\t_" * 8 + "\n")
        for k, (word, pos, _) in enumerate(sentence, 1):
            out.append(f"{k}\t{word}\t_\t{upos.get(pos, '_')}" + "\t_" * 6 + "\n")
        out.append("3.1\tnull" + "\t_" * 8 + "\n\n")
    return "".join(out)


UPOS = conllu({"DT": "DET", "NN": "NOUN", "VB": "VERB"})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the examples, and in it."""
    (tmp_path / "train.txt").write_text(COLUMNS)
    (tmp_path / "test.txt").write_text(COLUMNS)
    (tmp_path / "en_ewt-ud-train.conllu.gz").write_bytes(gzip.compress(UPOS.encode()))
    (tmp_path / "en_ewt-ud-dev.conllu").write_text(UPOS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cache
def parser_of(name: str) -> Parser:
    """The parser of a command, with its options; words behind its name (``train --task parse``) may choose them."""
    name, *words = name.split()
    parser = Parser(f"trellis {name}", "", words)
    importlib.import_module(module_of(name)).describe(parser)
    return parser


class Done:
    """What a command left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.files = dict[str, bytes]()  # what was written, where a test keeps it


class Stdin:
    """Standard input with these bytes."""

    def __init__(self, content: str) -> None:
        self.buffer = io.BytesIO(content.encode())


def call_within(line: str | list[str], given: str = "") -> Done:
    """Run a command line in this process, with what it writes in memory: quick."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in (("stdin", Stdin(given)), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as left:
            run(line.split() if isinstance(line, str) else line)
    code = left.value.code
    texts = (stream.buffer.getvalue().decode(errors="replace") for stream in (out, err))  # type: ignore[attr-defined]
    return Done(code if isinstance(code, int) else 0, *texts)


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run a command line in this process: quick."""

    def call_it(line: str | list[str], given: str = "", main: Callable[[list[str]], object] = run) -> Done:
        monkeypatch.setattr(sys, "stdin", Stdin(given))
        with pytest.raises(SystemExit) as left:
            main(line.split() if isinstance(line, str) else line)
        code = left.value.code
        return Done(code if isinstance(code, int) else 0, *capfd.readouterr())

    return call_it


@pytest.fixture
def chunk(here: Path, call: Callable[..., Done]) -> Path:
    assert call(f"train {TRAIN} --epochs 5 --model chunk.trellis --quiet").code == 0
    return here / "chunk.trellis"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(line, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path})


def refused(done: Done, *words: str) -> None:
    """One line on standard error, exit 2."""
    assert done.code == 2
    assert done.err.startswith("trellis: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


@pytest.fixture
def control_c() -> Iterator[None]:
    """Signals are heard by this process and by those it starts, even where they are ignored from birth (nohup)."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
