"""Exceptions: all of them survive a copy, and reach the process that started the one they were raised in."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import pickle
import re
from pathlib import Path

import pytest

import experiments
import trellis
from experiments.data import MissingCorpusError
from trellis._support import errors
from trellis._support.errors import UnknownFunctionError
from trellis.corpus.files import EmptyError
from trellis.interfaces.cluster.ray_actors import ClusterError
from trellis.interfaces.compat.pycrfsuite import CRFSuiteError, NotOpenError
from trellis.interfaces.serve.door import TurnedAwayError
from trellis.interfaces.studio.workbook import ConflictError

EXCEPTIONS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
OTHERS = [trellis.StopTrainingError, TurnedAwayError, ConflictError, UnknownFunctionError]
OTHERS += [EmptyError, MissingCorpusError, CRFSuiteError, NotOpenError, ClusterError]


def test_all_exceptions_are_copied() -> None:
    """No exception of the package or of the experiments is missing below."""
    found = set[str]()
    folders = (Path(package.__file__).parent for package in (trellis, experiments))
    for path in itertools.chain.from_iterable(folder.rglob("*.py") for folder in folders):
        found |= set(
            re.findall(r"^class ([A-Za-z]\w*)\(.*(?:Error|Exception|Warning)\):", path.read_text(), re.MULTILINE)
        )
    assert found == {kind.__name__ for kind in (*EXCEPTIONS, *OTHERS)}


@pytest.mark.parametrize("kind", [*EXCEPTIONS, *OTHERS])
def test_exceptions_are_copied(kind: type[Exception]) -> None:
    values = ("a.txt", 3) if issubclass(kind, errors.CorpusError) else (404,) if kind is TurnedAwayError else ()
    error = kind(*values, "no label")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_an_error_in_a_worker_reaches_its_pool() -> None:
    with (
        multiprocessing.get_context("spawn").Pool(1) as pool,
        pytest.raises(errors.CorpusError, match=r"nowhere\.txt"),
    ):
        pool.map_async(trellis.read, ["nowhere.txt"]).get(timeout=60)
