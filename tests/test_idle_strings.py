"""Strings that no weight is left for are left out of a model, which answers as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trellis
from trellis.tasks.tagging import train as fit

chance = np.random.default_rng(1)
WORDS = [f"{a}{b}{c}" for a in ("x", "Yy", "12", "é-") for b in "abcde" for c in ("ing", "ed", "s", "")]
SENTENCES = [[WORDS[i] for i in chance.integers(0, len(WORDS), chance.integers(1, 9))] for _ in range(80)]
TAGS = [[word[-1] for word in sentence] for sentence in SENTENCES]
LABELS = [["V" if word.endswith("ing") else "N" for word in sentence] for sentence in SENTENCES]
CORPUS = {"word": SENTENCES, "tag": TAGS, "label": LABELS}
UNSEEN = [["newing", "word", "Yyaing"], ["éing"], ["x", "xaing"]]
TEMPLATES = [
    ["word[0]", "suffix(word[0], 3)", "word[-1] & word[1]", "bias"],
    ["lower(word[0])", "shape(word[0])", "suffix(lower(word[0]), 2) & tag[0]", "tag[-1]", "label[-1] & tag[0]"],
    ["one: word[-1]", "one: word[1]", "suffix(word[0], 3)", "is_first & word[0]", "label[-1] & suffix(word[0], 2)"],
    ["word[-2] & word[-1] & word[0] & word[1] & word[2] & tag[0] & tag[-1]", "suffix(word[0], 1)", "normal(word[0])"],
]


@pytest.mark.parametrize("features", TEMPLATES, ids=range(len(TEMPLATES)))
def test_the_same_answers(features: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"target": "label", "features": features, "learner": trellis.CRF(c1=2.0, c2=0.0, epochs=60)}
    slim = trellis.train(CORPUS, **how)
    monkeypatch.setattr(fit, "without_idle_strings", lambda vocabulary: None)
    whole = trellis.train(CORPUS, **how)
    assert slim.training["idle_strings"] == "left out"
    assert len(slim.to_bytes()) < 0.7 * len(whole.to_bytes())
    assert sorted(map(repr, slim.top_features(999))) == sorted(map(repr, whole.top_features(999)))
    again = trellis.Tagger.from_bytes(slim.to_bytes())
    has_tags = "tag" in slim.columns
    for words in [*SENTENCES, *UNSEEN]:
        sentence: Any = [(word, word[-1]) for word in words] if has_tags else words
        assert again.tag(sentence) == slim.tag(sentence) == whole.tag(sentence)
        np.testing.assert_array_equal(slim.marginals(sentence).node, whole.marginals(sentence).node)
    more = {"init": slim, "learner": trellis.CRF(epochs=3)}, {"init": whole, "learner": trellis.CRF(epochs=3)}
    one, other = (trellis.train(CORPUS, **some) for some in more)
    assert one.evaluate(CORPUS).token_accuracy == other.evaluate(CORPUS).token_accuracy


def test_models_that_use_most_of_their_strings_keep_all() -> None:
    tagger = trellis.train(CORPUS, target="label", features=["word[0]", "word[1]"])
    assert "idle_strings" not in tagger.training
    assert tagger.error_analysis(CORPUS).known_words == (1.0, sum(map(len, SENTENCES)))


def test_known_words_are_not_claimed_where_they_were_left_out() -> None:
    tagger = trellis.train(
        CORPUS, target="label", features=TEMPLATES[0], learner=trellis.CRF(c1=2.0, c2=0.0, epochs=60)
    )
    assert tagger.error_analysis(CORPUS).known_words is None


def test_a_tag_dictionary_needs_its_words() -> None:
    learner = trellis.CRF(c1=2.0, c2=0.0, epochs=30)
    tagger = trellis.train(
        CORPUS, target="label", features=TEMPLATES[0], learner=learner, search=trellis.Search(tag_dictionary=1)
    )
    assert "idle_strings" not in tagger.training
