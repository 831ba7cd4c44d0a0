"""Vectors of words against the same numbers given as attributes, and the files that they are read from."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged import save_model
from equal_models import learnt

import trellis
from trellis._support.errors import ModelError, TemplateError
from trellis.features.vectors import Vectors, read_vectors
from trellis.learning.options import grouped
from trellis.tasks.tagging.options import TaggingOptions

WORDS = ["a", "b", "c", "d", "e", "f", "G", "ö"]
NUMBERS = np.random.default_rng(3).normal(size=(len(WORDS), 5)).astype(np.float32)
CORPUS = {
    "word": [["a", "b", "x", "c"], ["d", "e", "A"], ["f", "B"], ["ö", "a", "d"]] * 2,
    "y": [["A", "B", "C", "A"], ["B", "B", "A"], ["C", "B"], ["A", "A", "C"]] * 2,
}
NEW = [["a", "b", "c"], ["G", "f", "unheard", "d", "C"], ["e"], []]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines = [f"{word} {' '.join(map(str, row.tolist()))}\n" for word, row in zip(WORDS, NUMBERS, strict=True)]
    (tmp_path / "vectors.txt").write_text(f"{len(WORDS)} 5\n" + "".join(lines), encoding="utf-8")
    return tmp_path / "vectors.txt"


def features_of(path: Path) -> list[str]:
    return ["word[0]", f'vector(word[0], "{path}")', f'vector(lower(word[-1]), "{path}")']


def attributes(sentence: list[str]) -> list[dict[str, float]]:
    out = list[dict[str, float]]()
    for i, word in enumerate(sentence):
        looks = {"this": word, "before": sentence[i - 1].lower() if i else ""}
        numbers = {n: NUMBERS[WORDS.index(w)] for n, w in looks.items() if w in WORDS}
        out.append({f"w={word}": 1.0} | {f"{n}{k}": float(row[k]) for n, row in numbers.items() for k in range(5)})
    return out


LEARNERS: list[tuple[trellis.Learner, dict[str, object]]] = [
    (trellis.CRF(c2=0.1), {}),
    (trellis.CRF(c2=0.1), {"order": 2}),
    (trellis.Perceptron(epochs=4), {}),
    (trellis.MIRA(epochs=4), {"pairs": "all"}),
    (trellis.MaxEnt(), {}),
    (trellis.CRF(c1=0.02, c2=0.1), {}),
]


@pytest.mark.parametrize(("learner", "more"), LEARNERS)
def test_the_same_as_attributes_with_values(path: Path, learner: trellis.Learner, more: dict[str, object]) -> None:
    def train(corpus: Any, features: Any) -> trellis.Tagger:
        values = {"target": "y", "features": features, "learner": learner, **more}
        return trellis.train(corpus, **grouped(TaggingOptions, values))

    tagger = train(CORPUS, features_of(path))
    given = {"attributes": [attributes(words) for words in CORPUS["word"]], "y": CORPUS["y"]}
    other = train(given, "attributes")
    bags = [attributes(words) for words in NEW]
    assert tagger.tag_batch(NEW) == other.tag_batch(bags)
    np.testing.assert_allclose(tagger.log_partition_batch(NEW), other.log_partition_batch(bags), rtol=1e-3, atol=1e-4)


def test_one_file_has_all(path: Path, tmp_path: Path) -> None:
    tagger = trellis.train(CORPUS, target="y", features=features_of(path), learner=trellis.CRF(c2=0.1))
    tagger.save(tmp_path / "model")
    path.unlink()
    copy = trellis.load(tmp_path / "model")
    assert copy.to_bytes() == tagger.to_bytes()
    assert copy.tag_batch(NEW) == tagger.tag_batch(NEW)
    assert [w.feature for w in copy.top_features(100) if w.feature == f'vector(word[0], "{path}")=4']
    assert f'vector(word[0], "{path}")=0' in str(copy.explain(["G", "f"]))
    further = trellis.train(CORPUS, init=copy, learner=trellis.CRF(c2=0.1))
    assert further.tag_batch(NEW) == copy.tag_batch(NEW)


def test_streams_give_the_bytes_of_the_whole(path: Path) -> None:
    corpus, learner = trellis.read(CORPUS), trellis.Perceptron(epochs=2, shuffle=False)
    whole = trellis.train(corpus, target="y", features=features_of(path), learner=learner)
    blocks = trellis.stream(lambda: iter([corpus[:3], corpus[3:]]))
    assert learnt(trellis.train(blocks, target="y", features=features_of(path), learner=learner)) == learnt(whole)


def test_templates_of_one_name_share_their_weights(path: Path) -> None:
    features = [f'v: vector(word[{i}], "{path}")' for i in (-1, 0)]
    tagger = trellis.train(CORPUS, target="y", features=features, learner=trellis.CRF(c2=0.1), order=0)
    assert tagger.model.weights.rows.n_attributes == 5
    assert len(set(map(tuple, tagger.tag_batch(NEW)))) > 1


def test_damaged_vectors_in_a_model_are_errors(path: Path, tmp_path: Path) -> None:
    tagger = trellis.train(CORPUS, target="y", features=features_of(path), learner=trellis.CRF(c2=0.1))
    vocabulary = tagger.model.vocabulary
    words, matrix = vocabulary.vectors[str(path)]
    for damaged in (matrix[:-1], matrix[:, :0], matrix[0], matrix.astype(np.float64), matrix * np.float32(np.nan)):
        changed = replace(vocabulary, vectors={str(path): Vectors(words, damaged)})
        save_model(replace(tagger.model, vocabulary=changed), tmp_path / "broken")
        with pytest.raises(ModelError):
            trellis.load(tmp_path / "broken")


# ---------------------------------------------------------------------------- files


def test_files_of_text_and_of_numpy_say_the_same(path: Path, tmp_path: Path) -> None:
    plain = read_vectors(str(path))
    assert plain.words.tolist() == WORDS
    np.testing.assert_array_equal(plain.matrix, NUMBERS)
    (tmp_path / "v.gz").write_bytes(gzip.compress(path.read_bytes()))
    np.save(tmp_path / "m.npy", NUMBERS.astype(np.float64))
    (tmp_path / "m.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    for name in ("v.gz", "m.npy"):
        same = read_vectors(str(tmp_path / name))
        assert same.words.tolist() == WORDS
        np.testing.assert_array_equal(same.matrix, NUMBERS)


def test_the_first_vector_of_a_word_counts_and_words_may_have_blanks(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("a 1 2\nNew York 3 4\na 5 6\n")
    found = read_vectors(str(tmp_path / "v"))
    assert (found.words.tolist(), found.matrix.tolist()) == (["a", "New York"], [[1, 2], [3, 4]])
    (tmp_path / "v").write_text("10\u00a0000 1 2\n\u00a0 3 4\n", encoding="utf-8")
    assert read_vectors(str(tmp_path / "v")).words.tolist() == ["10\u00a0000", "\u00a0"]
    (tmp_path / "v").write_text("² 1 2\n", encoding="utf-8")
    assert read_vectors(str(tmp_path / "v")).words.tolist() == ["²"]
    (tmp_path / "v").write_text("400000 2\na 1 2\n")  # the beginning of a longer file
    assert read_vectors(str(tmp_path / "v")).words.tolist() == ["a"]
    (tmp_path / "v").write_text("5 3\n6 4\n")  # no counts: 5 and 6 are words
    assert read_vectors(str(tmp_path / "v")).words.tolist() == ["5", "6"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no vectors in the file"),
        ("a 1 2\nb 1\n", ":2: invalid line; expected a word and 2 numbers"),
        ("a 1 2\nb 1 2 3\n", ":2: invalid line; expected a word and 2 numbers"),
        ("a" + " 1" * 5000, "vectors of 5,000 numbers; supported are 1 to 4,096"),
        ("a 1 2\nb 1 x\n", ":2: invalid line"),
        ("a\n", ":1: invalid line"),
        ("a 1 nan\n", "the vector of 'a' has a number that is too large or not finite"),
        ("a 1 1e39\n", "the vector of 'a' has a number that is too large or not finite"),
    ],
)
def test_files_that_are_no_vectors(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v").write_text(text)
    with pytest.raises(TemplateError) as caught:
        trellis.train(CORPUS, target="y", features=[f'vector(word[0], "{tmp_path}/v")'])
    assert message in str(caught.value)


def test_arrays_that_are_no_vectors(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", NUMBERS)
    with pytest.raises(TemplateError, match=r"vector: .*m.txt: no such file; check the path"):
        read_vectors(str(tmp_path / "m.npy"))
    (tmp_path / "m.txt").write_text("a\nb\n")
    with pytest.raises(TemplateError, match="2 words, but an array"):
        read_vectors(str(tmp_path / "m.npy"))
    np.save(tmp_path / "m.npy", np.arange(4).reshape(2, 2))
    with pytest.raises(TemplateError, match="expected floating-point numbers"):
        read_vectors(str(tmp_path / "m.npy"))
    (tmp_path / "m.npy").write_bytes(b"PK\x03\x04junk")
    with pytest.raises(TemplateError, match="cannot read"):
        read_vectors(str(tmp_path / "m.npy"))
    np.save(tmp_path / "m.npy", np.array([[1e300], [1.0]]))
    with pytest.raises(TemplateError, match="has a number that is too large or not finite"):
        read_vectors(str(tmp_path / "m.npy"))
    np.savez(tmp_path / "m.npz", NUMBERS)
    (tmp_path / "m.npz").rename(tmp_path / "m.npy")
    with pytest.raises(TemplateError, match="cannot read"):
        read_vectors(str(tmp_path / "m.npy"))
    np.save(tmp_path / "m.npy", np.array([{}, {}]), allow_pickle=True)
    with pytest.raises(TemplateError, match="cannot read"):
        read_vectors(str(tmp_path / "m.npy"))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("vector(word[0])", 'vector takes "file"'),
        ('vector(word[0], "v") & word[1]', "applies to a token, and cannot be combined with other parts or labels"),
        ('label[-1] & vector(word[0], "v")', "applies to a token, and cannot be combined with other parts or labels"),
        ('lower(vector(word[0], "v"))', "vector takes a word or a simple function of it"),
        ('vector(listed(word[0], "f"), "v")', "vector takes a word or a simple function of it"),
        ('vector(word[segment], "v")', "applies to a token, and cannot be combined with other parts or labels"),
        ('vector(word[0], "nowhere")', "vector: nowhere: no such file"),
    ],
)
def test_templates_that_are_refused(template: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        trellis.train(CORPUS, target="y", features=[template])
    assert message in str(caught.value)
