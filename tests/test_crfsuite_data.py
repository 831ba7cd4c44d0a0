"""CRFsuite's data files, as CRFsuite reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import refused

import trellis

TEXT = "B-NP\tw=the\tcap\tx\\:y:0.5\nI-NP\tw=big dog\tback\\\\slash\n\n\nO\tw=ran:2\ta\ta:1.5\n"


@pytest.fixture
def data(here: Path) -> Path:
    path = here / "data.crf"
    path.write_text(TEXT)
    return path


def test_attributes_values_and_escapes(data: Path) -> None:
    corpus = trellis.read(data, format="crfsuite")
    assert list(corpus) == [
        {
            "attributes": [{"w=the": 1.0, "cap": 1.0, "x:y": 0.5}, {"w=big dog": 1.0, "back\\slash": 1.0}],
            "label": ["B-NP", "I-NP"],
        },
        {"attributes": [{"w=ran": 2.0, "a": 2.5}], "label": ["O"]},
    ]


def test_written_and_read_again(data: Path, here: Path) -> None:
    corpus = trellis.read(data, format="crfsuite")
    trellis.write(corpus, here / "again", format="crfsuite")
    assert list(trellis.read(here / "again", format="crfsuite")) == list(corpus)
    trellis.write(trellis.read({"w": [["a:b"]], "y": [["A"]]}), here / "columns", format="crfsuite")
    assert (here / "columns").read_text() == "A\tw=a\\:b\n\n"


@pytest.mark.parametrize(
    ("text", "line", "why"), [("A\ta:b\n", 1, "colon"), ("A\ta\n\n@weight:2\nA\ta\n", 3, "sample_weight")]
)
def test_what_is_wrong_is_said_with_its_line(here: Path, text: str, line: int, why: str) -> None:
    (here / "bad").write_text(text)
    with pytest.raises(trellis.CorpusError, match=why) as error:
        trellis.read(here / "bad", format="crfsuite")
    assert error.value.line == line


def test_bytes_that_are_not_text(here: Path) -> None:
    (here / "bad").write_bytes(b"A\ta\nA\t\xff\n")
    with pytest.raises(trellis.CorpusError, match="UTF-8"):
        trellis.read(here / "bad", format="crfsuite")


def test_on_the_command_line(data: Path, here: Path, call: Any) -> None:
    """No features are named: there is nothing but the attributes. The model remembers the format."""
    assert call("train data.crf --format crfsuite --learner crf --model m --quiet").code == 0
    done = call("predict -m m data.crf --quiet")
    assert [line.partition("\t")[0] for line in done.out.splitlines()] == ["B-NP", "I-NP", "", "O", ""]
    assert call("evaluate -m m data.crf").out.splitlines()[-2].split()[:3] == ["token", "accuracy", "100.00"]
    assert trellis.load("m").evaluate("data.crf").token_accuracy == 1
    refused(call("predict -m m", "A\ta:b\n"), "<stdin>:1", "colon")


def test_the_same_weights_as_from_lists(data: Path) -> None:
    """And CRFsuite itself takes the same attributes from such a line."""
    corpus = trellis.read(data, format="crfsuite")
    lists = {"attributes": [s["attributes"] for s in corpus], "label": corpus.sentences("label")}
    one, other = (trellis.train(c, target="label", learner=trellis.CRF(epochs=9)) for c in (corpus, lists))
    assert one.top_features(100) == other.top_features(100)
