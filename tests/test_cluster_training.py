"""Training on workers of Ray: the bytes of one process, also where a worker is killed."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equal_models import learnt
from samples import random_corpus

import trellis

if os.environ.get("CI") != "true":
    pytest.importorskip("ray", reason="Ray (the extra trellis[ray]) is not installed")

SECONDS = 120  # after which a test that hangs ends all tests
GIVEN: dict[str, Any] = {"target": "label", "features": ["word[0]", "word[-1] & pos[0]"], "n_threads": 1}


@pytest.fixture(scope="module", autouse=True)
def no_hang() -> Iterator[None]:
    """A clear end of a hang."""
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every worker has some."""
    monkeypatch.setattr("trellis.learning.parameters.BLOCK_BYTES", 0)
    monkeypatch.setattr("trellis.learning.parameters.LEAST_BLOCK", 300)


@pytest.fixture(scope="module")
def workers(no_hang: None) -> Iterator[Any]:
    from trellis.interfaces.cluster.ray_workers import connect

    with connect(None, 3, SECONDS) as found:
        yield found


@pytest.fixture(scope="module")
def corpus() -> trellis.Corpus:
    made = random_corpus(3, 300, n_words=200, n_labels=9, longest=20)
    return made.take(np.flatnonzero(np.diff(made.starts)))


@pytest.fixture
def stream(corpus: trellis.Corpus, tmp_path: Path) -> Any:
    for i, (begin, end) in enumerate(pairwise([0, 60, 90, 200, len(corpus)])):
        trellis.write(corpus[begin:end], tmp_path / f"{i}.txt")
    return trellis.stream(str(tmp_path / "*.txt"), columns="word,pos,label")


@pytest.mark.parametrize(
    "learner", [trellis.CRF(epochs=8), trellis.CRF(epochs=8, c1=0.2), trellis.ExponentialLoss(epochs=3)]
)
def test_workers_give_the_bytes_of_one_process(learner: Any, workers: Any, corpus: trellis.Corpus, stream: Any) -> None:
    whole = trellis.train(corpus, learner=learner, **GIVEN)
    assert learnt(trellis.train(stream, learner=learner, workers=workers, **GIVEN)) == learnt(whole)


def test_a_worker_that_is_killed_is_made_anew(workers: Any, corpus: trellis.Corpus, stream: Any) -> None:
    killed = list[int]()

    def kill(event: trellis.Event) -> None:
        if event.epoch in (2, 5):
            found = subprocess.run(["pgrep", "-f", "ray::_Actor"], capture_output=True, text=True, check=False)
            pid = int(found.stdout.split()[event.epoch % 2])
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    learner = trellis.CRF(epochs=8)
    whole = trellis.train(corpus, learner=learner, **GIVEN)
    assert learnt(trellis.train(stream, learner=learner, workers=workers, observer=kill, **GIVEN)) == learnt(whole)
    assert len(killed) == 2


def test_errors_of_workers_are_those_of_one_process(workers: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x X A\n\n" * 5)
    (tmp_path / "b.txt").write_text("x X A\n\nx X\n")
    stream = trellis.stream([tmp_path / "a.txt", tmp_path / "b.txt"], columns="word,pos,label")
    with pytest.raises(trellis.CorpusError, match=r"b.txt:3: 2 fields"):
        trellis.train(stream, learner=trellis.CRF(epochs=2), workers=workers, **GIVEN)
