"""Training on a Ray cluster of three nodes: the same bytes when nodes, workers or the training process are lost."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equal_models import learnt
from ray_processes import actors
from samples import random_corpus

import trellis

if os.environ.get("CI") != "true":
    pytest.importorskip("ray", reason="Ray (the extra trellis[ray]) is not installed")

SECONDS = 120  # after which a call that has no answer is an error
OPTIONS: dict[str, Any] = {"target": "label", "features": ["word[0]", "word[-1] & pos[0]"], "n_threads": 1}
LEARNERS = {"CRF": trellis.CRF(epochs=9), "shards": trellis.Perceptron(epochs=9, shards=6)}


@pytest.fixture(scope="module", autouse=True)
def no_hang() -> Iterator[None]:
    """A test that hangs ends all tests with a traceback."""
    faulthandler.dump_traceback_later(4 * SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every worker has some."""
    monkeypatch.setattr("trellis.learning.parameters.BLOCK_BYTES", 0)
    monkeypatch.setattr("trellis.learning.parameters.LEAST_BLOCK", 300)


@pytest.fixture(scope="module")
def cluster(no_hang: None) -> Iterator[Any]:
    """A head without cores, and three nodes of two."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}, connect=False)
    for _ in range(3):
        made.add_node(num_cpus=2)
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def corpus() -> trellis.Corpus:
    made = random_corpus(3, 300, n_words=200, n_labels=9, longest=20)
    return made.take(np.flatnonzero(np.diff(made.starts)))


@pytest.fixture(scope="module")
def files(corpus: trellis.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for i, (begin, end) in enumerate(pairwise([0, 60, 90, 200, len(corpus)])):
        trellis.write(corpus[begin:end], folder / f"{i}.txt")
    return folder


def train(files: Path, workers: Any, learner: Any, observer: Callable[[trellis.Event], None] | None = None) -> bytes:
    stream = trellis.stream(str(files / "*.txt"), columns="word,pos,label")
    return learnt(trellis.train(stream, learner=learner, workers=workers, observer=observer, **OPTIONS))


@pytest.mark.parametrize("name", LEARNERS)
def test_nodes_give_the_bytes_of_one_process(name: str, cluster: Any, corpus: trellis.Corpus, files: Path) -> None:
    expected = learnt(trellis.train(corpus, learner=LEARNERS[name], **OPTIONS))
    with trellis.cluster.connect(cluster.address, 3, SECONDS) as workers:
        assert train(files, workers, LEARNERS[name]) == expected


@pytest.mark.parametrize("name", LEARNERS)
def test_a_node_that_is_killed(name: str, cluster: Any, corpus: trellis.Corpus, files: Path) -> None:
    killed = list[Any]()

    def kill(event: trellis.Event) -> None:
        if event.epoch != 4:
            return
        busy = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in actors()}
        node = next(node for node in cluster.worker_nodes if node.all_processes["raylet"][0].process.pid in busy)
        cluster.remove_node(node, allow_graceful=False)  # kill -9
        killed.append(node)

    expected = learnt(trellis.train(corpus, learner=LEARNERS[name], **OPTIONS))
    with trellis.cluster.connect(cluster.address, 3, SECONDS) as workers:
        assert train(files, workers, LEARNERS[name], kill) == expected
    assert len(killed) == 1
    cluster.add_node(num_cpus=2)


def test_a_worker_that_hangs_is_replaced(
    cluster: Any, corpus: trellis.Corpus, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trellis.interfaces.cluster.ray_actors.LEAST_SECONDS", 3.0)
    stopped = list[int]()

    def stop(event: trellis.Event) -> None:
        if event.epoch == 3:
            stopped.append(actors()[0])
            os.kill(stopped[0], signal.SIGSTOP)

    expected = learnt(trellis.train(corpus, learner=LEARNERS["CRF"], **OPTIONS))
    with trellis.cluster.connect(cluster.address, 3, SECONDS) as workers:
        assert train(files, workers, LEARNERS["CRF"], stop) == expected
    assert len(stopped) == 1


def test_workers_that_do_not_answer_are_named(cluster: Any, files: Path) -> None:
    def stop(event: trellis.Event) -> None:
        if event.epoch == 3:
            for pid in actors():
                os.kill(pid, signal.SIGSTOP)

    begun = time.monotonic()
    with (
        trellis.cluster.connect(cluster.address, 2, 15) as workers,
        pytest.raises(
            trellis.TrellisError, match=r"worker 1 of 2, worker 2 of 2: no answer to 'of_part' in 15 seconds"
        ),
    ):
        train(files, workers, LEARNERS["CRF"], stop)
    assert time.monotonic() - begun < SECONDS


DRIVER = """
import os, signal, sys
from pathlib import Path
import trellis
from trellis.learning import parameters
address, files, checkpoint, model, last = sys.argv[1:]
parameters.BLOCK_BYTES, parameters.LEAST_BLOCK = 0, 300

def stop(event):
    if event.epoch == int(last):
        os.kill(os.getpid(), signal.SIGKILL)

stream = trellis.stream(f"{files}/*.txt", columns="word,pos,label")
with trellis.cluster.connect(address, 2, 60) as workers:
    tagger = trellis.train(stream, target="label", features=["word[0]", "word[-1] & pos[0]"], n_threads=1,
        learner=trellis.CRF(epochs=9), workers=workers, checkpoint=checkpoint, observer=stop)
tagger.save(model)
"""


def test_a_driver_that_is_killed_resumes(cluster: Any, corpus: trellis.Corpus, files: Path, tmp_path: Path) -> None:
    expected = learnt(trellis.train(corpus, learner=LEARNERS["CRF"], **OPTIONS))

    def drive(last: int) -> int:
        arguments = [cluster.address, files, tmp_path / "crf.checkpoint", tmp_path / "crf.trellis", last]
        return subprocess.run(
            [sys.executable, "-c", DRIVER, *map(str, arguments)], timeout=SECONDS, check=False
        ).returncode

    assert drive(3) == drive(6) == -signal.SIGKILL
    assert (tmp_path / "crf.checkpoint").exists()
    assert drive(0) == 0
    assert learnt(trellis.load(tmp_path / "crf.trellis")) == expected
