"""Vectors of numbers as the attributes of tokens: NumPy's arrays and SciPy's sparse rows."""

from __future__ import annotations

import array

import numpy as np
import pytest
import scipy.sparse

import trellis
from trellis._support.errors import CorpusError

RNG = np.random.default_rng(0)
VECTORS = [RNG.normal(size=(n, 4)) * (RNG.random((n, 4)) < 0.7) for n in (3, 1, 5, 2)] * 3
WORDS = [[f"w{int(10 * abs(row[0])) % 3}" for row in matrix] for matrix in VECTORS]
LABELS = [["P" if row.sum() > 0 else "N" for row in matrix] for matrix in VECTORS]
AS_DICTS = [[{f"[{i}]": float(np.float32(x)) for i, x in enumerate(row) if x} for row in matrix] for matrix in VECTORS]


@pytest.mark.parametrize(
    "learner",
    [
        trellis.CRF(),
        trellis.MaxEnt(),
        trellis.Perceptron(),
        trellis.MIRA(),
        trellis.AROW(),
        trellis.PassiveAggressive(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_vectors_are_attributes_by_number(learner):
    options = {"target": "label", "features": "attributes", "learner": learner}
    by_dicts = trellis.train({"attributes": AS_DICTS, "label": LABELS}, **options)
    for given in (
        VECTORS,
        [list(matrix) for matrix in VECTORS],
        [matrix.astype(np.float32) for matrix in VECTORS],
        [np.asfortranarray(matrix) for matrix in VECTORS],
        [scipy.sparse.csr_matrix(matrix) for matrix in VECTORS],
        [scipy.sparse.coo_array(matrix) for matrix in VECTORS],
    ):
        tagger = trellis.train({"attributes": given, "label": LABELS}, **options)
        assert tagger.to_bytes() == by_dicts.to_bytes()
    assert by_dicts.tag(list(VECTORS[0])) == by_dicts.tag(AS_DICTS[0])
    assert by_dicts.tag([array.array("d", row) for row in VECTORS[0]]) == by_dicts.tag(AS_DICTS[0])
    assert by_dicts.tag_batch(trellis.read({"attributes": VECTORS})) == by_dicts.tag_batch(AS_DICTS)


def test_vectors_beside_words():
    corpus = trellis.read({"word": WORDS, "attributes": VECTORS, "label": LABELS})
    tagger = trellis.train(corpus, target="label", features=["word[0]", "attributes[0]"], learner=trellis.CRF(c2=0.01))
    assert tagger.evaluate(corpus).token_accuracy > 0.9
    pairs = list(zip(WORDS[0], VECTORS[0], strict=True))
    assert tagger.tag(pairs) == tagger.tag_batch(corpus)[0]


@pytest.mark.parametrize(
    "bad", [np.array([1.0, np.nan]), np.array([np.inf]), np.array([1e300]), np.array([[1.0]]), np.array(["a"], object)]
)
def test_what_is_no_vector(bad):
    with pytest.raises(CorpusError):
        trellis.read({"attributes": [[np.array([1.0]), bad]]})
    tagger = trellis.train({"attributes": AS_DICTS, "label": LABELS}, target="label", features="attributes")
    with pytest.raises(CorpusError):
        tagger.tag([bad])


def test_whole_numbers_and_bytes_are_refused():
    for bad in (np.array([1, 2]), b"ab", bytearray(8), memoryview(b"abcd")):
        with pytest.raises(CorpusError):
            trellis.read({"attributes": [[{"a": 1}, bad]]})
