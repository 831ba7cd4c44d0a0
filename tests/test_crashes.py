"""What once ended the process or made it wait for ever, each by a public call, in a process of its own."""

import subprocess
import sys

import pytest

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
        t.tag_corpus(replace(corpus, starts=np.array(starts)))
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
        t.tag_corpus(replace(corpus, columns={"f": replace(column, starts=np.array(starts))}))
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
from trellis.model.tensor_file import write_tensors
from trellis.model import model_file
header = model_file._header(t.model)
tensors = model_file._tensors(t.model)
tensors["tri.places"], tensors["tri.weights"] = tensors["edge.places"], tensors["edge.weights"]
path = tempfile.mkdtemp() + "/model"
def claim(n_labels):
    import json
    header.update(order=2, labels=[str(i) for i in range(n_labels)])
    write_tensors(path, model_file.FORMAT, tensors, json.dumps(header))
    assert os.path.getsize(path) < 40_000
claim(600)  # 860 MB of label triples, nearly all of them zero
trellis.load(path)
# Not ru_maxrss, which counts the memory of the process that started this one.
status = dict(line.split(":") for line in open("/proc/self/status"))
assert int(status["VmHWM"].split()[0]) < 400 << 10, status["VmHWM"]
claim(1200)
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    trellis.load(path)
except trellis.ModelError as error:
    assert path in str(error)
    print("done")
"""
)


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
    ],
)
def test_process_lives(script: str) -> None:
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONMALLOC": "debug"},
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr[-2000:]
