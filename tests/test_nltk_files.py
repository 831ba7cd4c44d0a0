"""NLTK's perceptron tagger, held against its own rules written out: fixed features, greedy from left to right."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from command_line import refused

import trellis
from trellis._support.errors import ModelError

LABELS = ["DT", "JJ", "NN", "VB", "."]
WORDS = [
    "the",
    "The",
    "a",
    "dog",
    "dogs",
    "runs",
    "well-known",
    "-",
    "--",
    "1999",
    "12",
    "3rd",
    "Ünder",
    "is",
    "I",
    ".",
    "U.S.",
]
TAGDICT = {"the": "DT", "The": "DT", ".": "."}


def normal(word: str) -> str:
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    return "!DIGITS" if word[0].isdigit() else word.lower()


def features(i: int, words: list[str], before: str, before_that: str) -> list[str]:
    """The features of NLTK's tagger, by its names."""
    context = ["-START-", "-START2-", *map(normal, words), "-END-", "-END2-"]
    word, at = words[i], i + 2
    return [
        "bias",
        f"i suffix {word[-3:]}",
        f"i pref1 {word[0]}",
        f"i-1 tag {before}",
        f"i-2 tag {before_that}",
        f"i tag+i-2 tag {before} {before_that}",
        f"i word {context[at]}",
        f"i-1 tag+i word {before} {context[at]}",
        f"i-1 word {context[at - 1]}",
        f"i-1 suffix {context[at - 1][-3:]}",
        f"i-2 word {context[at - 2]}",
        f"i+1 word {context[at + 1]}",
        f"i+1 suffix {context[at + 1][-3:]}",
        f"i+2 word {context[at + 2]}",
    ]


def greedy(weights: dict[str, dict[str, float]], words: list[str]) -> list[str]:
    out, before, before_that = list[str](), "-START-", "-START2-"
    for i, word in enumerate(words):
        seen = [weights.get(name, {}) for name in features(i, words, before, before_that)]
        scores = {label: sum(row.get(label, 0.0) for row in seen) for label in LABELS}
        label = TAGDICT.get(word) or max(LABELS, key=lambda label: (scores[label], label))
        out.append(label)
        before, before_that = label, before
    return out


@pytest.fixture
def folder(here: Path) -> tuple[Path, dict[str, dict[str, float]], list[list[str]]]:
    """A random tagger that has about half of all features, and sentences for it."""
    chance = random.Random(1)
    sentences = [[chance.choice(WORDS) for _ in range(chance.randrange(1, 9))] for _ in range(200)]
    names = set[str]()
    for words in sentences:
        for i in range(len(words)):
            before, before_that = chance.choice(LABELS), chance.choice(LABELS)
            names |= set(
                features(
                    i, words, before if i else "-START-", (before_that if i > 1 else "-START-") if i else "-START2-"
                )
            )
    weights = {
        name: {label: chance.randrange(-9, 10) / 8 for label in chance.sample(LABELS, chance.randrange(1, 5))}
        for name in sorted(names)
        if chance.random() < 0.5
    }
    made = here / "tagger"
    made.mkdir()
    for part, content in (("weights", weights), ("tagdict", TAGDICT), ("classes", LABELS)):
        (made / f"eng.{part}.json").write_text(json.dumps(content))
    unseen = [["Cat", "zz", "ab-c", "99", "The", "ab"], ["x"], []]
    return made, weights, [*sentences, *unseen]


def test_the_same_labels_as_its_rules_give(folder: tuple[Path, Any, list[list[str]]]) -> None:
    path, weights, sentences = folder
    tagger = trellis.load(path)
    expected = [greedy(weights, words) for words in sentences]
    assert tagger.tag_batch(sentences) == expected
    assert [tagger.tag(words) for words in sentences] == expected
    assert len({label for labels in expected for label in labels}) == len(LABELS)
    assert trellis.load(path / "eng.tagdict.json").tag_batch(sentences) == expected


def test_saved_as_one_of_ours(folder: tuple[Path, Any, list[list[str]]], here: Path, call: Any) -> None:
    path, _, sentences = folder
    assert call(f"convert -m {path} --output new.trellis").code == 0
    assert trellis.load("new.trellis").tag_batch(sentences) == trellis.load(path).tag_batch(sentences)


def test_what_a_greedy_tagger_cannot_say(folder: tuple[Path, Any, list[list[str]]]) -> None:
    with pytest.raises(ModelError, match="beam search"):
        trellis.load(folder[0]).marginals(["the", "dog"])
    assert trellis.load(folder[0]).kbest(["dog", "is"], 2)


@pytest.mark.parametrize(
    ("part", "content", "why"),
    [
        ("weights", "[1, 2", "NLTK"),
        ("weights", '{"strange": {"NN": 1}}', "strange"),
        ("weights", '{"bias": {"XX": 1}}', "'XX' is not among its labels"),
        pytest.param("tagdict", json.dumps({"the": ["x"] * 999}), r"\['x', .{0,40} is not among", id="long"),
        ("weights", '{"bias": 3}', "NLTK"),
        ("weights", '{"bias": {"NN": NaN}}', "not a number"),
        ("weights", '{"bias": {"NN": 1' + "0" * 400 + "}}", "NLTK"),
        ("classes", r'["NN", "\ud800"]', "NLTK"),
        ("tagdict", '{"the": "XX"}', "NLTK"),
        ("classes", "[]", "NLTK|labels"),
        ("classes", "null", "NLTK"),
        ("classes", json.dumps([f"L{i}" for i in range(700)]), "700 labels; at most 406 are supported at order 2"),
        ("classes", None, "classes"),
    ],
)
def test_damaged_files(folder: tuple[Path, Any, Any], call: Any, part: str, content: str | None, why: str) -> None:
    file = folder[0] / f"eng.{part}.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(ModelError, match=why):
        trellis.load(folder[0])
    refused(call(f"info -m {folder[0]}"), "tagger")


def test_an_empty_folder(here: Path) -> None:
    with pytest.raises(ModelError, match="a folder, not a trellis model"):
        trellis.load(here)
