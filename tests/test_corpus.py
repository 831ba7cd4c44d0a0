"""The corpus itself, and the strings under it."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trellis
from trellis import _core
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import Column, Strings

ORDERLY = settings(derandomize=True, deadline=None, max_examples=100)
SENTENCES = [["a", "b"], [], ["c"], ["a"], ["d", "e", "a"]]


@pytest.fixture
def corpus() -> trellis.Corpus:
    return trellis.read({"word": SENTENCES, "bag": [[[w] for w in s] for s in SENTENCES]})


def test_sentences_by_index_slice_and_choice(corpus: trellis.Corpus) -> None:
    assert corpus[0] == {"word": ["a", "b"], "bag": [{"a": 1.0}, {"b": 1.0}]}
    assert corpus[-1]["word"] == ["d", "e", "a"]
    assert corpus[np.int64(-1)] == corpus[-1]
    for numbers in ([0, 2], np.array([4, 0])):
        assert corpus[numbers].sentences("word") == [SENTENCES[i] for i in numbers]
    for number in (5, np.int64(5)):
        with pytest.raises(IndexError):
            corpus[number]
    with pytest.raises(ArgumentError, match="indices must be sentence indices"):
        corpus[None]  # type: ignore[call-overload]
    for key in (slice(1, 4), slice(None), slice(4, 2), slice(-2, None), slice(None, None, -2)):
        assert corpus[key].sentences("word") == SENTENCES[key]
    assert corpus[2:][1:].sentences("word") == SENTENCES[3:]
    assert corpus.take([4, 0, 0]).sentences("word") == [SENTENCES[i] for i in (4, 0, 0)]
    assert corpus[3:].columns["bag"].tolist() == [{w: 1.0} for s in SENTENCES[3:] for w in s]


def test_columns_made_by_hand(corpus: trellis.Corpus) -> None:
    column = corpus.column("word")
    for codes, why in ((column.codes[1:], "it has 6 values for 7 tokens"), (column.codes + 9, "codes from 0 to 4")):
        with pytest.raises(ArgumentError, match=why):
            corpus.with_column("x", Column(codes, column.values))
    with pytest.raises(ArgumentError, match="codes from 0 to 4"):
        corpus.with_column("x", Column(column.codes - 1, column.values))
    assert corpus.with_column("x", column).sentences("x") == SENTENCES


def test_names_that_no_model_can_hold(corpus: trellis.Corpus) -> None:
    name = "a\udcff"
    for make in (
        lambda: trellis.read({name: [["a"]]}),
        lambda: trellis.read(io.BytesIO(b'{"a\\udcff": ["a"]}'), format="jsonl"),
        lambda: trellis.read([["a"]], columns=name),
        lambda: corpus.with_column(name, corpus.column("word")),
    ):
        with pytest.raises(CorpusError, match=r"column 'a\\udcff' has a name that is not valid UTF-8"):
            make()


def test_split_and_folds(corpus: trellis.Corpus) -> None:
    one, other = corpus.split(0.4)
    assert one.sentences("word") + other.sentences("word") == SENTENCES
    one, other = corpus.split(0.4, seed=1)
    assert sorted(one.sentences("word") + other.sentences("word")) == sorted(SENTENCES)
    for seed in (None, 3):
        tests = [test for _, test in corpus.folds(3, seed=seed)]
        assert sorted(s for test in tests for s in test.sentences("word")) == sorted(SENTENCES)


def test_import_is_lazy() -> None:
    code = (
        "import sys, trellis; trellis.read([['a']]); "
        "sys.exit(any(m in sys.modules for m in ('pyarrow', 'pandas', 'polars')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def twin_hash(data: bytes) -> int:
    """The hash as core/strings.hpp documents it."""
    k, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1
    h = len(data) * k & mask
    for i in range(0, len(data), 8):
        h = (h ^ int.from_bytes(data[i : i + 8], "little")) * k & mask
        h ^= h >> 32
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & mask
    return h ^ h >> 33


@ORDERLY
@given(st.lists(st.text(max_size=20)))
def test_interned_strings_count_up_from_their_first_appearance(strings: list[str]) -> None:
    (codes, data, starts), _ = _core.intern_sentences([strings])
    distinct = list(dict.fromkeys(strings))
    assert Strings(data, starts).tolist() == distinct
    assert codes.tolist() == [distinct.index(s) for s in strings]
    packed = Strings.of(strings)
    again, _, ends = _core.intern_packed(packed)
    assert (again.tolist(), ends.tolist()) == (codes.tolist(), starts.tolist())


@ORDERLY
@given(st.lists(st.text(max_size=20), unique=True), st.lists(st.text(max_size=3)))
def test_frozen_strings_are_found_where_their_hash_says(strings: list[str], asked: list[str]) -> None:
    frozen, queries = Strings.of(strings), Strings.of([*strings, *asked])
    slots = frozen.slots
    assert _core.valid_strings(frozen)
    found = frozen.find(queries)
    assert found.tolist() == [strings.index(s) if s in strings else -1 for s in queries]
    table = [-1] * len(slots)
    for i, s in enumerate(strings):
        at = twin_hash(s.encode()) % len(slots)
        while table[at] >= 0:
            at = (at + 1) % len(slots)
        table[at] = i
    assert slots.tolist() == table


def test_damaged_frozen_strings_are_refused() -> None:
    strings = Strings.of(["a", "b"])
    short = Strings(strings.data, strings.starts, strings.slots[:3].copy())
    assert not _core.valid_strings(short)
    assert not _core.valid_strings(Strings(strings.data, strings.starts, np.full(4, 9, np.int32)))
    with pytest.raises(ValueError, match="power of two"):
        short.find(strings)
    for starts in ([], [0, 5], [1, 0], [-1, 1]):
        with pytest.raises(ValueError, match="starts must be in order"):
            _core.build_slots(Strings(strings.data, np.array(starts, np.int64)))
    with pytest.raises(TypeError):
        _core.intern_sentences([["a", 3]])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        _core.intern_sentences([("a",)])  # type: ignore[list-item]


def test_sentences_have_their_attributes() -> None:
    sentences = [[{"w": "a", "n": 2.0}, {"w": "b"}], [{"w": "b"}], []]
    labels = [["X", "Y"], ["Y"], []]
    corpus = trellis.read({"attributes": sentences, "tag": labels})
    assert corpus[0] == {"attributes": [{"w:a": 1.0, "n": 2.0}, {"w:b": 1.0}], "tag": ["X", "Y"]}
    assert list(corpus) == [corpus[0], corpus[1], corpus[-1]]
    tagger = trellis.train(corpus, target="tag", features="attributes")
    assert [tagger.tag(sentence) for sentence in corpus] == tagger.tag_batch(corpus) == labels
    assert tagger.tag(corpus[0]) == labels[0]


# ------------------------------------------------------------ one after the other


def test_two_corpora_are_as_one_file_of_both(tmp_path: Path) -> None:
    parts = ["a A\nb B\n\nc A\n", "c C\na A\n\nd B\n"]
    for i, text in enumerate((*parts, "\n".join(parts))):
        (tmp_path / f"{i}.txt").write_text(text)
    one, other, both = (trellis.read(tmp_path / f"{i}.txt") for i in range(3))
    joined = one + other
    assert list(joined) == list(both)
    for name, column in both.columns.items():
        assert joined.column(name).values.tolist() == column.values.tolist()
    assert joined.source.endswith("1.txt")
    assert trellis.train(joined, target="label").to_bytes() == trellis.train(both, target="label").to_bytes()


def test_attributes_one_after_the_other() -> None:
    a = trellis.read({"attributes": [[["x", "y"]], [["y"]]], "z": [["A"], ["B"]]})
    b = trellis.read({"attributes": [[{"y": 2.0, "q": 1.0}]], "z": [["B"]]})
    assert list(a + b) == [*a, *b]
    assert list(a + a) == [*a, *a]
    assert list(b[:0] + a[1:]) == [*a[1:]]


def test_what_cannot_follow() -> None:
    a, b = trellis.read({"w": [["a"]]}), trellis.read({"w": [[["a"]]]})
    with pytest.raises(CorpusError, match="attributes in one"):
        a + b
    with pytest.raises(CorpusError, match="use the same names"):
        a + trellis.read({"v": [["a"]]})
    with pytest.raises(TypeError):
        a + 1  # type: ignore[operator]


def test_corpora_and_columns_are_equal_to_themselves_alone() -> None:
    corpus, bags = trellis.read({"word": [["a"]], "label": [["A"]]}), trellis.read({"attributes": [[{"p": 1.0}]]})
    for one, other in (
        (corpus, corpus[:]),
        (corpus.column("word"), corpus.column("label")),
        (bags.columns["attributes"], trellis.read({"attributes": [[{"p": 1.0}]]}).columns["attributes"]),
    ):
        assert one == one
        assert one != other
        assert isinstance(hash(one), int)
