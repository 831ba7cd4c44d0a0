"""What once ended the process or made it wait for ever, each by a public call, in a process of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trellis

ATTRIBUTES = """
import trellis
t = trellis.train({"f": [[{"w": "a", "len": 1.0}]], "y": [["A"]]}, target="y", features=["f[0]"])
class Value:
    def __init__(self, do): self.do = do
    def __float__(self):
        self.do()
        self.junk = [bytes(60) for _ in range(2000)]
        return 1.0
"""
ONE_COLUMN = """
import numpy as np, trellis
from dataclasses import replace
t = trellis.train({"w": [["a", "b"]] * 4, "y": [["A", "B"]] * 4}, target="y", features=["w[0]"])
"""

DICT_CHANGES = (
    ATTRIBUTES
    + """
for i in range(200):
    d = {}
    d[f"key-{i}-" + "x" * 40] = Value(d.clear)
    assert t.tag([d]) == ["A"]
print("done")
"""
)
SENTENCE_CHANGES = (
    ATTRIBUTES
    + """
for i in range(200):
    sentence = []
    sentence += [{f"key-{i}-" + "x" * 40: Value(sentence.clear)}, {"w": "a"}]
    assert t.tag(sentence) == ["A", "A"]
    later = [{"w": "a"}]
    assert t.tag_batch([[{"w": "a", "x": Value(later.clear)}], later]) == [["A"], ["A"]]
    corpus = {"f": [[{"a": Value(sentence.clear)}, {"b": 1}]]}
    trellis.read(corpus)
print("done")
"""
)
TAGS_AGAIN = (
    ATTRIBUTES
    + """
assert t.tag([{"a": Value(lambda: t.tag([{"w": "a"}]))}]) == ["A"]
print("done")
"""
)
NEGATIVE_START = (
    ONE_COLUMN
    + """
corpus = trellis.read({"w": [["a", "b"] * 4]})
for starts in ([-100_000, 8], [0, 100_000, 8], [8, 0]):
    try:
        t.tag_column(replace(corpus, starts=np.array(starts)))
    except ValueError as error:
        assert "starts" in str(error), error
    else:
        raise AssertionError(starts)
print("done")
"""
)
BAG_STARTS = (
    ATTRIBUTES
    + """
import numpy as np
from dataclasses import replace
corpus = trellis.read({"f": [[{"w": "a"}, {"w": "b"}, {"w": "c"}]]})
column = corpus.columns["f"]
for starts in ([0, 10**6, 2, 3], [0, -10**6, 2, 3]):
    try:
        t.tag_column(replace(corpus, columns={"f": replace(column, starts=np.array(starts))}))
    except ValueError as error:
        assert "starts" in str(error), error
    else:
        raise AssertionError(starts)
print("done")
"""
)
FORK = """
import itertools, os, signal, threading, time, trellis
t = trellis.train({"w": [["a", "b"]] * 4, "y": [["A", "B"]] * 4}, target="y", features=["w[0]"])
numbers = itertools.count()
def work():
    while True:
        t.tag_batch([[f"w{next(numbers)}" for _ in range(20)] for _ in range(50)])
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for k in range(12):
    time.sleep(0.02)
    child = os.fork()
    if not child:
        signal.alarm(10)  # ends a child that is stuck
        assert t.tag([f"z{k}{j}" for j in range(5)]) == t.tag([f"y{k}{j}" for j in range(5)])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
os._exit(0)
"""
CHANGED_FILE = (
    ONE_COLUMN
    + """
import os, tempfile
path = tempfile.mkdtemp() + "/model"
for change in (lambda: os.truncate(path, 0), lambda: open(path, "r+b").write(b"\\xff" * os.path.getsize(path))):
    t.save(path)
    loaded = trellis.load(path)
    change()
    assert loaded.tag(["a", "b"]) == ["A", "B"]
    try:
        trellis.load(path)
    except trellis.ModelError:
        pass
t.save(path)
assert trellis.load(path, copy=False).tag(["a", "b"]) == ["A", "B"]
print("done")
"""
)
LARGE_CLAIM = (
    ONE_COLUMN
    + """
import os, resource, tempfile
from trellis._support.tensor_file import write_tensors
from trellis.tasks.tagging import file as model_file
header = model_file.header_of(t.model)
tensors = model_file.tensors_of(t.model)
tensors["tri.places"], tensors["tri.weights"] = tensors["edge.places"], tensors["edge.weights"]
path = tempfile.mkdtemp() + "/model"
def claim(n_labels):
    import json
    header.update(order=2, labels=[str(i) for i in range(n_labels)])
    write_tensors(path, model_file.FORMAT, tensors, json.dumps(header))
    assert os.path.getsize(path) < 40_000
claim(400)  # 257 MB of label triples, nearly all of them zero
trellis.load(path)
# Not ru_maxrss, which counts the memory of the process that started this one.
status = dict(line.split(":") for line in open("/proc/self/status"))
assert int(status["VmHWM"].split()[0]) < 200 << 10, status["VmHWM"]
claim(1200)
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    trellis.load(path)
except trellis.ModelError as error:
    assert path in str(error)
    print("done")
"""
)

DAEMONS = """
import threading, time
import numpy as np
import trellis
from trellis import _core
corpus = {"w": [["a", "b", "c"]] * 20, "y": [["A", "B", "A"]] * 20}
t = trellis.train(corpus, target="y", features=["w[0]"], learner=trellis.Perceptron(epochs=1))
treebank = {"word": [["a", "b"]] * 9, "pos": [["A", "B"]] * 9, "head": [["2", "0"]] * 9, "deprel": [["x", "root"]] * 9}
p = trellis.Parser.train(treebank, learner=trellis.Perceptron(epochs=1))
class Value:
    def __float__(self):
        for _ in range(1000): pass
        return 1.0
b = trellis.train({"f": [[{"w": "a"}]], "y": [["A"]]}, target="y", features=["f[0]"])
calls = [
    lambda: t.tag_batch(corpus["w"] * 50, n_threads=2),
    lambda: trellis.train(corpus, target="y", features=["w[0]"], learner=trellis.CRF(epochs=20), n_threads=1),
    lambda: trellis.train(corpus, target="y", features=["w[0]"], learner=trellis.Perceptron(epochs=200)),
    lambda: p.parse_batch([{"word": ["a", "b"], "pos": ["A", "B"]}] * 50),
    lambda: trellis.Tagger.from_bytes(t.to_bytes()),
    lambda: b.tag([{"w": Value()}] * 100),
    lambda: trellis.brown_clusters(trellis.read({"word": [["a", "b", "c", "d"]] * 50}), 2),
]
def loop(call):
    while True: call()
class Slow:
    def __float__(self):
        while True: time.sleep(0.001)
    __index__ = __float__
x, past = np.zeros(2), np.zeros((1, 2), np.uint16)
calls += [lambda: _core.history_sum(past, past, Slow(), x, x[:1], x[:1], 1), lambda: _core.shuffled(Slow(), 1)]
for call in calls:
    threading.Thread(target=loop, args=(call,), daemon=True).start()
time.sleep(0.5)
print("done", flush=True)
"""


@pytest.mark.parametrize(
    "script",
    [
        DICT_CHANGES,
        SENTENCE_CHANGES,
        TAGS_AGAIN,
        NEGATIVE_START,
        BAG_STARTS,
        FORK,
        CHANGED_FILE,
        LARGE_CLAIM,
        DAEMONS,
    ],
    ids=[
        "dict changes",
        "sentence changes",
        "tags again",
        "negative start",
        "bag starts",
        "fork",
        "changed file",
        "large claim",
        "daemon threads at exit",
    ],
)
def test_process_lives(script: str) -> None:
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONMALLOC": "debug"},
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr[-2000:]


# ---------------------------------------------------------------------------- memory refused

REFUSING = r"""
#include <atomic>
#include <cstdlib>
#include <new>
static std::atomic<long> left{-1}, counted{0};
extern "C" void refuse_new(long n) { counted = 0, left = n; }
extern "C" long count_new() { return counted; }
static void* take(std::size_t n, std::size_t align) {
  ++counted;
  if (left > 0 && left.fetch_sub(1) == 1) throw std::bad_alloc();
  void* p = align ? std::aligned_alloc(align, (n + align - 1) / align * align) : std::malloc(n ? n : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
void* operator new(std::size_t n) { return take(n, 0); }
void* operator new[](std::size_t n) { return take(n, 0); }
void* operator new(std::size_t n, std::align_val_t a) { return take(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take(n, std::size_t(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
"""
# Each of the first allocations of a call is refused once, in a child of its own; afterwards the call must succeed.
REFUSED = """
import ctypes, os, signal, trellis
library = ctypes.CDLL(os.environ["LD_PRELOAD"])
refuse = lambda n: library.refuse_new(ctypes.c_long(n))
corpus = {"w": [["a", "b", "c"]] * 20, "p": [["x", "y", "x"]] * 20, "y": [["A", "B", "A"]] * 20}
options = {"target": "y", "features": ["w[0]", "p[0] & p[1]"], "n_threads": 2}
train = lambda learner: trellis.train(corpus, learner=learner, **options)
data = train(trellis.Perceptron(epochs=1)).to_bytes()
sentence = [("a", "x"), ("b", "y")]
treebank = {"word": [["a", "b"]] * 9, "pos": [["A", "B"]] * 9, "head": [["2", "0"]] * 9, "deprel": [["x", "root"]] * 9}
calls = {
    "load": lambda: trellis.Tagger.from_bytes(data),
    "tag": lambda: tagger.tag(sentence),
    "many": lambda: tagger.tag_batch([[(f"{i}-{k}", "x") for k in range(8)] for i in range(90)], n_threads=2),
    "marginals": lambda: tagger.marginals(sentence),
    "perceptron": lambda: train(trellis.Perceptron(epochs=1)),
    "crf": lambda: train(trellis.CRF(epochs=2)),
    "parser": lambda: trellis.Parser.train(treebank, learner=trellis.Perceptron(epochs=1)),
}
for call in calls.values():  # what is imported by a call is imported before
    tagger = trellis.Tagger.from_bytes(data)
    call()
for name, call in calls.items():
    tagger = trellis.Tagger.from_bytes(data)
    refuse(-1), call()
    for n in sorted({*range(1, 13), *range(1, library.count_new(), max(1, library.count_new() // 12))}):
        child = os.fork()
        if not child:
            signal.alarm(20)
            tagger = trellis.Tagger.from_bytes(data)
            refuse(n)
            try:
                call()
            except (MemoryError, trellis.TrellisError) as error:
                if "damaged" in str(error): os._exit(3)
            refuse(-1)
            call()
            assert tagger.tag(sentence) == ["A", "B"]
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert status == 0, (name, n, status)
print("done")
"""


def test_refused_memory_is_an_error_and_no_more(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a compiler and LD_PRELOAD")
    (tmp_path / "refusing.cpp").write_text(REFUSING)
    library = tmp_path / "refusing.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "refusing.cpp"], check=True)
    run = [sys.executable, "-c", REFUSED]
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    result = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr[-2000:]


ROOM = """
import resource, sys, numpy, trellis, trellis.tasks.tagging.file, trellis.tasks.tagging.model
path = sys.argv[1]  # nothing is loaded before: the stacks of threads that have ended are used again
used = int(open("/proc/self/statm").read().split()[0]) * 4096
for megabytes in range(30):
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))
    try:
        trellis.load(path)
    except (MemoryError, trellis.ModelError) as error:
        assert "damaged" not in str(error) and "inconsistent" not in str(error), error
print("done")
"""


def test_memory_that_runs_out_is_not_called_damage(tmp_path: Path) -> None:
    words = [[f"w{i}-{j}" for j in range(20)] for i in range(1000)]
    corpus = {"w": words, "y": [[f"L{j % 9}" for j in range(20)]] * 1000}
    features = ["w[0]", "w[-1]", "w[0] & w[1]"]
    tagger = trellis.train(corpus, target="y", features=features, learner=trellis.Perceptron(epochs=1))
    tagger.save(tmp_path / "model")
    run = [sys.executable, "-c", ROOM, tmp_path / "model"]
    result = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr[-2000:]
