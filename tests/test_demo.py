"""The demo on a part of its text: the same seed gives the same figures."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import trellis
from examples import english, typos
from examples.typos import NEIGHBOURS, main, make_typos, mistype

TEXT = (
    "the object of this module is a list with strings that name every class and function which raises an exception "
    "when its argument has another type than expected or where some value cannot be converted without loss"
)


@pytest.fixture(autouse=True)
def text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manual of our own: that of the running Python differs from version to version."""
    chance = random.Random(3)
    paragraphs = [" ".join(chance.choices(TEXT.split(), k=40)).capitalize() + "." for _ in range(600)]
    topics = {"one": "\n\n".join(paragraphs[:400]), "two": "\n\n".join(paragraphs[350:])}
    monkeypatch.setattr(typos, "topics", topics)


@pytest.fixture(autouse=True)
def place(here: Path) -> Path:
    """The demo leaves its model behind."""
    return here


def demo(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["--words", "4000", "--epochs", "3", *arguments])
    assert not left.value.code
    return capsys.readouterr().out


def figures(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(demo(capsys, "--json", "--quiet", *arguments))
    return found


def test_neighbours_are_mutual() -> None:
    assert NEIGHBOURS["a"] == "qswz"
    assert NEIGHBOURS["g"] == "bfhtvy"
    assert len(NEIGHBOURS) == 26
    assert all(letter in NEIGHBOURS[other] for letter in NEIGHBOURS for other in NEIGHBOURS[letter])


def test_noise_has_the_rate_asked_for() -> None:
    word = "abcdefghij" * 2000
    typed = mistype(word, 0.1, random.Random(0))
    wrong = [(a, b) for a, b in zip(word, typed, strict=True) if a != b]
    assert all(b in NEIGHBOURS[a] for a, b in wrong)
    assert len(wrong) / len(word) == pytest.approx(0.1, abs=0.01)
    assert mistype(word, 0.0, random.Random(0)) == word


def test_same_seed_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    first = figures(capsys)
    assert figures(capsys) == first
    assert figures(capsys, "--seed", "2")["before"] != first["before"]
    assert make_typos(1, 500) == make_typos(1, 500)
    for order in ("order_1", "order_2"):
        assert first[order]["letters"] < first["before"]["letters"]
        assert first[order]["words"] < first["before"]["words"]


def test_no_paragraph_gives_words_to_both_parts() -> None:
    training, test = make_typos(1, None)
    assert len(training) + len(test) == 600 * 40  # those that two topics share count once
    assert len(test) == 60 * 40


def test_corrects_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, "Tge objecr -- 42 [é] 'is'!", "--words", "20000")
    assert found["line"] == "Tge objecr -- 42 [é] 'is'!"
    assert found["corrected"] == "The object -- 42 [é] 'is'!"
    assert figures(capsys, "")["corrected"] == ""


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    shown = demo(capsys)
    assert all(word in shown for word in ("before", "order 1", "order 2", "letters", "typed", "corrected"))


def test_the_model_is_left_behind(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    out = demo(capsys, "--quiet", "the strinhs")
    assert "demo.trellis" in out
    tagger = trellis.load("demo.trellis")
    assert (tagger.order, "".join(tagger.tag(list("lisr")))) == (2, "list")
    assert demo(capsys, "--quiet", "the strinhs").splitlines()[-6:] == out.splitlines()[-6:]  # its own file is replaced
    trellis.train({"w": [["a"]], "y": [["A"]]}, target="y", features=["w[0]"]).save("demo.trellis")
    with pytest.raises(SystemExit) as left:
        main(["--quiet", "--words", "4000"])
    assert left.value.code == 2
    assert "not of this demo" in capsys.readouterr().err


def test_english(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        english.main(["They were sleeping."])
    assert left.value.code == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [[*row[:4], *row[-3:]] for row in rows] == [
        ["1", "They", "they", "PRON", "3", "nsubj", "They"],
        ["2", "were", "be", "AUX", "3", "aux", "were"],
        ["3", "sleeping", "sleep", "VERB", "0", "root", "sleeping"],
        ["4", ".", ".", "PUNCT", "3", "punct", "."],
    ]
