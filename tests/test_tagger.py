"""Tagging against the reference's Viterbi, over potentials summed by hand from the model's weights."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from feature_oracle import Twin, features_of
from opened import weights_of
from samples import KINDS, Kind, random_corpus

import trellis
import trellis.tasks.tagging.model
from experiments import reference
from trellis import Perceptron
from trellis._support.errors import ArgumentError, ConstraintError, CorpusError
from trellis.corpus.corpus import Corpus
from trellis.tasks.tagging.model import Tagger


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(scope="module")
def tagger(kind: Kind) -> Tagger:
    return kind.train(kind.corpus(2, 30))


@pytest.fixture(scope="module")
def corpora(kind: Kind) -> list[Corpus]:
    """The training corpus, and one with unseen words."""
    return [kind.corpus(2, 30), kind.corpus(3, 30)]


def rows_of(tagger: Tagger, corpus: Corpus) -> list[Any]:
    """The sentences of a corpus as Python objects for this tagger."""
    lists = [corpus.columns[name].tolist() for name in tagger.columns]
    tokens = lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
    return [tokens[a:b] for a, b in zip(corpus.starts[:-1], corpus.starts[1:], strict=True)]


def expected_potentials(kind: Kind, tagger: Tagger, trained_on: Corpus, corpus: Corpus) -> list[reference.Potentials]:
    """From the weights by name and the features by name."""
    weights = {name: float(w) for name, w in weights_of(tagger, list(kind.templates), trained_on).items()}
    options = {"order": 1, **kind.options}
    twin = Twin(kind.templates, trained_on, **options)
    tokens, edges = features_of(kind.templates, corpus), features_of(kind.templates, corpus, on_edge=True)
    return [
        twin.potentials(t, e, words, weights)
        for t, e, words in zip(tokens, edges, corpus.sentences("word"), strict=True)
    ]


def test_tags_are_the_best_paths(kind: Kind, tagger: Tagger, corpora: list[Corpus]) -> None:
    for corpus in corpora:
        for p, rows in zip(expected_potentials(kind, tagger, corpora[0], corpus), rows_of(tagger, corpus), strict=True):
            path, score = reference.viterbi(p)
            labels = [tagger.labels[z] for z in path]
            assert tagger.tag(rows) == labels
            if rows:
                assert tagger.score(rows, labels) == score
            best = reference.kbest(p, 5)
            assert tagger.kbest(rows, 5) == [([tagger.labels[z] for z in path], s) for path, s in best]


def test_k_best(tagger: Tagger, corpora: list[Corpus]) -> None:
    for rows in rows_of(tagger, corpora[1]):
        found = tagger.kbest(rows, 20)
        assert found[0][0] == tagger.tag(rows)
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(labels) for labels, _ in found}) == len(found) <= 20
        assert [tagger.score(rows, labels) for labels, _ in found] == scores
        assert tagger.kbest(rows, 1) == found[:1]
    for k in (0, 1.5, "2"):
        with pytest.raises(ArgumentError, match="k must be a whole number from 1 to 1000000, not"):
            tagger.kbest([], k)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="n must be a whole number of at least 0, not -1"):
        tagger.top_features(-1)
    with pytest.raises(ConstraintError, match="allowed must be a dict by position or a list"):
        tagger.tag([], allowed=5)  # type: ignore[arg-type]


def test_the_best_of_averaged_weights(kind: Kind) -> None:
    """Sums of fractions depend on their order and precision: tagging and k best must agree even so."""
    for seed in range(3):
        corpus = kind.corpus(seed, 40)
        tagger = kind.train(corpus, learner=Perceptron(epochs=5))
        for rows in rows_of(tagger, kind.corpus(seed + 50, 60)) + rows_of(tagger, corpus):
            (labels, score), *_ = tagger.kbest(rows, 3)
            assert labels == tagger.tag(rows)
            assert score == tagger.score(rows, labels)


def test_all_ways_of_tagging_agree(tagger: Tagger, corpora: list[Corpus]) -> None:
    for corpus in corpora:
        rows = rows_of(tagger, corpus)
        one_by_one = [tagger.tag(sentence) for sentence in rows]
        flat = [label for labels in one_by_one for label in labels]
        for n_threads in (None, 1, 2, 5):
            assert tagger.tag_batch(rows, n_threads=n_threads) == one_by_one
            assert tagger.tag_batch(corpus, n_threads=n_threads) == one_by_one
            assert tagger.tag_column(corpus, n_threads=n_threads).tolist() == flat
        assert tagger.tag_batch(tuple(tuple(sentence) for sentence in rows)) == one_by_one
        assert tagger.tag_batch(iter(rows)) == one_by_one
        assert tagger.tag_column(corpus[7:11]).tolist() == [z for labels in one_by_one[7:11] for z in labels]
        # A dict of columns, with more columns than the model reads.
        for sentence, labels in zip(rows, one_by_one, strict=True):
            fields = zip(*sentence, strict=True) if len(tagger.columns) > 1 else [sentence]
            columns = (
                dict(zip(tagger.columns, map(list, fields), strict=False))
                if sentence
                else {name: [] for name in tagger.columns}
            )
            assert tagger.tag({"more": [], **columns}) == labels


def test_empty(tagger: Tagger, corpora: list[Corpus]) -> None:
    assert tagger.tag([]) == []
    assert tagger.tag_batch([]) == []
    assert tagger.tag_batch([[], []]) == [[], []]
    assert tagger.tag_column(corpora[0][:0]).tolist() == []
    assert tagger.kbest([], 3) == [([], 0.0)]
    assert tagger.score([], []) == 0.0


def test_a_bounded_memory_gives_the_same_answers(
    kind: Kind, tagger: Tagger, corpora: list[Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trellis.tasks.tagging.decoding, "CACHE_BYTES", 1)
    forgetful = Tagger(tagger.model)
    for corpus in corpora:
        rows = rows_of(tagger, corpus)
        expected = tagger.tag_batch(rows)
        assert forgetful.tag_batch(rows) == expected
        assert [forgetful.tag(sentence) for sentence in rows] == expected
        assert forgetful.tag_column(corpus).tolist() == tagger.tag_column(corpus).tolist()
        assert [forgetful.kbest(s, 3) for s in rows] == [tagger.kbest(s, 3) for s in rows]


@pytest.mark.parametrize("cache_bytes", [1, 1 << 20])
@pytest.mark.parametrize("kind", ["plain", "tag dictionary", "functions", "bag and columns"], indirect=True)
def test_many_python_threads(kind: Kind, tagger: Tagger, cache_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = kind.corpus(8, 120)
    rows = rows_of(tagger, corpus)
    expected = tagger.tag_batch(rows)
    monkeypatch.setattr(trellis.tasks.tagging.decoding, "CACHE_BYTES", cache_bytes)
    fresh = Tagger(tagger.model)
    wrong: list[object] = []

    def work(seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(rows)).tolist()
        if [fresh.tag(rows[i]) for i in order] != [expected[i] for i in order]:
            wrong.append(seed)
        if fresh.tag_batch([rows[i] for i in order], n_threads=2) != [expected[i] for i in order]:
            wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_values_that_run_python_do_not_block_other_threads() -> None:
    """A value's __float__ may let another thread run, which must not wait with the GIL in hand."""
    tagger = KINDS["bag"].train()
    inside, done = threading.Event(), threading.Event()

    class Slow:
        def __float__(self) -> float:
            inside.set()
            done.wait(0.2)
            return 1.0

    def other() -> None:
        inside.wait()
        tagger.tag([{"x1": 1.0}])
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert tagger.tag([{"x1": Slow()}]) == tagger.tag([{"x1": 1}])
    thread.join(10)
    assert done.is_set()


def test_more_words_than_one_block_holds() -> None:
    """Word types by the hundred thousand in one batch, each with a vector of its own."""
    n = 40_000
    tagger = KINDS["functions"].train()
    words = [f"{i:x}.{'aAbB1-'[i % 6]}" for i in range(n)]
    together = tagger.tag_batch([[(word, "P0")] for word in words])
    some = range(0, n, 997)
    assert [tagger.tag([(words[i], "P0")]) for i in some] == [together[i] for i in some]
    again = Tagger(tagger.model)
    assert [again.tag([(words[i], "P0")]) for i in some] == [together[i] for i in some]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_new_words_are_the_same_by_native_code_and_by_python(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which attributes words have that the model never met: ASCII or not, met twice, in one batch or in two."""
    random = np.random.default_rng(5)
    letters = list("abAB19.-é")
    words = ["".join(random.choice(letters, random.integers(1, 7))) for _ in range(900)]
    corpus = trellis.read([[(w, "x" if w[0] in "aA" else "y") for w in words[:300]]], columns="word,label")
    tagger = trellis.train(corpus, target="label", learner=Perceptron(epochs=1))
    unseen = [words[200:], words[500:]]

    def attributes() -> list[list[Any]]:
        fresh = Tagger(tagger.model)
        fresh._decoder.encode([words[450:550]], n_threads)
        batch = fresh._decoder.encode(unseen, n_threads)
        return [array.tolist() for array in fresh._decoder.attribute_lists(batch)]

    native = attributes()
    with monkeypatch.context() as patch:
        patch.setattr(trellis.tasks.tagging.decoding, "native_calls", lambda view: None)
        assert attributes() == native
    assert len(native[1]) > 4 * len(words)


def test_views_of_answers_longer_than_the_word_depend_on_no_other_word() -> None:
    """normal() says !DIGITS of "7": what is asked of that answer must not be lost where other words come first."""
    features = ["lower(normal(w[0]))", "lower_ascii(normal(w[0]))", "shape(normal(w[0]))", "lower(shape(normal(w[0])))"]
    corpus = {"w": [["1", "2", "x", "1984", "a-b"]] * 3, "y": [["N", "N", "O", "Y", "H"]] * 3}
    tagger = trellis.train(corpus, target="y", features=features, learner=Perceptron(epochs=5))

    def attributes(*words: str) -> list[int]:
        decoder = Tagger(tagger.model)._decoder
        return decoder.attribute_lists(decoder.encode([list(words)])).ids.tolist()  # type: ignore[attr-defined]

    for known, unknown in (("1", "7"), ("1984", "1066"), ("a-b", "c-d")):
        assert len(attributes(known)) == 4
        assert attributes(unknown) == attributes(known)
        assert attributes("a-long-word-first", unknown)[-4:] == attributes(known)


def test_memory_of_one_long_sentence_is_given_back() -> None:
    corpus = {"w": [[f"w{i}" for i in range(40)]] * 2, "y": [[f"L{i}" for i in range(40)]] * 2}
    tagger = trellis.train(corpus, target="y", features=["w[0]"], learner=Perceptron(epochs=1), order=2)

    def megabytes() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

    sentence = corpus["w"][0] * 400
    tagger.tag(sentence[:40])
    before = megabytes()
    tagger.tag(sentence)  # 16,000 tokens, 40 labels and their predecessors: 102 MB
    assert megabytes() - before < 30


def test_a_refused_sentence_leaves_no_word_half_known() -> None:
    tagger = KINDS["functions"].train()
    good = [("new-word", "P0"), ("néw", "P0"), ("other", "P1")]
    expected = Tagger(tagger.model).tag(good)
    with pytest.raises(CorpusError, match="a token is int"):
        tagger.tag_batch([[*good, 3]])
    assert tagger.tag(good) == expected


def test_many_threads_over_long_batches() -> None:
    kind = KINDS["folds"]
    tagger = kind.train()
    corpus = kind.corpus(1, 5000)
    once = tagger.tag_column(corpus, n_threads=1)
    for n_threads in (2, 7):
        assert tagger.tag_column(corpus, n_threads=n_threads).tolist() == once.tolist()


def test_attributes_in_every_form() -> None:
    corpus = trellis.read(
        {
            "attributes": [[{"w": "a", "cap": True, "n": 2.0}, ["w:b"], {"w": "b", "cap": False}]],
            "label": [["X", "Y", "Y"]],
        }
    )
    tagger = trellis.train(corpus, target="label", features="attributes", order=0, learner="perceptron")
    assert tagger.tag([{"w": "a"}, ["w:a"], ("w:a",), {"w:a": 1}, {"w:a": True}]) == ["X"] * 5
    assert tagger.tag([["w:b"], {"w": "b", "cap": False}, [], {"unknown": "z"}]) == ["Y", "Y", "X", "X"]
    labels = ["X"]
    assert tagger.score([{"n": 4}], labels) == 2 * tagger.score([{"n": 2}], labels)
    assert tagger.score([{"w": "a", "n": 2, "cap": 1}], labels) == sum(
        tagger.score([one], labels) for one in ({"w": "a"}, {"n": 2}, {"cap": 1})
    )


# ---------------------------------------------------------------------------- what is rejected

ONE = Kind(("word[0]", "word[-1]"))
TWO = KINDS["functions"]
BAG = KINDS["bag"]
BOTH = KINDS["bag and columns"]


@pytest.mark.parametrize(
    ("kind", "sentence", "message"),
    [
        (ONE, "a b", "a sentence must be a list of tokens, not a string"),
        (ONE, None, "a sentence must be a list, not NoneType"),
        (ONE, 3, "a sentence must be a list, not int"),
        (ONE, ["a", 3], "a token is int; this model reads one string per token"),
        (ONE, ["a", None], "a token is NoneType; this model reads one string per token"),
        (ONE, [("a", "b")], "a token has 2 values; this model reads one string per token"),
        (ONE, {"pos": ["a"]}, "no 'word'; the model reads word"),
        (TWO, ["a"], r"a token is str; this model reads \(word, pos\) per token"),
        (TWO, [("a",)], r"a token has 1 values; this model reads \(word, pos\)"),
        (TWO, [("a", 1)], r"a token is int; this model reads \(word, pos\)"),
        (TWO, [{"word": "a"}], r"a token is dict; this model reads \(word, pos\)"),
        (TWO, {"word": ["a", "b"], "pos": ["c"]}, "different lengths"),
        (BAG, ["a"], "the attributes of a token must be a dict, a list or a vector of floats, not str"),
        (BAG, [[1]], "the name of an attribute is int, not a string"),
        (BAG, [{1: 2}], "the name of an attribute is int, not a string"),
        (BAG, [{"a": None}], "neither a string, a number nor a truth value"),
        (BAG, [{"a": float("nan")}], "must be a finite number"),
        (BAG, [{"a": 1e300}], "must be a finite number"),
        (
            BOTH,
            [{"x1": 1.0}],
            r"a token is dict; this model reads \(word, pos, attributes\) per token",
        ),
        (BOTH, [("a", "P0")], "a token has 2 values"),
        (BOTH, [("a", "P0", "x1")], "the attributes of a token must be a dict, a list or a vector of floats, not str"),
        (ONE, ["a\ud800"], "surrogate"),
    ],
)
def test_wrong_sentences(kind: Kind, sentence: Any, message: str) -> None:
    tagger = kind.train()
    before = tagger.tag_column(kind.corpus()).tolist()
    ways: list[Callable[[Any], object]] = [
        tagger.tag,
        lambda s: tagger.tag_batch([[], s]),
        lambda s: tagger.kbest(s, 2),
    ]
    for way in ways:
        with pytest.raises(CorpusError, match=message):
            way(sentence)
    assert tagger.tag_column(kind.corpus()).tolist() == before


def test_an_error_names_the_token() -> None:
    tagger = BAG.train()
    with pytest.raises(CorpusError, match=r"^token 1, \{'w': None\}: .*is NoneType, neither"):
        tagger.tag([{"w": "x"}, {"w": None}])
    with pytest.raises(CorpusError, match=r"^sentence 1 \(counted from 0\): token 0, \{'w': None\}: "):
        tagger.tag_batch([[], [{"w": None}]])


def test_arrays_and_iterators_are_sentences() -> None:
    tagger = trellis.train({"word": [["a", "b"]] * 3, "y": [["A", "B"]] * 3}, target="y", learner=Perceptron(epochs=1))
    assert tagger.tag(np.array(["a", "b"])) == tagger.tag(iter("ab")) == ["A", "B"]
    assert tagger.tag_batch([np.array(["a"]), iter("b")]) == [["A"], ["B"]]
    for call in (tagger.tag, lambda text: tagger.tag_batch([text])):
        with pytest.raises(CorpusError, match="a list of tokens, not a string; call tag_text to tag text"):
            call("Ann lives in Rome")


def test_wrong_corpora_and_labels() -> None:
    tagger = ONE.train()
    with pytest.raises(CorpusError, match="no column 'word'; the columns are form"):
        tagger.tag_column(trellis.read({"form": [["a"]]}))
    with pytest.raises(CorpusError, match="attributes from column 'attributes'"):
        BAG.train().tag_column(random_corpus(0))
    with pytest.raises(ValueError, match="1 labels for 2 tokens"):
        tagger.score(["a", "b"], ["L0"])
    with pytest.raises(ValueError, match="no label 'Z' in this model; its labels are L"):
        tagger.score(["a"], ["Z"])


def test_what_a_tagger_says_of_itself(tmp_path: Path) -> None:
    tagger = TWO.train()
    assert tagger.columns == ("word", "pos")
    assert (tagger.target, tagger.order) == ("label", 1)
    assert repr(tagger).startswith("Tagger(target label, reads word pos, 3 labels, order 1, ")
    assert tagger.training["tokens"] == TWO.corpus().n_tokens
    assert tagger.evaluate(TWO.corpus()).headline > 0.5


def test_copies_are_the_same_tagger(tmp_path: Path) -> None:
    import copy
    import pickle

    corpus = KINDS["functions"].corpus(0, 20)
    tagger = KINDS["functions"].train(corpus)
    for other in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger)):
        assert other.tag_column(corpus).tolist() == tagger.tag_column(corpus).tolist()
        assert other.info == tagger.info


def test_heaviest_and_evaluate_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a X\nb Y\n\nb Y\na X\n")
    tagger = trellis.train(tmp_path / "a.txt", target="label", features=["word[0]"], order=0, learner="perceptron")
    assert {(weight.feature, weight.label) for weight in tagger.top_features(4)} == {
        ("word[0]=b", "X"),
        ("word[0]=b", "Y"),
    }
    assert tagger.evaluate(tmp_path / "a.txt").token_accuracy == 1
    assert repr(trellis.read(tmp_path / "a.txt")).startswith("Corpus(word, label; 2 sentences, 4 tokens from ")


def test_bytes(tmp_path: Path) -> None:
    tagger, corpus = TWO.train(), TWO.corpus()
    tagger.save(tmp_path / "model")
    data = tagger.to_bytes()
    assert data == (tmp_path / "model").read_bytes()
    assert Tagger.from_bytes(data).tag_batch(corpus) == tagger.tag_batch(corpus)
    for given in (data, None):
        with pytest.raises(ArgumentError, match=r"^load takes the path of a file, not \w+; for bytes"):
            trellis.load(given)  # type: ignore[arg-type]


def test_a_file_is_read_as_the_training_file_was(tmp_path: Path) -> None:
    text = "the\tD\tB-X\ndog\tN\tI-X\n\nit\tP\tO\n"
    train = trellis.read(
        {"word": [["the", "dog"], ["it"]], "pos": [["D", "N"], ["P"]], "chunk": [["B-X", "I-X"], ["O"]]}
    )
    tagger = trellis.train(train, target="chunk", features="chunking")
    (tmp_path / "test.txt").write_text(text)
    for source in (tmp_path / "test.txt", str(tmp_path / "test.txt"), train):
        assert tagger.evaluate(source).headline == 1.0
        assert tagger.reliability(source).tokens.n == 3
        assert tagger.calibrated(source).temperature < 1
    (tmp_path / "wide.txt").write_text("a b c d\n")
    with pytest.raises(CorpusError, match=r"wide.txt: 4 columns, but the model was trained on 3 \(word, pos, chunk\)"):
        tagger.evaluate(tmp_path / "wide.txt")
    (tmp_path / "narrow.txt").write_text("a b\n")
    with pytest.raises(CorpusError, match="no column 'chunk'; the columns are word, pos"):
        tagger.evaluate(tmp_path / "narrow.txt")


def test_strings_without_weights_are_left_out() -> None:
    """Attributes of which no weight is left are not in the model."""
    rng = np.random.default_rng(0)
    bags = [[[f"x{rng.integers(50)}", f"rare{i}"] for _ in range(4)] for i in range(40)]
    labels = [["A" if bag[0] < "x3" else "B" for bag in bags[i]] for i in range(40)]
    corpus = trellis.read({"attributes": bags, "tag": labels})
    learner = trellis.CRF(c1=1.0, c2=0.1)
    tagger = trellis.train(corpus, target="tag", features="attributes", learner=learner)
    assert tagger.model.vocabulary.bag is not None
    strings, attributes = tagger.model.vocabulary.bag.strings, tagger.model.vocabulary.bag.attributes
    n = tagger.model.weights.rows.n_attributes
    assert len(strings) == len(attributes) == n < 60
    assert sorted(attributes.tolist()) == list(range(n))
    assert tagger.evaluate(corpus).token_accuracy > 0.9


def test_views_of_a_new_word_are_computed_once() -> None:
    corpus = {"word": [["ähren", "ölig"]] * 3, "label": [["A", "B"]] * 3}
    tagger = trellis.train(corpus, target="label", features=["word[0]", "suffix(word[0], 2)"])
    decoder, asked = tagger._decoder, list[str]()

    def counting(function: Any) -> Any:
        return function and (lambda word: asked.append(word) or function(word))

    decoder.functions = [[counting(function) for function in column] for column in decoder.functions]
    tagger.tag(["größen", "größen"])
    assert asked == ["größen"]
    tagger.tag_batch([["größen"], ["müßig"]])
    assert asked == ["größen", "müßig"]


def test_a_batch_belongs_to_its_decoder() -> None:
    one, other = ONE.train()._decoder, ONE.train()._decoder
    with pytest.raises(ValueError, match="the batch belongs to another decoder"):
        other.native.decode(one.encode([["a"]]), 1)
