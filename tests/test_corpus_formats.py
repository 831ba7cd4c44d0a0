"""Every format in and out, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from samples import unreadable

import trellis
from trellis._support.errors import ArgumentError, CorpusError
from trellis.corpus.corpus import BagColumn
from trellis.corpus.tables import corpus_to_arrow

DEEP: list[Any] = []  # deeper than Python shows
for _ in range(5000):
    DEEP = [DEEP]
WORDS = [["the", "cat"], ["sat"], ["Zoë", "'s", "😀"]]
LABELS = [["B", "I"], ["O"], ["B", "I", "I"]]
SENTENCES = [{"word": w, "label": y} for w, y in zip(WORDS, LABELS, strict=True)]
CONLLU_TEXT = """\
# newdoc id = d1
# sent_id = 1
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\tMood=Imp\t0\troot\t_\tNote=a b
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
2.1\tnada\tnada\tPRON\t_\t_\t_\t_\t_\t_
# late

# sent_id = 2
1\tmar\tmar\tNOUN\t_\t_\t0\troot\t_\t_

# the end
"""


@pytest.fixture
def corpus() -> trellis.Corpus:
    return trellis.read({"word": WORDS, "label": LABELS})


def lists(corpus: trellis.Corpus) -> list[Any]:
    return list(corpus)


# ---- round trips


@pytest.mark.parametrize(
    "name",
    [
        "c.txt",
        "c.conll",
        "c.tsv",
        "c.txt.gz",
        "c.jsonl",
        "c.ndjson",
        "c.jsonl.gz",
        "c.parquet",
        "c.feather",
        "c.arrow",
    ],
)
def test_what_is_written_is_read_again(corpus: trellis.Corpus, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    trellis.write(corpus, path)
    assert lists(trellis.read(path)) == SENTENCES
    assert [p.name for p in tmp_path.iterdir()] == [name]
    first = path.read_bytes()
    trellis.write(corpus, path)
    assert path.read_bytes() == first
    if name.endswith(".gz"):
        assert first[4:8] == bytes(4)  # no time of writing


def test_conllu_round_trip_is_exact(tmp_path: Path) -> None:
    source, target = tmp_path / "a.conllu", tmp_path / "b.conllu"
    source.write_bytes(CONLLU_TEXT.encode())
    corpus = trellis.read(source)
    assert corpus.sentences("form") == [["vamos", "nos"], ["mar"]]
    trellis.write(corpus, target)
    assert target.read_bytes() == source.read_bytes()
    trellis.write(corpus[1:], target)
    assert target.read_text().startswith("# sent_id = 2\n1\tmar")


def test_conllu_columns_can_be_chosen_and_filled(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU_TEXT)
    corpus = trellis.read(path, columns="form,upos")
    assert list(corpus.columns) == ["form", "upos"]
    trellis.write(trellis.read([[("a", "X"), ("b", "Y")]], columns="form,upos"), path)
    assert path.read_text() == "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t_\tY\t_\t_\t_\t_\t_\t_\n\n"
    with pytest.raises(CorpusError, match="no column 'chunk'"):
        trellis.read(path, columns="chunk")
    path.write_text("1 a b\n")
    with pytest.raises(CorpusError, match=r"1 field \(tab-separated\), expected 10"):
        trellis.read(path)


def test_docstart_and_comments_in_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    text = "-DOCSTART- -X-\n\nEU B\n\n-DOCSTART- -X-\n\n\n# I\nPeter B\n\n"
    path.write_text(text)
    corpus = trellis.read(path)
    assert corpus.sentences("word") == [["EU"], ["#", "Peter"]]
    trellis.write(corpus, path)
    assert path.read_text() == text
    commented = trellis.read(path, comments=True)
    assert commented.sentences("word") == [["EU"], ["Peter"]]
    trellis.write(commented, path)
    assert path.read_text() == text.replace("# I\n", "")


def test_written_columns_can_be_chosen(corpus: trellis.Corpus, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    trellis.write(corpus, path, columns="label,word", tabs=True)
    assert path.read_text().startswith("B\tthe\n")
    trellis.write(corpus, path, format="jsonl", columns=["word"])
    assert json.loads(path.read_text().splitlines()[2]) == {"word": WORDS[2]}
    with pytest.raises(CorpusError, match="no column 'pos'; the columns are word, label"):
        trellis.write(corpus, path, columns="pos")
    with pytest.raises(CorpusError, match="no format 'xml'; the formats are conll, conllu"):
        trellis.write(corpus, path, format="xml")
    with pytest.raises(CorpusError, match="CoNLL-U has no column 'word'"):
        trellis.write(corpus, path, format="conllu")


@pytest.mark.parametrize(
    ("sentences", "tabs"),
    [
        ([["a b"]], False),
        ([[""]], False),
        ([[" "]], True),
        ([["a\tb"]], True),
        ([["a\nb"]], True),
        ([["-DOCSTART-"]], False),
    ],
)
def test_columns_refuse_what_would_not_be_read_again(sentences: list[list[str]], tabs: bool, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="which a column file cannot represent; use jsonl"):
        trellis.write(trellis.read(sentences), tmp_path / "a.txt", tabs=tabs)
    assert not list(tmp_path.iterdir())


def test_empty_fields_and_blanks_between_tabs(tmp_path: Path) -> None:
    sentences = [[("", "New York"), (" x", "")]]
    trellis.write(trellis.read(sentences), tmp_path / "a.tsv")
    assert lists(trellis.read(tmp_path / "a.tsv")) == [{"word": ["", " x"], "label": ["New York", ""]}]


def test_an_empty_sentence_needs_jsonl(tmp_path: Path) -> None:
    corpus = trellis.read([["a"], [], ["b"]])
    assert len(corpus) == 3
    with pytest.raises(CorpusError, match=r"sentence 1 \(counted from 0\) is empty"):
        trellis.write(corpus, tmp_path / "a.txt")
    for name in ("a.jsonl", "a.parquet"):
        trellis.write(corpus, tmp_path / name)
        assert trellis.read(tmp_path / name).sentences("word") == [["a"], [], ["b"]]


# ---- files that cannot be read or written


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for name in ("no.txt", "no.txt.gz", "no.parquet", "no.jsonl"):
        with pytest.raises(CorpusError, match="no such file"):
            trellis.read(tmp_path / name)
    for name in ("folder", "folder.parquet", "folder.gz"):
        (tmp_path / name).mkdir()
        with pytest.raises(CorpusError, match="a folder, not a file"):
            trellis.read(tmp_path / name)
    with pytest.raises(CorpusError, match="cannot be written: No such file or directory"):
        trellis.write(trellis.read([["a"]]), tmp_path / "no" / "a.txt")
    with pytest.raises(CorpusError, match="not a regular file; choose another file"):
        trellis.write(trellis.read([["a"]]), tmp_path / "folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "folder.gz", "folder.parquet"]


def test_damaged_gzip(corpus: trellis.Corpus, tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    trellis.write(corpus, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-12])
    with pytest.raises(CorpusError, match="the gzip file is truncated; download or compress it again"):
        trellis.read(path)
    for damaged in (b"plain text", whole[:12] + b"\xff\xff\xff" + whole[15:]):
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match="not a valid gzip file"):
            trellis.read(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"a B\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    corpus = trellis.read("-")
    assert lists(corpus) == [{"word": ["a"], "label": ["B"]}]
    assert corpus.source == "<stdin>"


def test_standard_output_and_pipes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Stdout:
        buffer = io.BytesIO()

    corpus = trellis.read([["a"]])
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Stdout)
        trellis.write(corpus, "-")
    assert Stdout.buffer.getvalue() == b"a\n\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    trellis.write(corpus, pipe)
    assert os.read(reader, 9) == b"a\n\n"
    os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(CorpusError, match="not a regular file; choose another file"):
        trellis.write(corpus, pipe, format="parquet")


def test_text_files_and_unknown_formats() -> None:
    with pytest.raises(CorpusError, match="open it in binary mode"):
        trellis.read(io.StringIO("a b"))
    with pytest.raises(CorpusError, match="no format 'xml'; the formats are conll"):
        trellis.read(io.BytesIO(b"a b"), format="xml")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (b'{"word": ["a"]}\n{"word": ["a"\n', 2, "invalid JSON: Expecting"),
        (b'\n{"word": ["\xff"]}\n', 2, "not valid UTF-8"),
        (b'["a"]\n', 1, "not an object"),
        (b'\n{"word": ' + b"9" * 5000 + b"}", 2, "a number with too many digits"),
        (b'{"word": ["a"], "label": ["B", "I"]}', 1, "column 'word' has 1 tokens, column 'label' has 2"),
        (b'{"word": ["a"]}\n{"form": ["a"]}\n', 2, "no column 'word'; the columns of this sentence are form"),
        (b'{"word": ["a"]}\n{"word": ["a"], "x": []}\n', 2, "column 'x' is not in the first sentence"),
        (b'{"word": ["a"]}\n{"word": ["a", null]}', 2, "token 1 of column 'word' is missing (None)"),
        (b'{"word": ["a", 3]}', 1, "token 1 of column 'word' is 3: not a string"),
        (b'{"word": "abc"}', 1, "a sentence must be a list of tokens, not str"),
        (b'{"word": [{"x": NaN}]}', 1, "the value of an attribute must be a finite number"),
        (b'{"word": ["\\ud800"]}', 1, "a lone surrogate"),
        (b'{"word": ' + b"[" * 100_000, 1, "JSON nested too deeply"),
        (b"{}", None, "no columns; at least one is required"),
        (b" \n", None, "no tokens; the file must have at least one sentence"),
    ],
)
def test_bad_jsonl(tmp_path: Path, text: bytes, line: int | None, why: str) -> None:
    assert unreadable(tmp_path / "a.jsonl", text, why).line == line


def test_jsonl_lines_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": 7, "word": ["a", "b"]}\r\n\n{"id": 8, "word": ["c"]}')
    corpus = trellis.read(path, columns="word")
    assert corpus.sentences("word") == [["a", "b"], ["c"]]
    assert corpus.lines is not None
    assert corpus.lines.tolist() == [1, 1, 3]
    with pytest.raises(CorpusError, match="a sentence must be a list of tokens, not int"):
        trellis.read(path)


# ---- tables


def frames_by_sentence() -> list[Any]:
    columns = {"word": WORDS, "label": LABELS}
    return [pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns), pa.table(columns)]


def frames_by_token() -> list[Any]:
    columns = {
        "sentence": [1, 1, 2, 5, 5, 5],
        "word": [w for row in WORDS for w in row],
        "label": [y for row in LABELS for y in row],
    }
    categorical = pd.DataFrame(columns).astype({"label": "category"})
    return [pd.DataFrame(columns), categorical, pl.DataFrame(columns), pa.table(columns)]


@pytest.mark.parametrize("i", range(4))
def test_frames(i: int) -> None:
    assert lists(trellis.read(frames_by_sentence()[i])) == SENTENCES
    assert lists(trellis.read(frames_by_token()[i], sentence="sentence")) == SENTENCES
    only = trellis.read(frames_by_token()[i], sentence="sentence", columns=["label"])
    assert lists(only) == [{"label": y} for y in LABELS]


def not_utf8() -> pa.Array:
    offsets = pa.py_buffer(np.array([0, 2], np.int32))
    return pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xff\xfe"))


def damaged_lists() -> pa.Array:
    """A list of two strings, the first of which ends beyond the text."""
    offsets = pa.py_buffer(np.array([0, 1 << 30, 2], np.int32))
    strings = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"ab"))
    return pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), strings)


@pytest.mark.parametrize(
    ("table", "options", "why"),
    [
        (pa.table([damaged_lists()], names=["word"]), {}, "not a table of strings or lists of strings"),
        (pa.table([not_utf8(), pa.array([1])], names=["word", "s"]), {"sentence": "s"}, "not a table of strings"),
        (pa.table([[["a"]], [["b"]]], names=["word", "word"]), {}, "2 columns are named 'word'"),
        (pa.table([["a"], [1], [1]], names=["word", "s", "s"]), {"sentence": "s"}, "2 columns are named 's'"),
        (pa.table({"word": pa.array([["a", None]], pa.list_view(pa.string()))}), {}, "column 'word' holds list_view"),
        (pa.table({"word": pa.array([["a", None]], pa.list_(pa.string_view()))}), {}, "column 'word' misses value 1"),
    ],
)
def test_damaged_and_odd_tables(table: pa.Table, options: dict[str, Any], why: str, tmp_path: Path) -> None:
    """Arrow does not validate files on reading: offsets beyond the text would crash the process."""
    with pytest.raises(CorpusError, match=re.escape(why)):
        trellis.read(table, **options)
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table)
    with pytest.raises(CorpusError, match=re.escape(why)):
        trellis.read(tmp_path / "a.arrow", **options)


def test_pieces_of_arrow_tables() -> None:
    table = pa.table({"word": WORDS, "label": LABELS})
    assert lists(trellis.read(table.to_batches()[0])) == SENTENCES
    assert lists(trellis.read(table.slice(1, 2))) == SENTENCES[1:]
    assert lists(trellis.read(pa.concat_tables([table, table]))) == SENTENCES * 2
    tokens = frames_by_token()[3].slice(2)
    assert lists(trellis.read(tokens, sentence="sentence")) == SENTENCES[1:]
    wide = pa.table({"s": [1, 2, 2], "word": pa.array(["é", "b", "c"], pa.large_string())})
    assert trellis.read(wide.slice(1), sentence="s").sentences("word") == [["b", "c"]]
    assert trellis.read(table.slice(0, 0)).n_tokens == 0
    assert len(trellis.read(tokens.slice(0, 0), sentence="sentence")) == 0
    assert len(trellis.read(pa.table({"word": [[], []]}))) == 2


def test_to_arrow(corpus: trellis.Corpus) -> None:
    assert corpus_to_arrow(corpus[1:]).to_pydict() == {"word": WORDS[1:], "label": LABELS[1:]}


@pytest.mark.parametrize(
    ("table", "options", "why"),
    [
        ({"word": ["a"]}, {}, "holds string, not lists of strings; for one token per row give"),
        ({"word": [[1]]}, {}, "column 'word' holds int64, not strings"),
        ({"word": [["a"], None]}, {}, "column 'word' misses value 1"),
        ({"word": [["a", None]]}, {}, "column 'word' misses value 1"),
        ({"word": [["a"]], "label": [["A", "B"]]}, {}, "row 0 (counted from 0): 'word' and 'label' differ"),
        ({"word": ["a"]}, {"sentence": "s"}, "no column 's'; the columns are word"),
        ({"word": [["a"]]}, {"columns": "pos"}, "no column 'pos'; the columns are word"),
    ],
)
def test_bad_tables(table: dict[str, Any], options: dict[str, Any], why: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(why)):
        trellis.read(pa.table(table), **options)


def test_bad_table_files_and_frames(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.feather"):
        (tmp_path / name).write_bytes(b"not a table")
        with pytest.raises(CorpusError, match=r"not a readable (parquet|feather) file"):
            trellis.read(tmp_path / name)
    trellis.write(trellis.read([[]]), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="no tokens; the file must have at least one sentence"):
        trellis.read(tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="not a table of strings"):
        trellis.read(pd.DataFrame({"word": [["a"], "b", 3]}))
    with pytest.raises(CorpusError, match="cannot read a corpus from 'Series'"):
        trellis.read(pd.Series(["a"]))


# ---- Python's own


def test_lists_of_strings_of_tuples_and_of_dicts() -> None:
    assert trellis.read(WORDS).sentences("word") == WORDS
    pairs = [list(zip(w, y, strict=True)) for w, y in zip(WORDS, LABELS, strict=True)]
    assert lists(trellis.read(pairs)) == SENTENCES
    assert list(trellis.read(pairs, columns="a,b").columns) == ["a", "b"]
    assert lists(trellis.read(SENTENCES)) == SENTENCES
    assert lists(trellis.read(tuple(tuple(row) for row in pairs))) == SENTENCES
    assert trellis.read([np.array(row) for row in WORDS]).sentences("word") == WORDS
    assert len(trellis.read([])) == 0
    corpus = trellis.read(WORDS)
    assert trellis.read(corpus) is corpus


def test_bags_of_attributes() -> None:
    token = {"w": "the", "title": True, "digit": False, "length": 3, "half": np.float32(0.5)}
    corpus = trellis.read({"x": [[token, ["a", "b"]], [{}]], "label": [["B", "I"], ["O"]]})
    bags = corpus.columns["x"]
    assert isinstance(bags, BagColumn)
    expected = [{"w:the": 1.0, "title": 1.0, "length": 3.0, "half": 0.5}, {"a": 1.0, "b": 1.0}, {}]
    assert bags.tolist() == expected
    assert bags.starts.tolist() == [0, 4, 6, 6]
    assert bags.ids.dtype == np.int32
    assert bags.values.dtype == np.float32
    assert list(trellis.read([[token]]).columns) == ["attributes"]
    with pytest.raises(CorpusError, match="contains attributes, not one string per token"):
        corpus.column("x")
    taken = corpus.take([1, 0]).columns["x"]
    assert isinstance(taken, BagColumn)
    assert taken.tolist() == [expected[2], *expected[:2]]


def test_bags_go_to_jsonl_only(tmp_path: Path) -> None:
    corpus = trellis.read({"x": [[{"a": 2.0}, ["b"]]]})
    trellis.write(corpus, tmp_path / "a.jsonl")
    again = trellis.read(tmp_path / "a.jsonl").columns["x"]
    assert again.tolist() == corpus.columns["x"].tolist() == [{"a": 2.0}, {"b": 1.0}]
    for name in ("a.txt", "a.parquet"):
        with pytest.raises(CorpusError, match="contains attributes, not one string per token"):
            trellis.write(corpus, tmp_path / name)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"word": [["a"]], "label": [["B"], ["O"]]}, "column 'word' has 1 sentences, column 'label' 2"),
        ({"word": [["a"]], "label": [["B", "I"]]}, "sentence 0 (counted from 0): column 'word' has 1 tokens"),
        (
            {"word": [["a"]], "label": [[None]]},
            "sentence 0 (counted from 0): token 0 of column 'label' is missing",
        ),
        ({"word": ["abc"]}, "a sentence must be a list of tokens, not str"),
        ({"word": "abc"}, "column 'word' must be a list of sentences"),
        ({"word": [["a", {"b": 1}]]}, "token 1 of column 'word' is {'b': 1}"),
        ({"word": [[{"b": 1}, "a"]]}, "a column contains either strings or bags of attributes"),
        (
            {"word": [[{"b": math.inf}]]},
            "token 0 of column 'word' is invalid: the value of an attribute must be a finite number",
        ),
        ({"word": [[{"b": 1e39}]]}, "must be a finite number"),
        ({"word": [[{"b": None}]]}, "neither a string, a number nor a truth value"),
        ({"word": [[{1: "a"}]]}, "not a string"),
        pytest.param({"word": [["a", DEEP]]}, "is [[[", id="deep"),
        pytest.param([[DEEP]], "is [[[", id="deep attributes"),
        ([[("a", "b"), ("c",)]], "token 1 is not a tuple of 2"),
        ([[("a", "b"), "c"]], "token 1 is not a tuple of 2"),
        ([[["a", "b", "c"], ["X", "Y", "Z"]], [["a", "b"], ["X", "Y"]]], "or as a tuple of lists, (words, labels)"),
        ([[["a", "b"], ["X", "Y"]]], "every sentence is 2 lists of 2 strings: tokens or columns? write a sentence as"),
        (([["a", "b"], ["c", "d"]], [["X", "Y"], ["X", "Y"]]), "tokens or columns?"),
        ([(("a", "X"), ("b", "Y"))], "tokens or columns?"),
        ([(["a", "b"], ["X"])], "sentence 0 (counted from 0): column 'word' has 2 tokens, column 'label' has 1"),
        ([(["a"], ["X"]), (["a"], ["X"], ["Y"])], "sentence 1 (counted from 0): 3 columns, but 2 in the first"),
        (["abc"], "a sentence must be a list of tokens, not str"),
        ([3], "a sentence must be a list of tokens, not int"),
        ({None: [["a"]], "word": [["a"]]}, "the name of a column must be a string, not None"),
        ([{"word": ["a"]}, {None: ["a"]}], "no column 'word'; the columns of this sentence are None"),
        ({}, "no columns; at least one is required"),
        (3, "cannot read a corpus from 'int'"),
        (b"a b", "cannot read a corpus from 'bytes'"),
    ],
)
def test_bad_objects(source: Any, why: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(why)):
        trellis.read(source)


@pytest.mark.parametrize(
    "sentences",
    [
        [(["a", "b"], ["X", "Y"])],  # of one length, which a list of tokens has too
        [(["a", "b"], ["X", "Y"]), (["c"], ["Z"]), ([], [])],
        [(np.array(["a", "b"]), ("X", "Y"))],
        [[("a", "X"), ("b", "Y")]],
        [[["a", "X"], ["b", "Y"]], [["c", "Z"]]],
    ],
)
def test_pairs_of_lists_and_lists_of_pairs(sentences: Any) -> None:
    assert trellis.read(sentences)[0] == {"word": ["a", "b"], "label": ["X", "Y"]}


def test_tuples_of_strings_are_sentences_of_words() -> None:
    tagged = [("a", "X"), ("b", "Y")]
    assert trellis.read(tagged).sentences("word") == [["a", "X"], ["b", "Y"]]
    assert trellis.read([tagged]).sentences("label") == [["X", "Y"]]
    with pytest.raises(CorpusError, match=r"write one tagged sentence as \[\[\(word, label\), ...\]\]"):
        trellis.read(tagged, columns="word,label")


def test_lists_that_names_tell_apart() -> None:
    triples = [[["a", "X"], ["b", "Y"], ["c", "Z"]]]
    assert trellis.read(triples, columns="word,label").sentences("word") == [["a", "b", "c"]]
    bags = trellis.read([([{"x": 1.0}, {"y": 2.0}], ["X", "Y"])])
    assert bags[0] == {"attributes": [{"x": 1.0}, {"y": 2.0}], "label": ["X", "Y"]}


def test_marks_and_empty_rows(tmp_path: Path) -> None:
    """A first word that begins with a byte order mark is read back; a row of tabs alone is an empty line."""
    for name in ("a.txt", "a.tsv", "a.jsonl"):
        corpus = trellis.read({"word": [["\ufeffa", "b"]], "label": [["X", "Y"]]})
        trellis.write(corpus, tmp_path / name)
        assert list(trellis.read(tmp_path / name)) == list(corpus)
    (tmp_path / "a.tsv").write_text("a\tX\n\t\nb\t\n \t \n\n\tY\n")
    assert trellis.read(tmp_path / "a.tsv").sentences("label") == [["X"], [""], ["Y"]]
    blocks = trellis.stream(tmp_path / "a.tsv", block_bytes=1)
    assert [block.sentences("word") for block in blocks] == [[["a"]], [["b"]], [[""]]]
    with pytest.raises(CorpusError, match="which would be an empty line; use jsonl"):
        trellis.write(trellis.read([[("", " ")]]), tmp_path / "a.tsv")


def test_a_gzip_file_that_does_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a b\n"))

    def full(*_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(gzip.GzipFile, "read", full)
    with pytest.raises(CorpusError, match=r"a\.txt\.gz: does not fit into memory"):
        trellis.read(tmp_path / "a.txt.gz")


@pytest.mark.parametrize(
    ("source", "options", "why"),
    [
        ({"word": [["a"]]}, {"sentence": "word"}, "sentence='word' has no effect on a dict; omit it"),
        ([["a"]], {"format": "csv"}, "format='csv' has no effect on a list"),
        ({"word": [["a"]]}, {"tabs": True}, "tabs=True has no effect"),
        (trellis.read([["a"]]), {"comments": True}, "comments=True has no effect on a Corpus"),
        (pd.DataFrame({"word": [["a"]]}), {"tabs": True}, "tabs=True has no effect on a table"),
        ("a.conll", {"sentence": "s"}, "sentence='s' has no effect on a.conll, a file in the format conll"),
        ("a.csv", {"comments": True}, "comments=True has no effect on a.csv"),
        ("a.conllu", {"tabs": True}, "tabs=True has no effect on a.conllu"),
        ("a.conll", {"comments": "no"}, "comments must be True or False, not 'no'"),
        ("a.conll", {"tabs": "no"}, "tabs must be True, False or None, not 'no'"),
        ("a.csv", {"sentence": 3}, "sentence must be the name of a column, not 3"),
    ],
)
def test_options_without_effect(source: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(why)):
        trellis.read(source, **options)


def test_columns_of_a_corpus() -> None:
    corpus = trellis.read({"word": [["a"]], "pos": [["N"]]})
    assert list(trellis.read(corpus, columns="pos").columns) == ["pos"]


def test_names_must_fit() -> None:
    with pytest.raises(CorpusError, match=r"tokens have 2 columns, not 3 \(a, b, c\)"):
        trellis.read([[("a", "b")]], columns="a,b,c")
    with pytest.raises(CorpusError, match="no column 'pos'"):
        trellis.read({"word": [["a"]]}, columns="pos")


def test_sentences_that_do_not_stand_together() -> None:
    table = pd.DataFrame({"s": [0, 1, 0], "word": ["a", "b", "c"]})
    with pytest.raises(CorpusError, match="sort the table"):
        trellis.read(table, sentence="s")


@pytest.mark.parametrize("row", ["foo-bar", "e.g.", "1-", "-2", "1.a"])
def test_ids_that_are_no_ranges(row: str, tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("1\t" + "\t".join("abcdefghi") + f"\n{row}\tx\n\n")
    with pytest.raises(CorpusError) as caught:
        trellis.read(path)
    assert caught.value.line == 2


def test_tables_are_not_compressed_twice(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"omit \.gz"):
        trellis.write(trellis.read({"word": [["a"]]}), tmp_path / "a.parquet.gz")


def test_a_sentence_column_with_gaps() -> None:
    """As in a well-known table of named entities, where only the first row of a sentence has its number."""
    rows = {"Sentence #": ["1", None, "2", None], "Word": ["a", "b", "c", "d"], "Tag": ["O", "O", "B", "I"]}
    with pytest.raises(CorpusError, match=r"'Sentence #' misses value 1 .*fill it forward first \(pandas: ffill"):
        trellis.read(pa.table(rows), sentence="Sentence #")
    table = pd.DataFrame(rows).ffill()
    assert trellis.read(table, sentence="Sentence #").sentences("Word") == [["a", "b"], ["c", "d"]]


def test_tables_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, frame = trellis.read(WORDS), pd.DataFrame({"word": [["a"]]})
    trellis.write(corpus, tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "trellis.corpus.tables", raising=False)
    for work in (
        lambda: trellis.read(tmp_path / "a.parquet"),
        lambda: trellis.read(frame),
        lambda: trellis.write(corpus, tmp_path / "b.feather"),
    ):
        with pytest.raises(CorpusError, match=r"needs pyarrow: pip install"):
            work()
    trellis.write(corpus, tmp_path / "a.txt")
    assert trellis.read(tmp_path / "a.txt", columns=list(corpus.columns)).n_tokens == corpus.n_tokens


@pytest.mark.parametrize(
    "train", [trellis.TreeParser.train, trellis.Segmenter.train, trellis.train], ids=["trees", "words", "tag"]
)
@pytest.mark.parametrize("text", ["(S (NP (DT the) (NN dog)) (VP (VBD barked)))\n" * 2, "我们在北京学习中文" * 40])
def test_text_that_is_taken_for_a_path_is_cut(train: Any, text: str) -> None:
    with pytest.raises(CorpusError, match="no such file; a string is a path, not text: give text as a list") as error:
        train(text)
    assert len(str(error.value)) < 160
    assert "\n" not in str(error.value)
    with pytest.raises(CorpusError, match=re.escape(f"{'x' * 80}.txt: no such file")):
        train(f"{'x' * 80}.txt")
