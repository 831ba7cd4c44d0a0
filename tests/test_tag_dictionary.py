"""The tag dictionary: labels of frequent words are those seen; smoothed, rarer and unknown words learn from endings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged import model_bytes

import trellis
from trellis._support.errors import LearnerError, ModelError
from trellis.tasks.tagging.training import dictionary

SENTENCES = [
    [("the", "D"), ("dogs", "N"), ("bark", "V")],
    [("the", "D"), ("cats", "N"), ("meows", "V")],
    [("the", "D"), ("mögs", "N"), ("runs", "V")],
    [("the", "D"), ("walk", "N"), ("walks", "V")],
    [("a", "D"), ("frög", "N"), ("swims", "V")],
    [("a", "X"), ("frög", "N"), ("swims", "V")],
]
FEATURES = ["word[0]"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers for a few sentences: words seen four times are frequent, those seen twice rare."""
    monkeypatch.setattr("trellis.tasks.tagging.train.SURE", 4)
    monkeypatch.setattr(dictionary, "RARE", 2)
    monkeypatch.setattr(dictionary, "ENOUGH", 2)


def train(prune: Any = "auto", **more: Any) -> trellis.Tagger:
    corpus, search = trellis.read(SENTENCES, columns=["word", "tag"]), trellis.Search(None, prune, "smoothed")
    return trellis.train(corpus, target="tag", features=FEATURES, search=search, **more)


def allowed(tagger: trellis.Tagger, words: list[str]) -> list[set[str]]:
    """The labels that the dictionary of a tagger leaves each word."""
    decoder, sets = tagger._decoder, tagger.model.dictionary
    assert sets is not None
    found = decoder.native.set_of(decoder.encode([words], 1))
    return [{tagger.labels[z] for z in sets.labels[sets.starts[s] : sets.starts[s + 1]]} for s in found]


def expected(word: str) -> set[str]:
    """The same as the docs say it, from the sentences."""
    n = Counter(w for sentence in SENTENCES for w, _ in sentence)
    rare = [(w, z) for sentence in SENTENCES for w, z in sentence if n[w] <= 2]
    seen = {z for sentence in SENTENCES for w, z in sentence if w == word}
    if n[word] >= 4:
        return seen
    for length in (3, 2, 1):
        those = [z for w, z in rare if len(word) >= length and w.endswith(word[-length:])]
        if len(those) >= 2:
            return seen | set(those)
    return seen | {z for sentence in SENTENCES for w, z in sentence if n[w] < 4}


@pytest.mark.usefixtures("small")
def test_smoothed_dictionary_is_that_of_the_docs() -> None:
    tagger = train()
    words = ["the", "a", "dogs", "walk", "frög", "mögs", "ögs", "s", "swims", "trims", "talk", "ök", "q", "", "日本"]
    assert allowed(tagger, words) == [expected(word) for word in words]
    assert allowed(tagger, ["the"]) == [{"D"}]  # frequent
    assert allowed(tagger, ["hms"]) == [{"V"}]  # unknown, ends like swims
    assert allowed(tagger, ["zs"]) == [{"N", "V"}]
    assert allowed(tagger, ["q"]) == [{"D", "N", "V", "X"}]  # of all rare words
    assert tagger.tag(["the", "hms"])[1] == "V"


@pytest.mark.usefixtures("small")
def test_endings_are_in_the_file(tmp_path: Path) -> None:
    tagger = train(prune=0.9)
    tagger.save(tmp_path / "m")
    again, words = trellis.load(tmp_path / "m"), ["hms", "zs", "q", "the", "frög"]
    assert allowed(again, words) == allowed(tagger, words)
    assert again.tag(words) == tagger.tag(words)
    endings = tagger.model.endings
    assert endings is not None
    damaged = replace(tagger.model, endings=endings._replace(set_of=np.full_like(endings.set_of, 1000)))
    with pytest.raises(ModelError):
        trellis.Tagger.from_bytes(model_bytes(damaged)).tag(words)


def test_without_enough_rare_words_there_are_no_endings() -> None:
    tagger = train()
    assert tagger.model.endings is not None
    assert len(tagger.model.endings.strings) == 0
    assert allowed(tagger, ["hms"]) == [{"D", "N", "V", "X"}]


@pytest.mark.parametrize("given", ["smooth", -1, 2.5])
def test_what_a_dictionary_may_be(given: Any) -> None:
    corpus = trellis.read(SENTENCES, columns=["word", "tag"])
    with pytest.raises(LearnerError, match="tag_dictionary"):
        trellis.train(corpus, target="tag", features=FEATURES, search=trellis.Search(tag_dictionary=given))
