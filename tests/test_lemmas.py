"""The lemmatizer: what training saw, what it did not see, files, threads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis._support.arrays import Arrays
from trellis._support.errors import ArgumentError, CorpusError, LearnerError, ModelError
from trellis._support.tensor_file import pack_tensors, parse_header, unpack_tensors
from trellis.corpus.corpus import Column, Strings
from trellis.tasks.pipeline import lemmas as module
from trellis.tasks.pipeline.edit_scripts import EditScript
from trellis.tasks.pipeline.lemmas import Lemmatizer

few = settings(max_examples=25, deadline=None)
FORMAT = "a test of lemmas"
VERBS = ["walk", "talk", "play", "jump", "look", "pull", "push", "turn", "open", "help", "kick", "pack", "visit"]
NOUNS = ["dog", "cat", "tree", "house", "river", "stone", "garden", "window", "table", "book", "lamp", "door"]
ROWS = [
    *((f"{verb}ed", "VERB", "Tense=Past", verb) for verb in VERBS),
    *((f"{verb}ing", "VERB", "VerbForm=Ger", verb) for verb in VERBS),
    *((f"{noun}s", "NOUN", "Number=Plur", noun) for noun in NOUNS),
    *((noun, "NOUN", "Number=Sing", noun) for noun in NOUNS),
    *((name, "PROPN", "_", name) for name in ("London", "Paris", "Berlin", "Texas", "Athens")),
    ("was", "AUX", "Tense=Past", "be"),
    ("left", "VERB", "Tense=Past", "leave"),
    ("left", "ADJ", "_", "left"),
    ("@", "SYM", "_", "_"),
]


def trained(rows: list[tuple[str, str, str, str]] = ROWS, **options: Any) -> Lemmatizer:
    return Lemmatizer.train(*(list(column) for column in zip(*rows, strict=True)), **options)


@pytest.fixture(scope="module")
def lemmatizer() -> Lemmatizer:
    return trained(n_threads=1)


def predict(model: Lemmatizer, *words: tuple[str, str, str]) -> list[str]:
    return model.predict(*(list(column) for column in zip(*words, strict=True)), n_threads=1)


def test_words_of_training(lemmatizer: Lemmatizer) -> None:
    assert predict(lemmatizer, *(row[:3] for row in ROWS)) == [row[3] for row in ROWS]


def test_other_words(lemmatizer: Lemmatizer) -> None:
    words = {
        ("barked", "VERB", "Tense=Past"): "bark",
        ("Barking", "VERB", "VerbForm=Ger"): "bark",
        ("roofs", "NOUN", "Number=Plur"): "roof",
        ("Cologne", "PROPN", "_"): "Cologne",
    }
    assert predict(lemmatizer, *words) == list(words.values())


def test_known_words_with_other_tags(lemmatizer: Lemmatizer) -> None:
    """A form and its part of speech decide if training has one lemma for them; else the classifier does."""
    assert predict(lemmatizer, ("was", "AUX", "Person=3"), ("left", "VERB", "VerbForm=Part")) == ["be", "leave"]
    rows = [("saws", "N", "a", "saws"), ("saws", "N", "b", "saw"), *[(f"{noun}s", "N", "b", noun) for noun in NOUNS]]
    model, word = trained(rows), ("saws", "N", "c")
    (label,) = model.tagger.tag_column(module._corpus(model._known_endings, [word])).tolist()
    assert label == str(EditScript.between("saws", "saws"))  # not that of its first entry, b
    assert predict(model, ("saws", "N", "a"), ("saws", "N", "b"), word) == ["saws", "saw", "saws"]


def test_the_most_frequent_lemma_wins() -> None:
    rows = [("saw", "V", "_", "see"), ("saw", "V", "_", "saw"), ("saw", "V", "_", "see"), ("a", "D", "_", "a")]
    assert predict(trained(rows), ("saw", "V", "_")) == ["see"]
    assert predict(trained(rows[:2]), ("saw", "V", "_")) == ["saw"]  # the first alphabetically


def test_unknown_tags(lemmatizer: Lemmatizer) -> None:
    for word in (("roofs", "XYZ", "Number=Plur"), ("roofs", "NOUN", "Case=Xyz"), ("", "", ""), ("\n", "\t", "\0")):
        (lemma,) = predict(lemmatizer, word)
        assert lemma or not word[0]


def test_scripts_that_do_not_fit() -> None:
    """The best script cuts more than the word has: the next one that fits, or else the form itself."""
    rows = [(f"{stem}abcd", "V", "_", stem) for stem in VERBS]
    model = trained(rows)
    assert predict(model, ("barkabcd", "V", "_"), ("bcd", "V", "_"), ("ABCD", "V", "_")) == ["bark", "bcd", "ABCD"]
    assert predict(trained([*rows, ("bcd", "V", "x", "bcd")]), ("abcd", "V", "_")) == ["abcd"]


LETTERS = st.one_of(st.sampled_from("abABßİ\u0301😀"), st.characters(exclude_categories=["Cs"]))
TEXTS = st.text(LETTERS, min_size=1, max_size=5)


@few
@given(st.lists(st.tuples(TEXTS, st.sampled_from("NV"), st.sampled_from("_x"), TEXTS), min_size=1, max_size=8), TEXTS)
def test_any_text(rows: list[tuple[str, str, str, str]], form: str) -> None:
    once = list({row[:3]: row for row in rows}.values())
    model = trained(once, n_threads=1)
    assert predict(model, *(row[:3] for row in once)) == [row[3] for row in once]
    assert predict(model, (form, "N", "_"))[0]


@pytest.mark.parametrize("enough", [5, 20])
def test_candidates_are_those_of_the_ending(enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its features say, a word gets only scripts that training has for its part of speech and ending."""
    monkeypatch.setattr(module, "ENOUGH", enough)
    lemmatizer = trained()
    assert ("VERB ed" in lemmatizer._known_endings) == (enough == 5)
    tagger, scripts = lemmatizer.tagger, {label: EditScript.parse(label) for label in lemmatizer.tagger.labels}
    assert tagger.model.dictionary is not None
    for word in (("barked", "VERB", "Number=Plur"), ("roofing", "NOUN", "VerbForm=Ger"), ("Xs", "NOUN", "_")):
        corpus = module._corpus(lemmatizer._known_endings, [word])
        (ending,) = corpus.column("ending").tolist()
        seen = {
            EditScript.between(form, lemma)
            for form, upos, _, lemma in ROWS
            if upos == ending.split(" ")[0] and form.endswith(ending.split(" ")[1])
        }
        possible = {scripts[label] for (label,), _ in tagger.kbest_batch(corpus, len(scripts))[0]}
        assert possible == seen


def test_columns_and_lists_are_the_same(lemmatizer: Lemmatizer) -> None:
    columns = [list(column) for column in zip(*ROWS, strict=True)]
    as_columns = [Column.of(column) for column in columns]
    assert lemmatizer.predict(*as_columns[:3]) == columns[3]
    assert contents(Lemmatizer.train(*as_columns, n_threads=1)) == contents(lemmatizer)


def contents(model: Lemmatizer) -> bytes:
    return pack_tensors(FORMAT, model.tensors(), json.dumps(model.header))


def test_threads_and_order_have_no_influence(lemmatizer: Lemmatizer) -> None:
    assert contents(trained(n_threads=3)) == contents(trained(ROWS[::-1], n_threads=2)) == contents(lemmatizer)
    words = [row[:3] for row in ROWS] + [("Xs", "NOUN", "_"), ("ying", "VERB", "_")]
    columns = [list(column) for column in zip(*words, strict=True)]
    assert trained().predict(*columns, n_threads=3) == predict(lemmatizer, *words)


def test_the_cache_is_bounded(lemmatizer: Lemmatizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CACHED", 5)
    model, words = trained(), [row[:3] for row in ROWS]
    assert [predict(model, word)[0] for word in words * 2] == [row[3] for row in ROWS] * 2
    assert len(model._cache) <= 6


# ---------------------------------------------------------------------------- mistakes


def test_mistakes_of_the_caller(lemmatizer: Lemmatizer) -> None:
    with pytest.raises(LearnerError, match="no words to learn lemmas from"):
        Lemmatizer.train([], [], [], [])
    with pytest.raises(CorpusError, match=r"word 1 \(counted from 0\) has an empty lemma"):
        Lemmatizer.train(["a", "b"], ["D", "D"], ["_", "_"], ["a", ""])
    with pytest.raises(ArgumentError, match="tags has 1 values for 2 words"):
        lemmatizer.predict(["a", "b"], ["D", "D"], ["_"])
    with pytest.raises(ArgumentError, match="words must be a list of strings"):
        lemmatizer.predict("ab", ["D", "D"], ["_", "_"])
    for bad in ("\ud800", 3, None):
        with pytest.raises(CorpusError, match="not a string of valid UTF-8"):
            predict(lemmatizer, (bad, "D", "_"))  # type: ignore[arg-type]
    assert lemmatizer.predict([], [], []) == []


# ---------------------------------------------------------------------------- files


def opened(tensors: Arrays, header: Any) -> Lemmatizer:
    """As a file with these contents would be opened."""
    data = pack_tensors(FORMAT, tensors, json.dumps(header))
    read = unpack_tensors(data, "a lemmatizer").of(FORMAT)
    return read.made(lambda tensors, text: Lemmatizer.of(tensors, parse_header(text)))


def test_files(lemmatizer: Lemmatizer) -> None:
    again = opened(lemmatizer.tensors(), lemmatizer.header)
    assert contents(again) == contents(lemmatizer)
    words = [*(row[:3] for row in ROWS), ("barked", "VERB", "Tense=Past"), ("Xs", "NOUN", "_")]
    assert predict(again, *words) == predict(lemmatizer, *words)


def tagger_with(model: Lemmatizer, change: Callable[[Arrays, dict[str, Any]], None]) -> tuple[Arrays, dict[str, Any]]:
    """The tensors and the header of a lemmatizer whose tagger was changed."""
    tensors, header = model.tagger._content()
    content, more = dict(tensors), json.loads(json.dumps(header))
    change(content, more)
    others = {name: array for name, array in model.tensors().items() if not name.startswith("tagger.")}
    own = {f"tagger.{name}": array for name, array in content.items()}
    return {**others, **own}, {**model.header, "tagger": more}


def renamed(name: str, value: Any) -> Callable[[Arrays, dict[str, Any]], None]:
    return lambda tensors, header: header.__setitem__(name, value)


def test_damaged_taggers_are_rejected(lemmatizer: Lemmatizer) -> None:
    labels = list(lemmatizer.tagger.labels)
    for labels_now in ([*labels[:-1], "walk"], [*labels[:-1], "[3]"], [*labels[:-1], '["lower",[0],[]]'], labels[:-1]):
        with pytest.raises(ModelError):
            opened(*tagger_with(lemmatizer, renamed("labels", labels_now)))

    def without_dictionary(tensors: Arrays, header: dict[str, Any]) -> None:
        for part in ("set_of", "starts", "labels"):
            del tensors[f"tags.{part}"]

    def other_column(tensors: Arrays, header: dict[str, Any]) -> None:
        for column in header["columns"]:
            column["name"] = column["name"].replace("tags", "xpos")
        header["templates"] = [template.replace("tags[0]", "xpos[0]") for template in header["templates"]]

    for change in (without_dictionary, other_column):
        with pytest.raises(ModelError, match="not a classifier of edit scripts"):
            opened(*tagger_with(lemmatizer, change))


def test_damaged_files_are_rejected(lemmatizer: Lemmatizer) -> None:
    tensors, header = lemmatizer.tensors(), lemmatizer.header
    keys, n = tensors["keys"], len(tensors["keys"])
    high = np.array([*keys[:-1], 2**62], np.int64)
    own = [name for name in tensors if not name.startswith("tagger.")]
    changes: list[Arrays] = [{name: tensors[name][:-1]} for name in own]
    changes += [{"keys": keys[::-1].copy()}, {"keys": keys - 1}, {"keys": high}, {"keys": np.zeros(n, np.int64)}]
    changes += [{"keys": keys.astype(np.int32)}, {"keys": keys.reshape(1, n)}, {"scripts": keys}]
    changes += [{"scripts": np.full(n, value, np.int32)} for value in (-1, len(lemmatizer.tagger.labels))]
    for name in ("forms", "upos", "tags"):
        starts = tensors[f"{name}.starts"]
        changes += [{f"{name}.starts": starts + 1}, {f"{name}.starts": starts[::-1].copy()}]
        changes += [{f"{name}.slots": np.full(4, 1000, np.int32)}]
    for change in changes:
        with pytest.raises(ModelError):
            opened({**tensors, **change}, header)
    for name in own:
        with pytest.raises(ModelError):
            opened({key: array for key, array in tensors.items() if key != name}, header)
    entries: list[Any] = [n - 1, "x", None, 10**30]
    headers: list[Any] = [{}, *({**header, "entries": bad} for bad in entries), [], 3]
    for bad in headers:
        with pytest.raises(ModelError):
            opened(tensors, bad)
    with pytest.raises(ModelError, match="keys of the dictionary"):
        opened({**tensors, "keys": keys[:0], "scripts": tensors["scripts"][:0]}, {**header, "entries": 0})


def test_too_many_keys_are_rejected(lemmatizer: Lemmatizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEYS", 100)
    with pytest.raises(ModelError, match="keys of the dictionary"):
        opened(lemmatizer.tensors(), lemmatizer.header)


def test_a_hostile_dictionary_gives_some_lemma(lemmatizer: Lemmatizer) -> None:
    """An entry whose script does not fit its form."""
    tensors = lemmatizer.tensors()
    number = list(lemmatizer.tagger.labels).index(str(EditScript.between("walking", "walk")))
    tensors |= {"scripts": np.full(len(tensors["scripts"]), number, np.int32)}
    assert all(predict(opened(tensors, lemmatizer.header), ("was", "AUX", "Tense=Past"), ("@", "SYM", "_")))


def test_endings_are_enough() -> None:
    """An ending counts if enough different forms have it; each part of speech has one without letters."""
    words = [(f"{letter}ing", "V", "_") for letter in "ABCDEFGHIJKLMNOPQRSa"] + [("ting", "N", "_")]
    assert len(words) == module.ENOUGH + 1
    known = module._frequent_endings(words)
    assert {" ", "V ", "N "} <= known
    assert "V ing" not in known  # A and a are the same form in lower case
    assert "V ing" in module._frequent_endings([*words, ("ing", "V", "_")])
    assert Strings.of(sorted(known)).tolist() == sorted(known)
