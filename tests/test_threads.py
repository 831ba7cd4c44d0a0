"""Threads: an exception in one reaches the caller, and fewer than asked for are as good as many."""

import subprocess
import sys

import pytest

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
from trellis import _core
T, L = 60_000, 40
emit = np.zeros((2 * T, L), np.float32)
edge, tri = np.zeros((1, L + 1, L), np.float32), np.zeros((L + 1, L + 1, L), np.float32)
starts = np.array([0, T] + [T] * 31 + [2 * T])  # one block of sentences for each of the two
leave(500)
try:
    _core.best_paths((emit, edge, tri, None, None, None), starts, None, n_threads=2)
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
