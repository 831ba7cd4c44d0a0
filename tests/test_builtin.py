"""Models that come along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import refused

import trellis
from experiments.truecaser import casing, corpora
from trellis.tasks.tagging.builtin import MODELS


def test_the_truecaser_knows_the_manual() -> None:
    """Also that of another Python than it was trained with; a small part of it is new."""
    _, test = corpora()
    report = trellis.load("builtin:truecase").evaluate(test)
    lower = sum(label == "lower" for labels in test.sentences("case") for label in labels) / test.n_tokens
    assert lower < 0.96
    assert report.token_accuracy > 0.98


@pytest.mark.parametrize(
    ("word", "label"),
    [("a", "lower"), ("It", "Title"), ("I", "Title"), ("NASA", "UPPER"), ("iOS", "MiXed"), ("3.5", "lower")],
)
def test_casing(word: str, label: str) -> None:
    assert casing(word) == label


def test_all_are_there_and_small() -> None:
    for name in MODELS:
        assert len(trellis.load(f"builtin:{name}").to_bytes()) < 100_000
    with pytest.raises(trellis.ModelError, match="builtin:truecase"):
        trellis.load("builtin:nothing")


def test_text_is_tagged_before_anyone_has_a_model(here: Path, call: Any) -> None:
    done = call("predict --text --inline", "in python this is an exception. it is raised.")
    assert done.out.splitlines() == [
        "in/Title python/Title this/lower is/lower an/lower exception/lower ./lower",
        "it/Title is/lower raised/lower ./lower",
    ]
    assert "builtin:truecase" in done.err
    assert call("predict --text -q -m builtin:truecase", "in python").err == ""
    assert "case" in call("info -m builtin:truecase").out
    refused(call("predict", "in python"), "--model", "--text")
