"""Dictionaries: what begins, ends and inside say, in training and in tagging, and what training hides of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged import save_model
from equal_models import learnt
from hypothesis import given, settings
from hypothesis import strategies as st

import trellis
from trellis import _core
from trellis._support.errors import CorpusError, LearnerError, ModelError, TemplateError
from trellis.corpus.corpus import Strings
from trellis.features.dictionaries import (
    ANYONE,
    NOBODY,
    VALUES,
    Dictionary,
    EntrySpans,
    learn_dictionary,
    read_dictionary,
)
from trellis.features.extraction import extract
from trellis.features.vocabulary import feature_set
from trellis.tasks.tagging.training.dictionary import FOLDS, spans_twice, twice
from trellis.tasks.tagging.training.encoding import read_labels

few = settings(max_examples=60, deadline=None)
NAMES = {
    "word": [["New", "York", "is", "new"], ["in", "York"], ["a", "New", "Deal"]] * 4,
    "name": [["B-LOC", "I-LOC", "O", "O"], ["O", "B-LOC"], ["O", "O", "O"]] * 4,
}
FEATURES = ["word[0]", "begins(word[0])", "ends(word[-1]) & word[0]", "inside(lower(word[0]))"]


FUNCTIONS = ("begins", "ends", "inside", "in_list")


def searched(entries: Sequence[Sequence[str]], text: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Of each token the lengths of the longest entries that begin, that end, that have it inside; and which part."""
    found = {tuple(entry) for entry in entries}
    runs = [(a, b) for a in range(len(text)) for b in range(a + 1, len(text) + 1) if tuple(text[a:b]) in found]

    def longest(lengths: list[int]) -> str:
        return str(min(max(lengths, default=0), 6))

    parts, t = [""] * len(text), 0
    while t < len(text):
        length = max((b - a for a, b in runs if a == t), default=0)
        parts[t : t + length] = ("S" if length == 1 else "B" + "I" * (length - 2) + "E")[:length]
        t += max(length, 1)

    return [
        (
            longest([b - a for a, b in runs if a == t]),
            longest([b - a for a, b in runs if b == t + 1]),
            longest([b - a for a, b in runs if a < t < b - 1]),
            parts[t],
        )
        for t in range(len(text))
    ]


def names_of(tagger: trellis.Tagger, sentence: list[str]) -> list[set[str]]:
    """The names of the features of each token, as tagging finds them."""
    decoder = tagger._decoder
    starts, ids, _ = decoder.attribute_lists(decoder.encode([sentence]))
    names = tagger.model.attribute_names(ids.tolist())
    return [{names[i] for i in ids[a:b].tolist()} for a, b in pairwise(starts.tolist())]


# ---------------------------------------------------------------------------- files


@few
@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), max_size=6),
    st.lists(st.lists(st.sampled_from("abcx"), max_size=9), min_size=1, max_size=4),
)
def test_answers_are_those_of_a_search(entries: list[list[str]], texts: list[list[str]]) -> None:
    tokens = Strings.of("abc")
    symbols = np.array(["abc".index(c) for entry in entries for c in entry], np.int32)
    starts = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    native = Dictionary.of(tokens, starts, symbols).native
    said = native.match(
        np.array(["abcx".index(c) if c != "x" else -1 for text in texts for c in text], np.int32),
        np.cumsum([0, *map(len, texts)]).astype(np.int64),
        None,
        2,
    )
    expected = [row for text in texts for row in searched(entries, text)]
    assert list(zip(*(VALUES.take(row).tolist() for row in said), strict=True)) == expected


def test_a_file_of_words_and_one_of_characters(tmp_path: Path) -> None:
    path = tmp_path / "entries.txt"
    path.write_text("New York\n\n York \nab c\n")
    words = read_dictionary(str(path), ["New", "York", "a"], str)
    assert [words.entries(), words.tokens.tolist()] == [["NewYork", "York", "abc"], ["New", "York", "ab", "c"]]
    assert read_dictionary(str(path), ["a", "b"], str).entries() == ["NewYork", "York", "abc"]
    assert len(read_dictionary(str(path), ["a", "b"], str).symbols) == 14
    seen = read_dictionary(str(path), ["a", "b"], lambda c: c.lower() if c != "Y" else None)
    assert seen.entries() == ["abc"]  # in which nothing is missing


def test_training_and_tagging_see_the_same(tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("New York\nnew York City\nYork City Hall\n")
    path = tmp_path / "cities.txt"
    features = [f'{f}(word[{i}], "{path}")' for f in FUNCTIONS for i in (-1, 0, 1)] + ["word[0]"]
    sentence = ["new", "York", "City", "Hall", "x", "New", "York"]
    corpus = trellis.read({"word": [sentence] * 2, "y": [["A", "B", "A", "B", "A", "B", "A"]] * 2})
    tagger = trellis.train(corpus, target="y", features=features, learner=trellis.Perceptron(average=False, epochs=2))
    rows = searched([["New", "York"], ["new", "York", "City"], ["York", "City", "Hall"]], sentence)
    extraction = extract(corpus, feature_set(features, ["word"]), 1)
    assert extraction.lists is not None
    [lists] = extraction.lists.chunks()
    assert lists.starts[7] == 7 * 13 - 2 * 3  # in_list has no value for Hall and x
    for t, names in enumerate(names_of(tagger, sentence)):
        for k, f in enumerate(FUNCTIONS):
            for i in (-1, 0, 1):
                look = f'{f}(word[{i}], "{path}")='
                said = [name.removeprefix(look) for name in names if name.startswith(look)]
                assert len(said) <= 1
                if said and 0 <= t + i < len(sentence):
                    assert said == [rows[t + i][k]]
    path.unlink()  # the model has the entries
    tagger.save(tmp_path / "m")
    for copy in (trellis.load(tmp_path / "m"), trellis.Tagger.from_bytes(tagger.to_bytes())):
        assert copy.columns == ("word",)
        assert names_of(copy, sentence) == names_of(tagger, sentence)
        assert copy.tag(["new", "Hall", "unheard"]) == tagger.tag(["new", "Hall", "unheard"])
        assert copy.to_bytes() == tagger.to_bytes()


def test_words_that_only_the_dictionary_has(tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("Berlin Mitte\n")
    features = [f'begins(word[0], "{tmp_path}/cities.txt")']
    corpus = {"word": [["Berlin", "Mitte", "is"]] * 3, "y": [["CITY", "x", "x"]] * 3}
    (tmp_path / "more.txt").write_text("Bad Tölz\nBerlin Mitte\n")
    tagger = trellis.train(corpus, target="y", features=[f'begins(word[0], "{tmp_path}/more.txt")'], order=0)
    assert tagger.tag(["is", "Bad", "Tölz"])[1] == "CITY"
    assert tagger.tag(["Bad", "Berlin", "Mitte"]) == ["x", "CITY", "x"]
    assert trellis.train(corpus, target="y", features=features, order=0).tag(["Bad", "Tölz"]) == ["x", "x"]


def test_entries_are_seen_through_the_same_function(tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("New York\nBERLIN\n")
    features = [f'in_list(lower(word[0]), "{tmp_path}/cities.txt")', "bias"]
    corpus = {"word": [["NEW", "york", "Is"], ["Is", "berlin"]] * 3, "y": [["B", "E", "O"], ["O", "S"]] * 3}
    tagger = trellis.train(corpus, target="y", features=features, order=0)
    assert tagger.tag(["is", "Berlin", "nEw", "yOrk", "New"]) == ["O", "S", "B", "E", "O"]


def test_streams_give_the_bytes_of_the_whole(tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("New York\nDeal\n")
    features = [
        "word[0]",
        f'begins(lower(word[0]), "{tmp_path}/cities.txt")',
        f'ends(word[1], "{tmp_path}/cities.txt")',
    ]
    corpus, learner = trellis.read(NAMES), trellis.Perceptron(epochs=2, shuffle=False)
    whole = trellis.train(corpus, target="name", features=features, learner=learner)
    blocks = trellis.stream(lambda: iter([corpus[:5], corpus[5:]]))
    assert learnt(trellis.train(blocks, target="name", features=features, learner=learner)) == learnt(whole)


# ---------------------------------------------------------------------------- learned


def test_an_entry_is_hidden_from_the_fold_that_alone_has_it() -> None:
    said = np.array([0, 1, 2, 0, 1, 1, 2], np.int32)  # ab c | ab | bc, of folds 0, 1, 2
    spans = EntrySpans(
        np.array([0, 2, 3, 5]), np.array([2, 1, 2, 2]), np.array([0, 0, 1, 2], np.int32), np.array([0], np.int32)
    )
    dictionary = learn_dictionary(spans, said, Strings.of("abc"))
    assert dictionary.entries() == ["ab", "c", "bc"]
    text, starts = np.array([0, 1, 2], np.int32), np.array([0, 3])

    def begins(asks: int) -> list[int]:
        return list(dictionary.native.match(text, starts, np.array([asks], np.int32), 1)[0])

    assert begins(ANYONE) == begins(3) == [2, 2, 1]
    assert begins(0) == [2, 2, 0]  # c is its own, ab is not
    assert begins(2) == [2, 0, 1]
    assert begins(NOBODY) == [_core.DICTIONARY_SILENT] * 3


def test_tokens_of_which_a_view_says_nothing_make_no_entry() -> None:
    spans = EntrySpans(np.array([0, 2]), np.array([2, 1]), np.zeros(2, np.int32), np.zeros(1, np.int32))
    dictionary = learn_dictionary(spans, np.array([0, -1, 0], np.int32), Strings.of(["ab"]))
    assert dictionary.entries() == ["ab"]
    nothing = EntrySpans(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), np.zeros(1, np.int32))
    assert learn_dictionary(nothing, np.array([0], np.int32), Strings.of(["ab"])).entries() == []


def test_every_sentence_is_seen_with_and_without_the_dictionary() -> None:
    corpus = trellis.read(NAMES)
    doubled, weights = twice(corpus, np.arange(12.0))
    assert len(doubled) == 24
    assert weights is not None
    assert weights.tolist() == [*range(12), *range(12)]
    spans = spans_twice(doubled, "name", read_labels(doubled, "name", partial=False))
    assert list(zip(spans.begins[:3].tolist(), spans.lengths[:3].tolist(), strict=True)) == [(0, 2), (5, 1), (9, 2)]
    assert spans.sentence_folds.tolist() == [i * FOLDS // 12 for i in range(12)] + [NOBODY] * 12
    assert spans.folds.tolist() == [i * FOLDS // 12 for i in range(12) if i % 3 < 2]
    chosen = feature_set(["word[0]", "begins(word[0])"], ["word"])
    found = extract(doubled, chosen, 1, spans=spans).lists
    assert found is not None
    [lists] = found.chunks()
    sizes = np.diff(lists.starts)
    n = corpus.n_tokens
    assert (sizes[:n] == 2).all()
    assert (sizes[n:] == 1).all()


def test_learned_dictionaries_name_what_they_know(tmp_path: Path) -> None:
    tagger = trellis.train(NAMES, target="name", features=FEATURES)
    assert tagger.training["sentences"] == 12
    assert [d.entries() for d in tagger.model.vocabulary.dictionaries] == [["NewYork", "York"], ["newyork", "york"]]
    assert tagger.tag(NAMES["word"][0]) == NAMES["name"][0]
    tagger.save(tmp_path / "m")
    copy = trellis.load(tmp_path / "m")
    assert copy.tag_batch(NAMES["word"]) == tagger.tag_batch(NAMES["word"])
    assert any(weight.feature.startswith("begins(word[0])=") for weight in copy.top_features(200))


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_same_bits_for_any_number_of_threads(n_threads: int) -> None:
    given = {"target": "name", "features": FEATURES, "learner": trellis.CRF()}
    one = trellis.train(NAMES, n_threads=1, **given)
    assert trellis.train(NAMES, n_threads=n_threads, **given).to_bytes() == one.to_bytes()


@pytest.mark.parametrize(
    "more",
    [
        {"segments": True},
        {"order": 2, "labels": trellis.Labels(scheme="iob2")},
        {"learner": "crf", "search": trellis.Search(tag_dictionary=2)},
        {"learner": "mira", "sample_weight": [1.0] * 12, "dev": NAMES},
        {"learner": "perceptron", "search": trellis.Search(prune=True)},
    ],
    ids=str,
)
def test_dictionaries_go_with_what_training_has(more: dict[str, Any], tmp_path: Path) -> None:
    tagger = trellis.train(NAMES, target="name", features=FEATURES, **more)
    assert tagger.tag(NAMES["word"][0]) == NAMES["name"][0]
    tagger.save(tmp_path / "m")
    assert trellis.load(tmp_path / "m").tag_batch(NAMES["word"]) == tagger.tag_batch(NAMES["word"])
    assert tagger.training["sentences"] == 12


def test_sentences_left_out_are_counted_once() -> None:
    tagger = trellis.train(NAMES, target="name", features=FEATURES, segments=trellis.Segments(1))
    assert tagger.training["segments"]["sentences_left_out"] == 4


def test_a_warm_start_keeps_the_dictionary() -> None:
    tagger = trellis.train(NAMES, target="name", features=FEATURES)
    more = {"word": [["Old", "York", "is", "new"]], "name": [["B-LOC", "I-LOC", "O", "O"]]}
    again = trellis.partial_fit(tagger, more)
    assert [d.entries() for d in again.model.vocabulary.dictionaries] == [["NewYork", "York"], ["newyork", "york"]]
    assert again.tag(["in", "New", "York"]) == ["O", "B-LOC", "I-LOC"]
    assert again.tag(["Old", "York", "is", "new"]) == ["B-LOC", "I-LOC", "O", "O"]


# ---------------------------------------------------------------------------- what is rejected


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("begins(word[0], 3)", "begins takes"),
        ("lower(begins(word[0]))", "take a word or a simple function of it"),
        ('begins(listed(word[0], "f"))', "take a word or a simple function of it"),
        ("begins(rare_suffix(word[0], 2))", "take a word or a simple function of it"),
        ("begins(word[segment])", "apply to tokens, not to arcs or segments"),
        ('in_list(word[0], "nowhere.txt")', "in_list: nowhere.txt: no such file; check the path"),
    ],
)
def test_templates(template: str, why: str) -> None:
    with pytest.raises(TemplateError, match=why.replace("(", r"\(")):
        trellis.train(NAMES, target="name", features=["word[0]", template], segments="segment" in template)


def test_what_a_learned_dictionary_needs() -> None:
    with pytest.raises(CorpusError, match="marks no spans"):
        trellis.train({"word": [["a"]], "pos": [["N"]]}, target="pos", features=["begins(word[0])"])
    with pytest.raises(
        LearnerError,
        match="learns a dictionary, which cannot be combined with partial labels",
    ):
        trellis.train(NAMES, target="name", features=FEATURES, labels=trellis.Labels(partial=True))


def test_damaged_dictionaries_in_a_model_are_errors(tmp_path: Path) -> None:
    tagger = trellis.train(NAMES, target="name", features=FEATURES)
    vocabulary = tagger.model.vocabulary
    first, other = vocabulary.dictionaries
    bad = [
        replace(first, symbols=first.symbols + 5),
        replace(first, symbols=first.symbols - 1),
        replace(first, starts=first.starts + 1),
        replace(first, starts=np.zeros_like(first.starts)),
        replace(first, symbols=first.symbols.astype(np.int64)),
    ]
    for dictionary in bad:
        broken = replace(tagger.model, vocabulary=replace(vocabulary, dictionaries=(dictionary, other)))
        path = tmp_path / "broken"
        save_model(broken, path)
        with pytest.raises(ModelError):
            trellis.load(path)
    # One of another view: fewer tokens than the view has strings.
    smaller = replace(first, native=_core.Dictionary(1, np.zeros(1, np.int64), np.empty(0, np.int32)))
    swapped = replace(tagger.model, vocabulary=replace(vocabulary, dictionaries=(smaller, other)))
    with pytest.raises(ModelError, match="another column"):
        trellis.Tagger(swapped)


def test_the_border() -> None:
    starts, symbols = np.array([0, 1, 3]), np.array([0, 1, 0], np.int32)
    native = _core.Dictionary(2, starts, symbols, np.array([0, 1], np.int32))
    for bad in (
        (2, np.array([0, 4]), symbols, None),
        (2, np.array([0, 0, 3]), symbols, None),
        (1, starts, symbols, None),
        (2, starts, symbols, np.array([0], np.int32)),
        (2, starts, symbols, np.array([0, -1], np.int32)),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            _core.Dictionary(*bad)
    for text, ends, asks in (
        ([0, 2], [0, 2], None),
        ([0, -2], [0, 2], None),
        ([0], [0, 2], None),
        ([0, 1], [0, 2], [0, 0]),
        ([0, 1], [0, 2], [-3]),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            native.match(
                np.array(text, np.int32), np.array(ends), None if asks is None else np.array(asks, np.int32), 1
            )
