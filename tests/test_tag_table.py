"""Tables in, the same tables out with a column of labels."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trellis
from trellis._support.errors import ArgumentError

WORDS = [["the", "dog"], ["a", "cat", "ran"]]
POS = [["D", "N"], ["D", "N", "V"]]
NESTED = {"id": [1, 2], "word": WORDS, "end": [["e", "g"], ["a", "t", "n"]]}
FLAT = {
    "sentence": [1, 1, 2, 2, 2],
    "word": [word for some in WORDS for word in some],
    "end": ["e", "g", "a", "t", "n"],
    "weight": [0.1, 0.2, 0.3, 0.4, 0.5],
}
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda data: pl.DataFrame(data).lazy(),
    "arrow": pa.table,
}


@pytest.fixture(scope="module")
def tagger() -> trellis.Tagger:
    corpus = {"word": WORDS * 4, "end": NESTED["end"] * 4, "label": POS * 4}
    return trellis.train(corpus, target="label", features=["word[0]", "end[0]"], learner=trellis.Perceptron(epochs=5))


def columns(table: Any) -> dict[str, list[Any]]:
    return table.to_pydict() if isinstance(table, pa.Table) else {name: list(table[name]) for name in table.columns}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_row_is_a_sentence(kind: str, tagger: trellis.Tagger) -> None:
    found = columns(tagger.tag_table(MAKERS[kind](NESTED)))
    assert list(found) == ["id", "word", "end", "label"]
    assert [list(labels) for labels in found["label"]] == POS
    assert list(found["id"]) == [1, 2]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_row_is_a_token(kind: str, tagger: trellis.Tagger) -> None:
    found = columns(tagger.tag_table(MAKERS[kind](FLAT), sentence="sentence", column="pos"))
    assert list(found["pos"]) == ["D", "N", "D", "N", "V"]
    assert list(found["weight"]) == FLAT["weight"]


def test_an_index_of_pandas_stays(tagger: trellis.Tagger) -> None:
    frame = pd.DataFrame(NESTED, index=["x", "y"])
    assert tagger.tag_table(frame).loc["y", "label"] == ["D", "N", "V"]
    assert "label" not in frame.columns


def test_what_is_no_table(tagger: trellis.Tagger) -> None:
    with pytest.raises(ArgumentError, match="not 'list'"):
        tagger.tag_table(WORDS)
    with pytest.raises(ArgumentError, match="has a column 'end' already"):
        tagger.tag_table(pd.DataFrame(NESTED), column="end")
    with pytest.raises(ArgumentError, match="no column 'end'"):
        tagger.tag_table(pd.DataFrame({"word": WORDS}))
