"""Tables as Hugging Face's datasets write them: numbers of classes, whose names stand in the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import trellis
from trellis._support.errors import CorpusError

NAMES = ["O", "B-PER", "I-PER"]


def features(kind: str = "List", names: list[str] = NAMES) -> dict[str, Any]:
    return {
        "id": {"dtype": "string", "_type": "Value"},
        "tokens": {"feature": {"dtype": "string", "_type": "Value"}, "_type": kind},
        "ner_tags": {"feature": {"names": names, "_type": "ClassLabel"}, "_type": kind},
    }


def table(described: Any = None, tags: Any = ([1, 2, 0], [0])) -> pa.Table:
    columns = {
        "id": pa.array(["0", "1"]),
        "tokens": pa.array([["Ann", "Lee", "ran"], ["Stop"]]),
        "ner_tags": pa.array(list(tags), pa.list_(pa.int64())),
    }
    metadata = {"huggingface": json.dumps({"info": {"features": described or features()}})}
    return pa.table(columns).replace_schema_metadata(metadata)


@pytest.mark.parametrize("kind", ["List", "Sequence", "LargeList"])
def test_numbers_become_names(kind: str, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(table(features(kind)), tmp_path / "train.parquet")
    for corpus in (trellis.read(tmp_path / "train.parquet"), trellis.read(table(features(kind)))):
        assert list(corpus.columns) == ["tokens", "ner_tags"]  # without the numbers of the sentences
        assert corpus.sentences("ner_tags") == [["B-PER", "I-PER", "O"], ["O"]]
    tagger = trellis.train(tmp_path / "train.parquet", target="ner_tags", features=["tokens[0]"])
    assert tagger.tag(["Ann", "Lee"]) == ["B-PER", "I-PER"]


def test_chunks_slices_and_empty_tables() -> None:
    twice = pa.concat_tables([table(), table()])
    assert trellis.read(twice).sentences("ner_tags") == [["B-PER", "I-PER", "O"], ["O"]] * 2
    assert trellis.read(table().slice(1, 1)).sentences("ner_tags") == [["O"]]
    assert len(trellis.read(table().slice(0, 0))) == 0


def test_one_row_per_token() -> None:
    flat = {"feature": None, "names": NAMES, "_type": "ClassLabel"}
    described = {"word": {"_type": "Value"}, "tag": {key: value for key, value in flat.items() if key != "feature"}}
    rows = pa.table({"sentence": ["a", "a", "b"], "word": ["Ann", "ran", "Stop"], "tag": [1, 0, 0]})
    rows = rows.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": described}})})
    corpus = trellis.read(rows, sentence="sentence", columns=["word", "tag"])
    assert corpus.sentences("tag") == [["B-PER", "O"], ["O"]]


def test_what_is_damaged_is_said() -> None:
    with pytest.raises(CorpusError, match="class 3, but the classes are 0 to 2"):
        trellis.read(table(tags=([1, 2, 3], [0])))
    with pytest.raises(CorpusError, match="class -1, but the classes are 0 to 2"):
        trellis.read(table(tags=([1, 2, -1], [0])))
    broken = table().replace_schema_metadata({"huggingface": "{"})
    with pytest.raises(CorpusError, match="is invalid"):
        trellis.read(broken)
    with pytest.raises(CorpusError, match="differ in length"):
        trellis.read(table(tags=([1, 2], [0])))
    with pytest.raises(CorpusError, match="misses value"):
        trellis.read(table(tags=([1, None, 0], [0])))
