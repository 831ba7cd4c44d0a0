"""From strings to attribute numbers, against an oracle that builds every feature as a tuple of strings."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from feature_oracle import Key, apply, features_of
from hypothesis import given, settings
from hypothesis import strategies as st
from opened import encode, names_of
from samples import KINDS, random_corpus

import trellis
from trellis import _core
from trellis._support.arrays import Ragged
from trellis._support.errors import CorpusError, TemplateError
from trellis.corpus.corpus import Corpus, Strings
from trellis.features import functions
from trellis.features.extraction import AttributeLists, Extraction, extract, freeze, view_table
from trellis.features.templates import Call
from trellis.features.vocabulary import Vocabulary, feature_set, function_of, native_calls
from trellis.tasks.tagging.training.edges import Seen
from trellis.tasks.tagging.training.encoding import Counted, select

few = settings(max_examples=60, derandomize=True, deadline=None)

looks = st.builds(
    lambda look, at: look.format(at),
    st.sampled_from(
        [
            "word[{}]",
            "pos[{}]",
            "suffix(word[{}], 2)",
            "prefix(lower(word[{}]), 1)",
            "shape(word[{}])",
            "has_digit(word[{}])",
            "is_upper(word[{}])",
            "lower(suffix(word[{}], 2))",
        ]
    ),
    st.integers(-3, 3),
)
parts = st.one_of(looks, looks, st.sampled_from(["is_first", "is_last"]))
conjunctions = st.lists(parts, min_size=1, max_size=4).map(" & ".join)
templates = st.lists(
    st.one_of(conjunctions, conjunctions, st.just("bias"), conjunctions.map(lambda c: f"label[-1] & {c}")),
    min_size=1,
    max_size=5,
)


def extracted(corpus: Corpus, features: list[str], n_threads: int = 1) -> Extraction:
    return extract(corpus, feature_set(features, [c for c in corpus.columns if c != "label"]), n_threads)


def whole(lists: AttributeLists | None) -> Ragged:
    """The lists of a corpus in memory."""
    assert lists is not None
    [found] = lists.chunks()
    return found


def frozen(extraction: Extraction) -> Vocabulary:
    """The vocabulary with all attributes under their own numbers."""
    everything = [np.arange(n, dtype=np.int32) for n in (extraction.n_attributes, extraction.n_edge_attributes)]
    return freeze(extraction, *everything)


def by_token(lists: Ragged) -> list[list[tuple[int, float]]]:
    values = lists.values.tolist() or [1.0] * len(lists.ids)
    pairs = list(zip(lists.ids.tolist(), values, strict=True))
    return [pairs[a:b] for a, b in zip(lists.starts[:-1], lists.starts[1:], strict=True)]


def check_bijection(expected: list[list[list[tuple[Key, float]]]], lists: Ragged) -> dict[Key, int]:
    """The same features at every token, and one number for one feature."""
    tokens = [token for sentence in expected for token in sentence]
    found = by_token(lists)
    assert [[value for _, value in token] for token in tokens] == [[value for _, value in token] for token in found]
    number: dict[Key, int] = {}
    for names, ids in zip(tokens, found, strict=True):
        for (key, _), (a, _) in zip(names, ids, strict=True):
            assert number.setdefault(key, a) == a
    assert len(set(number.values())) == len(number)
    return number


def check_known(
    number: dict[Key, int], corpus: Corpus, features: list[str], lists: Ragged | None, on_edge: bool
) -> None:
    """Another corpus gets exactly the known features with their numbers; values of 0 are dropped."""
    expected = [
        [(number[key], value) for key, value in token if key in number and value != 0]
        for sentence in features_of(features, corpus, on_edge=on_edge)
        for token in sentence
    ]
    assert (by_token(lists) if lists is not None else [[] for _ in expected]) == expected


def check(corpus: Corpus, other: Corpus, features: list[str]) -> Extraction:
    extraction = extracted(corpus, features)
    number = check_bijection(features_of(features, corpus), whole(extraction.lists))
    assert sorted(number.values()) == list(range(extraction.n_attributes))
    edge_number: dict[Key, int] = {}
    if extraction.edge_lists is not None:
        edge_number = check_bijection(features_of(features, corpus, on_edge=True), whole(extraction.edge_lists))
        assert sorted(edge_number.values()) == list(range(extraction.n_edge_attributes))
    else:
        assert not any("label[-1]" in text for text in features)
    vocabulary = frozen(extraction)
    for c in (corpus, other):
        lists, edge_lists = encode(vocabulary, c, 2)
        check_known(number, c, features, lists, on_edge=False)
        check_known(edge_number, c, features, edge_lists, on_edge=True)
    return extraction


@few
@given(templates, st.integers(0, 2**31))
def test_random_templates(features: list[str], seed: int) -> None:
    check(random_corpus(seed, 6), random_corpus(seed + 1, 6), features)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: str) -> None:
    chosen = KINDS[kind]
    # Another seed has other words; some sentences of the first corpus make sure that much is known.
    corpus, other = chosen.corpus(0, 20), chosen.corpus(1, 10)
    extraction = check(corpus, other, list(chosen.templates))
    check(corpus, corpus[5:9], list(chosen.templates))
    assert (extraction.vocabulary.plan.n_folds > 0) == (kind == "folds")


def test_many_folds() -> None:
    """Keys of 400 bits over a thousand words: compressed again and again, and still exact."""
    rng = np.random.default_rng(0)
    n = 400
    words = rng.integers(0, 1000, (n, 5)).astype(str).tolist()
    # Pairs of sentences that differ in one word only: a key that forgets a place takes them for equal.
    for i in range(0, n, 2):
        words[i + 1] = words[i].copy()
        words[i + 1][i // 2 % 5] = "other"
    corpus = trellis.read({"word": words, "pos": words, "label": [["L"] * 5] * n})
    window = [f"word[{i}]" for i in range(-4, 5)]
    features = [
        " & ".join([*window, *window, *window]),
        "label[-1] & " + " & ".join([*window, *(f"pos[{i}]" for i in range(-4, 5))]),
    ]
    extraction = check(corpus, corpus, features)
    folds = extraction.vocabulary.plan.atoms[:, 4]
    assert extraction.vocabulary.plan.n_folds == (folds >= 0).sum() > 8


def test_keys_of_exactly_63_bits() -> None:
    """Nine views of 7 bits fill a key to the brim without a fold; a tenth needs one."""
    values = [f"v{i}" for i in range(128 - 16)]  # with 2 · 8 numbers for what lies outside, 128
    words = [values[i : i + 11] for i in range(0, len(values), 11)]
    corpus = trellis.read({"word": words, "pos": words, "label": [["L"] * len(s) for s in words]})
    nine, ten = (" & ".join(f"word[{i}]" for i in range(-8, -8 + n)) for n in (9, 10))
    for features, n_folds in (([nine], 0), ([ten], 1)):
        plan = check(corpus, corpus, features).vocabulary.plan
        assert (plan.atoms[:, 3] == 7).all()
        assert plan.n_folds == n_folds


def test_keys_of_65_bits() -> None:
    """Thirteen views of 5 bits: without a fold, the highest bit of the first one would fall off the key."""
    values = [f"v{i}" for i in range(20)]  # with 2 · 6 numbers for what lies outside, 32; v0 is 12 and v16 is 28
    words = [values, *([first, *["v1"] * 12] for first in ("v0", "v16"))]
    corpus = trellis.read({"word": words, "pos": words, "label": [["L"] * len(s) for s in words]})
    plan = check(corpus, corpus, [" & ".join(f"word[{i}]" for i in range(-6, 7))]).vocabulary.plan
    assert (plan.atoms[:, 3] == 5).all()
    assert plan.n_folds == 1


def test_boundaries_tell_their_distance() -> None:
    corpus = trellis.read({"word": [["a"], ["a", "a"]], "label": [["L"], ["L", "L"]]})
    extraction = extracted(corpus, ["word[-2] & word[2]"])
    # outside at distances (2, 2), (2, 1), (1, 2): three different features
    assert whole(extraction.lists).ids.tolist() == [0, 1, 2]


def test_threads_give_the_same_bits() -> None:
    corpus, other = random_corpus(0, 700, n_words=50, bag=True), random_corpus(1, 700, n_words=50, bag=True)
    features = [*KINDS["functions"].templates, *KINDS["folds"].templates, "attributes[0]"]
    seen = set()
    for n_threads in (1, 2, 3, 8):
        extraction = extracted(corpus, features, n_threads)
        vocabulary = frozen(extraction)
        arrays: list[np.ndarray] = [*whole(extraction.lists).arrays, *vocabulary.tables, *vocabulary.folds]
        for lists in encode(vocabulary, other, n_threads):
            assert lists is not None
            arrays += lists.arrays
        seen.add(tuple(a.tobytes() for a in arrays))
    assert len(seen) == 1


# ---------------------------------------------------------------------------- selection


@pytest.mark.parametrize("min_count", [0, 1, 2, 5])
@pytest.mark.parametrize("pairs", ["all", "seen"])
def test_cut_offs_and_numbering(min_count: int, pairs: Any) -> None:
    corpus = random_corpus(3, 40)
    templates = ["word[0]", "word[-1] & pos[0]", "suffix(word[0], 1)"]
    extraction = extracted(corpus, templates)
    gold = corpus.column("label").codes
    number = check_bijection(features_of(templates, corpus), whole(extraction.lists))
    tokens = [[key for key, _ in token] for sentence in features_of(templates, corpus) for token in sentence]
    count = Counter(key for token in tokens for key in token)
    with_label = Counter((key, int(z)) for token, z in zip(tokens, gold, strict=True) for key in token)
    lists, counted = whole(extraction.lists), Counted(extraction.n_attributes, 9)
    for a, b in ((0, 13), (13, 14), (14, len(gold))):  # in chunks
        some = lists.slice(a, b)
        counted.add(some, [Seen(some, np.arange(len(some)), gold[a:b])])
    rank, rows = select(counted, min_count, pairs, np.empty(0, np.int32))
    least = max(1, min_count)
    if pairs == "all":
        alive = {key for key in count if count[key] >= least}
        assert rows is None
    else:
        alive = {key for key, z in with_label if with_label[key, z] >= least}
        assert rows is not None
        assert rows.n_attributes == len(alive)
        for key in alive:
            a = rank[number[key]]
            labels = rows.labels[rows.starts[a] : rows.starts[a + 1]].tolist()
            assert labels == sorted(z for k, z in with_label if k == key and with_label[k, z] >= least)
        assert (rows.weights == 0).all()
    assert {key for key in count if rank[number[key]] >= 0} == alive
    ranked = sorted(alive, key=lambda key: rank[number[key]])
    assert [rank[number[key]] for key in ranked] == list(range(len(alive)))
    # The most frequent first, equals in order of their old numbers.
    assert ranked == sorted(alive, key=lambda key: (-count[key], number[key]))
    # A vocabulary frozen with that rank contains exactly the remaining features.
    vocabulary = freeze(extraction, rank, np.empty(0, np.int32))
    names = names_of(vocabulary, templates, corpus, on_edge=False)
    assert {key: a for a, key in names.items()} == {key: rank[number[key]] for key in alive}
    renumbered = by_token(lists.renumber(rank))
    assert by_token(encode(vocabulary, corpus, 1)[0]) == renumbered


def test_a_slice_knows_its_own_words_only() -> None:
    """A slice shares the values of the whole corpus, but values that do not occur in it are unknown."""
    corpus = trellis.read({"word": [["a", "b"], ["c"]], "label": [["X", "Y"], ["Z"]]})
    vocabulary = extracted(corpus[:1], ["word[0]"]).vocabulary
    assert list(vocabulary.columns[0].values) == ["a", "b"]
    assert trellis.train(corpus[:1], target="label", features=["word[0]"]).labels == ("X", "Y")


def test_bags_are_read_alone() -> None:
    corpus = random_corpus(0, bag=True)
    for bad in (
        "attributes[1]",
        "attributes[0] & word[0]",
        "lower(attributes[0])",
        "label[-2..-1] & attributes[0]",
    ):
        with pytest.raises(TemplateError, match="alone"):
            extracted(corpus, [bad])
    with pytest.raises(TemplateError, match="one column of attributes"):
        extracted(corpus, ["attributes[0]", "a: attributes[0]"])
    vocabulary = frozen(extracted(corpus, ["attributes[0]"]))
    with pytest.raises(CorpusError, match="'attributes'"):
        encode(vocabulary, random_corpus(0), 1)


# ---------------------------------------------------------------------------- functions


@few
@given(st.text(alphabet="aAbBdDxX19-._#äÖ", max_size=9))
def test_functions(value: str) -> None:
    for name, function in functions.PLAIN.items():
        assert function(value) == apply(Call(name), value), name
    for name in functions.SIZED:
        for k in (1, 2, 5):
            assert functions.SIZED[name](k)(value) == apply(Call(name, (k,)), value)


def _native_equals_python(view: tuple[Call, ...], words: list[str]) -> None:
    function = function_of(view, {})
    assert native_calls(view) is not None
    codes, strings = view_table(view, Strings.of(words), {})
    said = [None if code < 0 else strings[code] for code in codes.tolist()]
    assert said == [function(word) for word in words]
    assert len(set(strings)) == len(strings)


_BASIC_VIEWS = [
    *((Call(name),) for name in functions.PLAIN),
    *((Call(name, (k,)),) for name in functions.SIZED for k in (1, 2, 3, 4, 9, 1 << 70)),
    (Call("outside"),),
]


@pytest.mark.parametrize("view", _BASIC_VIEWS, ids=str)
def test_native_functions_on_every_short_ascii_word(view: tuple[Call, ...]) -> None:
    letters = [chr(c) for c in range(128)]
    _native_equals_python(view, ["", *letters, *(a + b for a in letters for b in letters)])


@few
@given(
    st.lists(
        st.one_of(
            st.text(alphabet=st.characters(max_codepoint=127), max_size=20),
            st.text(alphabet="aaAAbB11..--", max_size=30),
            st.text(alphabet="aA1.-äÖßİ١ǅ", max_size=9),  # not ASCII: left to Python
        ),
        max_size=30,
        unique=True,
    ),
    st.lists(st.sampled_from(_BASIC_VIEWS), min_size=1, max_size=3),
)
def test_native_functions_on_any_word(words: list[str], views: list[tuple[Call, ...]]) -> None:
    _native_equals_python(tuple(call for view in views for call in view), words)


def test_functions_that_native_code_leaves_to_python() -> None:
    words = ["", "a", "bank"]
    for view in ((Call("suffix", (0,)),), (Call("prefix", (-1,)), Call("lower"))):
        codes, strings = view_table(view, Strings.of(words), {})
        assert [strings[code] for code in codes.tolist()] == [function_of(view, {})(word) for word in words]
    assert native_calls((Call("lower"), Call("listed", ("names",)))) is None
    with pytest.raises(ValueError, match="ASCII"):
        _core.view_table([("lower", 0)], Strings.of(["é"]), [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Rockwell", "Xxx"), ("25-year", "dd-xx"), ("NASA", "XX"), ("", ""), ("a.b..c", "x.x..x")],
)
def test_shapes(value: str, expected: str) -> None:
    assert functions.shape(value) == expected


def test_files(tmp_path: Path) -> None:
    plain, packed = tmp_path / "paths.txt", tmp_path / "paths.gz"
    text = "0110\tbank\t12\n0111\tBank\n\n10\tcafé\n"
    plain.write_text(text, encoding="utf-8-sig")
    packed.write_bytes(gzip.compress(text.encode()))
    expected = {"bank": "0110", "Bank": "0111", "café": "10"}
    for file in (plain, packed):
        assert functions.read_lookup("cluster", str(file)) == expected
    cut = functions.function_named("cluster", ("f", 3), {("cluster", "f"): expected}, "word")
    assert [cut(w) for w in ("bank", "café", "river")] == ["011", "10", None]
    plain.write_text(" New York \n\nBerlin\n")
    assert functions.read_lookup("listed", str(plain)) == {"New York": "yes", "Berlin": "yes"}


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "gone.txt", "cluster: .*gone.txt"),
        (b"0\ta\nword\n", "bad.txt", "bad.txt:2: .*no tab"),
        (b"\xff\xfe", "latin.txt", "cluster: .*latin.txt"),
        (b"not gzip", "bad.gz", "cluster: .*bad.gz"),
        (gzip.compress(b"0\ta\n", mtime=0)[:-9], "cut.gz", "cluster: .*cut.gz"),
        (
            gzip.compress(b"0\ta\n", mtime=0)[:10] + b"\xff" * 30,
            "broken.gz",
            "cluster: .*broken.gz",
        ),
    ],
    ids=["gone", "no tab", "not UTF-8", "not gzip", "cut short", "broken"],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None, name: str, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TemplateError, match=message):
        extracted(random_corpus(0), [f'cluster(word[0], "{tmp_path / name}")'])


def test_unseen_words_speak_through_their_views(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("01\tknown\n01\tunseen\n")
    corpus = trellis.read({"word": [["known", "b1"]], "label": [["X", "Y"]]})
    features = ["word[0]", "suffix(word[0], 1)", f'cluster(word[0], "{tmp_path / "c.txt"}")']
    vocabulary = frozen(extracted(corpus, features))
    (tmp_path / "c.txt").unlink()  # the content of the file is in the vocabulary
    other = trellis.read({"word": [["unseen", "z1", "q"]], "label": [["X", "X", "X"]]})
    (word, suffix, cluster, word2, suffix2) = encode(vocabulary, corpus, 1)[0].ids.tolist()
    assert len({word, suffix, cluster, word2, suffix2}) == 5
    assert by_token(encode(vocabulary, other, 1)[0]) == [
        [(suffix, 1.0), (cluster, 1.0)],
        [(suffix2, 1.0)],
        [],
    ]
