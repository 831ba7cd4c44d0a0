"""Threads: an exception in one reaches the caller, and fewer than asked for are as good as many."""

import ctypes
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trellis
from trellis.corpus.columns import Layout
from trellis.corpus.stream import map_pieces

LIMIT = """
import resource
def leave(megabytes):
    used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), used + (megabytes << 20)))
"""

MANY_THREADS = """
import trellis
corpus = {"w": [["a", "b", "c"]] * 400, "y": [["X", "Y", "X"]] * 400}
trellis.train(corpus, target="y", features=["w[0]"], learner=trellis.CRF(), n_threads=1)
leave(ROOM)
try:
    tagger = trellis.train(corpus, target="y", features=["w[0]"], learner=trellis.CRF(), n_threads=4000)
    print(*tagger.tag(["a", "b", "c"]))
except MemoryError:
    print("MemoryError")
"""

LONG_SENTENCES = """
import numpy as np
from trellis.engine.chain import Chains, Tables
T, L = 60_000, 40
emit = np.zeros((2 * T, L), np.float32)
edge, tri = np.zeros((1, L + 1, L), np.float32), np.zeros((L + 1, L + 1, L), np.float32)
starts = np.array([0, T] + [T] * 31 + [2 * T])  # one block of sentences for each of the two
leave(500)
try:
    Chains(Tables(emit, edge, tri, None), starts).best(2)
except MemoryError:
    print("MemoryError")
"""


def run(script: str) -> str:
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize("room", [50, 200, 2000])  # megabytes; a thread's stack takes 8
def test_more_threads_than_the_system_gives(room: int) -> None:
    assert run(LIMIT + MANY_THREADS.replace("ROOM", str(room))) in ("X Y X", "MemoryError")


def test_a_thread_that_runs_out_of_memory() -> None:
    assert run(LIMIT + LONG_SENTENCES) == "MemoryError"


# ---------------------------------------------------------------------------- no thread at all

CORPUS = {"word": [["a", "b", "c"], ["b", "a"]] * 20, "label": [["A", "B", "A"], ["B", "A"]] * 20}
TREEBANK = {
    "word": [["the", "dog", "saw", "Ann"], ["Ann", "ran"]] * 4,
    "pos": [["D", "N", "V", "N"], ["N", "V"]] * 4,
    "head": [["2", "3", "0", "3"], ["2", "0"]] * 4,
    "deprel": [["det", "subj", "root", "obj"], ["subj", "root"]] * 4,
}
BRACKETS = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NNP Ann))))\n(S (NP (NNP Ann)) (VP (VBD ran)))\n"
SEGMENTED = ["ab cd e", "cd ab", "e ab cd"] * 3


class Colours:
    """A structure with three outputs."""

    def candidates(self, x: str) -> list[str]:
        return list("abc")

    def features(self, x: str, y: str) -> dict[str, float]:
        return {f"{x}&{y}": 1.0, y: 0.5}


def tagger(corpus: Any = CORPUS, **options: Any) -> Any:
    return trellis.train(
        corpus, target="label", features=["word[0]", "word[-1]"], learner=trellis.Perceptron(epochs=2), **options
    )


def tree_parser(folder: Path) -> Any:
    (folder / "trees.mrg").write_text(BRACKETS)
    return trellis.TreeParser.train(str(folder / "trees.mrg"))


# Functions that train and load a model of each kind.
FILES: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
    "tagger": (lambda folder: tagger(), trellis.load),
    "parser": (lambda folder: trellis.Parser.train(TREEBANK, learner=trellis.Perceptron(epochs=1)), trellis.load),
    "tree parser": (tree_parser, trellis.load),
    "segmenter": (lambda folder: trellis.Segmenter.train(SEGMENTED), trellis.Segmenter.load),
    "reranker": (
        lambda folder: trellis.Reranker.train(trellis.read(CORPUS), tagger=tagger, k=2, folds=2),
        trellis.load,
    ),
    "structured": (
        lambda folder: trellis.StructuredModel.train([("x", "a"), ("y", "b"), ("z", "c")], problem=Colours()),
        lambda path: trellis.StructuredModel.load(path, problem=Colours()),
    ),
}


@pytest.fixture
def no_threads() -> Iterator[Callable[[], None]]:
    """Calling it makes the system refuse every new thread: its stack would be larger than the address space."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "pthread_setattr_default_np"):
        pytest.skip("needs the GNU C library")
    before, attributes = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    assert libc.pthread_getattr_default_np(before) == 0
    assert libc.pthread_attr_init(attributes) == 0
    assert libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 47)) == 0

    def refuse() -> None:
        assert libc.pthread_setattr_default_np(attributes) == 0
        with pytest.raises(RuntimeError, match="new thread"):
            threading.Thread(target=print).start()

    yield refuse
    assert libc.pthread_setattr_default_np(before) == 0


@pytest.mark.parametrize("kind", FILES)
def test_files_where_no_thread_can_be_had(kind: str, no_threads: Callable[[], None], tmp_path: Path) -> None:
    train, load = FILES[kind]
    model = train(tmp_path)
    model.save(tmp_path / "before")
    no_threads()
    model.save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()
    load(tmp_path / "before").save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "before").read_bytes()


def test_training_where_no_thread_can_be_had(no_threads: Callable[[], None], tmp_path: Path) -> None:
    def bits(name: str) -> list[bytes]:
        trained = tagger(checkpoint=tmp_path / name, n_threads=2)
        resumed = tagger(checkpoint=tmp_path / name, n_threads=2)
        pruned = tagger(search=trellis.Search(prune=0.9), n_threads=2)
        assert trained.tag_batch(CORPUS["word"], n_threads=2) == CORPUS["label"]
        return [model.to_bytes() for model in (trained, resumed, pruned)] + [(tmp_path / name).read_bytes()]

    before = bits("before")
    no_threads()
    assert bits("after") == before


def test_pieces_where_no_thread_can_be_had(no_threads: Callable[[], None], tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("a A\n\nb B\n\n" * 40)

    no_threads()
    pieces = list(map_pieces(lambda piece: piece.text, str(tmp_path / "corpus"), Layout(), 2, 64))
    assert len(pieces) > 2
    assert b"".join(pieces) == (tmp_path / "corpus").read_bytes()
