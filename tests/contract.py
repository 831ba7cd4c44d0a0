"""What the tests of all kinds of models share."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import KINDS, Kind, model_of


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of model."""
    found: Kind = request.param
    return found


@pytest.fixture
def model(kind: Kind) -> Any:
    """The model of a kind."""
    return model_of(kind.name)


def one_line(error: pytest.ExceptionInfo[BaseException]) -> str:
    """The message of an error, which is one line."""
    message = str(error.value)
    assert message
    assert "\n" not in message
    return message


def answers(kind: Kind, model: Any) -> list[Any]:
    """What a model says of the inputs of its kind."""
    inputs = (*kind.inputs, kind.token, kind.empty[0])
    return [model.predict(x) if "kbest" in kind.no_answer else model.kbest(x, 3) for x in inputs]
