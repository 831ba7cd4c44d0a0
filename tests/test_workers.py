"""Training on workers: the bytes of one machine, whatever the number of workers and of files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equal_models import learnt
from samples import random_corpus

import trellis
from trellis.learning.workers import WorkersHere

FEATURES = ["word[0]", "word[-1] & pos[0]", "suffix(word[0], 1)", "rare_suffix(word[0], 2)", "label[-1] & word[0]"]
LEARNERS = {
    "crf": trellis.CRF(epochs=8),
    "crf, L1": trellis.CRF(epochs=8, c1=0.2),
    "crf, double": trellis.CRF(epochs=5, precision="double", warm_up=0),
    "crf, all transitions": trellis.CRF(epochs=4, transitions="all", start=False),
    "exponential": trellis.ExponentialLoss(epochs=4),
    "maxent": trellis.MaxEnt(epochs=4),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of some sentences, blocks of some more."""
    monkeypatch.setattr("trellis.corpus.on_disk.CHUNK", 100)
    monkeypatch.setattr("trellis.learning.parameters.BLOCK_BYTES", 0)
    monkeypatch.setattr("trellis.learning.parameters.LEAST_BLOCK", 300)


def files_of(corpus: trellis.Corpus, folder: Path, *cuts: int) -> list[Path]:
    """The corpus in several files."""
    paths, ends = list[Path](), [0, *cuts, len(corpus)]
    for i, (begin, end) in enumerate(pairwise(ends)):
        paths.append(folder / f"{i}.txt")
        trellis.write(corpus[begin:end], paths[-1])
    return paths


def both(corpus: trellis.Corpus, paths: list[Path], workers: Any, **more: Any) -> tuple[bytes, bytes]:
    """The model of one process, and that of workers."""
    given: dict[str, Any] = {"target": "label", "features": FEATURES, "learner": trellis.CRF(epochs=6), **more}
    stream = trellis.stream(paths, columns="word,pos,label")
    return learnt(trellis.train(corpus, **given)), learnt(trellis.train(stream, **given, workers=workers))


@pytest.fixture(scope="module")
def large() -> trellis.Corpus:
    """Enough tokens for several blocks."""
    corpus = random_corpus(3, 200, n_words=60, n_labels=9, longest=20)
    return corpus.take(np.flatnonzero(np.diff(corpus.starts)))  # files of columns have no empty sentences


@pytest.mark.parametrize("name", LEARNERS)
def test_workers_give_the_bytes_of_one_process(name: str, large: trellis.Corpus, tmp_path: Path) -> None:
    paths = files_of(large, tmp_path, 20, 90, 95, 150)
    for n in (1, 2, 3, 9):
        one, several = both(large, paths, WorkersHere(n), learner=LEARNERS[name], features=FEATURES[:2])
        assert several == one
