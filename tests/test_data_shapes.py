"""The shapes of data that training, evaluation and tagging take beside files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import trellis

WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps", "here"], ["the", "cat"]]
LABELS = [["O", "B-N", "O"], ["O", "B-N", "I-N", "O"], ["O", "B-N"]]
PAIRS = list(zip(WORDS, LABELS, strict=True))
TAGGED = [list(zip(words, labels, strict=True)) for words, labels in PAIRS]
LEARNER = trellis.Perceptron(epochs=10)


def objects(rows: list[list[Any]], dtype: type | None = None) -> Any:
    """An array of arrays."""
    out = np.empty(len(rows), object)
    out[:] = [np.array(row, dtype) for row in rows]
    return out


def iterators(rows: list[list[Any]]) -> Iterator[Iterator[Any]]:
    return (iter(row) for row in rows)


SHAPES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "lists": lambda: (WORDS, LABELS),
    "arrays": lambda: (objects(WORDS), objects(LABELS)),
    "object arrays": lambda: (objects(WORDS, object), objects(LABELS, object)),
    "numpy strings": lambda: ([list(np.array(row)) for row in WORDS], [list(np.array(row)) for row in LABELS]),
    "iterators": lambda: (iterators(WORDS), iterators(LABELS)),
    "column and labels": lambda: ({"word": WORDS}, LABELS),
    "pairs": lambda: (PAIRS,),
    "zip": lambda: (zip(WORDS, LABELS, strict=True),),
    "a tuple of two": lambda: ((WORDS, LABELS),),
    "nltk": lambda: (TAGGED,),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_trains_the_same_tagger_without_a_target(shape: str) -> None:
    expected = trellis.train({"word": WORDS, "label": LABELS}, target="label", learner=LEARNER)
    tagger = trellis.train(*SHAPES[shape](), learner=LEARNER)
    assert (tagger.target, tagger.columns, tagger.labels) == ("label", ("word",), expected.labels)
    assert tagger.kbest_batch(WORDS, 5) == expected.kbest_batch(WORDS, 5)
    if len(SHAPES[shape]()) == 2:
        assert tagger.evaluate(*SHAPES[shape]()) == expected.evaluate({"word": WORDS, "label": LABELS})


ATTRIBUTES: dict[str, Callable[[str], Any]] = {
    "dicts": lambda word: {"word": word, "long": len(word) > 3, "size": len(word) / 2},
    "lists": lambda word: [f"word={word}", f"first={word[0]}"],
}


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_attributes_as_crfsuite_has_them(kind: str) -> None:
    X = [[ATTRIBUTES[kind](word) for word in words] for words in WORDS]
    pairs = list(zip(X, LABELS, strict=True))
    tagger, again = trellis.train(X, LABELS, learner=LEARNER), trellis.train(pairs, learner=LEARNER)
    assert tagger.columns == ("attributes",)
    assert tagger.kbest_batch(X, 5) == again.kbest_batch(X, 5)
    developed = [trellis.train(X, LABELS, learner=LEARNER, dev=dev) for dev in ((X, LABELS), pairs)]
    assert developed[0].kbest_batch(X, 5) == developed[1].kbest_batch(X, 5) != tagger.kbest_batch(X, 5)
    assert tagger.tag_batch(X) == LABELS
    assert tagger.evaluate(X, LABELS).token_accuracy == 1


def test_tuples_are_columns_and_named_alike_in_evaluation() -> None:
    X = [[(word, word[0]) for word in words] for words in WORDS]
    tagger = trellis.train(X, LABELS, learner=LEARNER, features=["word[0]", "pos[-1]"])
    assert tagger.columns == ("word", "pos")
    assert tagger.evaluate(X, LABELS).token_accuracy == 1
    only_words = trellis.train(X, LABELS, learner=LEARNER, features=["word[0]"])
    assert only_words.evaluate(X, LABELS) == only_words.evaluate(WORDS, LABELS)


def test_labels_take_the_name_of_the_target() -> None:
    tagger = trellis.train(WORDS, LABELS, target="chunk", learner=LEARNER)
    assert tagger.target == "chunk"
    assert tagger.evaluate(WORDS, LABELS).token_accuracy == 1


@pytest.mark.parametrize(
    ("columns", "target"),
    [(["word", "chunk"], "chunk"), (["label", "word"], "label"), (["form", "upos", "feats"], "upos")],
)
def test_default_target(columns: list[str], target: str) -> None:
    corpus = {name: LABELS if name in (target, "feats") else WORDS for name in columns}
    tagger = trellis.train(corpus, learner=LEARNER, features=[f"{'form' if 'form' in columns else 'word'}[0]"])
    assert tagger.target == target


def test_a_single_column_has_no_default_target() -> None:
    with pytest.raises(trellis.LearnerError, match="target must name the column"):
        trellis.train(WORDS, learner=LEARNER)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (WORDS, LABELS[:2], "column 'word' has 3 sentences, column 'label' 2"),
        (WORDS, [["O"], *LABELS[1:]], "sentence 0 .* column 'word' has 3 tokens, column 'label' has 1"),
        (WORDS[0], LABELS[0], "a sentence must be a list of tokens, not str"),
        (WORDS, [[1, 2, 3], *LABELS[1:]], "token 0 of column 'label' is 1"),
        ("train.txt", LABELS, "omit y"),
        (trellis.stream(lambda: [WORDS]), LABELS, "omit y"),
        ({"word": WORDS, "label": LABELS}, LABELS, "already have a column 'label'"),
        (3, LABELS, "must be a list of sentences"),
    ],
)
def test_sentences_and_labels_that_do_not_fit(X: Any, y: Any, message: str) -> None:
    with pytest.raises((trellis.CorpusError, trellis.ArgumentError), match=message):
        trellis.train(X, y, learner=LEARNER)


KINDS: dict[str, dict[str, Any]] = {
    "chain": {"learner": trellis.CRF()},
    "segments": {"learner": LEARNER, "segments": True},
    "two passes": {"learner": LEARNER, "documents": True},
}
SENTENCES: dict[str, Callable[[list[str]], Any]] = {
    "iterator": iter,
    "array": np.array,
    "keys": lambda words: dict.fromkeys(words).keys(),
    "column of an iterator": lambda words: {"word": iter(words)},
}
VERBS: dict[str, Callable[[trellis.Tagger, Any], Any]] = {
    "tag": lambda tagger, words: tagger.tag(words),
    "by label": lambda tagger, words: tagger.tag(words, decode="posterior"),
    "allowed": lambda tagger, words: tagger.tag(words, allowed={1: "O"}),
    "kbest": lambda tagger, words: tagger.kbest(words, 3),
    "marginals": lambda tagger, words: tagger.marginals(words).node.tolist(),
    "tag_spans": lambda tagger, words: tagger.tag_spans(words),
    "span_probability": lambda tagger, words: tagger.span_probability(words, ("N", 1, 2)),
    "explain": lambda tagger, words: str(tagger.explain(words)),
    "draw": lambda tagger, words: tagger.draw(words)._repr_svg_(),
    "score": lambda tagger, words: tagger.score(words, iter(["O", "B-N", "O"])),
}


@pytest.fixture(scope="module", params=KINDS)
def tagger(request: pytest.FixtureRequest) -> trellis.Tagger:
    return trellis.train(WORDS, LABELS, **KINDS[request.param])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("shape", SENTENCES)
def test_a_sentence_may_be_any_iterable(tagger: trellis.Tagger, shape: str, verb: str) -> None:
    assert VERBS[verb](tagger, SENTENCES[shape](WORDS[0])) == VERBS[verb](tagger, WORDS[0])


@pytest.mark.parametrize("shape", [objects, iterators])
def test_a_batch_may_be_any_iterable(tagger: trellis.Tagger, shape: Callable[[Any], Any]) -> None:
    assert tagger.tag_batch(shape(WORDS)) == tagger.tag_batch(WORDS)
    assert tagger.kbest_batch(shape(WORDS), 2) == tagger.kbest_batch(WORDS, 2)
    assert tagger.tag_spans_batch(shape(WORDS)) == tagger.tag_spans_batch(WORDS)
    assert tagger.log_partition_batch(shape(WORDS)) == tagger.log_partition_batch(WORDS)


def test_numbers_as_labels() -> None:
    """They would not be equal to what is predicted, so they are rejected with what to do."""
    words, numbers = [["a", "b"], ["c"]], [[1, 0], [1]]
    why = r"token 0 of column 'label' is 1: not a string; write numbers as strings: list\(map\(str, ...\)\)"
    with pytest.raises(trellis.CorpusError, match=why):
        trellis.train(words, numbers)
    tagger = trellis.train(words, [list(map(str, one)) for one in numbers])
    assert tagger.labels == ("1", "0")
    with pytest.raises(trellis.CorpusError, match=r"not a string$"):
        trellis.train(words, [[b"1", "0"], ["1"]])


def test_frames_with_a_row_per_token() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [0, 0, 1], "word": ["a", "b", "a"], "label": ["A", "B", "A"]})
    with pytest.raises(trellis.CorpusError, match=r"sentence=NAME, columns=NAMES$"):
        trellis.train(frame)
    corpus = trellis.read(frame, sentence="id")
    tagger = trellis.train(corpus)
    frame["predicted"] = tagger.tag_column(corpus).tolist()
    assert frame["predicted"].tolist() == ["A", "B", "A"]
